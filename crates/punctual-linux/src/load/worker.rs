//! A load as a value, and the part of the worker process that the load's threads see.

use crate::sys::sched::set_cpus;
use punctual_facts::cpu_set::CpuSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub name: &'static str,
    pub stresses: &'static str,
    pub unit: &'static str,
    pub needs_dir: bool,
    /// The work of one worker thread: it prepares, then calls [`Worker::work`].
    pub run: fn(&Worker) -> io::Result<()>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) ends: AtomicBool,
    pub(super) operations: AtomicU64,
    pub(super) trouble: Mutex<Option<String>>,
    pub(super) dir: PathBuf,
    pub(super) workers: usize,
}

impl Shared {
    /// Keeps the first problem; later ones are usually its consequences.
    pub(super) fn report(&self, trouble: impl FnOnce() -> String) {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(trouble);
    }
}

pub(super) enum WorkerEvent {
    Begun,
    /// The worker with this number has ended, for whatever reason.
    Ended(usize),
    Stop,
}

#[derive(Debug)]
pub struct Worker {
    pub(super) cpu: u32,
    pub(super) shared: Arc<Shared>,
    pub(super) events: Sender<WorkerEvent>,
}

impl Worker {
    pub fn cpu(&self) -> u32 {
        self.cpu
    }

    pub fn workers(&self) -> usize {
        self.shared.workers
    }

    pub fn dir(&self) -> &Path {
        &self.shared.dir
    }

    /// To be called once, when preparations are finished and the work begins.
    pub fn begun(&self) {
        let _ = self.events.send(WorkerEvent::Begun);
    }

    /// Reports that preparations are finished, then repeats `step` until the load must end, and adds up the returned
    /// operations. A step should take at most a few milliseconds.
    pub fn work(&self, mut step: impl FnMut() -> io::Result<u64>) -> io::Result<()> {
        self.begun();
        while self.wanted() {
            self.count(step()?);
        }
        Ok(())
    }

    /// Whether to continue. To be called every few milliseconds.
    pub fn wanted(&self) -> bool {
        !self.shared.ends.load(Ordering::Relaxed)
    }

    pub fn count(&self, operations: u64) {
        self.shared.operations.fetch_add(operations, Ordering::Relaxed);
    }

    pub fn report(&self, trouble: impl FnOnce() -> String) {
        self.shared.report(trouble);
    }

    pub fn pin(&self) -> io::Result<()> {
        set_cpus(None, &CpuSet::from_iter([self.cpu]))
    }

    pub fn pause(&self) {
        std::thread::sleep(Duration::from_millis(20));
    }
}
