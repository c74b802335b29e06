//! Threads that the kernel may end at any place, as a real-time core does with its threads when it is stopped. Nothing of
//! such a thread is told or cleaned up, so `std::thread::scope` would wait for it for ever.

use punctual_rt::kernel;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, Result as Joined};
use std::time::Duration;

/// How often to look whether the threads still exist.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How a thread ended.
#[derive(Debug)]
pub enum Ended<T> {
    /// By itself, with its result or its panic.
    Returned(Joined<T>),
    /// The kernel ended it.
    Vanished,
}

/// A thread that may borrow for as long as `'a`.
pub type Work<'a, T> = Box<dyn FnOnce() -> T + Send + 'a>;

struct State<T> {
    /// The thread's number; 0 until it runs.
    tid: AtomicU32,
    result: Mutex<Option<Joined<T>>>,
}

struct Running<T> {
    thread: JoinHandle<()>,
    state: Arc<State<T>>,
}

/// Runs all at the same time, and returns how each of them ended when none is left. `failed` is set as soon as one could
/// not be started or vanished.
pub fn run_all<'a, T: Send + 'a>(
    threads: Vec<(Builder, Work<'a, T>)>,
    failed: &AtomicBool,
) -> Vec<io::Result<Ended<T>>> {
    // From here to the end nothing may panic, because the threads borrow what the caller owns.
    let start = |(builder, work)| {
        let started = start(builder, work);
        failed.fetch_or(started.is_err(), Relaxed);
        started
    };
    let started: Vec<io::Result<Running<T>>> = threads.into_iter().map(start).collect();
    while started.iter().flatten().any(|running| !running.is_over()) {
        let vanished = started.iter().flatten().any(Running::has_vanished);
        failed.fetch_or(vanished, Relaxed);
        std::thread::sleep(LOOK_EVERY);
    }
    started.into_iter().map(|running| running.map(Running::ended)).collect()
}

fn start<'a, T: Send + 'a>(builder: Builder, work: Work<'a, T>) -> io::Result<Running<T>> {
    let state = Arc::new(State { tid: AtomicU32::new(0), result: Mutex::new(None) });
    let own = Arc::clone(&state);
    let body = move || {
        own.tid.store(kernel::thread_id(), Relaxed);
        let result = catch_unwind(AssertUnwindSafe(work));
        *own.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    };
    // SAFETY: `run_all` returns after each thread has handed over its result, or does not exist any more. From then on
    // none uses what it borrowed.
    let thread = unsafe { builder.spawn_unchecked(body) }?;
    Ok(Running { thread, state })
}

impl<T> Running<T> {
    fn is_over(&self) -> bool {
        self.thread.is_finished() || self.has_vanished()
    }

    fn has_vanished(&self) -> bool {
        let tid = self.state.tid.load(Relaxed);
        // A thread that ended by itself in between has handed over its result before.
        tid != 0 && !kernel::has_thread(tid) && !self.has_result()
    }

    fn ended(self) -> Ended<T> {
        let result = self.state.result.lock().unwrap_or_else(PoisonError::into_inner).take();
        result.map_or(Ended::Vanished, Ended::Returned)
    }

    fn has_result(&self) -> bool {
        self.state.result.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named<'a, T>(work: impl FnOnce() -> T + Send + 'a) -> (Builder, Work<'a, T>) {
        (Builder::new(), Box::new(work))
    }

    #[test]
    fn a_thread_that_the_kernel_ends_is_told_from_one_that_returns_or_panics() {
        let failed = AtomicBool::new(false);
        let borrowed = 7;
        let vanish = || -> u32 {
            // SAFETY: no pointers are passed. What the thread owns is leaked, which is safe.
            unsafe { libc::syscall(libc::SYS_exit, 0) };
            0
        };
        let until_failed = || {
            while !failed.load(Relaxed) {
                std::thread::yield_now();
            }
            borrowed
        };
        let threads = vec![named(vanish), named(until_failed), named(|| panic!("on purpose"))];
        let ended = run_all(threads, &failed);
        assert!(matches!(ended[0], Ok(Ended::Vanished)), "{ended:?}");
        assert!(matches!(ended[1], Ok(Ended::Returned(Ok(7)))), "{ended:?}");
        assert!(matches!(ended[2], Ok(Ended::Returned(Err(_)))), "{ended:?}");
    }
}
