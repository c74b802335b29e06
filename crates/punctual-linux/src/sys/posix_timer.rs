//! POSIX timers that send a signal to the thread that made them, by the system calls themselves: no C library offers
//! the overrun count of a signal that was waited for.

use super::signals;
use punctual_hist::{MonoTime, Nanos};
use std::io;

/// The signal of timers that a thread waits for. No C library keeps it for itself.
pub const AWAITED: i32 = 42;

const SIGEV_THREAD_ID: i32 = 4;

/// The kernel's `struct sigevent`, which is 64 bytes long.
#[repr(C)]
struct Event {
    value: usize,
    signal: i32,
    notify: i32,
    thread: i32,
    rest: [i32; 12],
}

/// The kernel's `siginfo_t` of a signal sent by a timer, which is 128 bytes long.
#[repr(C)]
#[derive(Clone, Copy)]
struct Info {
    signal: i32,
    errno: i32,
    code: i32,
    timer: TimerInfo,
    rest: [u8; 96],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct TimerInfo {
    id: i32,
    overrun: i32,
    value: usize,
}

/// A timer on the monotonic clock.
#[derive(Debug)]
pub struct PosixTimer(i32);

impl PosixTimer {
    /// A timer that sends `signal` to the calling thread. The signal carries `value`.
    pub fn create(signal: i32, value: usize) -> io::Result<Self> {
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        let event = Event { value, signal, notify: SIGEV_THREAD_ID, thread, rest: [0; 12] };
        let mut id = 0_i32;
        // SAFETY: the kernel reads the event and writes the id; both outlive the call.
        let done =
            unsafe { libc::syscall(libc::SYS_timer_create, libc::CLOCK_MONOTONIC, &raw const event, &raw mut id) };
        if done == 0 { Ok(Self(id)) } else { Err(io::Error::last_os_error()) }
    }

    /// Makes the timer expire at `first`, and then every `period`.
    pub fn start(&self, first: MonoTime, period: Nanos) -> io::Result<()> {
        let time = |ns: u64| libc::timespec {
            tv_sec: (ns / 1_000_000_000).try_into().unwrap_or_default(),
            tv_nsec: libc::c_long::try_from(ns % 1_000_000_000).unwrap_or(0),
        };
        let expiry = libc::itimerspec { it_interval: time(period.as_ns()), it_value: time(first.as_ns()) };
        let nothing = std::ptr::null_mut::<libc::itimerspec>();
        // SAFETY: the kernel reads the structure, which outlives the call.
        let done =
            unsafe { libc::syscall(libc::SYS_timer_settime, self.0, libc::TIMER_ABSTIME, &raw const expiry, nothing) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for PosixTimer {
    fn drop(&mut self) {
        // SAFETY: no pointers are passed, and the timer belongs to this value.
        unsafe { libc::syscall(libc::SYS_timer_delete, self.0) };
    }
}

/// A signal of one of the calling thread's timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// The value given to [`PosixTimer::create`].
    pub value: usize,
    /// Further expiries since the one that this signal was sent for.
    pub overruns: u64,
}

/// Waits for the next signal [`AWAITED`], which the calling thread must have blocked; `None` if none came in time.
pub fn next_expiry(within: Nanos) -> io::Result<Option<Expiry>> {
    let set = signals::bit(AWAITED);
    let ns = within.as_ns();
    let time = libc::timespec {
        tv_sec: (ns / 1_000_000_000).try_into().unwrap_or_default(),
        tv_nsec: libc::c_long::try_from(ns % 1_000_000_000).unwrap_or(0),
    };
    let timer = TimerInfo { id: 0, overrun: 0, value: 0 };
    let mut info = Info { signal: 0, errno: 0, code: 0, timer, rest: [0; 96] };
    // SAFETY: the kernel reads the set and the time, and writes at most 128 bytes into the structure; all outlive the
    // call.
    let got = unsafe {
        libc::syscall(libc::SYS_rt_sigtimedwait, &raw const set, &raw mut info, &raw const time, size_of::<u64>())
    };
    if got < 0 {
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EINTR) => Ok(None),
            _ => Err(error),
        };
    }
    let overruns = u64::try_from(info.timer.overrun).unwrap_or(0);
    Ok((info.code == libc::SI_TIMER).then_some(Expiry { value: info.timer.value, overruns }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_of_the_kernel() {
        assert!(size_of::<Event>() >= 64);
        assert!(size_of::<Info>() >= 128);
    }

    #[test]
    fn expiries_that_nobody_waited_for_are_overruns_of_the_next_signal() {
        std::thread::spawn(|| {
            signals::set_blocked(AWAITED, true).unwrap();
            let timer = PosixTimer::create(AWAITED, 7).unwrap();
            let start = punctual_rt::now();
            timer.start(start + Nanos::from_ms(1), Nanos::from_ms(1)).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
            let expiry = next_expiry(Nanos::from_secs(60)).unwrap().unwrap();
            let most = (punctual_rt::now() - start).whole(Nanos::from_ms(1));
            assert_eq!(expiry.value, 7);
            assert!((18..=most).contains(&(expiry.overruns + 1)), "{expiry:?} of {most}");
            drop(timer);
            while next_expiry(Nanos::ZERO).unwrap().is_some() {}
            assert_eq!(next_expiry(Nanos::from_ms(5)).unwrap(), None, "a timer that is gone sends nothing");
        })
        .join()
        .unwrap();
    }
}
