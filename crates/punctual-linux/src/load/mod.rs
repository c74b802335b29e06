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
mod procfs;
mod program;
mod room;
mod scratch;
mod spec;
mod stop;
mod switch;
mod syscall;
mod timers;
mod worker;

pub use error::LoadError;
pub use launch::{Launcher, LoadOutcome, RunningLoad, stop_all};
pub use preset::{PRESETS, Preset};
pub use spec::LoadSpec;
pub use worker::{Worker, worker_main};

/// A load that is part of the program.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// What the user types.
    pub name: &'static str,
    /// What it stresses, in one sentence.
    pub stresses: &'static str,
    /// What one operation is.
    pub unit: &'static str,
    /// Whether it writes files in the directory given.
    pub needs_dir: bool,
    /// The work of one worker thread: prepare, [`Worker::begun`], then work while [`Worker::wanted`].
    pub run: fn(&Worker) -> std::io::Result<()>,
}

/// Every load that is part of the program, in the order of their listing.
pub const ALL: &[Load] = &[
    cpu::LOAD,
    memory::LOAD,
    cache::LOAD,
    io_write::LOAD,
    io_read::LOAD,
    io_copy::LOAD,
    procfs::LOAD,
    switch::LOAD,
    fork::LOAD,
    timers::LOAD,
    net::LOAD,
    syscall::LOAD,
];

/// The load of this name.
pub fn find(name: &str) -> Option<&'static Load> {
    ALL.iter().find(|load| load.name == name)
}
