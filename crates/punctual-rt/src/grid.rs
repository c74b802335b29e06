//! When the next release is, and how many passed: pure arithmetic, no clock.

use crate::Wake;
use punctual_hist::{Delta, MonoTime, Nanos};

/// What becomes of releases that passed while the thread was kept away, or was still busy.
///
/// The release that was waited for is always run, at once and late. The choice concerns the releases after it that had
/// passed as well when the thread was back. Each one that is not run is counted and reported to the body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overrun {
    /// Passed releases are not run; the next activation is the first release still to come, on the old grid.
    #[default]
    Skip,
    /// Passed releases are run without a pause, but no more than `max` in a row; the rest are missed, the oldest first.
    CatchUp {
        /// The most activations that follow a late one without a wait between them.
        max: u32,
    },
    /// Passed releases are not run, and the grid begins anew one period from now: the phase is lost.
    Reanchor,
    /// The loop of a [`Cyclic`](crate::Cyclic) or [`Task`](crate::Task) ends; a bare [`Pacer`](crate::Pacer) goes on as with
    /// `Skip`.
    Stop,
}

/// The releases of a periodic task: `first`, `first + period + steer`, … A late wake-up never moves the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The next release, and the one before it.
    release: MonoTime,
    former: MonoTime,
    index: u64,
    period: Nanos,
    /// No release at or after this is due.
    end: MonoTime,
    overrun: Overrun,
    /// Whether the next release had passed when the thread last woke.
    owed: bool,
    /// Activations that were run one after the other because they were owed.
    in_a_row: u32,
    /// By how much the next release was steered, and may be.
    steered: Delta,
    steer_max: Nanos,
}

impl Grid {
    /// A grid whose first release is `first`. A period of zero is taken as 1 ns, so that the grid always moves.
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

    /// What becomes of releases that passed; [`Overrun::Skip`] unless said otherwise.
    #[must_use]
    pub const fn with_overrun(self, overrun: Overrun) -> Self {
        Self { overrun, ..self }
    }

    /// Nothing at or after `end` is due, so nothing there can be missed.
    #[must_use]
    pub const fn ending(self, end: MonoTime) -> Self {
        Self { end, ..self }
    }

    /// The furthest one release may be steered; a hundredth of the period unless said otherwise.
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

    /// How many releases lie behind, missed ones included.
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// Moves past the release that was waited for, and past those later ones at or before `now` that will not be run.
    /// What the wait knows of the activation, its class and how it was reached, is for the wait to fill in.
    ///
    /// # Real-time
    /// Pure; one division, and only when a release was missed.
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

    /// For a task whose activations come from outside: `now` *is* the activation, and the grid follows it, a
    /// sixteenth of the way each time, so that it keeps the mean phase for the statistics. The grid begins at the first
    /// event. One more than half a period off moves the grid to it; whole periods without an event count as missed.
    ///
    /// # Real-time
    /// Pure; one division at most.
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

    /// Moves the next release, and all after it, by `by`; returns by how much it really was moved. Calls before the
    /// same release add up, within the limit of [`Grid::with_steer_max`]; no release is moved to before `now`.
    ///
    /// # Real-time
    /// Pure.
    pub fn steer(&mut self, by: Delta, now: MonoTime) -> Delta {
        let allowed = (self.steered + by).within(self.steer_max) - self.steered;
        let moved = self.move_release(allowed, now);
        self.steered += moved;
        moved
    }

    /// Sets the period from the next release on: that release moves, too, but not to before `now`. A period of zero is
    /// taken as 1 ns. The steering limit stays, but for half the new period at most.
    ///
    /// # Real-time
    /// Pure.
    pub fn set_period(&mut self, period: Nanos, now: MonoTime) {
        let period = at_least_1(period);
        let change = period.ahead() - self.period.ahead();
        self.period = period;
        self.steer_max = self.steer_max.min(self.half());
        self.move_release(change, now);
    }

    /// Moves the grid by any amount at once, less whole periods: only the phase changes. Where that would bring the next
    /// release to before `now`, it is the first one of the moved grid after `now`.
    ///
    /// # Real-time
    /// Pure; at most two divisions.
    pub fn shift_phase(&mut self, by: Delta, now: MonoTime) {
        let less = Delta::from_ns(by.as_ns().checked_rem(self.period.ahead().as_ns()).unwrap_or(0));
        let moved = self.release + less;
        self.release = if moved > now { moved } else { moved + self.period * self.passed_by(moved, now) };
        self.former = self.release - self.period;
    }

    /// Forgets the releases that have passed by `now`, as after a long initialisation; returns how many. They count
    /// neither as run nor as missed.
    ///
    /// # Real-time
    /// Pure; at most one division.
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

    /// How many of `passed` releases are run late instead of missed.
    fn run_all_the_same(&self, passed: u64) -> u64 {
        match self.overrun {
            Overrun::CatchUp { max } => passed.min(u64::from(max.saturating_sub(self.in_a_row))),
            Overrun::Skip | Overrun::Reanchor | Overrun::Stop => 0,
        }
    }

    /// How many releases from `next` on lie at or before `now` and before the end.
    fn passed(&self, next: MonoTime, now: MonoTime) -> u64 {
        let last = now.min(self.end - Nanos::from_ns(1));
        if last < next { 0 } else { self.passed_by(next, last) }
    }

    /// How many of `first`, `first + period`, … lie at or before `now`; `now` is not before `first`.
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
