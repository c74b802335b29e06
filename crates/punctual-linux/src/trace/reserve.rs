//! Keeps open files reserved for others while the search for causes opens its own files. The number of files per
//! process is limited, and a recording that cannot be written is worse than one without causes.

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
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
        let limit = getrlimit(Resource::Nofile);
        if let Some(current) = raised(limit, FOR_EACH_CPU.saturating_mul(cpus).saturating_add(BESIDES)) {
            // If the kernel refuses a higher limit, fewer counters are opened.
            let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..limit });
        }
        let place = |_| openat(CWD, "/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok();
        Self((0..KEPT).map_while(place).collect())
    }
}

/// The soft limit that is needed, as far as the hard limit allows; `None` if the present one suffices.
fn raised(limit: Rlimit, needed: u64) -> Option<u64> {
    let current = limit.current?;
    let possible = limit.maximum.map_or(needed, |most| most.min(needed));
    (possible > current).then_some(possible)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_as_far_as_is_needed_and_allowed() {
        let raised = |current, maximum| raised(Rlimit { current, maximum }, 300);
        assert_eq!(raised(Some(1024), Some(4096)), None);
        assert_eq!(raised(None, None), None);
        assert_eq!(raised(Some(64), Some(4096)), Some(300));
        assert_eq!(raised(Some(64), None), Some(300));
        assert_eq!(raised(Some(64), Some(100)), Some(100));
        assert_eq!(raised(Some(20), Some(20)), None);
    }
}
