//! Periodic tasks with threads of their own, whose bodies are functions of the C program.

use crate::config::{config, prt_config};
use crate::cyclic::{granted, positive};
use crate::error::{Code, Failure, PRT_E_DONE, PRT_E_HANDLE, PRT_E_PANIC, PRT_E_PERIOD, cold, done, hot};
use crate::handle::{self, Owned};
use crate::time::ns;
use crate::wake::{prt_wake, tell};
use crate::{prt_stats, text};
use punctual_rt::{Control, Cycle, Delta, Ended, StatsReader, Stopper, Task};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A running periodic task. Opaque.
pub struct prt_task([u8; 0]);

/// The current activation of a task. Opaque; valid only until the body returns.
pub struct prt_cycle([u8; 0]);

/// The body of a task: runs at each release, and returns 0 to go on or another value to end the task. It must not
/// throw, and must not leave by `longjmp` or `pthread_exit`.
pub type prt_body = Option<unsafe extern "C" fn(cycle: *mut prt_cycle, user: *mut c_void) -> c_int>;

/// The task was stopped, or its body asked to end.
pub const PRT_ENDED_STOPPED: c_int = 0;
/// The task ended because releases were missed and it was configured with `PRT_OVERRUN_STOP`.
pub const PRT_ENDED_OVERRUN: c_int = 1;
/// The task ended because a real-time core took it in-band and it was configured with `PRT_IN_BAND_STRICT`.
pub const PRT_ENDED_IN_BAND: c_int = 2;

handled!(prt_task, 3: Running);

// The value is the activation whose body runs now, or null between bodies.
handled!(prt_cycle, 4: Owned<*mut Cycle<'static>>);

/// A task, and copies of its data that can be read without locking the task.
pub struct Running {
    task: Mutex<Option<Task>>,
    stop: Stopper,
    stats: StatsReader,
    grants: String,
    /// The thread that runs the task, as numbered by `handle::this_thread`; 0 until the first activation.
    runner: Arc<AtomicU64>,
}

impl Running {
    pub(crate) fn new(task: Task, runner: Arc<AtomicU64>) -> Self {
        let (stop, stats) = (task.stopper(), task.stats().clone());
        let grants = granted(task.grants(), task.refusals());
        Self { task: Mutex::new(Some(task)), stop, stats, grants, runner }
    }

    /// Refuses a call from the body of the task: a task that waits for its own end would wait for ever.
    fn not_from_inside(&self) -> Result<(), Failure> {
        if self.runner.load(Relaxed) == handle::this_thread() {
            return Err(Failure::new(
                -libc::EDEADLK,
                "a task can not wait for its own end; return from its body instead",
            ));
        }
        Ok(())
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The body function of the C program with its argument, on the way to the thread that calls it.
pub(crate) struct Body {
    call: unsafe extern "C" fn(*mut prt_cycle, *mut c_void) -> c_int,
    user: *mut c_void,
    cycle: *mut prt_cycle,
    pub(crate) runner: Arc<AtomicU64>,
}

// SAFETY: `cycle` is a handle, that is, a number. The caller of `prt_task_spawn` promises that `user` may be used in
// another thread.
unsafe impl Send for Body {}

impl Body {
    pub(crate) fn new(body: prt_body, user: *mut c_void) -> Result<Self, Failure> {
        let call = body.ok_or(Failure::new(-libc::EFAULT, "body is NULL"))?;
        let cycle = handle::open(Owned::new(ptr::null_mut()))?;
        Ok(Self { call, user, cycle, runner: Arc::default() })
    }

    #[inline]
    pub(crate) fn run(&mut self, cycle: &mut Cycle<'_>) -> Control {
        if self.runner.load(Relaxed) == 0 {
            self.runner.store(handle::this_thread(), Relaxed);
            let _ = handle::adopt(self.cycle);
        }
        let here = ptr::from_mut(cycle).cast();
        if current(self.cycle, |now| *now = here).is_err() {
            return Control::Stop;
        }
        // SAFETY: the caller of `prt_task_spawn` promises a function of this type.
        let answer = unsafe { (self.call)(self.cycle, self.user) };
        let _ = current(self.cycle, |now| *now = ptr::null_mut());
        if answer == 0 { Control::Continue } else { Control::Stop }
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        drop(handle::close(self.cycle));
    }
}

/// Starts a thread, sets it up, and calls `body` with `user` at each release. Returns when the thread is set up.
///
/// Not for the loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_task_spawn(
    config: *const prt_config,
    body: prt_body,
    user: *mut c_void,
    task: *mut *mut prt_task,
) -> c_int {
    done(|| {
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        let config = unsafe { self::config(config) }?;
        let spawn = || {
            let mut body = Body::new(body, user)?;
            let runner = Arc::clone(&body.runner);
            let task = Task::spawn(&config, move |cycle| body.run(cycle))?;
            Ok(handle::open(Running::new(task, runner))?)
        };
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        unsafe { text::put(task, spawn) }
    })
}

/// Ends the task at its next release, or when an external wait times out. Does not wait for the end. May be called from
/// any thread, including the task's own.
///
/// For the loop: one store.
#[unsafe(no_mangle)]
pub extern "C" fn prt_task_stop(task: *mut prt_task) -> c_int {
    hot(handle::shared(task).map(|running| running.stop.stop()))
}

/// Waits until the task has ended; possible once. Returns one of `PRT_ENDED_...`. The handle stays valid for the
/// statistics.
#[unsafe(no_mangle)]
pub extern "C" fn prt_task_join(task: *mut prt_task) -> c_int {
    cold(|| {
        let running = handle::shared(task)?;
        running.not_from_inside()?;
        let task = lock(&running.task).take();
        let task = task.ok_or(Failure::new(PRT_E_DONE, "the task was joined already"))?;
        match task.join() {
            Ended::Stopped => Ok(PRT_ENDED_STOPPED),
            Ended::Overrun { .. } => Ok(PRT_ENDED_OVERRUN),
            Ended::InBand(_) => Ok(PRT_ENDED_IN_BAND),
            Ended::CoreLost { errno } => Err(Failure::new(
                errno.saturating_neg(),
                "the real-time core no longer lets the task sleep; look whether it was stopped",
            )),
            Ended::Panicked => Err(PRT_E_PANIC.into()),
        }
    })
}

/// Copies the statistics of the task; the loop is not disturbed. May be called from any thread, also after the task has
/// ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_task_stats(task: *const prt_task, stats: *mut prt_stats) -> c_int {
    // SAFETY: the C caller promises that the pointer is NULL or valid.
    done(|| unsafe { crate::stats::copy(&handle::shared(task)?.stats, stats) })
}

/// Writes the statistics of the task as a page of text: latency first, then period jitter with an explanation. Returns
/// the length of the whole text; `buffer` receives as much as fits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_task_report(task: *const prt_task, buffer: *mut c_char, size: usize) -> c_int {
    // SAFETY: the C caller promises NULL or a buffer of `size` bytes.
    cold(|| unsafe { crate::stats::report(&handle::shared(task)?.stats, buffer, size) })
}

/// Writes as text what the system granted to the thread of the task and what it refused. Returns the length of the
/// whole text; `buffer` receives as much as fits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_task_grants(task: *const prt_task, buffer: *mut c_char, size: usize) -> c_int {
    cold(|| {
        let running = handle::shared(task)?;
        // SAFETY: the C caller promises NULL or a buffer of `size` bytes.
        unsafe { text::copy(&running.grants, buffer, size) }
    })
}

/// Ends the task if it still runs, waits for its end, and frees it. The task ends at its next release; with an external
/// wait, at the next event or after `external_patience_ns`. A body that does not return keeps this call waiting.
/// `-EBUSY` while another thread joins the task.
#[unsafe(no_mangle)]
pub extern "C" fn prt_task_close(task: *mut prt_task) -> c_int {
    done(|| {
        handle::shared(task)?.not_from_inside()?;
        handle::free(task)
    })
}

/// Calls `act` with the pointer to the activation whose body runs now.
#[inline]
fn current<T>(cycle: *const prt_cycle, act: impl FnOnce(&mut *mut Cycle<'static>) -> T) -> Result<T, Code> {
    handle::owned(cycle, |place| place, act)
}

/// Calls `act` with the activation whose body runs now.
#[inline]
fn with<T>(cycle: *const prt_cycle, act: impl FnOnce(&mut Cycle<'_>) -> T) -> Result<T, Code> {
    let now = current(cycle, |now| *now)?;
    // SAFETY: `Body::run` sets the pointer for as long as the body runs, and the body runs in this thread, further up
    // the stack. Nothing that is called from here calls back into the program, so there is no other reference.
    let now = unsafe { now.as_mut() }.ok_or(PRT_E_HANDLE)?;
    Ok(act(now))
}

/// Describes the current activation in `wake`.
///
/// For the loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cycle_wake(cycle: *const prt_cycle, wake: *mut prt_wake) -> c_int {
    if wake.is_null() {
        return -libc::EFAULT;
    }
    // SAFETY: the C caller promises that the pointer is valid.
    hot(with(cycle, |cycle| cycle.wake).and_then(|now| unsafe { tell(wake, &now) }))
}

/// Moves the next release, and all after it, by `by_ns`, limited by `steer_max_ns`. `moved_ns`, which may be NULL,
/// receives the distance really moved.
///
/// For the loop: one reading of the clock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cycle_steer(cycle: *mut prt_cycle, by_ns: i64, moved_ns: *mut i64) -> c_int {
    let moved = with(cycle, |cycle| cycle.steer(Delta::from_ns(by_ns)).as_ns());
    // SAFETY: the C caller promises that the pointer is NULL or valid.
    hot(moved.map(|moved| unsafe { text::tell(moved_ns, moved) }))
}

/// Sets the period from the next release on. A period below 1 us is refused with `PRT_E_PERIOD`, and the old period
/// stays.
///
/// For the loop: one reading of the clock.
#[unsafe(no_mangle)]
pub extern "C" fn prt_cycle_set_period(cycle: *mut prt_cycle, period_ns: i64) -> c_int {
    let set = |period| with(cycle, |cycle| cycle.set_period(period).map_err(|_| PRT_E_PERIOD));
    hot(positive(period_ns).and_then(set).and_then(|set| set))
}

/// Moves the releases by any distance at once. Whole periods are left out, so only the phase changes.
///
/// For the loop: one reading of the clock.
#[unsafe(no_mangle)]
pub extern "C" fn prt_cycle_shift_phase(cycle: *mut prt_cycle, by_ns: i64) -> c_int {
    hot(with(cycle, |cycle| cycle.shift_phase(Delta::from_ns(by_ns))))
}

/// Writes the instant of the next release to `release_ns`.
///
/// For the loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cycle_next_release(cycle: *const prt_cycle, release_ns: *mut i64) -> c_int {
    let release = with(cycle, |cycle| ns(cycle.next_release().as_ns()));
    // SAFETY: the C caller promises that the pointer is NULL or valid.
    hot(release.and_then(|release| unsafe { text::give(release_ns, release) }))
}
