//! The watchdog for C.

use crate::config::{cpus, length};
use crate::error::{Failure, PRT_E_PRIORITY, cold, done, hot};
use crate::handle::{self, Single};
use crate::text;
use crate::time::ns;
use crate::versioned::{Versioned, init, take, zeroed};
use punctual_rt::Policy;
use punctual_rt::watchdog::{Action, Heart, Watchdog, WatchdogConfig, write_to};
use std::ffi::{CString, c_char, c_int, c_void};

/// Notices, in a thread of its own, that a loop has stopped going round. Opaque.
pub struct prt_watchdog([u8; 0]);

/// A loop's end of a watchdog. Opaque.
pub struct prt_heart([u8; 0]);

handled!(prt_watchdog, 17: Watchdog);
handled!(prt_heart, 18: Single<Heart, ()>);

/// What to do about a heart that has not beaten within `limit_ns`, for `silent_ns` at least. Called in the watchdog's
/// thread, once per silence; `heart` is its name, valid during the call. Must not throw, and must not leave by `longjmp`
/// or `pthread_exit`.
pub type prt_missed =
    Option<unsafe extern "C" fn(heart: *const c_char, silent_ns: i64, limit_ns: i64, user: *mut c_void)>;

/// How a watchdog runs.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct prt_watchdog_config {
    /// Set by `prt_watchdog_config_init`.
    pub size: u32,
    /// Set by `prt_watchdog_config_init`.
    pub version: u32,
    /// How often it looks: a fraction of the shortest limit.
    pub interval_ns: i64,
    /// 1 to 95 for `SCHED_FIFO`, 0 for an ordinary thread. One above the loops that it watches on the same CPU sees them
    /// run away, one below is held up with everybody else.
    pub priority: u32,
    /// How many CPUs there are in `cpus`.
    pub cpu_count: u32,
    /// The CPUs to run on; NULL for those of the calling thread.
    pub cpus: *const u32,
}

// SAFETY: as for `prt_config`.
unsafe impl Versioned for prt_watchdog_config {
    const NAME: &'static str = "prt_watchdog_config";

    fn usual() -> Self {
        Self { interval_ns: 5_000_000, ..zeroed() }
    }
}

const NAME_MAX: usize = 255;

/// Fills a watchdog's configuration of `size` bytes (`sizeof *config`) with usual values: an ordinary thread that looks
/// every 5 ms.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_watchdog_config_init(config: *mut prt_watchdog_config, size: usize) -> c_int {
    // SAFETY: null, or so large, says the caller.
    cold(|| unsafe { init(config, size) })
}

/// A function of the program's, on its way to the watchdog's thread.
struct Missed {
    call: unsafe extern "C" fn(*const c_char, i64, i64, *mut c_void),
    user: *mut c_void,
}

// SAFETY: that `user` may be used in another thread is what the caller of `prt_watchdog_open` says.
unsafe impl Send for Missed {}

impl Missed {
    fn action(self) -> Action {
        Box::new(move |miss| {
            let name = CString::new(miss.heart.replace('\0', " ")).unwrap_or_default();
            let Self { call, user } = &self;
            // SAFETY: a function of this type, says the caller of `prt_watchdog_open`.
            unsafe { call(name.as_ptr(), ns(miss.silent.as_ns()), ns(miss.limit.as_ns()), *user) };
        })
    }
}

/// Starts a watchdog. `missed` is called with `user` at each miss; NULL for a line on standard error.
///
/// Not for the loop: starts a thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_watchdog_open(
    config: *const prt_watchdog_config,
    missed: prt_missed,
    user: *mut c_void,
    watchdog: *mut *mut prt_watchdog,
) -> c_int {
    done(|| {
        // SAFETY: null or valid, says the caller.
        let given = unsafe { take(config) }?;
        // SAFETY: null, or `cpu_count` numbers, says the caller.
        let cpus = unsafe { cpus(given.cpus, given.cpu_count) }?.to_vec();
        let policy = match u8::try_from(given.priority) {
            Ok(0) => Policy::Other,
            Ok(priority) => Policy::Fifo(priority),
            Err(_) => return Err(PRT_E_PRIORITY.into()),
        };
        let config = WatchdogConfig { interval: length("interval_ns", given.interval_ns)?, policy, cpus };
        let action = missed.map_or_else(|| write_to(std::io::stderr()), |call| Missed { call, user }.action());
        // SAFETY: null or valid, says the caller.
        unsafe { text::put(watchdog, || Ok(handle::open(Watchdog::start(config, action)?)?)) }
    })
}

/// Begins to watch: from now on `heart` must beat, never pausing for longer than `limit_ns`. A miss is noticed never before
/// the limit, and at most two intervals after it.
///
/// Not for the loop: allocates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_watchdog_watch(
    watchdog: *mut prt_watchdog,
    name: *const c_char,
    limit_ns: i64,
    heart: *mut *mut prt_heart,
) -> c_int {
    done(|| {
        // SAFETY: null, or a text that ends, says the caller.
        let name = unsafe { text::required(name, NAME_MAX, "name") }?;
        let limit = length("limit_ns", limit_ns)?;
        let watchdog = handle::shared(watchdog)?;
        // SAFETY: null or valid, says the caller.
        unsafe { text::put(heart, || Ok(handle::open(Single::new(watchdog.watch(name, limit)?, ()))?)) }
    })
}

/// The loop is alive: once per cycle.
///
/// For the loop: never waits. One thread only.
#[unsafe(no_mangle)]
pub extern "C" fn prt_heart_beat(heart: *mut prt_heart) -> c_int {
    hot(handle::alone(heart, |heart, ()| heart.beat()))
}

/// Ends the watch, for the loop stops as intended, and frees this end.
///
/// Not for the loop.
#[unsafe(no_mangle)]
pub extern "C" fn prt_heart_retire(heart: *mut prt_heart) -> c_int {
    done(|| {
        handle::close(heart)?.into_mine().retire();
        Ok(())
    })
}

/// Frees this end and does not end the watch: what was a loop is silent from now on, and that is noticed.
///
/// Not for the loop.
#[unsafe(no_mangle)]
pub extern "C" fn prt_heart_close(heart: *mut prt_heart) -> c_int {
    done(|| handle::free(heart))
}

/// How many misses there were so far. From any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_watchdog_misses(watchdog: *const prt_watchdog, count: *mut u64) -> c_int {
    done(|| {
        let misses = handle::shared(watchdog)?.misses();
        // SAFETY: null or valid, says the caller.
        unsafe { text::give(count, misses) }.map_err(Failure::from)
    })
}

/// Stops the watchdog and waits for it: `missed` is not called any more afterwards. Its hearts may go on beating, and are
/// still to be retired.
#[unsafe(no_mangle)]
pub extern "C" fn prt_watchdog_close(watchdog: *mut prt_watchdog) -> c_int {
    done(|| handle::free(watchdog))
}
