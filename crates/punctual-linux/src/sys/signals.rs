//! Signals that are waited for instead of acted on, with who sent them.

use std::io;
use std::time::Duration;

/// A signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Its number.
    pub signal: i32,
    /// A process sent it; otherwise the kernel did, for a terminal to its whole foreground group.
    pub by_a_process: bool,
}

/// Signals that are held back from the calling thread as long as this lives, to be waited for.
#[derive(Debug)]
pub struct Held {
    set: libc::sigset_t,
    before: libc::sigset_t,
}

impl Held {
    /// Holds these back. Programs started meanwhile do not inherit it: the standard library clears their mask.
    pub fn new(signals: &[i32]) -> io::Result<Self> {
        let mut held = Self { set: empty(), before: empty() };
        for signal in signals {
            // SAFETY: the set is initialised and lives; a number that is no signal is refused.
            unsafe { libc::sigaddset(&raw mut held.set, *signal) };
        }
        // SAFETY: both sets are initialised and live.
        let done = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const held.set, &raw mut held.before) };
        if done == 0 { Ok(held) } else { Err(io::Error::from_raw_os_error(done)) }
    }

    /// Waits for the next one.
    pub fn next(&self, at_most: Duration) -> Option<Arrived> {
        let timeout = libc::timespec {
            tv_sec: libc::time_t::try_from(at_most.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: libc::c_long::from(i32::try_from(at_most.subsec_nanos()).unwrap_or(0)),
        };
        let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: the set is initialised; the kernel fills in the information, which lives until the call returns.
        let signal = unsafe { libc::sigtimedwait(&raw const self.set, info.as_mut_ptr(), &raw const timeout) };
        if signal <= 0 {
            return None;
        }
        // SAFETY: all its bytes were set to zero, which is a value of it, and then by the kernel.
        let info = unsafe { info.assume_init() };
        Some(Arrived { signal, by_a_process: info.si_code <= 0 })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the set is what the kernel gave us.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

fn empty() -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: initialises the set.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: just initialised.
    unsafe { set.assume_init() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_is_held_is_waited_for() {
        let held = Held::new(&[libc::SIGUSR2]).unwrap();
        assert_eq!(held.next(Duration::ZERO), None);
        // SAFETY: sends the calling thread a signal that it holds back.
        unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGUSR2) };
        let arrived = Arrived { signal: libc::SIGUSR2, by_a_process: true };
        assert_eq!(held.next(Duration::from_secs(5)), Some(arrived));
    }
}
