//! Loads: what makes a machine busy while it is measured.
//!
//! A load never shares the address space of the measuring process: its memory calls would interrupt the measuring
//! CPUs. The program starts itself again as a worker process ([`worker_main`]) and holds the other end of two pipes
//! ([`RunningLoad`]). A load ends when it is asked to, when its parent is gone, or at its time limit, whichever comes
//! first, and leaves no file and no process behind.
//!
//! To add a load, write one file with a `LOAD` constant and name it in [`ALL`]. Nothing here knows of phases,
//! scenarios or recordings.

mod cache;
mod catalogue;
mod cpu;
mod error;
mod fork;
mod io_copy;
mod io_read;
mod io_write;
mod launch;
mod memory;
mod net;
mod preset;
mod process;
mod procfs;
mod program;
mod room;
mod say;
mod scratch;
mod spec;
mod stop;
mod switch;
mod syscall;
mod timers;
mod words;
mod worker;

pub use catalogue::{ALL, find};
pub use error::LoadError;
pub use launch::{Launcher, LoadOutcome, RunningLoad, stop_all};
pub use preset::{PRESETS, Preset};
pub use process::worker_main;
pub use spec::LoadSpec;
pub use worker::{Load, Worker};
