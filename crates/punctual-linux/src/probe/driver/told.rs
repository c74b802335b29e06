//! What a driver of a core tells, and the counts that follow from it.

use punctual_hist::{Counts, Nanos, bucket_index};

/// The latencies of one second, or of a part of one, in nanoseconds. They are negative if the timer fired early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    pub samples: u64,
    pub sum: i64,
    pub min: i64,
    pub max: i64,
    /// Releases that had passed when the one before them was served.
    pub overruns: u64,
}

impl Second {
    /// All samples of both; a part without samples changes nothing.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        if self.samples == 0 || other.samples == 0 {
            return if self.samples == 0 { other } else { self };
        }
        Self {
            samples: self.samples.saturating_add(other.samples),
            sum: self.sum.saturating_add(other.sum),
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            overruns: self.overruns.saturating_add(other.overruns),
        }
    }
}

/// A histogram of a driver. It counts by absolute value, and the last cell counts all larger values as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells {
    pub width: Nanos,
    pub counts: Vec<u32>,
}

impl Cells {
    /// The latencies as counts. Minimum, maximum and sum are those of `whole`, which are exact. Within a cell, each latency
    /// counts at the upper end, so that no percentile is too small; only the smallest one counts where it is.
    pub fn latencies(&self, whole: &Second) -> Counts {
        let at_least_zero = |ns: i64| Nanos::from_ns(u64::try_from(ns).unwrap_or(0));
        let (min, max, sum) = (at_least_zero(whole.min), at_least_zero(whole.max), at_least_zero(whole.sum));
        let last = self.counts.len().saturating_sub(1);
        let value = |cell: usize| if cell == last { max } else { self.upper_end(cell).min(max).max(min) };
        let mut pairs: Vec<_> = self.nonzero().map(|(cell, n)| (bucket_index(value(cell).as_ns()), n)).collect();
        if let Some((_, lowest)) = pairs.first_mut() {
            *lowest -= 1;
            pairs.push((bucket_index(min.as_ns()), 1));
        }
        let mut counts = Counts::new();
        counts.merge_nonzero(pairs, min, max, sum);
        counts
    }

    /// Number of latencies that may have exceeded `budget`.
    pub fn over(&self, budget: Nanos, whole: &Second) -> u64 {
        if i128::from(whole.max) <= i128::from(budget.as_ns()) {
            return 0;
        }
        self.nonzero().filter(|(cell, _)| self.upper_end(*cell) > budget).map(|(_, n)| n).sum()
    }

    /// Number of latencies that may have been negative: those in the cells up to the most negative one.
    pub fn early(&self, whole: &Second) -> u64 {
        let Some(earliest) = whole.min.checked_neg().and_then(|ns| u64::try_from(ns).ok()).filter(|ns| *ns > 0) else {
            return 0;
        };
        let lower_end = |cell: usize| self.width.times(cell as u64).as_ns();
        self.nonzero().filter(|(cell, _)| lower_end(*cell) <= earliest).map(|(_, n)| n).sum()
    }

    fn upper_end(&self, cell: usize) -> Nanos {
        self.width.times(cell as u64 + 1).minus(Nanos::from_ns(1))
    }

    fn nonzero(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.counts.iter().enumerate().filter(|(_, n)| **n > 0).map(|(cell, n)| (cell, u64::from(*n)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(of: &[(usize, u32)]) -> Cells {
        let mut counts = vec![0; 200];
        for (cell, n) in of {
            counts[*cell] = *n;
        }
        Cells { width: Nanos::from_us(1), counts }
    }

    fn second(samples: u64, min: i64, mean: i64, max: i64) -> Second {
        Second { samples, sum: mean * i64::try_from(samples).unwrap(), min, max, overruns: 0 }
    }

    #[test]
    fn no_latency_is_lost_and_mean_and_extremes_are_exact() {
        let whole = second(1000, 12_247, 12_315, 12_895);
        let counts = cells(&[(12, 1000)]).latencies(&whole);
        let exact = |ns| Some(Nanos::from_ns(ns));
        assert_eq!(
            (counts.count(), counts.min(), counts.mean(), counts.max()),
            (1000, exact(12_247), exact(12_315), exact(12_895))
        );
        assert_eq!(counts.percentile_ppm(500_000), exact(12_895), "no percentile lies above the largest latency");
        let lowest = counts.nonzero().next().unwrap();
        assert_eq!(lowest, (bucket_index(12_247), 1), "a recording keeps extremes only within the buckets that it has");

        let counts = cells(&[(12, 900), (40, 99), (199, 1)]).latencies(&second(1000, 12_000, 15_000, 3_400_000));
        assert_eq!((counts.count(), counts.max()), (1000, exact(3_400_000)), "the last cell is open");
        let p99 = counts.percentile_ppm(990_000).unwrap();
        assert!((Nanos::from_ns(40_999)..Nanos::from_us(42)).contains(&p99), "{p99:?}");
    }

    #[test]
    fn negative_latencies_are_bounded_from_the_smallest() {
        let whole = second(1000, -1_200, 800, 5_100);
        let told = cells(&[(0, 500), (1, 300), (2, 190), (5, 10)]);
        assert_eq!(told.early(&whole), 800, "cells 0 and 1 may hold latencies down to -1.2 us");
        assert_eq!(told.latencies(&whole).min(), Some(Nanos::ZERO));
        assert_eq!(told.early(&second(1000, 100, 800, 5_100)), 0);
        let all_early = cells(&[(3, 7)]).latencies(&second(7, -3_900, -3_500, -3_000));
        assert_eq!((all_early.count(), all_early.max()), (7, Some(Nanos::ZERO)));
    }

    #[test]
    fn a_budget_is_judged_by_the_upper_end_of_the_cell() {
        let whole = second(1000, 12_000, 13_000, 60_500);
        let told = cells(&[(12, 990), (50, 8), (60, 2)]);
        assert_eq!(told.over(Nanos::from_us(50), &whole), 10);
        assert_eq!(told.over(Nanos::from_us(60), &whole), 2);
        assert_eq!(told.over(Nanos::from_us(61), &whole), 0);
    }

    #[test]
    fn seconds_add_up_and_an_empty_one_changes_nothing() {
        let (one, two) = (second(1000, 10, 20, 30), second(500, 5, 8, 90));
        assert_eq!(one.with(two), Second { samples: 1500, sum: 24_000, min: 5, max: 90, overruns: 0 });
        let none = Second { min: i64::from(i32::MAX), max: i64::from(i32::MIN), ..Second::default() };
        assert_eq!((one.with(none), none.with(one)), (one, one));
    }
}
