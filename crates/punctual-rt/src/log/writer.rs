//! The loop's end of the log.

use super::record::{Kind, LogRecord, LogValue, VALUES_MAX};
use crate::Sender;
use crate::sys::remembered_thread_id;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The thread that writes a log, as its drain knows it.
pub(super) struct Thread {
    /// Distinguishes writers of one drain, from 1.
    pub(super) number: u64,
    pub(super) name: String,
    /// The kernel's id of the thread, or 0 as long as it is not known.
    pub(super) id: AtomicU32,
}

/// Stores records for a [`Drain`](super::Drain). One per thread. Dropping it may free memory: do so after the loop.
pub struct LogWriter {
    sender: Sender<LogRecord>,
    thread: Arc<Thread>,
}

impl LogWriter {
    pub(super) const fn new(sender: Sender<LogRecord>, thread: Arc<Thread>) -> Self {
        Self { sender, thread }
    }

    /// Tells the drain that the calling thread is the one that writes: a trace then shows the records in the row in
    /// which it shows what the kernel did to this thread.
    ///
    /// # Real-time
    /// Enters the kernel if the thread did not ask for its id before: call before the loop.
    pub fn of_this_thread(&mut self) {
        self.thread.id.store(remembered_thread_id(), Relaxed);
    }

    /// Stores a record. It is lost and counted when the log is full.
    ///
    /// # Real-time
    /// Wait-free, allocates nothing, never enters the kernel.
    #[inline]
    pub fn push(&mut self, record: LogRecord) {
        let _ = self.sender.push(record);
    }

    /// Something happened: `text`, in which each `{}` stands for the next of `values`. Values after the fourth are
    /// left out. See [`rt_log!`](crate::rt_log), which checks that.
    ///
    /// # Real-time
    /// Reads the clock; otherwise as [`push`](Self::push).
    #[inline]
    pub fn message(&mut self, text: &'static str, values: &[LogValue]) {
        let mut kept = [LogValue::None; VALUES_MAX];
        for (kept, value) in kept.iter_mut().zip(values) {
            *kept = *value;
        }
        self.push(LogRecord::now(Kind::Message, text, kept));
    }

    /// `name` begins. What begins must [`end`](Self::end), the last one first.
    ///
    /// # Real-time
    /// Reads the clock; otherwise as [`push`](Self::push).
    #[inline]
    pub fn begin(&mut self, name: &'static str) {
        self.push(LogRecord::now(Kind::Begin, name, [LogValue::None; VALUES_MAX]));
    }

    /// `name` ends.
    ///
    /// # Real-time
    /// Reads the clock; otherwise as [`push`](Self::push).
    #[inline]
    pub fn end(&mut self, name: &'static str) {
        self.push(LogRecord::now(Kind::End, name, [LogValue::None; VALUES_MAX]));
    }

    /// Runs `body` between a begin and an end of `name`.
    ///
    /// # Real-time
    /// Reads the clock twice; otherwise as [`push`](Self::push), and whatever `body` does.
    #[inline]
    pub fn span<R>(&mut self, name: &'static str, body: impl FnOnce(&mut Self) -> R) -> R {
        self.begin(name);
        let result = body(self);
        self.end(name);
        result
    }

    /// The quantity `name` is `value` from now on.
    ///
    /// # Real-time
    /// Reads the clock; otherwise as [`push`](Self::push).
    #[inline]
    pub fn counter(&mut self, name: &'static str, value: impl Into<LogValue>) {
        let values = [value.into(), LogValue::None, LogValue::None, LogValue::None];
        self.push(LogRecord::now(Kind::Counter, name, values));
    }

    /// Records lost so far because the log was full.
    ///
    /// # Real-time
    /// Wait-free.
    #[inline]
    pub fn lost(&self) -> u64 {
        self.sender.refused()
    }
}
