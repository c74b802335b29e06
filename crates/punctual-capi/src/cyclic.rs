//! A periodic loop on the thread of the caller, for programs that create their own threads.

use crate::config::{config, prt_config};
use crate::error::{Code, PRT_E_PERIOD, cold, done, hot};
use crate::handle::{self, Owned};
use crate::time::ns;
use crate::versioned::check;
use crate::wake::{prt_wake, tell};
use crate::{prt_stats, text};
use punctual_rt::{Cyclic, Delta, Nanos, StatsReader, Stopper, kernel, setup};
use std::ffi::{c_char, c_int};
use std::fmt::Write;

/// A periodic loop on the thread that opened it. Opaque.
pub struct prt_cyclic([u8; 0]);

handled!(prt_cyclic, 2: Paced);

/// A loop: `cyclic` may be used only by the thread that opened it, the other members by any thread.
pub struct Paced {
    cyclic: Owned<Cyclic>,
    stop: Stopper,
    stats: StatsReader,
    tid: u32,
}

/// Calls `act` with the loop, if it belongs to the calling thread.
#[inline]
fn with<T>(cyclic: *const prt_cyclic, act: impl FnOnce(&mut Cyclic) -> T) -> Result<T, Code> {
    handle::owned(cyclic, |paced| &paced.cyclic, act)
}

/// Sets the calling thread up. The releases begin with the first `prt_cyclic_wait`, so initialisation before that call
/// misses none. Close the loop in the same thread.
///
/// Not for the loop: allocates, faults, enters the kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cyclic_open(config: *const prt_config, cyclic: *mut *mut prt_cyclic) -> c_int {
    done(|| {
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        let config = unsafe { self::config(config) }?;
        let open = || {
            let cyclic = Cyclic::new(&config)?;
            let (stop, stats) = (cyclic.stopper(), cyclic.stats().clone());
            let tid = kernel::thread_id();
            Ok(handle::open_owned(Paced { cyclic: Owned::new(cyclic), stop, stats, tid })?)
        };
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        unsafe { text::put(cyclic, open) }
    })
}

/// Waits for the next release and describes the activation in `wake`, which may be NULL. Returns `-ECANCELED` when the
/// loop has ended: it was stopped, or releases were missed under `PRT_OVERRUN_STOP`. A `wake` of unknown size or
/// version is refused without waiting.
///
/// For the loop: allocates nothing, locks nothing, enters the kernel only to wait. The first call is an exception: it
/// chooses the first release, and may poll to find the scheduler's tick.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cyclic_wait(cyclic: *mut prt_cyclic, wake: *mut prt_wake) -> c_int {
    let waited = || {
        if !wake.is_null() {
            // SAFETY: the C caller promises that the pointer is valid.
            unsafe { check(wake) }?;
        }
        let release = with(cyclic, Cyclic::wait)?.ok_or(-libc::ECANCELED)?;
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        unsafe { tell(wake, &release) }
    };
    hot(waited())
}

/// Marks the end of the work of this activation, for the execution time and the deadline in the statistics.
///
/// For the loop: one reading of the clock.
#[unsafe(no_mangle)]
pub extern "C" fn prt_cyclic_finish(cyclic: *mut prt_cyclic) -> c_int {
    hot(with(cyclic, Cyclic::finish))
}

/// Moves the next release, and all after it, by `by_ns`, limited by `steer_max_ns`. `moved_ns`, which may be NULL,
/// receives the distance really moved.
///
/// For the loop: one reading of the clock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cyclic_steer(cyclic: *mut prt_cyclic, by_ns: i64, moved_ns: *mut i64) -> c_int {
    let moved = with(cyclic, |cyclic| cyclic.steer(Delta::from_ns(by_ns)).as_ns());
    // SAFETY: the C caller promises that the pointer is NULL or valid.
    hot(moved.map(|moved| unsafe { text::tell(moved_ns, moved) }))
}

/// Sets the period from the next release on. A period below 1 us is refused with `PRT_E_PERIOD`, and the old period
/// stays.
///
/// For the loop: one reading of the clock.
#[unsafe(no_mangle)]
pub extern "C" fn prt_cyclic_set_period(cyclic: *mut prt_cyclic, period_ns: i64) -> c_int {
    let set = |period| with(cyclic, |cyclic| cyclic.set_period(period).map_err(|_| PRT_E_PERIOD));
    hot(positive(period_ns).and_then(set).and_then(|set| set))
}

/// Moves the releases by any distance at once. Whole periods are left out, so only the phase changes.
///
/// For the loop: one reading of the clock.
#[unsafe(no_mangle)]
pub extern "C" fn prt_cyclic_shift_phase(cyclic: *mut prt_cyclic, by_ns: i64) -> c_int {
    hot(with(cyclic, |cyclic| cyclic.shift_phase(Delta::from_ns(by_ns))))
}

/// Skips the releases that have passed without counting them as missed, for example after an operation that was meant
/// to be long. `passed`, which may be NULL, receives their number.
///
/// For the loop: one reading of the clock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cyclic_resync(cyclic: *mut prt_cyclic, passed: *mut u64) -> c_int {
    let count = with(cyclic, Cyclic::resync);
    // SAFETY: the C caller promises that the pointer is NULL or valid.
    hot(count.map(|count| unsafe { text::tell(passed, count) }))
}

/// Writes the instant of the next release to `release_ns`; 0 before the first wait.
///
/// For the loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cyclic_next_release(cyclic: *mut prt_cyclic, release_ns: *mut i64) -> c_int {
    let release = with(cyclic, |cyclic| ns(cyclic.grid().release().as_ns()));
    // SAFETY: the C caller promises that the pointer is NULL or valid.
    hot(release.and_then(|release| unsafe { text::give(release_ns, release) }))
}

/// Ends the loop at its next release, or when an external wait times out. May be called from any thread.
///
/// For the loop: one store.
#[unsafe(no_mangle)]
pub extern "C" fn prt_cyclic_stop(cyclic: *mut prt_cyclic) -> c_int {
    hot(handle::shared(cyclic).map(|paced| paced.stop.stop()))
}

/// Copies the statistics of the loop. May be called from any thread; the loop is not disturbed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cyclic_stats(cyclic: *const prt_cyclic, stats: *mut prt_stats) -> c_int {
    // SAFETY: the C caller promises that the pointer is NULL or valid.
    done(|| unsafe { crate::stats::copy(&handle::shared(cyclic)?.stats, stats) })
}

/// Writes the statistics of the loop as a page of text: latency first, then period jitter with an explanation. Returns
/// the length of the whole text; `buffer` receives as much as fits. May be called from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cyclic_report(cyclic: *const prt_cyclic, buffer: *mut c_char, size: usize) -> c_int {
    // SAFETY: the C caller promises NULL or a buffer of `size` bytes.
    cold(|| unsafe { crate::stats::report(&handle::shared(cyclic)?.stats, buffer, size) })
}

/// Writes as text what the system granted to the calling thread and what it refused. Returns the length of the whole
/// text; `buffer` receives as much as fits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cyclic_grants(cyclic: *const prt_cyclic, buffer: *mut c_char, size: usize) -> c_int {
    cold(|| {
        let refusals = with(cyclic, |cyclic| cyclic.refusals().to_vec())?;
        let grants = granted(&setup::grants(), &refusals);
        // SAFETY: the C caller promises NULL or a buffer of `size` bytes.
        unsafe { text::copy(&grants, buffer, size) }
    })
}

/// Whether the thread of the loop exists: 0, or `-ESRCH` if it has ended without closing the loop. A real-time core that is
/// stopped ends the threads that it paces, in the kernel: `prt_cyclic_wait` never returns.
///
/// For any other thread, at any time: enters the kernel.
#[unsafe(no_mangle)]
pub extern "C" fn prt_cyclic_exists(cyclic: *const prt_cyclic) -> c_int {
    let exists = handle::shared(cyclic).map(|paced| kernel::has_thread(paced.tid));
    hot(exists.and_then(|exists| if exists { Ok(()) } else { Err(-libc::ESRCH) }))
}

/// Ends the loop and frees it. The set-up of the thread stays: policy, CPUs and locked memory.
///
/// Only for the thread that opened the loop.
#[unsafe(no_mangle)]
pub extern "C" fn prt_cyclic_close(cyclic: *mut prt_cyclic) -> c_int {
    done(|| {
        with(cyclic, |_| ())?;
        handle::free(cyclic)
    })
}

/// Converts a period given by the C caller; a period that is not positive is refused.
#[inline]
pub(crate) fn positive(ns: i64) -> Result<Nanos, Code> {
    match u64::try_from(ns) {
        Ok(ns) if ns > 0 => Ok(Nanos::from_ns(ns)),
        _ => Err(PRT_E_PERIOD),
    }
}

/// The grants and refusals of a set-up as text, one line each.
pub(crate) fn granted(grants: &punctual_rt::Grants, refusals: &[punctual_rt::Refusal]) -> String {
    let mut text = format!("{grants}\n");
    for refusal in refusals {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "refused: {refusal}");
    }
    text
}
