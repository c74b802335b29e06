//! A reader that never rests, on another CPU: what a loop must not feel.

use anyhow::{Context, Result};
use punctual_rt::setup::{pin_current, set_policy};
use punctual_rt::{Policy, StatsReader};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

/// More than machines that are measured have; the kernel leaves out those that are not there.
const CPUS_MAX: u32 = 1024;

/// Takes snapshots, one after the other, until it is dropped.
pub struct Hammer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Hammer {
    /// Starts it on any CPU but `cpu`; an error where there is none.
    pub fn start(reader: StatsReader, cpu: u32) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let (ready, is_ready) = channel();
        let thread = std::thread::Builder::new().name("reader".to_owned()).spawn(move || {
            // It inherited the loop's policy and CPU.
            let elsewhere: Vec<u32> = (0..CPUS_MAX).filter(|other| *other != cpu).collect();
            let set_up = set_policy(Policy::Other).and_then(|()| pin_current(&elsewhere));
            let refused = set_up.is_err();
            // Without a receiver nobody cares.
            let _ = ready.send(set_up);
            while !refused && !stopped.load(Relaxed) {
                std::hint::black_box(reader.snapshot());
            }
        });
        let hammer = Self { stop, thread: Some(thread.context("start the reader")?) };
        is_ready.recv().context("wait for the reader")?.context("run the reader on another CPU")?;
        Ok(hammer)
    }
}

impl Drop for Hammer {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // It cannot have panicked in a way that matters to the figures.
            let _ = thread.join();
        }
    }
}
