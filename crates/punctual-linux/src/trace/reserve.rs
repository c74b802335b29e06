//! Keeps open files reserved for others while the search for causes opens its own files. The number of files per
//! process is limited, and a recording that cannot be written is worse than one without causes.

use crate::sys::files;
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::os::fd::OwnedFd;

/// Number of files reserved for the recording, the loads and short readings.
const KEPT: usize = 24;
/// Number of files that the search for causes opens for each CPU (`FOR_EACH_CPU`), and for everything else (`BESIDES`).
const FOR_EACH_CPU: u64 = 32;
const BESIDES: u64 = 256;

/// Open files as placeholders. Dropping them makes their places available.
#[derive(Debug)]
pub struct Reserve(
    /// The files are never read.
    #[allow(dead_code, reason = "held for what it takes up")]
    Vec<OwnedFd>,
);

impl Reserve {
    /// Raises this process's limit as far as this number of CPUs requires and the hard limit allows, and opens the
    /// placeholders.
    pub fn new(cpus: u64) -> Self {
        files::allow(FOR_EACH_CPU.saturating_mul(cpus).saturating_add(BESIDES));
        let place = |_| openat(CWD, "/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok();
        Self((0..KEPT).map_while(place).collect())
    }
}
