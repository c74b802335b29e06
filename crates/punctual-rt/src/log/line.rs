//! What the drain hands to its outputs.

use super::record::Record;
use super::writer::Thread;
use punctual_hist::MonoTime;
use std::io;
use std::sync::Arc;

/// What an output writes in one go, with its instant.
pub(super) struct Line {
    pub(super) at: MonoTime,
    pub(super) thread: Arc<Thread>,
    pub(super) what: What,
}

pub(super) enum What {
    Record(Record),
    Lost(u64),
}

/// Something lines are written to.
pub(super) trait Output: Send {
    fn write(&mut self, line: &Line) -> io::Result<()>;
    /// Called after each batch of lines.
    fn flush(&mut self) -> io::Result<()>;
}
