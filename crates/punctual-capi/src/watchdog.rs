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

/// A thread that notices when a loop stops completing cycles. Opaque.
pub struct prt_watchdog([u8; 0]);

/// The loop's end of a watchdog, on which the loop calls `prt_heart_beat` once per cycle. Opaque.
pub struct prt_heart([u8; 0]);

handled!(prt_watchdog, 17: Watchdog);
handled!(prt_heart, 18: Single<Heart, ()>);

/// Called when a heart has not beaten within `limit_ns`; it has been silent for at least `silent_ns`. Runs in the
/// watchdog's thread, once per silence. `heart` is the name of the heart, valid during the call. The function must not
/// throw, and must not leave by `longjmp` or `pthread_exit`.
pub type prt_missed =
    Option<unsafe extern "C" fn(heart: *const c_char, silent_ns: i64, limit_ns: i64, user: *mut c_void)>;

/// The configuration of a watchdog.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct prt_watchdog_config {
    /// Set by `prt_watchdog_config_init`.
    pub size: u32,
    /// Set by `prt_watchdog_config_init`.
    pub version: u32,
    /// Time between two checks; choose a fraction of the shortest limit.
    pub interval_ns: i64,
    /// Priority of the watchdog's thread: 1 to 95 for `SCHED_FIFO`, 0 for an ordinary thread. If the watchdog shares a
    /// CPU with its loops, it needs a higher priority than theirs to notice a loop that never sleeps.
    pub priority: u32,
    /// Number of CPUs in `cpus`.
    pub cpu_count: u32,
    /// The CPUs that the watchdog may run on; NULL for those of the calling thread.
    pub cpus: *const u32,
}

// SAFETY: `repr(C)`, size and version first, no padding; pointers are compared with null before they are read.
unsafe impl Versioned for prt_watchdog_config {
    const NAME: &'static str = "prt_watchdog_config";

    fn usual() -> Self {
        Self { interval_ns: 5_000_000, ..zeroed() }
    }
}

const NAME_MAX: usize = 255;

/// Initialises a watchdog's configuration of `size` bytes (`sizeof *config`) with usual values: an ordinary thread that
/// checks every 5 ms.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_watchdog_config_init(config: *mut prt_watchdog_config, size: usize) -> c_int {
    // SAFETY: the C caller promises NULL or a structure of `size` bytes.
    cold(|| unsafe { init(config, size) })
}

/// A callback of the C program with its argument, on the way to the watchdog's thread.
struct Missed {
    call: unsafe extern "C" fn(*const c_char, i64, i64, *mut c_void),
    user: *mut c_void,
}

// SAFETY: the caller of `prt_watchdog_open` promises that `user` may be used in another thread.
unsafe impl Send for Missed {}

impl Missed {
    fn action(self) -> Action {
        Box::new(move |miss| {
            let name = CString::new(miss.heart.replace('\0', " ")).unwrap_or_default();
            let Self { call, user } = &self;
            // SAFETY: the caller of `prt_watchdog_open` promises a function of this type.
            unsafe { call(name.as_ptr(), ns(miss.silent.as_ns()), ns(miss.limit.as_ns()), *user) };
        })
    }
}

/// Starts a watchdog. It calls `missed` with `user` at each miss; if `missed` is NULL, it prints a line to standard
/// error.
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
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        let given = unsafe { take(config) }?;
        // SAFETY: the C caller promises NULL or `cpu_count` numbers.
        let cpus = unsafe { cpus(given.cpus, given.cpu_count) }?.to_vec();
        let policy = match u8::try_from(given.priority) {
            Ok(0) => Policy::Other,
            Ok(priority) => Policy::Fifo(priority),
            Err(_) => return Err(PRT_E_PRIORITY.into()),
        };
        let config = WatchdogConfig { interval: length("interval_ns", given.interval_ns)?, policy, cpus };
        let action = missed.map_or_else(|| write_to(std::io::stderr()), |call| Missed { call, user }.action());
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        unsafe { text::put(watchdog, || Ok(handle::open(Watchdog::start(config, action)?)?)) }
    })
}

/// Starts watching: from now on `heart` must beat at least once every `limit_ns`. A miss is noticed at most two
/// intervals after the limit, and never before it.
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
        // SAFETY: the C caller promises NULL or a text that ends with NUL.
        let name = unsafe { text::required(name, NAME_MAX, "name") }?;
        let limit = length("limit_ns", limit_ns)?;
        let watchdog = handle::shared(watchdog)?;
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        unsafe { text::put(heart, || Ok(handle::open(Single::new(watchdog.watch(name, limit)?, ()))?)) }
    })
}

/// Tells the watchdog that the loop is alive. Call it once per cycle.
///
/// For the loop: never waits. One thread only.
#[unsafe(no_mangle)]
pub extern "C" fn prt_heart_beat(heart: *mut prt_heart) -> c_int {
    hot(handle::alone(heart, |heart, ()| heart.beat()))
}

/// Ends the watch because the loop stops as intended, and frees the heart.
///
/// Not for the loop.
#[unsafe(no_mangle)]
pub extern "C" fn prt_heart_retire(heart: *mut prt_heart) -> c_int {
    done(|| {
        handle::close(heart)?.into_mine().retire();
        Ok(())
    })
}

/// Frees the heart without ending the watch: the watchdog reports the silence that follows.
///
/// Not for the loop.
#[unsafe(no_mangle)]
pub extern "C" fn prt_heart_close(heart: *mut prt_heart) -> c_int {
    done(|| handle::free(heart))
}

/// Writes the number of misses so far to `count`. May be called from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_watchdog_misses(watchdog: *const prt_watchdog, count: *mut u64) -> c_int {
    done(|| {
        let misses = handle::shared(watchdog)?.misses();
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        unsafe { text::give(count, misses) }.map_err(Failure::from)
    })
}

/// Stops the watchdog and waits for its thread. `missed` is not called afterwards. Hearts may go on beating, and must
/// still be retired or closed.
#[unsafe(no_mangle)]
pub extern "C" fn prt_watchdog_close(watchdog: *mut prt_watchdog) -> c_int {
    done(|| handle::free(watchdog))
}
