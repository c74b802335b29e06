//! Filters a stream of errors: the median of five, after outliers were removed.
//!
//! This module knows nothing of control. The caller states by how much it expects the error to have changed since the
//! last one.

use super::{whole, within};

/// The largest distance of an error from its expected value, in mean deviations.
const GATE: f64 = 8.0;
/// The smallest limit on that distance, in ns, because timestamps have a resolution and jitter of their own.
const NARROWEST: f64 = 1_000.0;
/// An error farther from the median than this, in mean deviations, counts as if it were at this distance.
const NEAR: f64 = 2.0;
/// Time constant of the mean deviation, in samples.
const MEMORY: f64 = 64.0;
/// After this number of ignored errors in a row, the reference has made a step, and they are no outliers.
const STEP_AFTER: u32 = 16;
const KEPT: u32 = 5;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Filter {
    /// The last five errors, each carried forward to the present; the newest is last.
    recent: [f64; 5],
    count: u32,
    /// Mean distance of an error from its expected value.
    deviation: f64,
    in_a_row: u32,
    rejected: u64,
}

impl Filter {
    /// Whether five errors were taken, which an estimate needs.
    pub(super) const fn ready(&self) -> bool {
        self.count >= KEPT
    }

    pub(super) const fn rejected(&self) -> u64 {
        self.rejected
    }

    /// The median of the five errors, moved to their mean. In this mean, no error counts for more than two mean
    /// deviations from the median. The result is as robust as the median, and less noisy. `None` before there are five
    /// errors.
    pub(super) fn estimate(&self) -> Option<f64> {
        let middle = median(self.recent);
        let reach = NEAR * self.deviation;
        let sum: f64 = self.recent.iter().map(|error| within(error - middle, reach)).sum();
        self.ready().then_some(middle + sum / f64::from(KEPT))
    }

    pub(super) const fn begin_anew(&mut self) {
        self.count = 0;
        self.in_a_row = 0;
    }

    /// Adds `by` to each kept error.
    pub(super) fn shift(&mut self, by: f64) {
        for error in &mut self.recent {
            *error += by;
        }
    }

    /// Takes the error `raw`, known modulo `period`, after the previous errors changed by `ahead`. Returns `false` if
    /// it was ignored as an outlier. After too many outliers in a row, the filter starts from nothing.
    pub(super) fn take(&mut self, raw: f64, ahead: f64, period: f64) -> bool {
        self.shift(ahead);
        let [_, b, c, d, newest] = self.recent;
        let expected = match self.count {
            0 => raw,
            n if n < KEPT => newest,
            _ => median(self.recent),
        };
        let off = raw - expected;
        let turns = if 2.0 * off.abs() > period { whole(off / period) } else { 0.0 };
        let error = raw - turns * period;
        let had_begun = self.ready();
        if had_begun && !self.believable((error - expected).abs()) {
            return false;
        }
        self.recent = [b, c, d, newest, error];
        self.count = self.count.saturating_add(1).min(KEPT);
        if self.ready() && !had_begun {
            self.deviation = spread(self.recent);
        }
        true
    }

    /// Decides whether an error is at a credible distance from its expected value, and updates the mean deviation.
    fn believable(&mut self, distance: f64) -> bool {
        let gate = (GATE * self.deviation).max(NARROWEST);
        self.deviation += (distance.min(gate) - self.deviation) / MEMORY;
        if distance <= gate {
            self.in_a_row = 0;
            return true;
        }
        self.rejected = self.rejected.saturating_add(1);
        self.in_a_row = self.in_a_row.saturating_add(1);
        if self.in_a_row >= STEP_AFTER {
            self.begin_anew();
        }
        false
    }
}

/// The median of five, without a branch.
fn median([first, second, third, fourth, fifth]: [f64; 5]) -> f64 {
    let low = first.min(second).max(third.min(fourth));
    let high = first.max(second).min(third.max(fourth));
    low.min(high).max(low.max(high).min(fifth))
}

/// Median distance from the median, which a single outlier among five does not change.
fn spread(five: [f64; 5]) -> f64 {
    let middle = median(five);
    median(five.map(|x| (x - middle).abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_median_is_the_third_of_the_sorted(mut five in prop::array::uniform5(-1e9f64..1e9)) {
            let got = median(five);
            five.sort_by(f64::total_cmp);
            prop_assert_eq!(got.to_bits(), five[2].to_bits());
        }
    }

    #[test]
    fn five_are_needed_and_a_wild_one_is_ignored() {
        let mut filter = Filter::default();
        for n in 0..4 {
            assert!(filter.take(f64::from(n), 0.0, 1e6));
            assert_eq!(filter.estimate(), None);
        }
        assert!(filter.take(4.0, 0.0, 1e6));
        assert_eq!(filter.estimate(), Some(2.0));
        assert!(!filter.take(400_000.0, 0.0, 1e6));
        assert_eq!((filter.estimate(), filter.rejected()), (Some(2.0), 1));
    }

    #[test]
    fn a_new_place_is_believed_after_sixteen() {
        let mut filter = Filter::default();
        (0..5).for_each(|_| assert!(filter.take(0.0, 0.0, 1e6)));
        (0..STEP_AFTER).for_each(|_| assert!(!filter.take(300_000.0, 0.0, 1e6)));
        assert!(!filter.ready());
        (0..5).for_each(|_| assert!(filter.take(300_000.0, 0.0, 1e6)));
        assert_eq!(filter.estimate(), Some(300_000.0));
    }
}
