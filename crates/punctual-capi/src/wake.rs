//! A description of one activation for C.

use crate::error::{Code, cold};
use crate::time::ns;
use crate::versioned::{Versioned, give, header, init};
use punctual_rt::{Nanos, Wake};
use std::ffi::c_int;

/// The thread woke within the tolerance.
pub const PRT_CLASS_ON_TIME: u32 = 0;
/// The release was already past when the wait began.
pub const PRT_CLASS_PAST_ON_ARRIVAL: u32 = 1;
/// The kernel's sleep returned after the release.
pub const PRT_CLASS_LATE_FROM_SLEEP: u32 = 2;
/// The thread lost time while it polled; the cause is unknown.
pub const PRT_CLASS_HIT_WHILE_POLLING: u32 = 3;
/// While the thread polled, the kernel ran another thread on this CPU.
pub const PRT_CLASS_PREEMPTED: u32 = 4;
/// While the thread polled, an interrupt, the firmware or the hypervisor took the CPU.
pub const PRT_CLASS_INTERRUPTED: u32 = 5;
/// The thread woke before the release, which `PRT_WAIT_ANTICIPATE` allows.
pub const PRT_CLASS_EARLY: u32 = 6;
/// The outside event did not come within `external_patience_ns`.
pub const PRT_CLASS_TIMED_OUT: u32 = 7;

/// The description of one activation.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct prt_wake {
    /// Set by `prt_wake_init`.
    pub size: u32,
    /// Set by `prt_wake_init`.
    pub version: u32,
    /// Number of the release, counted from 0 and including missed ones.
    pub index: u64,
    /// The instant at which the activation was due.
    pub release_ns: i64,
    /// When the thread read the clock after waiting.
    pub woke_ns: i64,
    /// `woke_ns` minus `release_ns`; negative if the thread woke early.
    pub error_ns: i64,
    /// Time from the previous release to this one: the period, plus the distance by which this release was steered.
    pub interval_ns: i64,
    /// Number of later releases that had also passed when the thread woke, and will not be run.
    pub missed: u64,
    /// By how much longer than requested the kernel's sleep took; -1 if there was no sleep.
    pub overshoot_ns: i64,
    /// Time spent polling.
    pub polled_ns: i64,
    /// One of `PRT_CLASS_...`.
    pub class_of: u32,
    /// Reserved; always 0.
    pub reserved: u32,
}

// SAFETY: repr(C), size and version first, members in groups of eight bytes without padding, integers only.
unsafe impl Versioned for prt_wake {
    const NAME: &'static str = "prt_wake";

    fn usual() -> Self {
        Self::of(&Wake::default())
    }
}

impl prt_wake {
    #[inline]
    pub(crate) fn of(wake: &Wake) -> Self {
        let (size, version) = header::<Self>();
        Self {
            size,
            version,
            index: wake.index,
            release_ns: ns(wake.release.as_ns()),
            woke_ns: ns(wake.woke.as_ns()),
            error_ns: wake.error().as_ns(),
            interval_ns: ns(wake.interval.as_ns()),
            missed: wake.missed,
            overshoot_ns: wake.overshoot.map_or(-1, |overshoot: Nanos| ns(overshoot.as_ns())),
            polled_ns: ns(wake.polled.as_ns()),
            class_of: wake.class as u32,
            reserved: 0,
        }
    }
}

/// Describes an activation in the C caller's structure; does nothing if that is null.
///
/// # Safety
/// `to` is null, or points to a structure as large as it says.
#[inline]
pub(crate) unsafe fn tell(to: *mut prt_wake, wake: &Wake) -> Result<(), Code> {
    if to.is_null() {
        return Ok(());
    }
    // SAFETY: required of the caller under `# Safety` above.
    unsafe { give(to, &prt_wake::of(wake)) }
}

/// Prepares a structure of `size` bytes (`sizeof *wake`) to be filled; once is enough for any number of waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_wake_init(wake: *mut prt_wake, size: usize) -> c_int {
    // SAFETY: the C caller promises NULL or a structure of `size` bytes.
    cold(|| unsafe { init(wake, size) })
}
