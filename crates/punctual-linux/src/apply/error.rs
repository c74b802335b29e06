//! Why nothing was done at all. What became of single steps is a result, not an error.

use crate::journal::JournalError;
use crate::journal::store;
use std::io;

/// Path, operation, reason, remedy.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Another process is changing this machine.
    #[error("{}: take the lock: {} is changing this machine right now. Wait for it to end, then try again", store::LOCK, by.map_or("another process".to_owned(), |pid| format!("process {pid}")))]
    Locked {
        /// Which, if it said so.
        by: Option<u32>,
    },
    /// The lock cannot be asked for.
    #[error("{}: take the lock: {reason}. {}", store::LOCK, lock_remedy(reason))]
    Lock { reason: io::Error },
    /// Lines of the journal are damaged; nothing new is begun on top of that.
    #[error("{}: {lines} of its lines cannot be read", store::FILE)]
    Damaged { lines: usize },
    /// The journal could not be written any more, in the middle of applying. What was done is undone again, but for
    /// what is told.
    #[error("{cause}. What had been done was undone{}", remains(left))]
    RolledBack { cause: JournalError, left: Vec<String> },
    /// What this program runs on cannot be told.
    #[error("{what}: read: {reason}. Without it nothing can be put back for sure, so nothing is done")]
    Unknown { what: &'static str, reason: io::Error },
    #[error("nothing waits to be confirmed: {0}")]
    NothingToConfirm(&'static str),
    /// A process of ours could not be started.
    #[error("{program}: start: {reason}. {remedy}")]
    Start { program: String, reason: io::Error, remedy: &'static str },
}

fn lock_remedy(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::PermissionDenied => "Only the superuser may: run it with sudo",
        _ => "Only one process at a time may change this machine",
    }
}

fn remains(left: &[String]) -> String {
    if left.is_empty() { String::new() } else { format!(", but for: {}", left.join("; ")) }
}
