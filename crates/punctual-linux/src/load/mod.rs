//! Loads that make a machine busy while it is measured.
//!
//! A load never shares the address space of the measuring process, because its memory calls would interrupt the
//! measuring CPUs. The program starts itself again as a worker process ([`worker_main`]) and holds the other ends of
//! two pipes ([`RunningLoad`]). A load ends when it is told to, when its parent has ended, or at its time limit. It
//! leaves no file and no process behind.
//! To add a load, write its declaration in [`ALL`] and the work of one thread. This module does not know phases,
//! scenarios or recordings.

mod builtin;
mod error;
mod io;
mod launch;
mod net;
mod parent;
mod preset;
mod process;
mod procfs;
mod program;
mod room;
mod scratch;
mod spec;
mod words;
mod worker;

pub use builtin::ALL;
pub use error::LoadError;
pub use launch::{Launcher, LoadOutcome, RunningLoad, stop_all};
pub use preset::{PRESETS, Preset};
pub use process::worker_main;
pub use room::pages_scanned;
pub use spec::LoadSpec;
pub use worker::{Load, Worker};
