//! Waiting for a release, with the kernel's ways to sleep and with polling added to them.
//!
//! A waiter knows instants only. The [`Grid`](crate::Grid) determines the next release.

mod clock;
mod margin;
mod recent;

use crate::backend::Attached;
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

/// The way to wait for a release.
#[derive(Clone, Debug)]
pub enum Wait {
    /// Sleeps in the kernel until the release. Activations are late by the time of the wake-up.
    Sleep,
    /// Sleeps until the release minus the usual wake-up delay. Activations are on time on average, but single ones are
    /// early or late.
    Anticipate,
    /// Sleeps until a margin before the release, then polls the clock. Use it if a few per cent of a CPU may be spent
    /// on punctuality.
    Hybrid(Margin),
    /// Polls the clock all the time, and so occupies the CPU.
    Spin,
    /// Waits for an outside event. The grid follows the events, for the statistics.
    External {
        /// The event to wait for.
        event: Event,
        /// How long to wait for the event before the activation counts as [`Class::TimedOut`]; above zero.
        patience: Nanos,
    },
}

impl Wait {
    /// Refuses a wait that would never sleep, although it is not [`Wait::Spin`].
    ///
    /// # Errors
    /// [`ConfigError::ZeroLength`] for a patience of zero.
    ///
    /// # Real-time
    /// Only computes.
    pub fn validate(&self) -> Result<(), Error> {
        match self {
            Self::External { patience: Nanos::ZERO, .. } => Err(Error::Config(ConfigError::ZeroLength)),
            _ => Ok(()),
        }
    }

    /// Whether a real-time core can carry out this wait.
    pub(crate) const fn is_of_cores(&self) -> bool {
        matches!(self, Self::Sleep | Self::Anticipate | Self::Hybrid(_))
    }
}

/// An outside event that activates a task.
#[derive(Clone, Debug)]
pub enum Event {
    /// A file descriptor becomes readable. The wait does not read it; the body has to.
    Readable(RawFd),
    /// Another thread posts a signal. The wait takes the post.
    Signal(Arc<Signal>),
}

/// The system call for sleeping. All variants use the same timer in the kernel, and each describes how it differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sleeper {
    /// `clock_nanosleep` until an instant, the recommended call. On `PREEMPT_RT`, its timer expires in hard interrupt
    /// context for real-time threads.
    #[default]
    Absolute,
    /// `clock_nanosleep` for the remaining time, as many programs do. Any delay between reading the clock and sleeping
    /// makes it late.
    Relative,
    /// `timerfd`, then `read`. On `PREEMPT_RT`, its timer expires in the softirq thread.
    Timerfd,
    /// A `futex` wait with the release as its time-out.
    Futex,
}

/// The outcome of one wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waited {
    pub(crate) woke: MonoTime,
    pub(crate) class: Class,
    pub(crate) overshoot: Option<Nanos>,
    pub(crate) polled: Nanos,
}

/// How far a wait got before polling.
pub(crate) enum Approach {
    /// The wait is over.
    There(Waited),
    /// The rest of the wait is to be polled.
    Near {
        /// When the polling began: after the sleep, or when the wait began if the thread did not sleep.
        back: MonoTime,
        overshoot: Option<Nanos>,
    },
}

/// The longest time that a wait sleeps without checking whether it was told to stop.
const UNATTENDED: Nanos = Nanos::from_ms(100);

/// Waits in one way, on one clock, and remembers how long earlier sleeps took.
pub(crate) struct Waiter<C> {
    pub(crate) clock: C,
    way: Way,
    /// The largest error that is classed as on time.
    pub(crate) tolerance: Nanos,
    /// How long the last wait polled.
    polled: Nanos,
    /// When this is set, long waits end early.
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
    /// Makes a waiter on the kernel's clock.
    ///
    /// # Errors
    /// [`SetupError::Timer`](crate::SetupError::Timer) if no timer file descriptor can be created,
    /// [`SetupError::Sleep`](crate::SetupError::Sleep) if the kernel does not let the thread sleep, and the errors of
    /// [`Wait::validate`].
    pub(crate) fn new(wait: &Wait, sleeper: Sleeper, tolerance: Nanos) -> Result<Self, Error> {
        wait.validate()?;
        Ok(Self::on(Monotonic::new(sleeper)?, wait, tolerance))
    }

    /// Makes a waiter for a thread that a real-time core paces.
    pub(crate) fn out_of_band(wait: &Wait, core: Attached, tolerance: Nanos) -> Self {
        Self::on(Monotonic::out_of_band(core), wait, tolerance)
    }
}

impl<C: Clock> Waiter<C> {
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

    /// Whether the waiter waits for outside events.
    pub(crate) fn is_external(&self) -> bool {
        matches!(self.way, Way::External(..))
    }

    /// Whether `woke` is close enough to a release to be on time.
    #[inline]
    pub(crate) fn is_on_time(&self, woke: MonoTime, release: MonoTime) -> bool {
        woke >= release && woke - release <= self.tolerance
    }

    /// Waits until `release`, including any polling.
    pub(crate) fn wait_until(&mut self, release: MonoTime, period: Nanos) -> Waited {
        match self.approach(release, period) {
            Approach::There(waited) => waited,
            Approach::Near { back, overshoot } => {
                let woke = self.poll_until(release);
                self.polled_until(woke, release, back, overshoot)
            }
        }
    }

    /// Waits without polling. Signals do not end the wait early. If the release is past, the kernel is not entered,
    /// because a sleep into the past still takes a round trip through timer and scheduler (14 us on one machine).
    ///
    /// # Real-time
    /// Allocates nothing. One kernel entry (two for `Timerfd`), and one more for each 0.1 s; none for `Spin` or a
    /// release that is past.
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

    /// Polls until `instant`; returns when the thread read the clock last.
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

    /// Ends a polling, and determines the class of the activation.
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

    /// Sleeps, and checks every 0.1 s whether it was told to stop. Sleeps again if the kernel returns too early.
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
        // A loop that was told to end meanwhile, for example by a core, does not wait for the release.
        if back < target && !self.stop.is_stopped() { self.clock.poll_until(target) } else { back }
    }

    /// If the other side of the descriptor is closed, the loop continues at its own period, so that it does not spin.
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

    /// How long before the release the sleep should end.
    #[inline]
    fn ahead(&mut self, period: Nanos) -> Nanos {
        match &mut self.way {
            // At most half a period, so that the loop cannot run further and further ahead of its releases.
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
