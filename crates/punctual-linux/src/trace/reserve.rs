//! Open files that are kept for others while looking for causes opens its own. The number of files of a process is
//! limited, and a recording that cannot be written is worse than one without causes.

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::os::fd::OwnedFd;

/// Files kept free for the recording, the loads and short readings.
const KEPT: usize = 24;
/// Files that looking for causes opens for each CPU, and other ones.
const FOR_EACH_CPU: u64 = 32;
const BESIDES: u64 = 256;

/// Open files that keep places; dropping them frees the places.
#[derive(Debug)]
pub struct Reserve(
    /// The files are never read.
    #[allow(dead_code, reason = "held for what it takes up")]
    Vec<OwnedFd>,
);

impl Reserve {
    /// Raises this process's limit as far as this number of CPUs needs and the hard limit allows, and keeps some
    /// places.
    pub fn new(cpus: u64) -> Self {
        let limit = getrlimit(Resource::Nofile);
        if let Some(current) = raised(limit, FOR_EACH_CPU.saturating_mul(cpus).saturating_add(BESIDES)) {
            // Where this is refused, fewer counters are opened.
            let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..limit });
        }
        let place = |_| openat(CWD, "/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok();
        Self((0..KEPT).map_while(place).collect())
    }
}

/// The soft limit that is needed, as far as the hard limit allows it; `None` where the present one is enough.
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
