//! The lines that a drain passes to its outputs.

use super::record::LogRecord;
use super::writer::Thread;
use punctual_hist::MonoTime;
use std::io;
use std::sync::Arc;

/// A record or an announcement for an output, with its instant.
pub(super) struct LogLine {
    pub(super) at: MonoTime,
    pub(super) thread: Arc<Thread>,
    pub(super) what: Noted,
}

pub(super) enum Noted {
    Record(LogRecord),
    Lost(u64),
}

/// A destination for lines: text or trace.
pub(super) trait Output: Send {
    fn write(&mut self, line: &LogLine) -> io::Result<()>;
    /// Called after each batch of lines.
    fn flush(&mut self) -> io::Result<()>;
}
