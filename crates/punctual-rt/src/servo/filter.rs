//! What is believed of a stream of errors: the median of five, without outliers.
//!
//! Knows nothing of control; it is told by how much an error was expected to change since the last.

use super::{whole, within};

/// How many mean deviations from the expected one an error may be.
const GATE: f64 = 8.0;
/// The narrowest gate, in ns: below it are the timestamps' own resolution and jitter.
const NARROWEST: f64 = 1_000.0;
/// How many mean deviations from the middle an error counts for.
const NEAR: f64 = 2.0;
/// Memory of the mean deviation, in samples.
const MEMORY: f64 = 64.0;
/// This number of ignored errors in a row is a step of the reference, not outliers.
const STEP_AFTER: u32 = 16;
const KEPT: u32 = 5;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Filter {
    /// The last five, each carried forward to now; the newest last.
    recent: [f64; 5],
    /// How many of them there are.
    count: u32,
    /// Mean distance of an error from the expected one.
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

    /// The middle one, moved to the mean of the five, none of which counts for more than two mean deviations: as firm as
    /// the median, and less noisy. `None` before there are five.
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

    /// Takes the error `raw`, known modulo `period`, after the former errors changed by `ahead`. `false` when it was ignored as
    /// an outlier; after too many of those in a row the filter starts from nothing.
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

    /// Judges the distance from the expected error, and learns from it how far is usual.
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

/// The middle one of five, without a branch.
fn median([first, second, third, fourth, fifth]: [f64; 5]) -> f64 {
    let low = first.min(second).max(third.min(fourth));
    let high = first.max(second).min(third.max(fourth));
    low.min(high).max(low.max(high).min(fifth))
}

/// Median distance from the median: one wild value of five does not count.
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
