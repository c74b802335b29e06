//! Errors for which nothing was done at all. The failure of a single step is a result, not an error.

use crate::journal::JournalError;
use crate::journal::store;
use std::io;

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("{}: take the lock: {} is changing this machine right now. Wait for it to end, then try again", store::LOCK, by.map_or("another process".to_owned(), |pid| format!("process {pid}")))]
    Locked {
        /// Process id that the holder wrote into the lock file; `None` if it wrote none.
        by: Option<u32>,
    },
    #[error("{}: take the lock: {reason}. {}", store::LOCK, lock_remedy(reason))]
    Lock { reason: io::Error },
    /// Some lines of the journal are damaged, so no new transaction begins.
    #[error("{}: {lines} of its lines cannot be read", store::FILE)]
    Damaged { lines: usize },
    /// Applying was aborted because the journal could not be written. All steps were undone except those in `left`.
    #[error("{cause}. What had been done was undone{}", remains(left))]
    RolledBack { cause: JournalError, left: Vec<String> },
    /// A fact about this machine that undoing depends on cannot be read.
    #[error("{what}: read: {reason}. Without it nothing can be put back for sure, so nothing is done")]
    Unknown { what: &'static str, reason: io::Error },
    #[error("nothing waits to be confirmed: {0}")]
    NothingToConfirm(&'static str),
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
