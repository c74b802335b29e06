//! Waiting for a release, in the ways Linux offers.

use crate::sys::{self, Timerfd};
use crate::{Error, now};
use punctual_hist::MonoTime;

/// How to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// `clock_nanosleep` to the release itself: the one to use.
    Absolute,
    /// `clock_nanosleep` for the time left, as many programs do.
    Relative,
    /// `timerfd` armed for the release, then `read`.
    Timerfd,
    /// `futex` wait with the release as its time-out.
    Futex,
    /// Polls the clock. Never sleeps: occupies the CPU.
    Spin,
}

/// A way to wait, ready to use.
pub struct Waiter(Kind);

enum Kind {
    Absolute,
    Relative,
    Timerfd(Timerfd),
    Futex,
    Spin,
}

impl Waiter {
    /// Makes a waiter.
    ///
    /// # Errors
    /// [`Error::Timer`] when no timer file descriptor can be had.
    ///
    /// # Kernel
    /// Any supported Linux (4.4 and later).
    pub fn new(mechanism: Mechanism) -> Result<Self, Error> {
        Ok(Self(match mechanism {
            Mechanism::Absolute => Kind::Absolute,
            Mechanism::Relative => Kind::Relative,
            Mechanism::Timerfd => Kind::Timerfd(Timerfd::new().map_err(Error::Timer)?),
            Mechanism::Futex => Kind::Futex,
            Mechanism::Spin => Kind::Spin,
        }))
    }

    /// Waits until `release` and returns the time at which it is back. Signals do not end the wait early.
    ///
    /// When the release is already past no timer is armed: a sleep into the past still costs a whole round trip
    /// through timer and scheduler (14 us where this was measured).
    ///
    /// # Real-time
    /// Allocates nothing. One kernel entry (two for `Timerfd`), none for `Spin`.
    ///
    /// # Kernel
    /// On `PREEMPT_RT` a real-time thread's `clock_nanosleep` and `futex` expire in hard interrupt context, while a
    /// `timerfd` expires in the timer softirq thread.
    #[inline]
    pub fn wait_until(&mut self, release: MonoTime) -> MonoTime {
        match &self.0 {
            Kind::Absolute => sys::sleep_until(release),
            Kind::Relative => sys::sleep_for(release.since(now())),
            Kind::Timerfd(timer) => timer.wait_until(release),
            Kind::Futex => sys::futex_wait_until(release),
            Kind::Spin => return spin_until(release),
        }
        now()
    }
}

/// Polls the clock until `release`. The number of polls is bounded, so that a clock that stands still cannot hang a
/// real-time thread: at 20 ns a reading the bound is beyond any period.
fn spin_until(release: MonoTime) -> MonoTime {
    let mut at = now();
    let polls = release.since(at).as_ns().saturating_add(1_000);
    for _ in 0..polls {
        if at >= release {
            break;
        }
        core::hint::spin_loop();
        at = now();
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_hist::Nanos;

    #[test]
    fn no_mechanism_wakes_before_its_release() {
        use Mechanism::{Absolute, Futex, Relative, Spin, Timerfd};
        for mechanism in [Absolute, Relative, Timerfd, Futex, Spin] {
            let mut waiter = Waiter::new(mechanism).unwrap();
            for _ in 0..3 {
                let release = now().plus(Nanos::from_us(300));
                assert!(waiter.wait_until(release) >= release, "{mechanism:?}");
            }
            let past = now().minus(Nanos::from_ms(5));
            assert!(waiter.wait_until(past) >= past, "{mechanism:?} returns when the release is past");
        }
    }
}
