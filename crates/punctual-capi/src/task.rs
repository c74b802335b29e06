//! Periodic tasks with threads of their own, whose bodies are functions of the program's.

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

/// One activation, in its body. Opaque; only good until the body returns.
pub struct prt_cycle([u8; 0]);

/// What a task does at each release; returns 0 to go on, anything else to end. Must not throw, and must not leave by
/// `longjmp` or `pthread_exit`.
pub type prt_body = Option<unsafe extern "C" fn(cycle: *mut prt_cycle, user: *mut c_void) -> c_int>;

/// The task was told to stop, or its body said so.
pub const PRT_ENDED_STOPPED: c_int = 0;
/// Releases were missed, and the task asked for `PRT_OVERRUN_STOP`.
pub const PRT_ENDED_OVERRUN: c_int = 1;

handled!(prt_task, 3: Running);

// The activation whose body runs now.
handled!(prt_cycle, 4: Owned<*mut Cycle<'static>>);

/// A task, and what is known of it without asking it.
pub struct Running {
    task: Mutex<Option<Task>>,
    stop: Stopper,
    stats: StatsReader,
    grants: String,
    /// Which thread runs it, as `handle::this_thread` counts; 0 until its first activation.
    runner: Arc<AtomicU64>,
}

impl Running {
    pub(crate) fn new(task: Task, runner: Arc<AtomicU64>) -> Self {
        let (stop, stats) = (task.stopper(), task.stats().clone());
        let grants = granted(task.grants(), task.refusals());
        Self { task: Mutex::new(Some(task)), stop, stats, grants, runner }
    }

    /// A task that waits for its own end waits for ever.
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

/// A function of the program's, on its way to the thread that calls it.
pub(crate) struct Body {
    call: unsafe extern "C" fn(*mut prt_cycle, *mut c_void) -> c_int,
    user: *mut c_void,
    cycle: *mut prt_cycle,
    pub(crate) runner: Arc<AtomicU64>,
}

// SAFETY: `cycle` is a number; that `user` may be used in another thread is what the caller of `prt_task_spawn` says.
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
        // SAFETY: a function of this type, says the caller of `prt_task_spawn`.
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
        // SAFETY: null or valid, says the caller.
        let config = unsafe { self::config(config) }?;
        let spawn = || {
            let mut body = Body::new(body, user)?;
            let runner = Arc::clone(&body.runner);
            let task = Task::spawn(&config, move |cycle| body.run(cycle))?;
            Ok(handle::open(Running::new(task, runner))?)
        };
        // SAFETY: null or valid, says the caller.
        unsafe { text::put(task, spawn) }
    })
}

/// Ends the task at its next release, or when the patience of an external wait is over; does not wait for that. From any
/// thread, its own as well.
///
/// For the loop: one store.
#[unsafe(no_mangle)]
pub extern "C" fn prt_task_stop(task: *mut prt_task) -> c_int {
    hot(handle::shared(task).map(|running| running.stop.stop()))
}

/// Waits until the task has ended; once. Returns one of `PRT_ENDED_...`; the handle stays, for its numbers.
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
            Ended::Panicked => Err(PRT_E_PANIC.into()),
        }
    })
}

/// A copy of the task's numbers; the loop does not notice. From any thread, during the task's life and after.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_task_stats(task: *const prt_task, stats: *mut prt_stats) -> c_int {
    // SAFETY: null or valid, says the caller.
    done(|| unsafe { crate::stats::copy(&handle::shared(task)?.stats, stats) })
}

/// The task's numbers as a page of text: latency first, then the jitter of periods with what it says. Returns the
/// length of the text; what `buffer` has no room for is cut.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_task_report(task: *const prt_task, buffer: *mut c_char, size: usize) -> c_int {
    // SAFETY: null or so large, says the caller.
    cold(|| unsafe { crate::stats::report(&handle::shared(task)?.stats, buffer, size) })
}

/// What the system really gave the task's thread, and what it refused, in plain words. Returns the length of the text;
/// what `buffer` has no room for is cut.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_task_grants(task: *const prt_task, buffer: *mut c_char, size: usize) -> c_int {
    cold(|| {
        let running = handle::shared(task)?;
        // SAFETY: null or so large, says the caller.
        unsafe { text::copy(&running.grants, buffer, size) }
    })
}

/// Ends the task if it still runs, waits for its end, and frees it. Its end comes at its next release or, when it waits for
/// outside events, at the next one or when `external_patience_ns` is over; a body that does not return is waited for. `-EBUSY` while another thread joins it.
#[unsafe(no_mangle)]
pub extern "C" fn prt_task_close(task: *mut prt_task) -> c_int {
    done(|| {
        handle::shared(task)?.not_from_inside()?;
        handle::free(task)
    })
}

/// Does something with the place that holds the activation whose body runs now.
#[inline]
fn current<T>(cycle: *const prt_cycle, act: impl FnOnce(&mut *mut Cycle<'static>) -> T) -> Result<T, Code> {
    handle::owned(cycle, |place| place, act)
}

/// Does something with the activation whose body runs now.
#[inline]
fn with<T>(cycle: *const prt_cycle, act: impl FnOnce(&mut Cycle<'_>) -> T) -> Result<T, Code> {
    let now = current(cycle, |now| *now)?;
    // SAFETY: set by `Body::run` for as long as the body runs, which is in this thread, below this call; no other
    // reference is used meanwhile, for nothing called from here calls back into the program.
    let now = unsafe { now.as_mut() }.ok_or(PRT_E_HANDLE)?;
    Ok(act(now))
}

/// Tells about the activation.
///
/// For the loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cycle_wake(cycle: *const prt_cycle, wake: *mut prt_wake) -> c_int {
    if wake.is_null() {
        return -libc::EFAULT;
    }
    // SAFETY: valid, says the caller.
    hot(with(cycle, |cycle| cycle.wake).and_then(|now| unsafe { tell(wake, &now) }))
}

/// Moves the next release, and all after it, by `by_ns`; `moved_ns`, which may be NULL, tells by how much it really was
/// moved, which is limited by `steer_max_ns`.
///
/// For the loop: one reading of the clock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cycle_steer(cycle: *mut prt_cycle, by_ns: i64, moved_ns: *mut i64) -> c_int {
    let moved = with(cycle, |cycle| cycle.steer(Delta::from_ns(by_ns)).as_ns());
    // SAFETY: null or valid, says the caller.
    hot(moved.map(|moved| unsafe { text::tell(moved_ns, moved) }))
}

/// Sets the period from the next release on; `PRT_E_PERIOD` below 1 us, and the period stays.
///
/// For the loop: one reading of the clock.
#[unsafe(no_mangle)]
pub extern "C" fn prt_cycle_set_period(cycle: *mut prt_cycle, period_ns: i64) -> c_int {
    let set = |period| with(cycle, |cycle| cycle.set_period(period).map_err(|_| PRT_E_PERIOD));
    hot(positive(period_ns).and_then(set).and_then(|set| set))
}

/// Moves the grid at once by any amount, less whole periods: only the phase changes.
///
/// For the loop: one reading of the clock.
#[unsafe(no_mangle)]
pub extern "C" fn prt_cycle_shift_phase(cycle: *mut prt_cycle, by_ns: i64) -> c_int {
    hot(with(cycle, |cycle| cycle.shift_phase(Delta::from_ns(by_ns))))
}

/// The instant of the next release.
///
/// For the loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cycle_next_release(cycle: *const prt_cycle, release_ns: *mut i64) -> c_int {
    let release = with(cycle, |cycle| ns(cycle.next_release().as_ns()));
    // SAFETY: null or valid, says the caller.
    hot(release.and_then(|release| unsafe { text::give(release_ns, release) }))
}
