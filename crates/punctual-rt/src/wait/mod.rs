//! Waiting for a release, in the ways Linux offers and in those built upon them.
//!
//! It knows instants only; which instant is the next release is the [`Grid`](crate::Grid)'s business.

mod clock;
mod margin;
mod recent;

use crate::sync::Signal;
use crate::sys::Arrival;
use crate::{Class, ConfigError, Error, Stopper};
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
    /// Waits for an outside event. The grid follows the events, as a model for the statistics.
    External {
        /// The event to wait for.
        event: Event,
        /// How long to wait for the event before the activation counts as [`Class::TimedOut`]; above zero.
        patience: Nanos,
    },
}

impl Wait {
    /// Refuses what would never sleep without having been asked to.
    ///
    /// # Errors
    /// [`ConfigError::ZeroLength`]: no patience at all.
    ///
    /// # Real-time
    /// Pure.
    pub fn validate(&self) -> Result<(), Error> {
        match self {
            Self::External { patience: Nanos::ZERO, .. } => Err(Error::Config(ConfigError::ZeroLength)),
            _ => Ok(()),
        }
    }
}

/// An outside event that activates a task.
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

/// What one wait came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waited {
    pub(crate) woke: MonoTime,
    pub(crate) class: Class,
    pub(crate) overshoot: Option<Nanos>,
    pub(crate) polled: Nanos,
}

/// How far a wait got without polling.
pub(crate) enum Approach {
    /// The wait is over.
    There(Waited),
    /// The rest of the wait is to be polled.
    Near {
        /// When the thread was back from the kernel.
        back: MonoTime,
        overshoot: Option<Nanos>,
    },
}

/// How long a wait goes without looking whether it is to stop.
const UNATTENDED: Nanos = Nanos::from_ms(100);

/// A way to wait, in use.
pub(crate) struct Waiter<C> {
    pub(crate) clock: C,
    way: Way,
    /// The largest error that is on time.
    pub(crate) tolerance: Nanos,
    /// How long the last wait polled.
    polled: Nanos,
    /// Long waits end early when it says so.
    pub(crate) stop: Stopper,
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
    /// [`SetupError::Timer`](crate::SetupError::Timer) when no timer file descriptor can be had, [`SetupError::Sleep`](crate::SetupError::Sleep) when the kernel lets nobody sleep, and
    /// what [`Wait::validate`] refuses.
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
        Self { clock, way, tolerance, polled: Nanos::ZERO, stop: Stopper::default() }
    }

    /// Whether activations come from outside.
    pub(crate) fn is_external(&self) -> bool {
        matches!(self.way, Way::External(..))
    }

    /// Whether `woke` is near enough to a release to be on time.
    #[inline]
    pub(crate) fn is_on_time(&self, woke: MonoTime, release: MonoTime) -> bool {
        woke >= release && woke - release <= self.tolerance
    }

    /// Waits until `release`, from beginning to end.
    pub(crate) fn wait_until(&mut self, release: MonoTime, period: Nanos) -> Waited {
        match self.approach(release, period) {
            Approach::There(waited) => waited,
            Approach::Near { back, overshoot } => {
                let woke = self.poll_until(release);
                self.polled_until(woke, release, back, overshoot)
            }
        }
    }

    /// Waits without polling. Signals do not end the wait early. When the release is past, the kernel is not entered: a
    /// sleep into the past still costs a whole round trip through timer and scheduler (14 us where this was measured).
    ///
    /// # Real-time
    /// Allocates nothing. One kernel entry (two for `Timerfd`), and one more for each 0.1 s; none for `Spin` or a release
    /// that is past.
    #[inline]
    pub(crate) fn approach(&mut self, release: MonoTime, period: Nanos) -> Approach {
        let began = self.clock.now();
        if self.is_external() {
            return Approach::There(self.wait_for_event(began, release));
        }
        if began >= release {
            let class = Class::PastOnArrival;
            return Approach::There(Waited { woke: began, class, overshoot: None, polled: Nanos::ZERO });
        }
        let target = release - self.ahead(period);
        let (back, overshoot) = if matches!(self.way, Way::Spin) || target <= began {
            (began, None)
        } else {
            let back = self.sleep_until(target, began);
            (back, Some(back - target))
        };
        if let Some(overshoot) = overshoot {
            self.learn(overshoot);
        }
        let polls = matches!(self.way, Way::Hybrid(_) | Way::Spin);
        if polls && back < release && !self.stop.is_stopped() {
            return Approach::Near { back, overshoot };
        }
        self.polled = Nanos::ZERO;
        let class = match back.signed_since(release) {
            error if error.length() <= self.tolerance => Class::OnTime,
            _ if back < release => Class::Early,
            _ => Class::LateFromSleep,
        };
        Approach::There(Waited { woke: back, class, overshoot, polled: Nanos::ZERO })
    }

    /// Polls until `instant`; when the thread was back.
    #[inline]
    pub(crate) fn poll_until(&mut self, instant: MonoTime) -> MonoTime {
        self.clock.poll_until(instant)
    }

    /// Ends a polling that was on time.
    #[inline]
    pub(crate) fn arrived(&mut self, polled: Nanos) {
        self.polled = polled;
        self.clock.settle(false);
    }

    /// Ends any polling.
    #[cold]
    pub(crate) fn polled_until(
        &mut self,
        woke: MonoTime,
        release: MonoTime,
        back: MonoTime,
        overshoot: Option<Nanos>,
    ) -> Waited {
        self.polled = woke - back;
        let class = self.clock.settle(woke - release > self.tolerance);
        Waited { woke, class, overshoot, polled: self.polled }
    }

    /// Sleeps, and looks now and then whether it is to stop. A kernel that returns too soon is not believed.
    #[inline]
    fn sleep_until(&mut self, target: MonoTime, began: MonoTime) -> MonoTime {
        let mut now = began;
        while target - now > UNATTENDED && !self.stop.is_stopped() {
            self.clock.sleep_until(now + UNATTENDED);
            now = self.clock.now();
        }
        if self.stop.is_stopped() {
            return now;
        }
        self.clock.sleep_until(target);
        let back = self.clock.now();
        if back < target { self.clock.poll_until(target) } else { back }
    }

    /// When the other side is gone, the loop goes on at its own period, so that it does not spin.
    fn wait_for_event(&mut self, began: MonoTime, release: MonoTime) -> Waited {
        let Way::External(event, patience) = &self.way else {
            return Waited { woke: began, class: Class::TimedOut, overshoot: None, polled: Nanos::ZERO };
        };
        let end = began + *patience;
        let (mut now, mut arrival) = (began, Arrival::Missing);
        while arrival == Arrival::Missing && now < end && !self.stop.is_stopped() {
            arrival = self.clock.wait_for(event, end.min(now + UNATTENDED));
            now = self.clock.now();
        }
        if arrival == Arrival::CameLast && release > now {
            self.clock.sleep_until(release.min(now + UNATTENDED));
            now = self.clock.now();
        }
        let class = if arrival == Arrival::Missing { Class::TimedOut } else { Class::OnTime };
        Waited { woke: now, class, overshoot: None, polled: Nanos::ZERO }
    }

    /// How long before the release to come back from the sleep.
    #[inline]
    fn ahead(&mut self, period: Nanos) -> Nanos {
        match &mut self.way {
            // Half a period early at most, or the loop would run away backwards.
            Way::Anticipate(offset) => offset.get().min(period / 2),
            Way::Hybrid(margin) => {
                margin.spent(self.polled, period);
                margin.get(period)
            }
            Way::Sleep | Way::Spin | Way::External(..) => Nanos::ZERO,
        }
    }

    #[inline]
    fn learn(&mut self, overshoot: Nanos) {
        match &mut self.way {
            Way::Anticipate(offset) => offset.learn(overshoot),
            Way::Hybrid(margin) => margin.learn(overshoot),
            Way::Sleep | Way::Spin | Way::External(..) => {}
        }
    }
}

#[cfg(test)]
mod tests;
