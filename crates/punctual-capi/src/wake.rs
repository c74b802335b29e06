//! One activation, as C sees it.

use crate::error::{Code, cold};
use crate::time::ns;
use crate::versioned::{Versioned, give, header, init};
use punctual_rt::{Nanos, Wake};
use std::ffi::c_int;

/// Woke within the tolerance.
pub const PRT_CLASS_ON_TIME: u32 = 0;
/// The release was past before the wait began.
pub const PRT_CLASS_PAST_ON_ARRIVAL: u32 = 1;
/// The kernel's sleep returned after the release.
pub const PRT_CLASS_LATE_FROM_SLEEP: u32 = 2;
/// While polling, time was taken from the thread; by whom is not known.
pub const PRT_CLASS_HIT_WHILE_POLLING: u32 = 3;
/// While polling, the kernel ran another thread on this CPU.
pub const PRT_CLASS_PREEMPTED: u32 = 4;
/// While polling, an interrupt, the firmware or the hypervisor took the CPU.
pub const PRT_CLASS_INTERRUPTED: u32 = 5;
/// Woke before the release, as anticipation may.
pub const PRT_CLASS_EARLY: u32 = 6;
/// The outside event did not come in time.
pub const PRT_CLASS_TIMED_OUT: u32 = 7;

/// One activation.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct prt_wake {
    /// Set by `prt_wake_init`.
    pub size: u32,
    /// Set by `prt_wake_init`.
    pub version: u32,
    /// Number of the release, counting missed ones, from 0.
    pub index: u64,
    /// The planned instant.
    pub release_ns: i64,
    /// When the thread was back.
    pub woke_ns: i64,
    /// Woke minus release; negative when early.
    pub error_ns: i64,
    /// From the former release to this one: the period with what it was steered by.
    pub interval_ns: i64,
    /// Releases after this one that had passed as well when the thread was back, and will not be run.
    pub missed: u64,
    /// By how much the kernel's sleep was longer than asked for; -1 when there was none.
    pub overshoot_ns: i64,
    /// Time spent polling.
    pub polled_ns: i64,
    /// One of `PRT_CLASS_...`.
    pub class_of: u32,
    /// Zero.
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

/// Hands an activation over, to who wants it.
///
/// # Safety
/// `to` is null, or points to a structure as large as it says.
#[inline]
pub(crate) unsafe fn tell(to: *mut prt_wake, wake: &Wake) -> Result<(), Code> {
    if to.is_null() {
        return Ok(());
    }
    // SAFETY: as the caller says.
    unsafe { give(to, &prt_wake::of(wake)) }
}

/// Prepares a structure of `size` bytes (`sizeof *wake`) to be filled; once is enough for any number of waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_wake_init(wake: *mut prt_wake, size: usize) -> c_int {
    // SAFETY: null, or so large, says the caller.
    cold(|| unsafe { init(wake, size) })
}
