//! The lock-free modules under the model checker Loom. Their sources are compiled against atomics that explore every
//! interleaving, and every value that a weak memory order allows.

#![allow(dead_code, missing_docs, reason = "the sources are compiled whole, the model uses parts")]
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(unsafe_code, reason = "pointers into cells that the model checker watches")]

use punctual_rt::LockError;

#[path = "../src/sys/core_calls.rs"]
mod core_calls;
#[path = "../src/backend/core_word.rs"]
mod core_word;
#[path = "../src/latest.rs"]
mod latest;
#[path = "../src/sync/pi_word.rs"]
mod pi_word;
#[path = "../src/sync/posts.rs"]
mod posts;

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

/// A model of the kernel, as far as the sources use it.
mod sys {
    pub(crate) use crate::core_calls::{Caller, CountCalls, LockCalls};

    use crate::atomics::AtomicU32;
    use loom::sync::atomic::Ordering::Relaxed;
    use loom::sync::{Condvar, Mutex};
    use punctual_hist::{MonoTime, Nanos};
    use std::cell::Cell;
    use std::collections::VecDeque;

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

    /// Compares and goes to sleep in one step, as the kernel does, without assuming any of its memory barriers. A
    /// deadline that is set expires at once.
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

    pub(crate) fn is_out_of_band() -> bool {
        false
    }

    pub(crate) fn futex_wake_one(_: &AtomicU32, _: Scope) {
        drop(QUEUE.0.lock().unwrap());
        QUEUE.1.notify_one();
    }

    loom::lazy_static! {
        static ref LOCKERS: (Mutex<VecDeque<u32>>, Condvar) = (Mutex::new(VecDeque::new()), Condvar::new());
    }

    loom::thread_local! {
        static THREAD_ID: Cell<u32> = Cell::new(0);
    }

    pub(crate) fn call_this_thread(id: u32) {
        THREAD_ID.with(|mine| mine.set(id));
    }

    pub(crate) fn remembered_thread_id() -> u32 {
        THREAD_ID.with(Cell::get)
    }

    pub(crate) fn thread_is_gone(_: u32) -> bool {
        false
    }

    pub(crate) fn sleep_for(_: Nanos) {
        loom::thread::yield_now();
    }

    /// Takes a free word or joins the queue. It accesses the word without any memory order.
    pub(crate) fn futex_lock_pi(word: &AtomicU32, deadline: Option<MonoTime>) -> Result<(), i32> {
        let (me, mut queue) = (remembered_thread_id(), LOCKERS.0.lock().unwrap());
        let free_or_marked = |seen: u32| if seen & libc::FUTEX_TID_MASK == 0 { me } else { seen | libc::FUTEX_WAITERS };
        let seen = word.fetch_update(Relaxed, Relaxed, |seen| Some(free_or_marked(seen))).unwrap();
        if seen & libc::FUTEX_TID_MASK == 0 {
            return Ok(());
        }
        if deadline.is_some() {
            return Err(libc::ETIMEDOUT);
        }
        queue.push_back(me);
        while word.load(Relaxed) & libc::FUTEX_TID_MASK != me {
            queue = LOCKERS.1.wait(queue).unwrap();
        }
        Ok(())
    }

    /// Passes the word to the thread that has waited longest.
    pub(crate) fn futex_unlock_pi(word: &AtomicU32) -> Result<(), i32> {
        let mut queue = LOCKERS.0.lock().unwrap();
        if word.load(Relaxed) & libc::FUTEX_TID_MASK != remembered_thread_id() {
            return Err(libc::EPERM);
        }
        let next = queue.pop_front().unwrap_or(0);
        let waiters = if queue.is_empty() { 0 } else { libc::FUTEX_WAITERS };
        word.swap(next | waiters, Relaxed);
        LOCKERS.1.notify_all();
        Ok(())
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
    use crate::posts::Posts;
    use crate::sys::Scope::Process;
    use loom::cell::UnsafeCell;
    use loom::thread::spawn;
    use punctual_hist::MonoTime;

    fn posts() -> Arc<Posts> {
        Arc::new(Posts { posts: AtomicU32::new(0), waiters: AtomicU32::new(0) })
    }

    /// Explores all interleavings with at most three preemptions; without that limit it would take minutes.
    fn model(check: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(check);
    }

    /// The model checker reports a thread that sleeps for ever as a deadlock.
    #[test]
    fn no_wake_up_is_lost() {
        model(|| {
            let posts = posts();
            let poster = Arc::clone(&posts);
            let thread = spawn(move || (0..2).for_each(|_| assert!(poster.post(Process))));
            assert!(posts.take(None, Process));
            assert!(posts.take(None, Process));
            thread.join().unwrap();
            assert!(!posts.try_take());
        });
    }

    #[test]
    fn two_takers_get_one_each() {
        model(|| {
            let posts = posts();
            let takers = [(); 2].map(|()| {
                let posts = Arc::clone(&posts);
                spawn(move || posts.take(None, Process))
            });
            (0..2).for_each(|_| assert!(posts.post(Process)));
            for taker in takers {
                assert!(taker.join().unwrap());
            }
            assert!(!posts.try_take());
        });
    }

    #[test]
    fn a_post_is_taken_or_kept_when_the_deadline_comes() {
        loom::model(|| {
            let posts = posts();
            let poster = Arc::clone(&posts);
            let thread = spawn(move || assert!(poster.post(Process)));
            let taken = posts.take(Some(MonoTime::from_ns(1)), Process);
            thread.join().unwrap();
            assert_eq!(posts.try_take(), !taken);
        });
    }

    #[test]
    fn what_was_written_before_a_post_is_seen_after_it() {
        loom::model(|| {
            let shared = Arc::new((posts(), UnsafeCell::new(0)));
            let poster = Arc::clone(&shared);
            let thread = spawn(move || {
                poster.1.with_mut(|value| {
                    // SAFETY: the model checker itself checks access to the cell.
                    unsafe { *value = 7 }
                });
                poster.0.post(Process);
            });
            assert!(shared.0.take(None, Process));
            let seen = shared.1.with(|value| {
                // SAFETY: the model checker itself checks access to the cell.
                unsafe { *value }
            });
            assert_eq!(seen, 7);
            thread.join().unwrap();
        });
    }
}

mod of_pi_mutex {
    use crate::atomics::{Arc, AtomicU32, Ordering::Relaxed};
    use crate::pi_word::{lock, try_lock, unlock};
    use crate::sys::call_this_thread;
    use loom::cell::UnsafeCell;
    use loom::thread::spawn;
    use punctual_hist::MonoTime;
    use punctual_rt::LockError;

    type Counter = Arc<(AtomicU32, UnsafeCell<u32>)>;

    fn counter() -> Counter {
        Arc::new((AtomicU32::new(0), UnsafeCell::new(0)))
    }

    /// The model checker reports access to the cell by two threads at once, and access that the lock does not order.
    fn count_and_unlock(counter: &Counter) {
        counter.1.with_mut(|value| {
            // SAFETY: the model checker itself checks access to the cell.
            unsafe { *value += 1 }
        });
        unlock(&counter.0);
    }

    fn value(counter: &Counter) -> u32 {
        assert_eq!(counter.0.load(Relaxed), 0, "free");
        counter.1.with(|value| {
            // SAFETY: the model checker itself checks access to the cell.
            unsafe { *value }
        })
    }

    #[test]
    fn one_thread_at_a_time() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let counter = counter();
            let threads = [1, 2].map(|id| {
                let counter = Arc::clone(&counter);
                spawn(move || {
                    call_this_thread(id);
                    assert_eq!(lock(&counter.0, None), Ok(false));
                    count_and_unlock(&counter);
                })
            });
            call_this_thread(3);
            assert_eq!(lock(&counter.0, None), Ok(false));
            count_and_unlock(&counter);
            for thread in threads {
                thread.join().unwrap();
            }
            assert_eq!(value(&counter), 3);
        });
    }

    #[test]
    fn who_gives_up_leaves_the_lock_usable() {
        loom::model(|| {
            let counter = counter();
            let theirs = Arc::clone(&counter);
            let thread = spawn(move || {
                call_this_thread(1);
                let result = lock(&theirs.0, Some(MonoTime::from_ns(1)));
                if result.is_ok() {
                    count_and_unlock(&theirs);
                }
                result
            });
            call_this_thread(2);
            let mut total = 0;
            for _ in 0..2 {
                if try_lock(&counter.0) {
                    count_and_unlock(&counter);
                    total += 1;
                }
            }
            match thread.join().unwrap() {
                Ok(owner_died) => total += u32::from(!owner_died),
                Err(error) => assert_eq!(error, LockError::TimedOut),
            }
            assert_eq!(value(&counter), total);
            assert!(try_lock(&counter.0));
            unlock(&counter.0);
        });
    }
}

/// Locks and semaphores that a real-time core shares with its threads.
mod of_core_word {
    use crate::atomics::{Arc, AtomicU32, Ordering::Relaxed};
    use crate::core_word::{POSTS_MAX, lock, post, take_in_core, try_lock, try_take, unlock};
    use crate::sys::{Caller, CountCalls, LockCalls};
    use loom::cell::UnsafeCell;
    use loom::sync::{Condvar, Mutex};
    use loom::thread::spawn;
    use punctual_hist::MonoTime;
    use std::collections::VecDeque;

    const CLAIMED: u32 = 1 << 31;

    /// A core that accesses the word without any memory order; its own lock is all that orders its calls. Threads that
    /// wait for the lock have a handle each; of a semaphore, only their number counts.
    struct Core {
        word: AtomicU32,
        waiters: Mutex<VecDeque<u32>>,
        granted: Mutex<u32>,
        changed: Condvar,
        value: UnsafeCell<u32>,
    }

    /// The calls as one thread makes them.
    struct Calls(Arc<Core>, u32);

    fn core() -> Arc<Core> {
        Arc::new(Core {
            word: AtomicU32::new(0),
            waiters: Mutex::new(VecDeque::new()),
            granted: Mutex::new(0),
            changed: Condvar::new(),
            value: UnsafeCell::new(0),
        })
    }

    impl LockCalls for Calls {
        const OWNER: u32 = !CLAIMED;

        fn enter(&self, deadline: Option<MonoTime>) -> Result<(), i32> {
            let Self(core, me) = self;
            let mut waiters = core.waiters.lock().unwrap();
            let taken_or_claimed = |seen: u32| Some(if seen == 0 { *me } else { seen | CLAIMED });
            if core.word.fetch_update(Relaxed, Relaxed, taken_or_claimed).unwrap() == 0 {
                return Ok(());
            }
            if deadline.is_some() {
                // The word stays claimed, which costs the owner a call and nothing else.
                return Err(libc::ETIMEDOUT);
            }
            waiters.push_back(*me);
            while core.word.load(Relaxed) & !CLAIMED != *me {
                waiters = core.changed.wait(waiters).unwrap();
            }
            Ok(())
        }

        fn try_enter(&self) -> Result<(), i32> {
            let done = self.0.word.compare_exchange(0, self.1, Relaxed, Relaxed);
            done.map(drop).map_err(|_| libc::EBUSY)
        }

        fn exit(&self) -> Result<(), i32> {
            let mut waiters = self.0.waiters.lock().unwrap();
            let next = waiters.pop_front().unwrap_or(0);
            let claimed = if waiters.is_empty() { 0 } else { CLAIMED };
            self.0.word.swap(next | claimed, Relaxed);
            self.0.changed.notify_all();
            Ok(())
        }
    }

    impl CountCalls for Calls {
        fn wait(&self, deadline: Option<MonoTime>) -> Result<(), i32> {
            let mut granted = self.0.granted.lock().unwrap();
            let before = self.0.word.fetch_sub(1, Relaxed);
            if (1..=POSTS_MAX).contains(&before) {
                return Ok(());
            }
            if deadline.is_some() {
                self.0.word.fetch_add(1, Relaxed);
                return Err(libc::ETIMEDOUT);
            }
            while *granted == 0 {
                granted = self.0.changed.wait(granted).unwrap();
            }
            *granted -= 1;
            Ok(())
        }

        fn post(&self) -> Result<(), i32> {
            let mut granted = self.0.granted.lock().unwrap();
            if self.0.word.fetch_add(1, Relaxed) > POSTS_MAX {
                *granted += 1;
                self.0.changed.notify_all();
            }
            Ok(())
        }
    }

    fn model(check: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(check);
    }

    fn out_of_band(handle: u32) -> Caller {
        Caller { handle, is_in_band: false, tells_all: false }
    }

    /// The model checker reports access to the cell by two threads at once, and access that the lock does not order.
    fn add_one(core: &Core) {
        core.value.with_mut(|value| {
            // SAFETY: the model checker itself checks access to the cell.
            unsafe { *value += 1 }
        });
    }

    fn count_under_lock(calls: &Calls, caller: Caller) {
        assert_eq!(lock(&calls.0.word, caller, calls, None), Ok(()));
        add_one(&calls.0);
        unlock(&calls.0.word, caller, calls);
    }

    #[test]
    fn one_thread_at_a_time_with_and_without_the_core() {
        for in_band in [false, true] {
            model(move || {
                let core = core();
                let theirs = Calls(Arc::clone(&core), 1);
                let thread = spawn(move || count_under_lock(&theirs, Caller { is_in_band: in_band, ..out_of_band(1) }));
                count_under_lock(&Calls(Arc::clone(&core), 2), out_of_band(2));
                thread.join().unwrap();
                assert_eq!(core.word.load(Relaxed), 0, "free");
            });
        }
    }

    #[test]
    fn who_gives_up_leaves_the_lock_usable() {
        model(|| {
            let core = core();
            let theirs = Calls(Arc::clone(&core), 1);
            let thread = spawn(move || {
                let taken = lock(&theirs.0.word, out_of_band(1), &theirs, Some(MonoTime::from_ns(1)));
                if taken.is_ok() {
                    add_one(&theirs.0);
                    unlock(&theirs.0.word, out_of_band(1), &theirs);
                }
            });
            let ours = Calls(Arc::clone(&core), 2);
            if try_lock(&core.word, out_of_band(2), &ours) {
                add_one(&core);
                unlock(&core.word, out_of_band(2), &ours);
            }
            thread.join().unwrap();
            assert!(try_lock(&core.word, out_of_band(2), &ours), "free");
        });
    }

    #[test]
    fn no_post_is_lost_and_what_was_written_before_it_is_seen() {
        model(|| {
            let core = core();
            let theirs = Calls(Arc::clone(&core), 1);
            let thread = spawn(move || {
                add_one(&theirs.0);
                assert_eq!(post(&theirs.0.word, &theirs), Ok(()));
                assert_eq!(post(&theirs.0.word, &theirs), Ok(()));
            });
            let ours = Calls(Arc::clone(&core), 2);
            for _ in 0..2 {
                assert!(try_take(&core.word) || take_in_core(&core.word, &ours, None) == Ok(true));
            }
            add_one(&core);
            thread.join().unwrap();
            assert!(!try_take(&core.word));
        });
    }

    #[test]
    fn a_post_is_taken_or_kept_when_the_deadline_comes() {
        model(|| {
            let core = core();
            let theirs = Calls(Arc::clone(&core), 1);
            let thread = spawn(move || assert_eq!(post(&theirs.0.word, &theirs), Ok(())));
            let ours = Calls(Arc::clone(&core), 2);
            let taken = try_take(&core.word) || take_in_core(&core.word, &ours, Some(MonoTime::from_ns(1))) == Ok(true);
            thread.join().unwrap();
            assert_eq!(try_take(&core.word), !taken);
        });
    }
}
