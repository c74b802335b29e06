//! When the next release is, and how many passed: pure arithmetic, no clock.

use punctual_hist::{MonoTime, Nanos};

/// The releases of a periodic task: `first`, `first + period`, … A late wake-up never moves the grid; releases that
/// passed meanwhile are skipped *and counted*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    release: MonoTime,
    period: Nanos,
    index: u64,
}

/// One activation as the grid sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The release that was waited for.
    pub release: MonoTime,
    /// Its number, counting skipped ones, from 0.
    pub index: u64,
    /// How many later releases had passed too when the task woke, and are now skipped.
    pub skipped: u64,
}

impl Grid {
    /// A grid whose first release is `first`. A period of zero is taken as 1 ns, so that the grid always moves.
    pub const fn new(first: MonoTime, period: Nanos) -> Self {
        let period = if period.as_ns() == 0 { Nanos::from_ns(1) } else { period };
        Self { release: first, period, index: 0 }
    }

    /// The next release.
    pub const fn release(&self) -> MonoTime {
        self.release
    }

    /// How many releases lie behind, skipped ones included.
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// Moves past the release that was waited for and past every later one at or before `now`, but past none at or
    /// after `end`: what was never due is not skipped.
    ///
    /// # Real-time
    /// Pure; one division, and only when a release was skipped.
    #[inline]
    pub fn advance(&mut self, now: MonoTime, end: MonoTime) -> Step {
        let release = self.release;
        let next = release.plus(self.period);
        let skipped = if now < next { 0 } else { self.passed(next, now, end) };
        let step = Step { release, index: self.index, skipped };
        self.release = next.plus(self.period.times(skipped));
        self.index = self.index.saturating_add(1).saturating_add(skipped);
        step
    }

    /// How many releases from `next` on lie at or before `now` and before `end`.
    fn passed(&self, next: MonoTime, now: MonoTime, end: MonoTime) -> u64 {
        let last = now.min(end.minus(Nanos::from_ns(1)));
        if last < next { 0 } else { last.since(next).whole(self.period).saturating_add(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FAR: MonoTime = MonoTime::from_ns(u64::MAX);

    fn at(ns: u64) -> MonoTime {
        MonoTime::from_ns(ns)
    }

    #[test]
    fn on_time_then_late_by_three_and_a_half_periods() {
        let mut grid = Grid::new(at(1_000), Nanos::from_ns(100));
        assert_eq!(grid.advance(at(1_020), FAR), Step { release: at(1_000), index: 0, skipped: 0 });
        assert_eq!(grid.advance(at(1_450), FAR), Step { release: at(1_100), index: 1, skipped: 3 });
        assert_eq!((grid.release(), grid.index()), (at(1_500), 5));
    }

    #[test]
    fn a_release_exactly_now_is_skipped() {
        let mut grid = Grid::new(at(0), Nanos::from_ns(100));
        assert_eq!(grid.advance(at(100), FAR).skipped, 1);
    }

    #[test]
    fn releases_after_the_end_were_never_due() {
        let mut grid = Grid::new(at(0), Nanos::from_ns(100));
        assert_eq!(grid.advance(at(10_000), at(300)).skipped, 2, "100 and 200, not 300");
    }

    #[test]
    fn a_billion_periods_do_not_drift() {
        let mut grid = Grid::new(at(7), Nanos::from_ns(1_000_000));
        grid.advance(at(7 + 1_000_000 * 1_000_000_000 + 5), FAR);
        assert_eq!(grid.release(), at(7 + 1_000_000 * 1_000_000_001));
    }

    proptest! {
        #[test]
        fn the_grid_keeps_its_phase_and_counts_everything(
            first in 0u64..1 << 40, period in 1u64..1 << 30, lates in prop::collection::vec(0u64..1 << 32, 1..50),
        ) {
            let mut grid = Grid::new(at(first), Nanos::from_ns(period));
            let mut accounted = 0;
            for late in lates {
                let now = grid.release().plus(Nanos::from_ns(late));
                let step = grid.advance(now, FAR);
                prop_assert_eq!(step.index, accounted);
                accounted += 1 + step.skipped;
                prop_assert_eq!(grid.release(), at(first + accounted * period));
                prop_assert!(grid.release() > now, "the next release is in the future");
                prop_assert!(grid.release().since(now).as_ns() <= period);
            }
        }

        #[test]
        fn edges_of_the_clock_do_not_panic(first in any::<u64>(), period in any::<u64>(), now in any::<u64>(), end in any::<u64>()) {
            Grid::new(at(first), Nanos::from_ns(period)).advance(at(now), at(end));
        }
    }
}
