//! The clock a waiter waits on: the kernel's for applications, a pretended one for tests.

use super::{Event, Sleeper};
use crate::Class;
use crate::sys::{self, Timerfd};
use crate::{Error, now};
use punctual_hist::{MonoTime, Nanos};

/// What polling came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Polled {
    /// The first reading at or after the release, or the last one before giving up.
    pub(crate) at: MonoTime,
}

/// What a waiter needs of the world.
pub(crate) trait Clock {
    /// The time.
    fn now(&mut self) -> MonoTime;
    /// Sleeps in the kernel until `at`; signals do not end it early.
    fn sleep_until(&mut self, at: MonoTime);
    /// Polls until `release`, for a bounded number of readings.
    fn poll_until(&mut self, release: MonoTime) -> Polled;
    /// Who took the time that was lost while polling. Asked only when it was lost.
    fn blame(&mut self) -> Class;
    /// Waits for something from outside, but not beyond `until`; whether it came.
    fn wait_for(&mut self, event: &Event, until: MonoTime) -> bool;
}

/// `CLOCK_MONOTONIC`, slept on in one of the kernel's ways.
pub(crate) struct Monotonic(Call);

enum Call {
    Absolute,
    Relative,
    Timerfd(Timerfd),
    Futex,
}

impl Monotonic {
    pub(crate) fn new(sleeper: Sleeper) -> Result<Self, Error> {
        Ok(Self(match sleeper {
            Sleeper::Absolute => Call::Absolute,
            Sleeper::Relative => Call::Relative,
            Sleeper::Timerfd => Call::Timerfd(Timerfd::new().map_err(Error::Timer)?),
            Sleeper::Futex => Call::Futex,
        }))
    }
}

impl Clock for Monotonic {
    #[inline]
    fn now(&mut self) -> MonoTime {
        now()
    }

    #[inline]
    fn sleep_until(&mut self, at: MonoTime) {
        match &self.0 {
            Call::Absolute => sys::sleep_until(at),
            Call::Relative => sys::sleep_for(at.since(now())),
            Call::Timerfd(timer) => timer.wait_until(at),
            Call::Futex => sys::futex_wait_until(at),
        }
    }

    /// The number of polls is bounded, so that a clock that stands still cannot hang a real-time thread: at 20 ns a
    /// reading the bound is beyond any period.
    #[inline]
    fn poll_until(&mut self, release: MonoTime) -> Polled {
        let mut at = now();
        let polls = release.since(at).as_ns().saturating_add(1_000);
        for _ in 0..polls {
            if at >= release {
                break;
            }
            core::hint::spin_loop();
            at = now();
        }
        Polled { at }
    }

    #[cold]
    fn blame(&mut self) -> Class {
        Class::HitWhilePolling
    }

    fn wait_for(&mut self, event: &Event, until: MonoTime) -> bool {
        let Event::Readable(fd) = event;
        sys::wait_readable(*fd, until.since(now()).max(Nanos::from_ns(1)))
    }
}
