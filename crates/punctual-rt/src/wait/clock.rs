//! The clock on which a waiter waits: the kernel's for applications, a simulated one for tests.

use super::{Event, Sleeper};
use crate::backend::Attached;
use crate::interference::{Interference, PollWatch};
use crate::poll::{self, Poller};
use crate::sys::{self, Arrival, Timerfd};
use crate::{Class, Error, SetupError, now};
use punctual_hist::MonoTime;

/// The functions that a waiter needs in addition to reading the clock.
pub(crate) trait Clock: poll::Clock {
    /// Sleeps in the kernel until `at`; signals do not end it early.
    fn sleep_until(&mut self, at: MonoTime);
    /// Polls until `instant`, with a bounded number of readings.
    fn poll_until(&mut self, instant: MonoTime) -> MonoTime;
    /// Ends the polling. If the thread lost time while polling (`hit`), returns the class of the cause.
    fn settle(&mut self, hit: bool) -> Class;
    /// Waits for an outside event, at most until `until`.
    fn wait_for(&mut self, event: &Event, until: MonoTime) -> Arrival;
}

/// The means with which a waiter works on this machine, according to CPU, kernel and C library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Means {
    /// Way of polling: `"tpause"` or `"wfet"` if the CPU can rest until an instant, otherwise `"pause"` or `"isb"`.
    pub polls_with: &'static str,
    /// Whether [`Class::Preempted`] and [`Class::Interrupted`] can be distinguished by a mark that the kernel removes.
    /// If not, the class is [`Class::HitWhilePolling`].
    pub has_marks: bool,
}

/// `CLOCK_MONOTONIC` with one of the kernel's ways to sleep, for the thread that made it.
pub(crate) struct Monotonic {
    call: Call,
    poller: Poller,
    watch: PollWatch,
}

enum Call {
    Absolute,
    Relative,
    Timerfd(Timerfd),
    Futex,
    OutOfBand(Box<Attached>),
}

impl Monotonic {
    /// The clock of a thread that a real-time core paces.
    pub(crate) fn out_of_band(core: Attached) -> Self {
        Self {
            call: Call::OutOfBand(Box::new(core)),
            poller: Poller::detect(),
            watch: PollWatch::of_current_thread(false),
        }
    }

    /// The real-time core that paces the thread; `None` if Linux does.
    pub(crate) fn core(&self) -> Option<&Attached> {
        match &self.call {
            Call::OutOfBand(core) => Some(core),
            Call::Absolute | Call::Relative | Call::Timerfd(_) | Call::Futex => None,
        }
    }

    /// As [`Self::core`].
    pub(crate) fn core_mut(&mut self) -> Option<&mut Attached> {
        match &mut self.call {
            Call::OutOfBand(core) => Some(core),
            Call::Absolute | Call::Relative | Call::Timerfd(_) | Call::Futex => None,
        }
    }

    pub(crate) fn new(sleeper: Sleeper) -> Result<Self, Error> {
        let call = match sleeper {
            Sleeper::Absolute => {
                sys::try_sleep().map_err(SetupError::Sleep)?;
                Call::Absolute
            }
            Sleeper::Relative => Call::Relative,
            Sleeper::Timerfd => Call::Timerfd(Timerfd::new().map_err(SetupError::Timer)?),
            Sleeper::Futex => Call::Futex,
        };
        Ok(Self { call, poller: Poller::detect(), watch: PollWatch::of_current_thread(false) })
    }

    /// Lets the waiter ask the kernel what interfered, after a hit while polling.
    pub(crate) fn confirm_interference(&mut self) {
        self.watch = PollWatch::of_current_thread(true);
    }

    pub(crate) fn means(&self) -> Means {
        Means { polls_with: self.poller.name(), has_marks: self.watch.has_marks() }
    }
}

impl poll::Clock for Monotonic {
    #[inline]
    fn now(&mut self) -> MonoTime {
        now()
    }
}

impl Clock for Monotonic {
    #[inline]
    fn sleep_until(&mut self, at: MonoTime) {
        match &mut self.call {
            Call::Absolute => sys::sleep_until(at),
            Call::Relative => sys::sleep_for(at - now()),
            Call::Timerfd(timer) => timer.wait_until(at),
            Call::Futex => sys::futex_wait_until(at),
            Call::OutOfBand(core) => core.sleep_until(at),
        }
    }

    #[inline]
    fn poll_until(&mut self, instant: MonoTime) -> MonoTime {
        self.watch.begin();
        self.poller.poll_until(instant).at
    }

    #[inline]
    fn settle(&mut self, hit: bool) -> Class {
        match self.watch.end(hit) {
            None => Class::OnTime,
            Some(Interference::Unknown) => Class::HitWhilePolling,
            Some(Interference::Preempted) => Class::Preempted,
            Some(Interference::Interrupted) => Class::Interrupted,
        }
    }

    fn wait_for(&mut self, event: &Event, until: MonoTime) -> Arrival {
        match event {
            Event::Readable(fd) => sys::wait_readable(*fd, until - now()),
            Event::Signal(signal) if signal.wait_until(until) => Arrival::Came,
            Event::Signal(_) => Arrival::Missing,
        }
    }
}
