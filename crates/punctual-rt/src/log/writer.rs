//! The writing end of a log, which a loop uses.

use super::record::{Kind, LogRecord, LogValue, VALUES_MAX};
use crate::Sender;
use crate::sys::remembered_thread_id;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The thread that writes to a log, as its drain knows it.
pub(super) struct Thread {
    /// Number of the writer among those of its drain, from 1.
    pub(super) number: u64,
    pub(super) name: String,
    /// The kernel's id of the thread; 0 while it is unknown.
    pub(super) id: AtomicU32,
}

/// Stores records for a [`Drain`](super::Drain). Each thread needs its own. Drop it after the loop, because dropping
/// may free memory.
pub struct LogWriter {
    sender: Sender<LogRecord>,
    thread: Arc<Thread>,
}

impl LogWriter {
    pub(super) const fn new(sender: Sender<LogRecord>, thread: Arc<Thread>) -> Self {
        Self { sender, thread }
    }

    /// Declares that the calling thread is the writer: a trace then shows its records in the same row as the kernel's
    /// events of this thread.
    ///
    /// # Real-time
    /// Enters the kernel unless the thread has asked for its id before: call before the loop.
    pub fn of_this_thread(&mut self) {
        self.thread.id.store(remembered_thread_id(), Relaxed);
    }

    /// Stores a record. If the log is full, the record is lost and counted.
    ///
    /// # Real-time
    /// Wait-free, allocates nothing, never enters the kernel.
    #[inline]
    pub fn push(&mut self, record: LogRecord) {
        let _ = self.sender.push(record);
    }

    /// Stores a message: each `{}` in `text` stands for the next of `values`. Values after the fourth are left out. The
    /// macro [`rt_log!`](crate::rt_log) checks their number.
    ///
    /// # Real-time
    /// Reads the clock; otherwise like [`push`](Self::push).
    #[inline]
    pub fn message(&mut self, text: &'static str, values: &[LogValue]) {
        let mut kept = [LogValue::None; VALUES_MAX];
        for (kept, value) in kept.iter_mut().zip(values) {
            *kept = *value;
        }
        self.push(LogRecord::now(Kind::Message, text, kept));
    }

    /// Stores that the operation `name` begins. Call [`end`](Self::end) for operations in the reverse order of their
    /// beginnings.
    ///
    /// # Real-time
    /// Reads the clock; otherwise like [`push`](Self::push).
    #[inline]
    pub fn begin(&mut self, name: &'static str) {
        self.push(LogRecord::now(Kind::Begin, name, [LogValue::None; VALUES_MAX]));
    }

    /// Stores that the operation `name` ends.
    ///
    /// # Real-time
    /// Reads the clock; otherwise like [`push`](Self::push).
    #[inline]
    pub fn end(&mut self, name: &'static str) {
        self.push(LogRecord::now(Kind::End, name, [LogValue::None; VALUES_MAX]));
    }

    /// Runs `body`, and stores a begin and an end of `name` around it.
    ///
    /// # Real-time
    /// Reads the clock twice; otherwise like [`push`](Self::push), plus whatever `body` does.
    #[inline]
    pub fn span<R>(&mut self, name: &'static str, body: impl FnOnce(&mut Self) -> R) -> R {
        self.begin(name);
        let result = body(self);
        self.end(name);
        result
    }

    /// Stores that the quantity `name` has the value `value` from now on.
    ///
    /// # Real-time
    /// Reads the clock; otherwise like [`push`](Self::push).
    #[inline]
    pub fn counter(&mut self, name: &'static str, value: impl Into<LogValue>) {
        let values = [value.into(), LogValue::None, LogValue::None, LogValue::None];
        self.push(LogRecord::now(Kind::Counter, name, values));
    }

    /// Number of records lost so far because the log was full.
    ///
    /// # Real-time
    /// Wait-free.
    #[inline]
    pub fn lost(&self) -> u64 {
        self.sender.refused()
    }
}
