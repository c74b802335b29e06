//! Waiting for a release, in the ways Linux offers and in those built upon them.
//!
//! It knows instants only; which instant is the next release is the [`Grid`](crate::Grid)'s business.

mod clock;
mod margin;
mod recent;

use crate::sync::Signal;
use crate::{Class, Error};
pub use clock::Means;
pub(crate) use clock::{Clock, Monotonic};
pub use margin::Margin;
use margin::{MarginTracker, Offset};
use punctual_hist::{MonoTime, Nanos};
use std::os::fd::RawFd;
use std::sync::Arc;

/// How to wait for a release.
#[derive(Clone, Debug)]
pub enum Wait {
    /// Sleeps in the kernel until the release: late by what the way back takes.
    Sleep,
    /// Sleeps until the release minus what sleeps usually take too long: right in the mean, early or late by the rest.
    Anticipate,
    /// Sleeps until the release minus a margin, then polls the clock: the one to use where a few per cent of a CPU may
    /// be spent on punctuality.
    Hybrid(Margin),
    /// Polls the clock all the time. Occupies the CPU.
    Spin,
    /// Waits for something from outside. The grid follows it, as a model for the statistics.
    External {
        /// What to wait for.
        event: Event,
        /// How long to wait for it before the activation is given as [`Class::TimedOut`]; above zero. Stopping a task takes
        /// as long.
        patience: Nanos,
    },
}

impl Wait {
    /// Refuses what would never sleep without having been asked to.
    ///
    /// # Errors
    /// [`Error::ZeroLength`]: no patience at all.
    pub fn validate(&self) -> Result<(), Error> {
        match self {
            Self::External { patience: Nanos::ZERO, .. } => Err(Error::ZeroLength),
            _ => Ok(()),
        }
    }
}

/// Something outside that activates a task.
#[derive(Clone, Debug)]
pub enum Event {
    /// A file descriptor becomes readable. The wait does not read it: the body does.
    Readable(RawFd),
    /// A signal is posted, by another thread; the wait takes the post.
    Signal(Arc<Signal>),
}

/// The kernel's call to sleep with. They all end in the same timer; what differs is said at each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sleeper {
    /// `clock_nanosleep` to an instant: the one to use. On `PREEMPT_RT` it expires in hard interrupt context for
    /// real-time threads.
    #[default]
    Absolute,
    /// `clock_nanosleep` for the time left, as many programs do: what happens between reading the clock and sleeping
    /// makes it late.
    Relative,
    /// `timerfd`, then `read`. On `PREEMPT_RT` it expires in the timer softirq thread.
    Timerfd,
    /// `futex` wait with the release as its time-out.
    Futex,
}

/// Longer than fetching a few dozen cache lines takes.
const WARMING: Nanos = Nanos::from_us(3);

/// What one wait came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waited {
    pub(crate) woke: MonoTime,
    pub(crate) class: Class,
    pub(crate) overshoot: Option<Nanos>,
    pub(crate) polled: Nanos,
}

/// A way to wait, in use.
pub(crate) struct Waiter<C> {
    clock: C,
    way: Way,
    /// An error of at most this much is on time.
    tolerance: Nanos,
    /// How long the last wait polled.
    polled: Nanos,
}

enum Way {
    Sleep,
    Anticipate(Offset),
    Hybrid(MarginTracker),
    Spin,
    External(Event, Nanos),
}

impl Waiter<Monotonic> {
    /// A waiter on the kernel's clock.
    ///
    /// # Errors
    /// [`Error::Timer`] when no timer file descriptor can be had, and what [`Wait::validate`] refuses.
    pub(crate) fn new(wait: &Wait, sleeper: Sleeper, tolerance: Nanos) -> Result<Self, Error> {
        wait.validate()?;
        Ok(Self::on(Monotonic::new(sleeper)?, wait, tolerance))
    }
}

impl<C: Clock> Waiter<C> {
    /// A waiter on a given clock.
    pub(crate) fn on(clock: C, wait: &Wait, tolerance: Nanos) -> Self {
        let way = match wait {
            Wait::Sleep => Way::Sleep,
            Wait::Anticipate => Way::Anticipate(Offset::new()),
            Wait::Hybrid(margin) => Way::Hybrid(MarginTracker::new(*margin)),
            Wait::Spin => Way::Spin,
            Wait::External { event, patience } => Way::External(event.clone(), *patience),
        };
        Self { clock, way, tolerance, polled: Nanos::ZERO }
    }

    /// An error of at most `tolerance` is on time.
    pub(crate) fn with_tolerance(self, tolerance: Nanos) -> Self {
        Self { tolerance, ..self }
    }

    /// The clock it waits on.
    pub(crate) fn clock(&mut self) -> &mut C {
        &mut self.clock
    }

    /// Whether activations come from outside.
    pub(crate) fn is_external(&self) -> bool {
        matches!(self.way, Way::External(..))
    }

    /// Waits until `release`. Signals do not end the wait early. When the release is past, the kernel is not entered:
    /// a sleep into the past still costs a whole round trip through timer and scheduler (14 us where this was
    /// measured).
    ///
    /// # Real-time
    /// Allocates nothing. One kernel entry (two for `Timerfd`), none for `Spin` or a release that is past.
    ///
    /// `warm` is called where there is time to burn: between the sleep and the release, if the wait polls there.
    #[inline]
    pub(crate) fn wait_until(&mut self, release: MonoTime, period: Nanos, warm: impl FnOnce()) -> Waited {
        let began = self.clock.now();
        if let Way::External(event, patience) = &self.way {
            let came = self.clock.wait_for(event, began.plus(*patience));
            let class = if came { Class::OnTime } else { Class::TimedOut };
            return Waited { woke: self.clock.now(), class, overshoot: None, polled: Nanos::ZERO };
        }
        if began >= release {
            return Waited { woke: began, class: Class::PastOnArrival, overshoot: None, polled: Nanos::ZERO };
        }
        let ahead = self.ahead(period);
        let target = release.minus(ahead);
        let (back, overshoot) = if matches!(self.way, Way::Spin) || target <= began {
            (began, None)
        } else {
            self.clock.sleep_until(target);
            let back = self.clock.now();
            (back, Some(back.since(target)))
        };
        if let Some(overshoot) = overshoot {
            self.learn(overshoot);
        }
        if self.polls() && release.since(back) > WARMING {
            warm();
        }
        self.poll_or_return(release, back, overshoot)
    }

    /// How long before the release to come back from the sleep.
    #[inline]
    fn ahead(&mut self, period: Nanos) -> Nanos {
        match &mut self.way {
            // Half a period early at most, or the loop would run away backwards.
            Way::Anticipate(offset) => offset.get().min(period.divided_by(2)),
            Way::Hybrid(margin) => {
                margin.spent(self.polled, period);
                margin.get(period)
            }
            Way::Sleep | Way::Spin | Way::External(..) => Nanos::ZERO,
        }
    }

    #[inline]
    fn polls(&self) -> bool {
        matches!(self.way, Way::Hybrid(_) | Way::Spin)
    }

    #[inline]
    fn learn(&mut self, overshoot: Nanos) {
        match &mut self.way {
            Way::Anticipate(offset) => offset.learn(overshoot),
            Way::Hybrid(margin) => margin.learn(overshoot),
            Way::Sleep | Way::Spin | Way::External(..) => {}
        }
    }

    #[inline]
    fn poll_or_return(&mut self, release: MonoTime, back: MonoTime, overshoot: Option<Nanos>) -> Waited {
        if back >= release || !self.polls() {
            let class = match back.minus_instant(release) {
                error if error.length() <= self.tolerance => Class::OnTime,
                _ if back < release => Class::Early,
                _ => Class::LateFromSleep,
            };
            self.polled = Nanos::ZERO;
            return Waited { woke: back, class, overshoot, polled: Nanos::ZERO };
        }
        let (polled, class) = self.clock.poll_until(release, self.tolerance);
        self.polled = polled.at.since(back);
        Waited { woke: polled.at, class, overshoot, polled: self.polled }
    }
}

#[cfg(test)]
mod tests;
