//! The thread that drains.

use super::drain::{Arrivals, Drain, Drained};
use super::writer::LogWriter;
use crate::sync::Signal;
use crate::sys::{now, set_policy};
use crate::{ConfigError, Error, Policy, SetupError};
use punctual_hist::Nanos;
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// A [`Drain`] at work. Dropping it stops it as [`stop`](Self::stop) does, but says nothing of failures.
pub struct DrainThread {
    arrivals: Arc<Arrivals>,
    stop: Arc<Signal>,
    thread: Option<JoinHandle<io::Result<Drained>>>,
}

impl Drain {
    /// Drains every `interval` in a thread of its own, of ordinary policy, until it is stopped. It may run where the
    /// calling thread may: call before that confines itself to the loop's CPU.
    ///
    /// # Errors
    /// [`ConfigError::ZeroLength`] when `interval` is zero, [`SetupError::Thread`] when no thread can be had.
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
            // A thread is born with the policy of the one that made it; going down to this one is always allowed.
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
    /// Another log, as [`Drain::writer`] makes them.
    ///
    /// # Panics
    /// When memory for `capacity` records (about 100 bytes each) cannot be had.
    ///
    /// # Real-time
    /// Allocates and locks: call before the loop.
    pub fn writer(&self, name: &str, capacity: usize) -> LogWriter {
        self.arrivals.writer(name, capacity)
    }

    /// Writes out all that was stored before this call, ends the thread and reports.
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
