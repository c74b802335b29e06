//! Why a load could not be run. What goes wrong later, while it runs, is part of its outcome instead.

use std::io;

/// Why a load could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("unknown load '{name}'{hint}; known are {known}, and cmd:PROGRAM ARGS for any other program")]
    Unknown {
        name: String,
        /// The name that was perhaps meant.
        hint: String,
        known: String,
    },
    /// `cmd:` is followed by something that is no command line.
    #[error("load 'cmd:{command}': {reason}")]
    Command {
        /// What followed `cmd:`.
        command: String,
        reason: &'static str,
    },
    /// A preset whose program, or whose surroundings, this machine lacks.
    #[error("load '{name}' cannot run here: {reason}")]
    NotOffered {
        name: String,
        /// What is missing, and how to get it.
        reason: String,
    },
    /// The load was given no CPU.
    #[error("load '{name}': no CPU to run on; give the loads at least one CPU")]
    NoCpu { name: String },
    /// A step of starting it failed.
    #[error("load '{name}': cannot {operation}: {source}")]
    Start { name: String, operation: String, source: io::Error },
    /// The worker process ended, or said nothing, before it was ready.
    #[error("load '{name}' did not start: {reason}")]
    NotReady {
        name: String,
        /// What is known of the reason.
        reason: String,
    },
}
