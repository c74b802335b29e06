//! Clocks and timers.

use super::{checked, errno};
use punctual_hist::{MonoTime, Nanos};
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU32;

const NS: u64 = 1_000_000_000;

#[allow(clippy::cast_sign_loss, reason = "the kernel's clocks are not negative")]
fn nanos(t: libc::timespec) -> u64 {
    (t.tv_sec as u64).saturating_mul(NS).saturating_add(t.tv_nsec as u64)
}

#[allow(clippy::cast_possible_wrap, reason = "u64 nanoseconds are fewer than i64 seconds")]
pub(super) fn timespec(ns: u64) -> libc::timespec {
    let (seconds, rest) = (ns / NS, ns % NS);
    libc::timespec { tv_sec: seconds as _, tv_nsec: rest as libc::c_long }
}

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut t = MaybeUninit::uninit();
    // SAFETY: the pointer is valid for one timespec.
    let result = unsafe { libc::clock_gettime(clock, t.as_mut_ptr()) };
    if result != 0 {
        return 0;
    }
    // SAFETY: the call succeeded, so it filled the timespec.
    nanos(unsafe { t.assume_init() })
}

/// The current time on `CLOCK_MONOTONIC`.
///
/// # Real-time
/// About 22 ns if the clock is in the vDSO; otherwise one kernel entry.
///
/// # Kernel
/// Any. The clock is in the vDSO if the clock source allows it (`tsc`, `arch_sys_counter`; not `hpet`, `acpi_pm`).
#[inline]
pub fn now() -> MonoTime {
    MonoTime::from_ns(read(libc::CLOCK_MONOTONIC))
}

/// The current time on `CLOCK_BOOTTIME`, in nanoseconds. It is like `CLOCK_MONOTONIC`, but continues during suspend.
///
/// # Real-time
/// The same as for [`now`].
///
/// # Kernel
/// Linux 2.6.39.
pub fn boot_time() -> u64 {
    read(libc::CLOCK_BOOTTIME)
}

/// `CLOCK_BOOTTIME` and `CLOCK_MONOTONIC`, read as close together as a few attempts achieve. Their difference grows by
/// the time that the machine is suspended.
pub(crate) fn boot_and_monotonic() -> (u64, MonoTime) {
    let both = || {
        let before = now();
        let boot = boot_time();
        let after = now();
        (after - before, boot, before + Nanos::from_ns((after - before).as_ns() / 2))
    };
    let (_, boot, mono) = (0..4).fold(both(), |best, _| {
        let other = both();
        if other.0 < best.0 { other } else { best }
    });
    (boot, mono)
}

/// The current time on `CLOCK_REALTIME`, in nanoseconds since 1970.
///
/// # Real-time
/// The same as for [`now`].
///
/// # Kernel
/// Any. The clock steps when it is set.
pub fn real_time() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// The current time on `CLOCK_TAI`, in nanoseconds.
pub(crate) fn tai_time() -> u64 {
    read(libc::CLOCK_TAI)
}

/// Median time of one clock reading. Above 100 ns, the clock is probably read by a system call.
///
/// # Real-time
/// Allocates; takes some 50 us with a good clock.
pub fn clock_read_cost() -> Nanos {
    const BATCH: u64 = 16;
    let mut costs: Vec<u64> = (0..101)
        .map(|_| {
            let before = now();
            let last = (0..BATCH).fold(before, |_, _| now());
            (last - before).as_ns() / BATCH
        })
        .collect();
    costs.sort_unstable();
    Nanos::from_ns(costs.get(costs.len() / 2).copied().unwrap_or(0))
}

/// Period of the scheduler's tick, which is the resolution of the coarse clock. Zero if the kernel refuses, which Linux
/// never does.
///
/// # Real-time
/// At most one kernel entry.
///
/// # Kernel
/// `clock_getres(CLOCK_MONOTONIC_COARSE)`, Linux 2.6.32 and later.
pub fn tick_length() -> Nanos {
    let mut t = MaybeUninit::uninit();
    // SAFETY: the pointer is valid for one timespec.
    let result = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, t.as_mut_ptr()) };
    if result != 0 {
        return Nanos::ZERO;
    }
    // SAFETY: the call succeeded, so it filled the timespec.
    Nanos::from_ns(nanos(unsafe { t.assume_init() }))
}

/// The CPU's time stamp counter, if programs may read one.
///
/// # Real-time
/// About 10 ns; does not enter the kernel.
///
/// # Kernel
/// x86-64 (TSC; the kernel ends a process that disabled it by `PR_SET_TSC`) and arm64 (`CNTVCT_EL0`); `None` elsewhere.
pub fn time_stamp_counter() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 CPU has the instruction, and Linux leaves it enabled unless the process disabled it.
        Some(unsafe { core::arch::x86_64::_rdtsc() })
    }
    #[cfg(target_arch = "aarch64")]
    {
        let count: u64;
        // SAFETY: Linux lets user space read the virtual counter on every arm64 machine.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack)) };
        Some(count)
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    None
}

/// Sleeps until `release`; signals do not end the sleep.
///
/// # Real-time
/// One kernel entry, and one more for each signal; none if `release` is past.
///
/// # Kernel
/// Any. Under ordinary policy, the thread's timer slack is added (50 us unless set).
#[inline]
pub fn sleep_until(release: MonoTime) {
    if now() < release {
        while nanosleep(libc::TIMER_ABSTIME, release.as_ns()) == libc::EINTR {}
    }
}

/// Calls `clock_nanosleep` on `CLOCK_MONOTONIC`, until an instant or for a length, according to the flags. Returns zero
/// or the `errno`.
#[inline]
fn nanosleep(flags: libc::c_int, ns: u64) -> libc::c_int {
    let t = timespec(ns);
    // SAFETY: the request is valid for the call; no remainder is asked for.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, flags, &raw const t, std::ptr::null_mut()) }
}

/// Whether the kernel lets the thread sleep at all, which a filter of system calls may forbid.
pub(crate) fn try_sleep() -> Result<(), i32> {
    match nanosleep(libc::TIMER_ABSTIME, 1) {
        0 | libc::EINTR => Ok(()),
        refused => Err(refused),
    }
}

/// Sleeps for `length`. A signal neither shortens nor extends the sleep, because the remaining time is computed from
/// the clock. (The remainder that the kernel returns leaves out the time in the signal handler. With a signal every 0.3
/// ms, 50 ms became 59 ms.)
///
/// # Real-time
/// One kernel entry, and one more for each signal; none if `length` is zero.
///
/// # Kernel
/// The same as for [`sleep_until`].
#[inline]
pub fn sleep_for(length: Nanos) {
    let end = now() + length;
    let mut left = length;
    while left > Nanos::ZERO && nanosleep(0, left.as_ns()) == libc::EINTR {
        left = end - now();
    }
}

/// Waits on a futex that nobody wakes, with `release` as its time-out.
///
/// # Real-time
/// One kernel entry; none if `release` is past.
#[inline(never)]
pub(crate) fn futex_wait_until(release: MonoTime) {
    let word = AtomicU32::new(0);
    let t = timespec(release.as_ns());
    while now() < release {
        let operation = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: word and time-out outlive the call; the kernel only reads them.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                operation,
                0u32,
                &raw const t,
                std::ptr::null::<u32>(),
                u32::MAX,
            )
        };
    }
}

/// A timer with a file descriptor.
pub(crate) struct Timerfd(libc::c_int);

impl Timerfd {
    /// Makes a timer on `CLOCK_MONOTONIC`.
    pub(crate) fn new() -> Result<Self, i32> {
        // SAFETY: no pointers are passed.
        let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) };
        if fd == -1 { Err(errno()) } else { Ok(Self(fd)) }
    }

    /// Arms the timer for `release` and reads it.
    ///
    /// # Real-time
    /// Two kernel entries; none if `release` is past.
    pub(crate) fn wait_until(&self, release: MonoTime) {
        if now() >= release {
            return;
        }
        let spec = libc::itimerspec { it_interval: timespec(0), it_value: timespec(release.as_ns()) };
        // SAFETY: spec is valid for the call; the old value is not asked for.
        let armed =
            unsafe { libc::timerfd_settime(self.0, libc::TFD_TIMER_ABSTIME, &raw const spec, std::ptr::null_mut()) };
        if checked(libc::c_long::from(armed)).is_err() {
            return;
        }
        let mut expirations = 0u64;
        loop {
            // SAFETY: the buffer is eight bytes long and valid for the call.
            let got = unsafe { libc::read(self.0, (&raw mut expirations).cast(), 8) };
            if got != -1 || errno() != libc::EINTR {
                return;
            }
        }
    }
}

impl Drop for Timerfd {
    fn drop(&mut self) {
        // SAFETY: the descriptor belongs to this value and is closed once.
        unsafe { libc::close(self.0) };
    }
}

/// The outcome of waiting for an outside event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The event happened.
    Came,
    /// The descriptor is readable and its other side is closed, so it will be readable for ever.
    CameLast,
    /// The event did not happen in time.
    Missing,
}

/// Waits until a file descriptor is readable, or until `patience` is over. A descriptor that can no longer become
/// readable (hung up, closed) takes as long as a silent one, so that a loop does not spin when a plug is pulled.
///
/// # Real-time
/// One kernel entry, and one for each signal; two if the descriptor is hung up or closed.
pub(crate) fn wait_readable(fd: libc::c_int, patience: Nanos) -> Arrival {
    let end = now() + patience;
    let mut polled = libc::pollfd { fd, events: libc::POLLIN | libc::POLLRDHUP, revents: 0 };
    loop {
        let left = timespec((end - now()).as_ns());
        // SAFETY: one pollfd and a time-out, both valid for the call; no signal mask is passed.
        let ready = unsafe { libc::ppoll(&raw mut polled, 1, &raw const left, std::ptr::null()) };
        if ready == -1 && errno() == libc::EINTR {
            continue;
        }
        let is = |flags| ready == 1 && polled.revents & flags != 0;
        return match (is(libc::POLLIN), is(libc::POLLHUP | libc::POLLRDHUP)) {
            (true, false) => Arrival::Came,
            (true, true) => Arrival::CameLast,
            (false, _) => {
                sleep_until(end);
                Arrival::Missing
            }
        };
    }
}
