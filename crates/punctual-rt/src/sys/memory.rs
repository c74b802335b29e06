//! Memory, signals and counters of the thread.

use super::{checked, errno};
use std::mem::MaybeUninit;

/// Kernel counters of the calling thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Minor and major page faults.
    pub faults: u64,
}

/// The calling thread's counters; zeros if the kernel refuses, which Linux never does.
///
/// # Real-time
/// One kernel entry, about 0.3 us.
#[allow(clippy::cast_sign_loss, reason = "the kernel's counters are not negative")]
pub fn thread_usage() -> ThreadUsage {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the pointer is valid for one rusage.
    let result = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    if result != 0 {
        return ThreadUsage::default();
    }
    // SAFETY: the call succeeded, so it filled the structure.
    let usage = unsafe { usage.assume_init() };
    let faults = (usage.ru_minflt as u64).saturating_add(usage.ru_majflt as u64);
    ThreadUsage { involuntary_switches: usage.ru_nivcsw as u64, faults }
}

/// `mlockall` of everything present and future.
///
/// # Errors
/// The `errno`.
pub fn lock_all_memory() -> Result<(), i32> {
    // SAFETY: no pointers are passed.
    let result = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
    checked(libc::c_long::from(result)).map(drop)
}

/// `munlockall`.
pub fn unlock_all_memory() {
    // SAFETY: no pointers are passed.
    unsafe { libc::munlockall() };
}

/// Whether the kernel would map so much more now; under `MCL_FUTURE` it counts that as locked. Nothing is touched, and
/// the mapping is given back.
///
/// # Errors
/// The `errno`.
pub fn could_map(bytes: usize) -> Result<(), i32> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at an address of the kernel's choice; no memory of ours is concerned.
    let mapping = unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
    if mapping == libc::MAP_FAILED {
        return Err(errno());
    }
    // SAFETY: exactly the mapping made above, which nobody else knows.
    unsafe { libc::munmap(mapping, bytes) };
    Ok(())
}

/// Lets no signal interrupt the calling thread; the process's other threads take them.
pub fn block_signals() {
    let mut all = MaybeUninit::uninit();
    // SAFETY: the pointer is valid for one signal set, which the call fills.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: the set was filled above; the old mask is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), std::ptr::null_mut()) };
}

/// Timers of the calling thread, under ordinary policy, are rounded by no more than 1 ns.
pub fn set_timer_slack_to_least() {
    // SAFETY: no pointers are passed.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}
