//! A thread that reads statistics without pause on another CPU. The benchmark shows whether it delays the loop.

use anyhow::{Context, Result};
use punctual_rt::setup::{pin_current, set_policy};
use punctual_rt::{Policy, StatsReader};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

/// Number of CPUs that the reader asks for, more than any measured machine has. The kernel ignores CPUs that do not
/// exist.
const CPUS_MAX: u32 = 1024;

/// A thread that takes snapshots, one after the other, until this value is dropped.
pub struct Hammer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Hammer {
    /// Starts the thread on any CPU except `cpu`; an error if there is no other CPU.
    pub fn start(reader: StatsReader, cpu: u32) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let (ready, is_ready) = channel();
        let thread = std::thread::Builder::new().name("reader".to_owned()).spawn(move || {
            // The thread inherited the loop's policy and CPU. It must use neither.
            let elsewhere: Vec<u32> = (0..CPUS_MAX).filter(|other| *other != cpu).collect();
            let set_up = set_policy(Policy::Other).and_then(|()| pin_current(&elsewhere));
            let refused = set_up.is_err();
            // If the receiver is gone, nobody needs the result.
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
            // A panic of this thread does not affect the figures.
            let _ = thread.join();
        }
    }
}
