//! Why a load could not be run. What goes wrong later, while it runs, is part of its outcome instead.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("unknown load '{name}'{hint}; known are {known}, and cmd:PROGRAM ARGS for any other program")]
    Unknown {
        name: String,
        /// A known name that is close to the one typed.
        hint: String,
        known: String,
    },
    #[error("load 'cmd:{command}': {reason}")]
    Command { command: String, reason: &'static str },
    /// The machine lacks the preset's program, or what that needs.
    #[error("load '{name}' cannot run here: {reason}")]
    NotOffered { name: String, reason: String },
    /// The load was given no CPU.
    #[error("load '{name}': no CPU to run on; give the loads at least one CPU")]
    NoCpu { name: String },
    #[error("load '{name}': cannot {operation}: {source}")]
    Start { name: String, operation: String, source: io::Error },
    /// The worker process ended or was silent before it was ready.
    #[error("load '{name}' did not start: {reason}")]
    NotReady { name: String, reason: String },
}

impl LoadError {
    /// Whether a second attempt may go better: the machine was busy, or the worker was ended by somebody.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::NotReady { .. } | Self::Start { .. })
    }
}
