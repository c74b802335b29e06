//! Tests that no sleep ends early under a storm of signals.

use super::{Arrival, Timerfd, futex_wait_until, now, sleep_for, sleep_until, wait_readable};
use punctual_hist::{MonoTime, Nanos};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

static HANDLED: AtomicU64 = AtomicU64::new(0);
/// Only one test at a time may use the counter, which is a static.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

extern "C" fn count(_: libc::c_int) {
    HANDLED.fetch_add(1, Relaxed);
}

/// Installs the handler with `SA_RESTART`, after which the kernel restarts some calls by itself, or without flags,
/// after which it restarts none.
fn install(flags: libc::c_int) {
    // SAFETY: all-zero is a valid sigaction: no handler, no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = count as extern "C" fn(libc::c_int) as libc::sighandler_t;
    action.sa_flags = flags;
    // SAFETY: the action is valid for the call; its handler only adds to an atomic number.
    let result = unsafe { libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut()) };
    assert_eq!(result, 0);
}

/// Sleeps while a signal arrives every 250 us. Returns the number of signals that were handled during the sleep.
fn storm(flags: libc::c_int, sleep: impl FnOnce()) -> u64 {
    let _alone = ONE_AT_A_TIME.lock();
    install(flags);
    // SAFETY: no pointers are passed.
    let sleeper = unsafe { libc::pthread_self() };
    let over = AtomicBool::new(false);
    let before = HANDLED.load(Relaxed);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Relaxed) {
                // SAFETY: the sleeper outlives this scope, which joins the thread that signals it.
                unsafe { libc::pthread_kill(sleeper, libc::SIGUSR2) };
                std::thread::sleep(Duration::from_micros(250));
            }
        });
        sleep();
        over.store(true, Relaxed);
    });
    HANDLED.load(Relaxed).saturating_sub(before)
}

const LENGTH: Nanos = Nanos::from_ms(50);

fn comes_back_after_its_release(name: &str, sleep: impl Fn(MonoTime)) {
    for flags in [0, libc::SA_RESTART] {
        // On a busy machine the thread that sends signals may not run in time. Then the test repeats.
        let mut attempts = 0;
        while !survives(name, flags, &sleep) {
            attempts += 1;
            assert!(attempts < 100, "{name}: no storm could be raised");
        }
    }
}

/// Runs a sleep under signals. Returns whether there were enough signals, and panics if the sleep ended early.
fn survives(name: &str, flags: libc::c_int, sleep: impl Fn(MonoTime)) -> bool {
    let release = now() + LENGTH;
    let mut back = MonoTime::from_ns(0);
    let handled = storm(flags, || {
        sleep(release);
        back = now();
    });
    assert!(back >= release, "{name} ended {:?} early", release - back);
    handled >= 5
}

#[test]
fn no_signal_ends_a_sleep_early() {
    comes_back_after_its_release("absolute", sleep_until);
    comes_back_after_its_release("relative", |release| sleep_for(release - now()));
    comes_back_after_its_release("futex", futex_wait_until);
    let timer = Timerfd::new().unwrap();
    comes_back_after_its_release("timerfd", |release| timer.wait_until(release));
    let (_silent, reader) = UnixStream::pair().unwrap();
    comes_back_after_its_release("ppoll", |release| {
        wait_readable(reader.as_raw_fd(), release - now());
    });
}

#[test]
fn no_signal_hides_what_becomes_readable() {
    for flags in [0, libc::SA_RESTART] {
        let mut attempts = 0;
        loop {
            let (mut writer, reader) = UnixStream::pair().unwrap();
            let before = HANDLED.load(Relaxed);
            let (mut arrival, mut signals_first) = (Arrival::Missing, 0);
            // Nothing here may panic, because the storm would never stop.
            storm(flags, || {
                std::thread::scope(|scope| {
                    let late = scope.spawn(|| {
                        std::thread::sleep(Duration::from_millis(20));
                        let signals = HANDLED.load(Relaxed).saturating_sub(before);
                        writer.write_all(b"x").map_or(0, |()| signals)
                    });
                    arrival = wait_readable(reader.as_raw_fd(), Nanos::from_secs(3));
                    signals_first = late.join().unwrap_or(0);
                });
            });
            assert_eq!(arrival, Arrival::Came, "given up for a signal");
            if signals_first >= 5 {
                break;
            }
            attempts += 1;
            assert!(attempts < 100, "no storm could be raised");
        }
    }
}
