//! Signals that are waited for instead of acted on, with who sent them.
//!
//! Whichever thread one is delivered to, its handler writes one byte into a pipe, and nothing else.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// Where the handler writes to; none while nobody waits.
static PIPE: AtomicI32 = AtomicI32::new(-1);
/// Set in a byte when a process sent the signal whose number is the rest of it.
const BY_A_PROCESS: u8 = 0x80;

/// A signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    pub signal: i32,
    /// A process sent it; otherwise the kernel did, for a terminal to its whole foreground group.
    pub by_a_process: bool,
}

/// Signals that are held back from this process as long as this lives, to be waited for. Programs started meanwhile
/// have them as always.
#[derive(Debug)]
pub struct Held {
    read: OwnedFd,
    _write: OwnedFd,
    before: Vec<(i32, libc::sigaction)>,
}

extern "C" fn heard(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel gives a handler of this kind information that lives until it returns.
    let code = unsafe { info.as_ref() }.map_or(1, |info| info.si_code);
    let byte = u8::try_from(signal).unwrap_or(0) | if code <= 0 { BY_A_PROCESS } else { 0 };
    // SAFETY: as any thread has its own.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: always valid.
    let kept = unsafe { *errno };
    // SAFETY: writes one byte that lives; a number that is no open file is refused. The pipe never blocks.
    unsafe { libc::write(PIPE.load(Ordering::Relaxed), (&raw const byte).cast(), 1) };
    // SAFETY: as above; who was interrupted finds what he had.
    unsafe { *errno = kept };
}

impl Held {
    /// Holds these back. Only one can be at a time.
    pub fn new(signals: &[i32]) -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        if PIPE.compare_exchange(-1, write.as_raw_fd(), Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        let mut held = Self { read, _write: write, before: Vec::new() };
        for signal in signals {
            // SAFETY: all zero is a value of the structure.
            let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
            action.sa_sigaction = heard as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            let mut before = action;
            // SAFETY: both structures live; the handler does nothing but what a handler may do.
            if unsafe { libc::sigaction(*signal, &raw const action, &raw mut before) } != 0 {
                return Err(io::Error::last_os_error());
            }
            held.before.push((*signal, before));
        }
        Ok(held)
    }

    /// Waits for the next one.
    pub fn next(&self, at_most: Duration) -> Option<Arrived> {
        let timeout =
            Timespec { tv_sec: i64::try_from(at_most.as_secs()).ok()?, tv_nsec: at_most.subsec_nanos().into() };
        // An interruption is a signal, which is in the pipe.
        let _ = poll(&mut [PollFd::new(&self.read, PollFlags::IN)], Some(&timeout));
        let mut byte = [0];
        let length = rustix::io::read(&self.read, &mut byte).ok()?;
        let [byte] = byte;
        let arrived = Arrived { signal: (byte & !BY_A_PROCESS).into(), by_a_process: byte & BY_A_PROCESS != 0 };
        (length == 1).then_some(arrived)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for (signal, before) in self.before.iter().rev() {
            // SAFETY: the structure is what the kernel gave us.
            unsafe { libc::sigaction(*signal, before, std::ptr::null_mut()) };
        }
        PIPE.store(-1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_is_held_is_waited_for() {
        let held = Held::new(&[libc::SIGUSR2]).unwrap();
        assert_eq!(held.next(Duration::ZERO), None);
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::USR2).unwrap();
        let arrived = Arrived { signal: libc::SIGUSR2, by_a_process: true };
        assert_eq!(held.next(Duration::from_secs(5)), Some(arrived));
        assert!(Held::new(&[]).is_err());
    }
}
