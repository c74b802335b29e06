//! Instants, single waits and the version of the library.

use crate::error::{PRT_E_PANIC, PRT_E_REFUSED, done};
use punctual_rt::{Delay, Margin, MonoTime, Wait, now};
use std::cell::RefCell;
use std::ffi::{c_char, c_int};

/// Version of the library as text. Never NULL, always valid.
#[unsafe(no_mangle)]
pub extern "C" fn prt_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The current time on `CLOCK_MONOTONIC`, the clock of all instants.
#[unsafe(no_mangle)]
pub extern "C" fn prt_now() -> i64 {
    ns(now().as_ns())
}

/// Waits once until an instant of `CLOCK_MONOTONIC`, by the hybrid wait. Returns at once if the instant is past. Each
/// thread learns how long its sleeps take. The first call in a thread allocates.
#[unsafe(no_mangle)]
pub extern "C" fn prt_delay_until(instant_ns: i64) -> c_int {
    thread_local! { static DELAY: RefCell<Option<Delay>> = const { RefCell::new(None) } }
    done(|| {
        let waited = DELAY.try_with(|delay| {
            let mut delay = delay.try_borrow_mut().map_err(|_| PRT_E_PANIC)?;
            if delay.is_none() {
                *delay = Some(Delay::new(&Wait::Hybrid(Margin::AUTO))?);
            }
            delay.as_mut().ok_or(PRT_E_PANIC)?.until(instant(instant_ns));
            Ok(())
        });
        // Access fails only while the thread ends and its thread-local storage is already destroyed.
        waited.unwrap_or_else(|_| Err(PRT_E_REFUSED.into()))
    })
}

/// Nanoseconds as a signed number for C; values beyond 292 years become the largest number.
#[inline]
pub(crate) fn ns(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Converts an instant given by the C caller; a negative one becomes the clock's origin.
#[inline]
pub(crate) fn instant(ns: i64) -> MonoTime {
    MonoTime::from_ns(u64::try_from(ns).unwrap_or(0))
}
