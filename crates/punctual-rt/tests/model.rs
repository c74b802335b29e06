//! The lock-free modules under a model checker: their very sources, compiled against atomics that try out every
//! interleaving and every value a weak memory order allows.

#![allow(dead_code, missing_docs, reason = "the sources are compiled whole, the model uses parts")]
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(unsafe_code, reason = "pointers into cells that the model checker watches")]

#[path = "../src/latest.rs"]
mod latest;
#[path = "../src/sync/semaphore.rs"]
mod semaphore;

mod atomics {
    pub(crate) use loom::sync::Arc;
    pub(crate) use loom::sync::atomic::{AtomicU8, AtomicU32, Ordering, fence};

    pub(crate) struct Cell<T>(loom::cell::UnsafeCell<T>);

    impl<T> Cell<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::cell::UnsafeCell::new(value))
        }

        pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
            self.0.with(read)
        }

        pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
            self.0.with_mut(write)
        }
    }
}

/// The kernel, as far as the sources know it.
mod sys {
    use crate::atomics::AtomicU32;
    use loom::sync::atomic::Ordering::Relaxed;
    use loom::sync::{Condvar, Mutex};
    use punctual_hist::MonoTime;

    #[derive(Clone, Copy)]
    pub(crate) enum Scope {
        Process,
    }

    loom::lazy_static! {
        static ref QUEUE: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
    }

    pub(crate) fn now() -> MonoTime {
        MonoTime::from_ns(0)
    }

    /// Compares and goes to sleep in one step, as the kernel does; of its memory barriers nothing is assumed. A deadline
    /// that is set is over at once.
    pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, deadline: Option<MonoTime>, _: Scope) -> bool {
        let queue = QUEUE.0.lock().unwrap();
        if word.load(Relaxed) != expected {
            return true;
        }
        if deadline.is_some() {
            return false;
        }
        drop(QUEUE.1.wait(queue).unwrap());
        true
    }

    pub(crate) fn futex_wake_one(_: &AtomicU32, _: Scope) {
        drop(QUEUE.0.lock().unwrap());
        QUEUE.1.notify_one();
    }
}

mod of_latest {
    use crate::latest::latest;
    use loom::thread::spawn;

    #[test]
    fn the_reader_never_meets_the_writer_and_values_never_go_back() {
        loom::model(|| {
            let (mut writer, mut reader) = latest((0, 0));
            let thread = spawn(move || {
                for n in 1..=3 {
                    writer.write((n, n));
                }
            });
            let mut last = 0;
            for _ in 0..2 {
                let reading = reader.read();
                assert_eq!(reading.value.0, reading.value.1);
                assert!(if reading.is_new { reading.value.0 > last } else { reading.value.0 == last });
                last = reading.value.0;
            }
            thread.join().unwrap();
            assert_eq!(reader.read().value, (3, 3), "nothing newer is ever lost");
        });
    }

    #[test]
    fn what_was_taken_and_what_was_overwritten_add_up() {
        loom::model(|| {
            let (mut writer, mut reader) = latest(0);
            let thread = spawn(move || (1..=2).filter(|n| !writer.write(*n)).count());
            let taken = (0..2).filter(|_| reader.read().is_new).count();
            let overwritten = thread.join().unwrap();
            let left = usize::from(reader.read().is_new);
            assert_eq!(taken + overwritten + left, 2);
        });
    }
}

mod of_signal {
    use crate::atomics::{Arc, AtomicU32};
    use crate::semaphore::Semaphore;
    use crate::sys::Scope::Process;
    use loom::cell::UnsafeCell;
    use loom::thread::spawn;
    use punctual_hist::MonoTime;

    fn semaphore() -> Arc<Semaphore> {
        Arc::new(Semaphore { posts: AtomicU32::new(0), waiters: AtomicU32::new(0) })
    }

    /// Every order with at most three involuntary switches; all orders would take minutes.
    fn model(check: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(check);
    }

    /// The model checker reports a thread that sleeps for ever as a deadlock.
    #[test]
    fn no_wake_up_is_lost() {
        model(|| {
            let semaphore = semaphore();
            let poster = Arc::clone(&semaphore);
            let thread = spawn(move || (0..2).for_each(|_| assert!(poster.post(Process))));
            assert!(semaphore.take(None, Process));
            assert!(semaphore.take(None, Process));
            thread.join().unwrap();
            assert!(!semaphore.try_take());
        });
    }

    #[test]
    fn two_takers_get_one_each() {
        model(|| {
            let semaphore = semaphore();
            let takers = [(); 2].map(|()| {
                let semaphore = Arc::clone(&semaphore);
                spawn(move || semaphore.take(None, Process))
            });
            (0..2).for_each(|_| assert!(semaphore.post(Process)));
            for taker in takers {
                assert!(taker.join().unwrap());
            }
            assert!(!semaphore.try_take());
        });
    }

    #[test]
    fn a_post_is_taken_or_kept_when_the_deadline_comes() {
        loom::model(|| {
            let semaphore = semaphore();
            let poster = Arc::clone(&semaphore);
            let thread = spawn(move || assert!(poster.post(Process)));
            let taken = semaphore.take(Some(MonoTime::from_ns(1)), Process);
            thread.join().unwrap();
            assert_eq!(semaphore.try_take(), !taken);
        });
    }

    #[test]
    fn what_was_written_before_a_post_is_seen_after_it() {
        loom::model(|| {
            let shared = Arc::new((semaphore(), UnsafeCell::new(0)));
            let poster = Arc::clone(&shared);
            let thread = spawn(move || {
                poster.1.with_mut(|value| {
                    // SAFETY: the model checker itself watches over access to the cell.
                    unsafe { *value = 7 }
                });
                poster.0.post(Process);
            });
            assert!(shared.0.take(None, Process));
            let seen = shared.1.with(|value| {
                // SAFETY: as above.
                unsafe { *value }
            });
            assert_eq!(seen, 7);
            thread.join().unwrap();
        });
    }
}
