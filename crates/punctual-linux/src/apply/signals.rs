//! Queues signals instead of letting them take effect, and reports who sent each of them.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::flag::register_conditional_default;
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::WithRawSiginfo;
use std::collections::VecDeque;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    pub signal: i32,
    /// Whether a process sent the signal. Otherwise the kernel did, which sends the signals of a terminal to the whole
    /// foreground process group.
    pub by_a_process: bool,
}

/// While this value lives, its signals are queued for [`Held::next`] instead of taking effect. Programs started
/// meanwhile receive them as usual.
pub struct Held {
    signals: Vec<i32>,
    delivery: SignalDelivery<UnixStream, WithRawSiginfo>,
    arrived: VecDeque<Arrived>,
}

impl Held {
    pub fn new(signals: &[i32]) -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        let delivery = SignalDelivery::with_pipe(read, write, WithRawSiginfo, signals)?;
        Ok(Self { signals: signals.to_vec(), delivery, arrived: VecDeque::new() })
    }

    pub fn next(&mut self, at_most: Duration) -> Option<Arrived> {
        if self.arrived.is_empty() {
            let timeout = Timespec::try_from(at_most).ok()?;
            // If `poll` is interrupted, the signal is pending and is read below.
            let _ = poll(&mut [PollFd::new(self.delivery.get_read(), PollFlags::IN)], Some(&timeout));
            let of = |info: libc::siginfo_t| Arrived { signal: info.si_signo, by_a_process: info.si_code <= 0 };
            self.arrived.extend(self.delivery.pending().map(of));
        }
        self.arrived.pop_front()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // The handlers stay installed and do nothing. Without this line no signal would end the process any more.
        for signal in &self.signals {
            let _ = register_conditional_default(*signal, Arc::new(AtomicBool::new(true)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_is_held_is_waited_for() {
        let mut held = Held::new(&[libc::SIGUSR2]).unwrap();
        assert_eq!(held.next(Duration::ZERO), None);
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::USR2).unwrap();
        let arrived = Arrived { signal: libc::SIGUSR2, by_a_process: true };
        assert_eq!(held.next(Duration::from_secs(5)), Some(arrived));
        assert_eq!(held.next(Duration::ZERO), None);
    }
}
