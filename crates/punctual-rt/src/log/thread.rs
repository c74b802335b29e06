//! The thread that runs a drain.

use super::drain::{Arrivals, Drain, Drained};
use super::writer::LogWriter;
use crate::sync::Signal;
use crate::sys::{now, set_policy};
use crate::{ConfigError, Error, Policy, SetupError};
use punctual_hist::Nanos;
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// A running [`Drain`]. Dropping it stops it like [`stop`](Self::stop), but does not report failures.
pub struct DrainThread {
    arrivals: Arc<Arrivals>,
    stop: Arc<Signal>,
    thread: Option<JoinHandle<io::Result<Drained>>>,
}

impl Drain {
    /// Drains every `interval` in a thread of its own with ordinary policy, until it is stopped. The new thread may use
    /// the CPUs of the calling thread: call this before the calling thread binds itself to the loop's CPU.
    ///
    /// # Errors
    /// [`ConfigError::ZeroLength`] if `interval` is zero, [`SetupError::Thread`] if no thread can be started.
    ///
    /// # Real-time
    /// Starts a thread: call before the loop.
    pub fn start(self, interval: Nanos) -> Result<DrainThread, Error> {
        if interval == Nanos::ZERO {
            return Err(Error::Config(ConfigError::ZeroLength));
        }
        let arrivals = Arc::clone(&self.arrivals);
        let stop = Arc::new(Signal::new());
        let stopped = Arc::clone(&stop);
        let run = move || {
            // A thread starts with the policy of its creator. Changing to the ordinary policy is always allowed.
            let _ = set_policy(Policy::Other);
            let mut drain = self;
            while !stopped.wait_until(now() + interval) {
                drain.drain();
            }
            drain.finish()
        };
        let thread = Builder::new().name("rt-log".into()).spawn(run).map_err(SetupError::of_thread)?;
        Ok(DrainThread { arrivals, stop, thread: Some(thread) })
    }
}

impl DrainThread {
    /// Adds another log, as [`Drain::writer`] does.
    ///
    /// # Panics
    /// If memory for `capacity` records (about 100 bytes each) cannot be allocated.
    ///
    /// # Real-time
    /// Allocates and locks: call before the loop.
    pub fn writer(&self, name: &str, capacity: usize) -> LogWriter {
        self.arrivals.writer(name, capacity)
    }

    /// Writes out all records stored before this call, ends the thread and returns the counts.
    ///
    /// # Errors
    /// The first failure of an output.
    ///
    /// # Real-time
    /// Blocks until everything is written: call after the loop.
    pub fn stop(mut self) -> io::Result<Drained> {
        self.join().unwrap_or_else(|| Ok(Drained::default()))
    }

    fn join(&mut self) -> Option<io::Result<Drained>> {
        let thread = self.thread.take()?;
        self.stop.post();
        Some(thread.join().unwrap_or_else(|_| Err(io::Error::other("an output of the log panicked"))))
    }
}

impl Drop for DrainThread {
    fn drop(&mut self) {
        self.join();
    }
}
