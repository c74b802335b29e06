//! Instants, one-shot waits and the version.

use crate::error::{PRT_E_PANIC, PRT_E_REFUSED, done};
use punctual_rt::{Delay, Margin, MonoTime, Wait, now};
use std::cell::RefCell;
use std::ffi::{c_char, c_int};

/// The version of the library, as text. Never NULL, valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn prt_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Now on `CLOCK_MONOTONIC`, on which all instants are.
#[unsafe(no_mangle)]
pub extern "C" fn prt_now() -> i64 {
    ns(now().as_ns())
}

/// Waits once until an instant of `CLOCK_MONOTONIC`, by the hybrid wait; returns at once when it is past. What is learned
/// of sleeps is kept per thread. The first call in a thread allocates.
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
        // Only a thread that is about to end can not remember any more.
        waited.unwrap_or_else(|_| Err(PRT_E_REFUSED.into()))
    })
}

/// As C counts; what lies after 292 years is taken as then.
#[inline]
pub(crate) fn ns(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// An instant of the caller's; what lies before the clock's origin is taken as the origin.
#[inline]
pub(crate) fn instant(ns: i64) -> MonoTime {
    MonoTime::from_ns(u64::try_from(ns).unwrap_or(0))
}
