//! How many files this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit to this number of files, as far as the hard limit allows. If the kernel refuses, fewer are opened.
pub fn allow(needed: u64) {
    let limit = getrlimit(Resource::Nofile);
    if let Some(current) = raised(limit, needed) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..limit });
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
