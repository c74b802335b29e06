//! Reasons why a load could not be started. Failures while it runs are part of its outcome instead.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("unknown load '{name}'{hint}; known are {known}, and cmd:PROGRAM ARGS for any other program")]
    Unknown {
        name: String,
        /// A hint that names a known load similar to the one typed; empty if there is none.
        hint: String,
        known: String,
    },
    #[error("load 'cmd:{command}': {reason}")]
    Command { command: String, reason: &'static str },
    /// The machine lacks the program of the preset, or something that the program needs.
    #[error("load '{name}' cannot run here: {reason}")]
    NotOffered { name: String, reason: String },
    #[error("load '{name}': no CPU to run on; give the loads at least one CPU")]
    NoCpu { name: String },
    #[error("load '{name}': cannot {operation}: {source}")]
    Start { name: String, operation: String, source: io::Error },
    #[error("load '{name}' did not start: the run was interrupted")]
    Interrupted { name: String },
    /// The worker process ended or did not report in time that it was ready.
    #[error("load '{name}' did not start: {reason}")]
    NotReady { name: String, reason: String },
}

impl LoadError {
    /// Whether another attempt may succeed: the machine may have been busy, or the worker may have been killed.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::NotReady { .. } | Self::Start { .. })
    }
}
