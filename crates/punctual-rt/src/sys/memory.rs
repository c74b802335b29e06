//! Memory, signals and counters of the calling thread.

use super::{checked, errno};
use std::mem::MaybeUninit;

/// Counters that the kernel keeps for a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Number of involuntary context switches.
    pub involuntary_switches: u64,
    /// Number of minor and major page faults.
    pub faults: u64,
}

/// The counters of the calling thread; zeros if the kernel refuses, which Linux never does. Not inlined: the proof
/// about the calls of a loop recognises it by name.
///
/// # Real-time
/// One kernel entry, about 0.3 us.
///
/// # Kernel
/// `RUSAGE_THREAD`, Linux 2.6.26.
#[inline(never)]
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

/// Locks all present and future memory with `mlockall`.
pub(crate) fn lock_all_memory() -> Result<(), i32> {
    // SAFETY: no pointers are passed.
    let result = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
    checked(libc::c_long::from(result)).map(drop)
}

pub(crate) fn unlock_all_memory() {
    // SAFETY: no pointers are passed.
    unsafe { libc::munlockall() };
}

/// Whether the kernel would now map `bytes` more bytes, which count as locked under `MCL_FUTURE`. The mapping is not
/// touched, and is removed again.
pub(crate) fn could_map(bytes: usize) -> Result<(), i32> {
    let mapping = map(bytes, libc::PROT_NONE, libc::MAP_NORESERVE)?;
    // SAFETY: exactly the mapping made above, to which there is no reference.
    unsafe { libc::munmap(mapping, bytes) };
    Ok(())
}

fn map(bytes: usize, access: libc::c_int, flags: libc::c_int) -> Result<*mut libc::c_void, i32> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
    // SAFETY: a new mapping at an address that the kernel chooses; no existing memory is affected.
    let mapping = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
    if mapping == libc::MAP_FAILED { Err(errno()) } else { Ok(mapping) }
}

/// Whether the kernel makes new memory resident at once, which is the effect of `MCL_FUTURE`. Tested with one page,
/// because the kernel does not show the flag. `None` if the test failed.
pub(crate) fn new_memory_is_resident() -> Option<bool> {
    const PAGE: usize = 4096;
    let mapping = map(PAGE, libc::PROT_READ | libc::PROT_WRITE, 0).ok()?;
    // If pages are larger than 4 KiB, the kernel writes fewer bytes: one per page.
    let mut resident = 0u8;
    // SAFETY: the range is the mapping made above, and one byte holds the answer for it.
    let asked = unsafe { libc::mincore(mapping, PAGE, &raw mut resident) };
    // SAFETY: exactly the mapping made above, to which there is no reference.
    unsafe { libc::munmap(mapping, PAGE) };
    (asked == 0).then_some(resident & 1 == 1)
}

/// Bytes of the calling thread's stack below this call, without the guard pages; `None` if the C library does not
/// report the stack.
#[inline(never)]
pub(crate) fn stack_left() -> Option<usize> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: takes no arguments, and cannot fail.
    let thread = unsafe { libc::pthread_self() };
    // SAFETY: the thread runs, because it is this one; the pointer is valid for one set of attributes.
    if unsafe { libc::pthread_getattr_np(thread, attributes.as_mut_ptr()) } != 0 {
        return None;
    }
    let (mut lowest, mut size, mut guard) = (std::ptr::null_mut(), 0usize, 0usize);
    // SAFETY: the attributes were filled above; both results are valid for writing.
    let got = unsafe { libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut lowest, &raw mut size) };
    // SAFETY: the attributes were filled above; the result is valid for writing.
    let guarded = unsafe { libc::pthread_attr_getguardsize(attributes.as_ptr(), &raw mut guard) };
    // SAFETY: the attributes were filled above, and are not used again.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    if got != 0 || guarded != 0 {
        return None;
    }
    let here = (&raw const size).addr();
    // The main thread's stack grows, and some C libraries (musl) only report its present size.
    let grows_to = lowest.addr().saturating_add(size).saturating_sub(main_stack_limit());
    let lowest = if is_main_thread() { lowest.addr().min(grows_to) } else { lowest.addr() };
    // Old C libraries count the guard pages as part of the stack.
    Some(here.saturating_sub(lowest.saturating_add(guard)))
}

fn is_main_thread() -> bool {
    // SAFETY: takes no arguments, and cannot fail.
    let thread = unsafe { libc::gettid() };
    // SAFETY: takes no arguments, and cannot fail.
    thread == unsafe { libc::getpid() }
}

/// The size to which the main thread's stack may grow; 0 if there is no limit.
fn main_stack_limit() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is valid for one limit.
    let got = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) };
    if got != 0 || limit.rlim_cur == libc::RLIM_INFINITY { 0 } else { usize::try_from(limit.rlim_cur).unwrap_or(0) }
}

/// Makes the C library keep freed memory, or return to its defaults. Returns `false` if the library has no such
/// setting.
pub(crate) fn keep_freed_memory(keep: bool) -> bool {
    #[cfg(target_env = "gnu")]
    {
        const DEFAULT_MMAPS: libc::c_int = 65_536;
        const DEFAULT_TRIM_BYTES: libc::c_int = 128 * 1024;
        let (mmaps, trim) = if keep { (0, -1) } else { (DEFAULT_MMAPS, DEFAULT_TRIM_BYTES) };
        // SAFETY: sets a number, under a lock of the C library.
        let kept = unsafe { libc::mallopt(libc::M_MMAP_MAX, mmaps) };
        // SAFETY: sets a number, under a lock of the C library.
        kept == 1 && unsafe { libc::mallopt(libc::M_TRIM_THRESHOLD, trim) } == 1
    }
    #[cfg(not(target_env = "gnu"))]
    {
        let _ = keep;
        false
    }
}

/// The signals that a thread blocks.
pub(crate) struct SignalMask(libc::sigset_t);

/// Signals that a thread's own faults raise. If they were blocked, a fault would end the process at once, without any
/// handler that brings a machine into a safe state or reports a stack overflow.
const OWN_FAULTS: [libc::c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS, libc::SIGABRT];

/// Blocks all signals in the calling thread except those raised by its own faults. Other threads of the process receive
/// them instead. Returns the previous mask.
pub(crate) fn block_signals() -> SignalMask {
    let mut all = MaybeUninit::uninit();
    // SAFETY: the pointer is valid for one signal set, which the call fills.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    for signal in OWN_FAULTS {
        // SAFETY: the set was filled above, and the number is that of a signal.
        unsafe { libc::sigdelset(all.as_mut_ptr(), signal) };
    }
    // SAFETY: the call above filled the set.
    let all = unsafe { all.assume_init() };
    let mut before = all;
    // SAFETY: both sets are valid for the call.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before) };
    SignalMask(before)
}

/// Blocks exactly these signals in the calling thread.
pub(crate) fn set_signal_mask(mask: &SignalMask) {
    // SAFETY: the set is valid for the call; the old one is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask.0, std::ptr::null_mut()) };
}

/// Standard signals that can interrupt the calling thread from outside, except the two that cannot be blocked and those
/// raised by its own faults.
pub(crate) fn open_signals() -> Vec<i32> {
    let mut mask = MaybeUninit::uninit();
    // SAFETY: no new set is given; the pointer is valid for one signal set, which the call fills.
    let got = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), mask.as_mut_ptr()) };
    let is_open = |signal: &i32| {
        // SAFETY: evaluated only if the call above filled the set; the numbers are those of signals.
        let is_blocked = got == 0 && unsafe { libc::sigismember(mask.as_ptr(), *signal) } == 1;
        !is_blocked && ![libc::SIGKILL, libc::SIGSTOP].contains(signal) && !OWN_FAULTS.contains(signal)
    };
    (1..=31).filter(is_open).collect()
}

/// Limits the rounding of the calling thread's timers under ordinary policy, in nanoseconds; 0 is the default. No
/// effect under a real-time policy, whose timers are not rounded.
pub(crate) fn set_timer_slack(ns: u64) {
    let ns = libc::c_ulong::try_from(ns).unwrap_or(libc::c_ulong::MAX);
    // SAFETY: no pointers are passed.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns) };
}

/// Largest rounding of the calling thread's timers, in nanoseconds.
pub(crate) fn timer_slack() -> Option<u64> {
    // SAFETY: no pointers are passed.
    u64::try_from(unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) }).ok()
}
