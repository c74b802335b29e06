//! Setting up the current thread, and reading back what the kernel really granted.

use crate::{Error, Policy, sys};

/// What the kernel grants the current thread, read back from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Thread id.
    pub tid: u32,
    /// Policy in force.
    pub policy: Policy,
    /// CPUs the thread may run on, ascending.
    pub cpus: Vec<u32>,
}

/// Lets the current thread run on `cpus` only.
///
/// # Errors
/// [`Error::Affinity`] with the first CPU of the list: none of them is on-line and allowed.
///
/// # Real-time
/// Enters the kernel and may migrate: call before the loop.
pub fn pin_current(cpus: &[u32]) -> Result<(), Error> {
    sys::set_affinity(cpus).map_err(|e| Error::Affinity(cpus.first().copied().unwrap_or(0), e))
}

/// Gives the current thread a policy.
///
/// # Errors
/// [`Error::Priority`], or [`Error::Policy`] with the reason.
///
/// # Real-time
/// Enters the kernel: call before the loop.
///
/// # Kernel
/// Needs `CAP_SYS_NICE` or `RLIMIT_RTPRIO`; with `RT_GROUP_SCHED`, a cgroup that has real-time run time.
pub fn set_policy(policy: Policy) -> Result<(), Error> {
    sys::set_policy(policy.checked()?).map_err(Error::Policy)
}

/// Prepares the current thread for a loop: no signals are delivered to it, and timers of ordinary policy are not
/// rounded (timer slack 1 ns).
///
/// # Real-time
/// Enters the kernel: call before the loop.
pub fn quiet_current() {
    sys::block_signals();
    sys::set_timer_slack_to_least();
}

/// Reads back what the current thread was granted.
///
/// # Errors
/// [`Error::ReadBack`].
///
/// # Real-time
/// Allocates: call before the loop.
pub fn granted() -> Result<Granted, Error> {
    let policy = sys::policy().map_err(Error::ReadBack)?;
    let cpus = sys::affinity().map_err(Error::ReadBack)?;
    Ok(Granted { tid: sys::thread_id(), policy, cpus })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_read_back() {
        std::thread::spawn(|| {
            let first = granted().unwrap().cpus[0];
            pin_current(&[first]).unwrap();
            let granted = granted().unwrap();
            assert_eq!(granted.cpus, [first]);
            assert_eq!(granted.policy, Policy::Other);
            assert!(granted.tid > 0);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_cpu_that_is_not_there_is_refused() {
        assert!(matches!(pin_current(&[8000]), Err(Error::Affinity(8000, _))));
        assert!(matches!(pin_current(&[99_999]), Err(Error::Affinity(99_999, _))));
    }

    #[test]
    fn a_priority_out_of_range_never_reaches_the_kernel() {
        assert_eq!(set_policy(Policy::Fifo(99)), Err(Error::Priority(99)));
    }
}
