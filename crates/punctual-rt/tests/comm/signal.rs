//! Tests of the signal: each post lets one wait pass, between threads and between processes.

use punctual_rt::sync::Signal;
use punctual_rt::{MonoTime, Nanos, now};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

#[test]
fn posts_are_counted_and_taken_one_by_one() {
    let signal = Signal::new();
    assert!(!signal.try_wait());
    (0..5).for_each(|_| assert!(signal.post()));
    assert_eq!(signal.pending(), 5);
    signal.wait();
    assert!(signal.wait_until(now()), "a deadline that is past still takes what is there");
    assert!(signal.try_wait());
    assert_eq!((signal.take_all(), signal.take_all()), (2, 0));
}

#[test]
fn a_deadline_ends_the_wait_and_not_before() {
    let signal = Signal::new();
    let deadline = now() + Nanos::from_ms(5);
    assert!(!signal.wait_until(deadline));
    assert!(now() >= deadline);
    let past = now();
    assert!(!signal.wait_until(past));
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| signal.wait_until(MonoTime::from_ns(u64::MAX)));
        signal.post();
        assert!(waiter.join().unwrap());
    });
    assert_eq!(signal.waiting(), 0);
}

#[test]
fn every_post_lets_exactly_one_thread_pass() {
    let posts = if cfg!(miri) { 20 } else { 20_000 };
    let (signal, passed) = (Arc::new(Signal::new()), Arc::new(AtomicU32::new(0)));
    let takers: Vec<_> = (0..3)
        .map(|_| {
            let (signal, passed) = (Arc::clone(&signal), Arc::clone(&passed));
            std::thread::spawn(move || {
                loop {
                    signal.wait();
                    if passed.fetch_add(1, Relaxed) >= posts {
                        return;
                    }
                }
            })
        })
        .collect();
    (0..posts + 3).for_each(|_| assert!(signal.post()));
    for taker in takers {
        taker.join().unwrap();
    }
    assert_eq!((passed.load(Relaxed), signal.pending(), signal.waiting()), (posts + 3, 0, 0));
}

/// A handler without `SA_RESTART` interrupts the wait in the kernel, which must not end the call.
#[test]
#[cfg_attr(miri, ignore = "a system call unknown there")]
fn signals_of_the_system_do_not_end_a_wait() {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: an all-zero sigaction is a valid one: no flags, empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = nothing as *const () as usize;
    // SAFETY: the action is valid and its handler does nothing.
    unsafe { libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut()) };
    let signal = Arc::new(Signal::new());
    let waiting = Arc::clone(&signal);
    let (send, receive) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        // SAFETY: no pointers are passed.
        send.send(unsafe { libc::pthread_self() } as u64).unwrap();
        waiting.wait();
        !waiting.wait_until(now() + Nanos::from_ms(20))
    });
    let id = receive.recv().unwrap() as libc::pthread_t;
    let interrupt = || {
        for _ in 0..10 {
            std::thread::sleep(std::time::Duration::from_millis(1));
            // SAFETY: the thread is not joined yet, so its id is valid.
            unsafe { libc::pthread_kill(id, libc::SIGUSR2) };
        }
    };
    while signal.waiting() == 0 {
        std::thread::yield_now();
    }
    interrupt();
    assert_eq!(signal.waiting(), 1, "still waiting");
    signal.post();
    interrupt();
    assert!(thread.join().unwrap());
}

#[test]
#[cfg_attr(miri, ignore = "a system call unknown there")]
fn it_reaches_another_process() {
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping at an address that the kernel chooses.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    assert_ne!(memory, libc::MAP_FAILED);
    let pair = memory.cast::<[Signal; 2]>();
    // SAFETY: the page is larger than the pair, aligned, and not used by anything else.
    unsafe { pair.write([Signal::between_processes(), Signal::between_processes()]) };
    // SAFETY: written above; the mapping lives as long as the process.
    let [question, answer] = unsafe { &*pair };
    // SAFETY: the child only waits, posts and exits, which is allowed after a fork of a process with threads.
    let child = unsafe { libc::fork() };
    if child == 0 {
        question.wait();
        answer.post();
        // SAFETY: ends the child without running anything of the parent's.
        unsafe { libc::_exit(0) };
    }
    question.post();
    assert!(answer.wait_until(now() + Nanos::from_ms(20_000)));
    // SAFETY: the child belongs to this process; its status is not requested.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
}
