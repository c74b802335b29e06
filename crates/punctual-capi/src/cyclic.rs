//! A periodic loop on the thread that calls: the form for programs that have their own threads.

use crate::config::{config, prt_config};
use crate::error::{Code, PRT_E_PERIOD, cold, done, hot};
use crate::handle::{self, Owned};
use crate::time::ns;
use crate::versioned::check;
use crate::wake::{prt_wake, tell};
use crate::{prt_stats, text};
use punctual_rt::{Cyclic, Delta, Nanos, StatsReader, Stopper, setup};
use std::ffi::{c_char, c_int};
use std::fmt::Write;

/// Paces the thread that opened it. Opaque.
pub struct prt_cyclic([u8; 0]);

handled!(prt_cyclic, 2: Paced);

/// The loop, which only its thread may use, and what any thread may use.
pub struct Paced {
    cyclic: Owned<Cyclic>,
    stop: Stopper,
    stats: StatsReader,
}

/// Does something with the calling thread's loop.
#[inline]
fn with<T>(cyclic: *const prt_cyclic, act: impl FnOnce(&mut Cyclic) -> T) -> Result<T, Code> {
    handle::owned(cyclic, |paced| &paced.cyclic, act)
}

/// Sets the calling thread up. The releases begin with the first `prt_cyclic_wait`, so an initialisation in between
/// costs none. Close it in the same thread.
///
/// Not for the loop: allocates, faults, enters the kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cyclic_open(config: *const prt_config, cyclic: *mut *mut prt_cyclic) -> c_int {
    done(|| {
        // SAFETY: null or valid, says the caller.
        let config = unsafe { self::config(config) }?;
        let open = || {
            let cyclic = Cyclic::new(&config)?;
            let (stop, stats) = (cyclic.stopper(), cyclic.stats().clone());
            Ok(handle::open_owned(Paced { cyclic: Owned::new(cyclic), stop, stats })?)
        };
        // SAFETY: null or valid, says the caller.
        unsafe { text::put(cyclic, open) }
    })
}

/// Waits for the next release. `wake` tells about it, and may be NULL. `-ECANCELED` when the loop has ended: it was
/// stopped, or releases were missed and it is one that ends then. With a `wake` that is not understood it does not wait.
///
/// For the loop: allocates nothing, locks nothing, enters the kernel only to wait. The first call is an exception: it
/// chooses the first release, and may look for the tick.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cyclic_wait(cyclic: *mut prt_cyclic, wake: *mut prt_wake) -> c_int {
    let waited = || {
        if !wake.is_null() {
            // SAFETY: valid, says the caller.
            unsafe { check(wake) }?;
        }
        let release = with(cyclic, Cyclic::wait)?.ok_or(-libc::ECANCELED)?;
        // SAFETY: null or valid, says the caller.
        unsafe { tell(wake, &release) }
    };
    hot(waited())
}

/// Notes that the work of this activation is done: its execution time, and whether it kept its deadline.
///
/// For the loop: one reading of the clock.
#[unsafe(no_mangle)]
pub extern "C" fn prt_cyclic_finish(cyclic: *mut prt_cyclic) -> c_int {
    hot(with(cyclic, Cyclic::finish))
}

/// Moves the next release, and all after it, by `by_ns`; `moved_ns`, which may be NULL, tells by how much it really was
/// moved, which is limited by `steer_max_ns`.
///
/// For the loop: one reading of the clock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cyclic_steer(cyclic: *mut prt_cyclic, by_ns: i64, moved_ns: *mut i64) -> c_int {
    let moved = with(cyclic, |cyclic| cyclic.steer(Delta::from_ns(by_ns)).as_ns());
    // SAFETY: null or valid, says the caller.
    hot(moved.map(|moved| unsafe { text::tell(moved_ns, moved) }))
}

/// Sets the period from the next release on; `PRT_E_PERIOD` below 1 us, and the period stays.
///
/// For the loop: one reading of the clock.
#[unsafe(no_mangle)]
pub extern "C" fn prt_cyclic_set_period(cyclic: *mut prt_cyclic, period_ns: i64) -> c_int {
    let set = |period| with(cyclic, |cyclic| cyclic.set_period(period).map_err(|_| PRT_E_PERIOD));
    hot(positive(period_ns).and_then(set).and_then(|set| set))
}

/// Moves the grid at once by any amount, less whole periods: only the phase changes.
///
/// For the loop: one reading of the clock.
#[unsafe(no_mangle)]
pub extern "C" fn prt_cyclic_shift_phase(cyclic: *mut prt_cyclic, by_ns: i64) -> c_int {
    hot(with(cyclic, |cyclic| cyclic.shift_phase(Delta::from_ns(by_ns))))
}

/// Forgets releases that have passed, as after a long operation that was intended; `passed`, which may be NULL, tells
/// how many.
///
/// For the loop: one reading of the clock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cyclic_resync(cyclic: *mut prt_cyclic, passed: *mut u64) -> c_int {
    let count = with(cyclic, Cyclic::resync);
    // SAFETY: null or valid, says the caller.
    hot(count.map(|count| unsafe { text::tell(passed, count) }))
}

/// The instant of the next release; 0 before the first wait.
///
/// For the loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cyclic_next_release(cyclic: *mut prt_cyclic, release_ns: *mut i64) -> c_int {
    let release = with(cyclic, |cyclic| ns(cyclic.grid().release().as_ns()));
    // SAFETY: null or valid, says the caller.
    hot(release.and_then(|release| unsafe { text::give(release_ns, release) }))
}

/// Ends the loop at its next release, or when the patience of an external wait is over. From any thread.
///
/// For the loop: one store.
#[unsafe(no_mangle)]
pub extern "C" fn prt_cyclic_stop(cyclic: *mut prt_cyclic) -> c_int {
    hot(handle::shared(cyclic).map(|paced| paced.stop.stop()))
}

/// A copy of the loop's numbers. From any thread; the loop does not notice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cyclic_stats(cyclic: *const prt_cyclic, stats: *mut prt_stats) -> c_int {
    // SAFETY: null or valid, says the caller.
    done(|| unsafe { crate::stats::copy(&handle::shared(cyclic)?.stats, stats) })
}

/// The loop's numbers as a page of text: latency first, then the jitter of periods with what it says. Returns the
/// length of the text; what `buffer` has no room for is cut. From any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cyclic_report(cyclic: *const prt_cyclic, buffer: *mut c_char, size: usize) -> c_int {
    // SAFETY: null or so large, says the caller.
    cold(|| unsafe { crate::stats::report(&handle::shared(cyclic)?.stats, buffer, size) })
}

/// What the system really gave the calling thread, and what it refused, in plain words. Returns the length of the text;
/// what `buffer` has no room for is cut.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cyclic_grants(cyclic: *const prt_cyclic, buffer: *mut c_char, size: usize) -> c_int {
    cold(|| {
        let refusals = with(cyclic, |cyclic| cyclic.refusals().to_vec())?;
        let grants = granted(&setup::grants(), &refusals);
        // SAFETY: null or so large, says the caller.
        unsafe { text::copy(&grants, buffer, size) }
    })
}

/// Ends the loop and frees everything but what the thread was set up with: policy, CPUs and locked memory stay.
///
/// Only in the thread that opened it.
#[unsafe(no_mangle)]
pub extern "C" fn prt_cyclic_close(cyclic: *mut prt_cyclic) -> c_int {
    done(|| {
        with(cyclic, |_| ())?;
        handle::free(cyclic)
    })
}

/// A period for the loop.
#[inline]
pub(crate) fn positive(ns: i64) -> Result<Nanos, Code> {
    match u64::try_from(ns) {
        Ok(ns) if ns > 0 => Ok(Nanos::from_ns(ns)),
        _ => Err(PRT_E_PERIOD),
    }
}

/// What was given and what was not, as text.
pub(crate) fn granted(grants: &punctual_rt::Grants, refusals: &[punctual_rt::Refusal]) -> String {
    let mut text = format!("{grants}\n");
    for refusal in refusals {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "refused: {refusal}");
    }
    text
}
