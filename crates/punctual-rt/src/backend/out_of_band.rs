//! A thread that sleeps on a core: counts how often it was taken in-band, and ends the loop if that is forbidden.

use super::{Departure, InBand, Needs, SwitchCause};
use crate::sys::{Member, SleepCall};
use crate::{Stopper, sys};
use punctual_hist::{MonoTime, Nanos};

/// How often the number of switches is read. The core only counts up, so no switch is lost between two readings.
const READ_EVERY: Nanos = Nanos::from_ms(100);

/// What a core does for a thread that is attached to it. Each call fails with an `errno`.
pub(crate) trait Core {
    fn sleep_until(&self, at: MonoTime) -> Result<(), i32>;
    /// Number of times that the thread was taken in-band.
    fn switches(&self) -> Result<u64, i32>;
    /// Whether the core sends a signal when the thread is taken in-band.
    fn warn(&self, on: bool) -> Result<(), i32>;
    /// The calling thread, as the core knows it.
    fn member(&self) -> Member;
    /// The sleep as the system call that it is.
    fn sleep_call(&self) -> SleepCall;
}

pub(crate) struct OutOfBand<C: Core> {
    core: C,
    in_band: InBand,
    /// Number of switches before the first sleep, which belong to the start.
    at_start: Option<u64>,
    /// Number of switches since then, as of the last reading.
    counted: u64,
    /// The next instant at which the number of switches is read.
    read_at: MonoTime,
    departure: Option<Departure>,
    stop: Stopper,
    report: Box<dyn Fn(u64) + Send>,
}

impl<C: Core> OutOfBand<C> {
    pub(crate) fn new(core: C, needs: Needs) -> Self {
        let Needs { in_band, stop, report, .. } = needs;
        sys::set_member(Some(core.member()));
        Self { core, in_band, at_start: None, counted: 0, read_at: MonoTime::default(), departure: None, stop, report }
    }

    pub(crate) const fn departure(&self) -> Option<Departure> {
        self.departure
    }

    pub(crate) fn sleep_call(&self) -> SleepCall {
        self.core.sleep_call()
    }

    pub(crate) const fn switches(&self) -> u64 {
        self.counted
    }

    /// Reads the number of switches anew.
    pub(crate) fn count_switches(&mut self) -> u64 {
        self.read(sys::now());
        self.counted
    }

    /// See [`super::Attached::sleep_until`].
    #[inline]
    pub(crate) fn sleep_until(&mut self, at: MonoTime) {
        // The number is read before the sleep, where a loop has time to spare. After the sleep it would delay the body.
        if at >= self.read_at && sys::now() < at {
            self.read(at);
        }
        while sys::now() < at {
            if self.must_end() {
                return;
            }
            match self.core.sleep_until(at) {
                Ok(()) => break,
                Err(libc::EINTR) => {}
                // The core says that the instant had passed when the sleep began.
                Err(libc::EOVERFLOW | libc::ETIMEDOUT) if sys::now() >= at => break,
                Err(errno) => return self.depart(Departure::Refused(errno)),
            }
        }
    }

    /// Whether the core no longer lets the thread sleep, or took it in-band although that is forbidden.
    #[inline]
    fn must_end(&mut self) -> bool {
        let cause = if self.in_band == InBand::Strict { sys::take_debug_cause() } else { None };
        if let Some(cause) = cause {
            self.depart(Departure::InBand(SwitchCause::of_number(cause)));
        }
        self.departure.is_some()
    }

    /// Reads how often the thread was taken in-band. The first reading moves the thread out-of-band, and notes the number
    /// from which to count.
    #[cold]
    #[inline(never)]
    fn read(&mut self, now: MonoTime) {
        self.read_at = now + READ_EVERY;
        match (self.core.switches(), self.at_start) {
            (Ok(switches), Some(at_start)) => {
                self.counted = switches.saturating_sub(at_start);
                (self.report)(self.counted);
            }
            (Ok(switches), None) => {
                self.at_start = Some(switches);
                (self.report)(0);
                if self.in_band == InBand::Strict {
                    sys::take_debug_cause();
                    if let Err(errno) = self.core.warn(true) {
                        self.depart(Departure::Refused(errno));
                    }
                }
            }
            (Err(errno), _) => self.depart(Departure::Refused(errno)),
        }
    }

    /// Ends the loop. The first reason is kept.
    #[cold]
    fn depart(&mut self, why: Departure) {
        self.departure = self.departure.or(Some(why));
        self.stop.stop();
    }
}

impl<C: Core> Drop for OutOfBand<C> {
    /// The signal is turned off first, because leaving the core takes the thread in-band.
    fn drop(&mut self) {
        if let (Some(at_start), Ok(switches)) = (self.at_start, self.core.switches()) {
            (self.report)(switches.saturating_sub(at_start));
        }
        if self.in_band == InBand::Strict {
            let _ = self.core.warn(false);
        }
        sys::set_member(None);
    }
}
