//! Computes the next release and the number of missed ones. Pure arithmetic; the clock is never read.

use crate::Wake;
use punctual_hist::{Delta, MonoTime, Nanos};

/// What happens to releases that passed while the thread could not run or its body was still running.
///
/// The release that the thread waited for is always run, even if it is late. The variants decide about the later
/// releases that had also passed when the thread woke. Later releases that are not run are counted, and reported to the
/// body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overrun {
    /// Missed releases are not run. The next activation is the first release that is still to come on the same grid.
    #[default]
    Skip,
    /// Missed releases are run one after the other without waiting, at most `max` in a row. If there are more, the
    /// oldest ones are not run.
    CatchUp {
        /// The largest number of activations that follow a late one without waiting.
        max: u32,
    },
    /// Missed releases are not run, and a new grid starts one period from now, so the phase is lost.
    Reanchor,
    /// The loop of a [`Cyclic`](crate::Cyclic) or [`Task`](crate::Task) ends. A bare [`Pacer`](crate::Pacer) continues
    /// as with `Skip`.
    Stop,
}

/// The releases of a periodic task: `first`, `first + period`, … plus steering. A late wake-up does not move later
/// releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The next release, and the previous one.
    release: MonoTime,
    former: MonoTime,
    index: u64,
    period: Nanos,
    /// Releases at or after this instant are not due.
    end: MonoTime,
    overrun: Overrun,
    /// Whether the next release had already passed when the thread last woke.
    owed: bool,
    /// Number of activations since the last wait that were run because their releases had passed.
    in_a_row: u32,
    /// How far the next release was steered so far, and the limit.
    steered: Delta,
    steer_max: Nanos,
}

impl Grid {
    /// A grid whose first release is `first`. A period of zero is taken as 1 ns, so that releases always advance.
    pub const fn new(first: MonoTime, period: Nanos) -> Self {
        let period = at_least_1(period);
        Self {
            release: first,
            former: first.minus(period),
            index: 0,
            period,
            end: MonoTime::from_ns(u64::MAX),
            overrun: Overrun::Skip,
            owed: false,
            in_a_row: 0,
            steered: Delta::ZERO,
            steer_max: period.divided_by(100),
        }
    }

    /// Sets what happens to missed releases; by default [`Overrun::Skip`].
    #[must_use]
    pub const fn with_overrun(self, overrun: Overrun) -> Self {
        Self { overrun, ..self }
    }

    /// Ends the grid: no release at or after `end` is due, so none of them can be missed.
    #[must_use]
    pub const fn ending(self, end: MonoTime) -> Self {
        Self { end, ..self }
    }

    /// Sets the largest distance by which one release may be steered; by default a hundredth of the period.
    #[must_use]
    pub const fn with_steer_max(self, steer_max: Nanos) -> Self {
        Self { steer_max, ..self }
    }

    /// The next release.
    pub const fn release(&self) -> MonoTime {
        self.release
    }

    /// The period, without steering.
    pub const fn period(&self) -> Nanos {
        self.period
    }

    /// Number of releases so far, missed ones included.
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// Advances past the release that the thread waited for, and past later releases at or before `now` that will not
    /// be run. The caller adds to the returned [`Wake`] what only the wait knows, for example its class.
    ///
    /// # Real-time
    /// Only computes; one division, and only if a release was missed.
    #[inline]
    pub fn advance(&mut self, now: MonoTime) -> Wake {
        let (release, index, interval) = (self.release, self.index, self.release - self.former);
        self.in_a_row = if self.owed { self.in_a_row.saturating_add(1) } else { 0 };
        self.steered = Delta::ZERO;
        let next = release + self.period;
        let passed = if now < next { 0 } else { self.passed(next, now) };
        let missed = passed.saturating_sub(self.run_all_the_same(passed));
        self.former = release + self.period * missed;
        self.release =
            if passed > 0 && self.overrun == Overrun::Reanchor { now + self.period } else { self.former + self.period };
        self.owed = self.release <= now;
        self.index = index.saturating_add(1).saturating_add(missed);
        Wake { index, release, woke: now, interval, missed, ..Wake::default() }
    }

    /// Advances a grid whose activations are events from outside: `now` is the activation. The grid follows the events
    /// by a sixteenth of the difference each time, so that it keeps their mean phase for the statistics. The grid
    /// begins at the first event. An event more than half a period away moves the grid to it; whole periods without an
    /// event count as missed.
    ///
    /// # Real-time
    /// Only computes; one division at most.
    #[inline]
    pub fn follow(&mut self, now: MonoTime) -> Wake {
        if self.index == 0 {
            (self.release, self.former) = (now, now - self.period);
        }
        let waited = now - self.release;
        let missed = (waited + self.half()).whole(self.period);
        let (first, index) = (self.release, self.index);
        let release = first + self.period * missed;
        let error = now.signed_since(release);
        let interval = release - self.former;
        let astray = error.length() > self.half();
        self.former = if astray { now } else { release + Delta::from_ns(error.as_ns() >> 4) };
        self.release = self.former + self.period;
        (self.owed, self.steered) = (false, Delta::ZERO);
        self.index = index.saturating_add(1).saturating_add(missed);
        Wake { index: index.saturating_add(missed), release, woke: now, interval, missed, ..Wake::default() }
    }

    /// Moves the next release, and all after it, by `by`. Returns the distance really moved. Calls before the same
    /// release add up, within the limit of [`Grid::with_steer_max`]. No release is moved to before `now`.
    ///
    /// # Real-time
    /// Only computes.
    pub fn steer(&mut self, by: Delta, now: MonoTime) -> Delta {
        let allowed = (self.steered + by).within(self.steer_max) - self.steered;
        let moved = self.move_release(allowed, now);
        self.steered += moved;
        moved
    }

    /// Sets the period from the next release on. That release moves as well, but not to before `now`. A period of zero
    /// is taken as 1 ns. The steering limit stays, but is at most half the new period.
    ///
    /// # Real-time
    /// Only computes.
    pub fn set_period(&mut self, period: Nanos, now: MonoTime) {
        let period = at_least_1(period);
        let change = period.ahead() - self.period.ahead();
        self.period = period;
        self.steer_max = self.steer_max.min(self.half());
        self.move_release(change, now);
    }

    /// Moves the grid by any distance at once. Whole periods are left out, so only the phase changes. If the next
    /// release would move to before `now`, it becomes the first release of the moved grid after `now`.
    ///
    /// # Real-time
    /// Only computes; at most two divisions.
    pub fn shift_phase(&mut self, by: Delta, now: MonoTime) {
        let less = Delta::from_ns(by.as_ns().checked_rem(self.period.ahead().as_ns()).unwrap_or(0));
        let moved = self.release + less;
        self.release = if moved > now { moved } else { moved + self.period * self.passed_by(moved, now) };
        self.former = self.release - self.period;
    }

    /// Skips the releases that have passed by `now`, for example after a long initialisation, and returns their number.
    /// They count neither as run nor as missed.
    ///
    /// # Real-time
    /// Only computes; at most one division.
    pub fn resync(&mut self, now: MonoTime) -> u64 {
        if now < self.release {
            return 0;
        }
        let passed = self.passed_by(self.release, now);
        self.release += self.period * passed;
        self.former = self.release - self.period;
        self.index = self.index.saturating_add(passed);
        passed
    }

    /// Number of the `passed` releases that are run late instead of being missed.
    fn run_all_the_same(&self, passed: u64) -> u64 {
        match self.overrun {
            Overrun::CatchUp { max } => passed.min(u64::from(max.saturating_sub(self.in_a_row))),
            Overrun::Skip | Overrun::Reanchor | Overrun::Stop => 0,
        }
    }

    /// Number of releases from `next` on that lie at or before `now` and before the end.
    fn passed(&self, next: MonoTime, now: MonoTime) -> u64 {
        let last = now.min(self.end - Nanos::from_ns(1));
        if last < next { 0 } else { self.passed_by(next, last) }
    }

    /// Number of the instants `first`, `first + period`, … that lie at or before `now`, which is not before `first`.
    fn passed_by(&self, first: MonoTime, now: MonoTime) -> u64 {
        (now - first).whole(self.period).saturating_add(1)
    }

    fn move_release(&mut self, by: Delta, now: MonoTime) -> Delta {
        let before = self.release;
        self.release = (before + by).max(before.min(now));
        self.release.signed_since(before)
    }

    const fn half(&self) -> Nanos {
        Nanos::from_ns(self.period.as_ns() >> 1)
    }
}

const fn at_least_1(period: Nanos) -> Nanos {
    if period.as_ns() == 0 { Nanos::from_ns(1) } else { period }
}

#[cfg(test)]
mod tests;
