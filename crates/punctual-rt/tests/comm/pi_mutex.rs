//! Tests of the lock: one owner, which inherits priority; deadlocks, deadlines and dead owners are reported.

use punctual_rt::sync::{PiMutex, Signal};
use punctual_rt::{LockError, MonoTime, Nanos, Policy, now, setup};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

fn soon() -> MonoTime {
    now() + Nanos::from_ms(5)
}

#[test]
fn one_thread_at_a_time() {
    let rounds = if cfg!(miri) { 1 } else { 50_000 };
    let counter = PiMutex::new(0u64);
    std::thread::scope(|scope| {
        for _ in 0..if cfg!(miri) { 1 } else { 4 } {
            scope.spawn(|| (0..rounds).for_each(|_| *counter.lock().unwrap() += 1));
        }
    });
    let mut counter = counter;
    assert_eq!(*counter.get_mut(), if cfg!(miri) { 1 } else { 4 * rounds });
}

#[test]
fn a_thread_that_holds_it_is_told_and_does_not_hang() {
    let mutex = PiMutex::new(1);
    let guard = mutex.lock().unwrap();
    assert_eq!(mutex.lock().err(), Some(LockError::WouldDeadlock));
    assert_eq!(mutex.lock_until(soon()).err(), Some(LockError::WouldDeadlock));
    assert!(mutex.try_lock().is_none());
    drop(guard);
    assert_eq!(*mutex.try_lock().unwrap(), 1);
}

#[test]
#[cfg_attr(miri, ignore = "a system call unknown there")]
fn a_circle_of_owners_is_told() {
    let (first, second) = (PiMutex::new(()), PiMutex::new(()));
    let has_second = Signal::new();
    std::thread::scope(|scope| {
        let mine = first.lock().unwrap();
        let other = scope.spawn(|| {
            let _second = second.lock().unwrap();
            has_second.post();
            first.lock().map(|guard| guard.owner_died())
        });
        has_second.wait();
        // The thread that closes the circle gets the error; the other thread then gets its lock.
        let closed = second.lock_until(now() + Nanos::from_ms(5_000));
        let here = closed.as_ref().err().copied();
        drop(closed);
        drop(mine);
        let there = other.join().unwrap();
        assert!(here == Some(LockError::WouldDeadlock) || there == Err(LockError::WouldDeadlock), "{here:?} {there:?}");
    });
}

#[test]
#[cfg_attr(miri, ignore = "a system call unknown there")]
fn a_deadline_ends_the_wait_and_not_before() {
    let mutex = PiMutex::new(());
    let _guard = mutex.lock().unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let deadline = soon();
            assert_eq!(mutex.lock_until(deadline).err(), Some(LockError::TimedOut));
            assert!(now() >= deadline);
        });
        waiter.join().unwrap();
    });
}

#[test]
fn a_panic_releases_it() {
    let mutex = PiMutex::new(0);
    let result = catch_unwind(AssertUnwindSafe(|| {
        let mut guard = mutex.lock().unwrap();
        *guard = 7;
        panic!("on purpose");
    }));
    assert!(result.is_err());
    let guard = mutex.lock().unwrap();
    assert_eq!((*guard, guard.owner_died()), (7, false));
}

#[test]
#[cfg_attr(miri, ignore = "a system call unknown there")]
fn an_owner_that_ended_is_noticed_by_the_next() {
    let mutex = PiMutex::new(5);
    std::thread::scope(|scope| {
        scope.spawn(|| std::mem::forget(mutex.lock().unwrap())).join().unwrap();
    });
    let guard = mutex.lock().unwrap();
    assert_eq!((*guard, guard.owner_died()), (5, true));
    drop(guard);
    assert!(!mutex.lock().unwrap().owner_died(), "told once");
}

#[test]
#[cfg_attr(miri, ignore = "a system call unknown there")]
fn an_owner_that_ends_lets_those_who_wait_go_on() {
    // The owner ends while some threads sleep, some are about to and some have not come yet.
    for round in 0..60 {
        let (mutex, held) = (Arc::new(PiMutex::new(5)), Arc::new(Signal::new()));
        let (theirs, signal) = (Arc::clone(&mutex), Arc::clone(&held));
        let owner = std::thread::spawn(move || {
            std::mem::forget(theirs.lock().unwrap());
            signal.post();
            std::thread::sleep(std::time::Duration::from_micros(round * 10));
        });
        held.wait();
        let waiters: Vec<_> = (0..6)
            .map(|_| {
                let mutex = Arc::clone(&mutex);
                std::thread::spawn(move || mutex.lock().map(|guard| guard.owner_died()).unwrap())
            })
            .collect();
        owner.join().unwrap();
        let told = waiters.into_iter().map(|waiter| waiter.join().unwrap()).filter(|died| *died).count();
        assert_eq!(told, 1, "the first one after the death");
    }
}

#[test]
#[cfg_attr(miri, ignore = "a system call unknown there")]
fn a_forked_child_locks_under_its_own_id() {
    let mutex = PiMutex::new(());
    drop(mutex.lock().unwrap());
    // SAFETY: the child only takes a lock and exits; neither allocates.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let guard = mutex.lock();
        let ours = mutex.lock().err() == Some(LockError::WouldDeadlock);
        drop(guard);
        let good = ours && mutex.try_lock().is_some();
        // SAFETY: ends the child without running anything of the parent's.
        unsafe { libc::_exit(i32::from(!good)) };
    }
    let mut status = 0;
    // SAFETY: the child belongs to this process; the status is valid for the call.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0);
}

fn on_one_cpu(policy: Policy) -> bool {
    let cpu = setup::granted().unwrap().cpus[0];
    setup::pin_current(&[cpu]).is_ok() && setup::set_policy(policy).is_ok()
}

/// Runs three FIFO threads on one CPU: low holds the lock for 2 ms of work, middle spins for 200 ms, high wants the
/// lock. Returns how long high waited.
fn time_to_acquire(lock: impl Fn() + Sync, unlock_after: impl Fn(&dyn Fn()) + Sync) -> Nanos {
    let (ready, held, spinning) = (Signal::new(), Signal::new(), Signal::new());
    let spin = |length: u64| {
        let end = now() + Nanos::from_ms(length);
        while now() < end {
            std::hint::spin_loop();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert!(on_one_cpu(Policy::Fifo(10)));
            // Both threads have higher priority on the same CPU: after posting `ready` they run on until they sleep.
            ready.wait();
            ready.wait();
            unlock_after(&|| {
                held.post();
                // From here on the other threads run. The rest of the 2 ms is done when low gets the CPU again.
                spin(2);
            });
        });
        let high = scope.spawn(|| {
            assert!(on_one_cpu(Policy::Fifo(30)));
            ready.post();
            held.wait();
            // High releases middle itself, so that middle starts to spin when high sleeps on the lock.
            spinning.post();
            let start = now();
            lock();
            now() - start
        });
        scope.spawn(|| {
            assert!(on_one_cpu(Policy::Fifo(20)));
            ready.post();
            spinning.wait();
            spin(200);
        });
        high.join().unwrap()
    })
}

#[test]
#[ignore = "privileged: real-time priorities, 200 ms of one CPU"]
fn privileged_who_waits_lends_the_owner_its_priority() {
    let _one = crate::ONE_CPU.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let plain = std::sync::Mutex::new(());
    let without = time_to_acquire(
        || drop(plain.lock().unwrap()),
        |work| {
            let _guard = plain.lock().unwrap();
            work();
        },
    );
    let pi = PiMutex::new(());
    let with = time_to_acquire(
        || drop(pi.lock().unwrap()),
        |work| {
            let _guard = pi.lock().unwrap();
            work();
        },
    );
    println!("high waited {with:?} with inheritance, {without:?} without");
    assert!(without >= Nanos::from_ms(150), "the experiment shows no inversion: {without:?}");
    assert!(with < Nanos::from_ms(100), "{with:?}");
}
