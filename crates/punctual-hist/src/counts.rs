//! A histogram that no thread writes to any more, for analysis, recordings and reports.

use crate::{BUCKETS, Nanos, bucket_high, bucket_index, bucket_low};
use alloc::{boxed::Box, vec};

/// Number of values in each bucket, with the exact minimum, maximum and sum of the recorded values.
#[derive(Clone, PartialEq, Eq)]
pub struct Counts {
    pub(crate) buckets: Box<[u64]>,
    pub(crate) min: u64,
    pub(crate) max: u64,
    pub(crate) sum: u64,
}

impl Default for Counts {
    fn default() -> Self {
        Self { buckets: vec![0; BUCKETS].into_boxed_slice(), min: u64::MAX, max: 0, sum: 0 }
    }
}

impl core::fmt::Debug for Counts {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_map().entries(self.nonzero().map(|(i, n)| (bucket_low(i), n))).finish()
    }
}

impl Counts {
    /// Makes an empty histogram. Allocates 30 KB.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records one value.
    pub fn record(&mut self, value: Nanos) {
        self.record_n(value, 1);
    }

    /// Records `n` equal values.
    pub fn record_n(&mut self, value: Nanos, n: u64) {
        if n == 0 {
            return;
        }
        let value = value.as_ns();
        if let Some(bucket) = self.buckets.get_mut(bucket_index(value)) {
            *bucket = bucket.saturating_add(n);
        }
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum = self.sum.saturating_add(value.saturating_mul(n));
    }

    /// Adds all values of `other`. Merging is associative and commutative, and loses nothing.
    pub fn merge(&mut self, other: &Self) {
        let (min, max, sum) = (other.min, other.max, other.sum);
        self.merge_nonzero(other.nonzero(), Nanos::from_ns(min), Nanos::from_ns(max), Nanos::from_ns(sum));
    }

    /// Adds `(bucket, count)` pairs whose exact minimum, maximum and sum are known. Takes time in proportion to the
    /// number of pairs, whereas [`Counts::merge`] visits every bucket. A pair whose bucket does not exist is ignored.
    pub fn merge_nonzero(&mut self, pairs: impl IntoIterator<Item = (usize, u64)>, min: Nanos, max: Nanos, sum: Nanos) {
        let mut any = false;
        for (index, n) in pairs {
            if let Some(bucket) = self.buckets.get_mut(index) {
                *bucket = bucket.saturating_add(n);
                any |= n > 0;
            }
        }
        if any {
            self.min = self.min.min(min.as_ns());
            self.max = self.max.max(max.as_ns());
            self.sum = self.sum.saturating_add(sum.as_ns());
        }
    }

    /// The values recorded since the snapshot `earlier` of the same histogram was taken. The sum is exact. Minimum and
    /// maximum are bucket edges, and never lie outside the minimum and maximum of the whole histogram.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut grown = Self::new();
        for (index, (now, then)) in self.buckets.iter().zip(&earlier.buckets).enumerate() {
            let n = now.saturating_sub(*then);
            if let Some(bucket) = grown.buckets.get_mut(index).filter(|_| n > 0) {
                *bucket = n;
                grown.min = grown.min.min(bucket_low(index).max(self.min));
                grown.max = grown.max.max(bucket_high(index).min(self.max));
            }
        }
        grown.sum = if grown.is_empty() { 0 } else { self.sum.saturating_sub(earlier.sum) };
        grown
    }

    /// Number of recorded values.
    pub fn count(&self) -> u64 {
        self.buckets.iter().fold(0, |total, n| total.saturating_add(*n))
    }

    /// Whether no value was recorded.
    pub fn is_empty(&self) -> bool {
        self.buckets.iter().all(|n| *n == 0)
    }

    /// The smallest value, exact; `None` when empty.
    pub fn min(&self) -> Option<Nanos> {
        (!self.is_empty()).then(|| Nanos::from_ns(self.min))
    }

    /// The largest value, exact; `None` when empty.
    pub fn max(&self) -> Option<Nanos> {
        (!self.is_empty()).then(|| Nanos::from_ns(self.max))
    }

    /// The mean, exact up to rounding down to a nanosecond; `None` when empty.
    pub fn mean(&self) -> Option<Nanos> {
        self.sum.checked_div(self.count()).map(Nanos::from_ns)
    }

    /// The sum of all values; [`Nanos::MAX`] if it is larger.
    pub fn sum(&self) -> Nanos {
        Nanos::from_ns(self.sum)
    }

    /// The value of rank `rank` in ascending order, counted from 1. The result is the upper edge of the value's bucket,
    /// limited by the exact extremes: never too small, and at most 1.6 % too large. `None` if `rank` is 0 or larger
    /// than the number of values.
    pub fn value_at_rank(&self, rank: u64) -> Option<Nanos> {
        if rank == 0 {
            return None;
        }
        let mut seen = 0u64;
        for (index, n) in self.nonzero() {
            seen = seen.saturating_add(n);
            if seen >= rank {
                return Some(Nanos::from_ns(bucket_high(index).min(self.max).max(self.min)));
            }
        }
        None
    }

    /// The percentile given in parts per million (500 000 is the median): the smallest recorded value that at least
    /// this share of all values does not exceed. `None` if there are too few values to distinguish this percentile from
    /// the maximum, for example p99.99 of 200 values.
    pub fn percentile_ppm(&self, ppm: u32) -> Option<Nanos> {
        let count = u128::from(self.count());
        let above = 1_000_000u128.saturating_sub(u128::from(ppm));
        if count.saturating_mul(above) < 1_000_000 {
            return None;
        }
        let rank = count.saturating_mul(u128::from(ppm)).div_ceil(1_000_000).max(1);
        self.value_at_rank(u64::try_from(rank).ok()?)
    }

    /// Index and count of each bucket that is not empty, in ascending order.
    pub fn nonzero(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.buckets.iter().copied().enumerate().filter(|(_, n)| *n > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn counts_of(values: &[u64]) -> Counts {
        let mut counts = Counts::new();
        for v in values {
            counts.record(Nanos::from_ns(*v));
        }
        counts
    }

    #[test]
    fn empty_counts_have_no_numbers() {
        let empty = Counts::new();
        assert_eq!((empty.min(), empty.max(), empty.mean(), empty.percentile_ppm(500_000)), (None, None, None, None));
    }

    #[test]
    fn small_known_case() {
        let counts = counts_of(&[1, 2, 3, 4, 60]);
        assert_eq!(counts.percentile_ppm(500_000), Some(Nanos::from_ns(3)));
        assert_eq!(counts.mean(), Some(Nanos::from_ns(14)));
        assert_eq!(counts.percentile_ppm(990_000), None, "five values say nothing about p99");
        assert_eq!(counts.value_at_rank(5), Some(Nanos::from_ns(60)));
        assert_eq!(counts.value_at_rank(6), None);
    }

    proptest! {
        #[test]
        fn samples_in_are_samples_counted(values in prop::collection::vec(any::<u64>(), 0..300)) {
            let counts = counts_of(&values);
            prop_assert_eq!(counts.count(), values.len() as u64);
            prop_assert_eq!(counts.max().map(Nanos::as_ns), values.iter().copied().max());
            prop_assert_eq!(counts.min().map(Nanos::as_ns), values.iter().copied().min());
        }

        #[test]
        fn merge_is_recording_both(a in prop::collection::vec(0u64..1 << 40, 0..99), b in prop::collection::vec(0u64..1 << 40, 0..99)) {
            let mut merged = counts_of(&a);
            merged.merge(&counts_of(&b));
            let both: Vec<u64> = a.iter().chain(&b).copied().collect();
            prop_assert_eq!(merged, counts_of(&both));
        }

        #[test]
        fn since_undoes_merge(a in prop::collection::vec(0u64..1 << 40, 0..99), b in prop::collection::vec(0u64..1 << 40, 0..99)) {
            let before = counts_of(&a);
            let mut after = before.clone();
            after.merge(&counts_of(&b));
            let delta = after.since(&before);
            prop_assert_eq!(delta.nonzero().collect::<Vec<_>>(), counts_of(&b).nonzero().collect::<Vec<_>>());
            prop_assert_eq!(delta.sum(), counts_of(&b).sum());
        }

        #[test]
        fn percentile_is_within_a_64th_of_the_sorted_truth(mut values in prop::collection::vec(1u64..1 << 50, 100..300), ppm in 1u32..990_000) {
            let counts = counts_of(&values);
            values.sort_unstable();
            let rank = (values.len() as u128 * u128::from(ppm)).div_ceil(1_000_000).max(1) as usize;
            let truth = values[rank - 1];
            let got = counts.percentile_ppm(ppm).unwrap().as_ns();
            prop_assert!(got >= truth && got - truth <= truth / 64 + 1, "{got} for {truth}");
        }
    }
}
