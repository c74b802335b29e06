//! A histogram that takes only as much memory as its non-empty buckets.
//!
//! A recording has one for each CPU and load phase, and one for each CPU and slice of the time line. These are too many
//! for full histograms of 30 KB each.

use super::CpuInterval;
use punctual_hist::{Counts, Nanos, bucket_high, bucket_low};

/// The non-empty buckets, and the extremes and the sum of the counted values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pairs: Vec<(u16, u64)>,
    extremes: Option<(Nanos, Nanos)>,
    sum: Nanos,
}

/// The latencies and skips of one CPU in one load phase, or in one stretch of the time line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuTallies {
    /// Latency of the activations that ran.
    pub ran: Tally,
    /// Time from skipped releases to the next wake-up.
    pub skipped: Tally,
    /// Activations whose latency exceeded the budget.
    pub over_budget: u64,
}

impl CpuTallies {
    pub(super) fn add(&mut self, interval: &CpuInterval) {
        self.ran.add(&interval.ran, interval.ran_limits(), interval.ran_sum);
        self.skipped.add(&interval.skipped, interval.skipped_limits(), interval.skipped_sum);
        self.over_budget = self.over_budget.saturating_add(interval.over_budget);
    }

    pub(crate) fn absorb(&mut self, other: &Self) {
        self.ran.absorb(&other.ran);
        self.skipped.absorb(&other.skipped);
        self.over_budget = self.over_budget.saturating_add(other.over_budget);
    }
}

impl Tally {
    /// Adds (bucket, count) pairs in ascending order, whose values lie within `limits`.
    pub(super) fn add(&mut self, pairs: &[(u16, u64)], limits: (Nanos, Nanos), sum: Nanos) {
        self.merge(pairs, narrowed(pairs, limits), sum);
    }

    pub(super) fn absorb(&mut self, other: &Self) {
        self.merge(&other.pairs, other.extremes, other.sum);
    }

    fn merge(&mut self, pairs: &[(u16, u64)], extremes: Option<(Nanos, Nanos)>, sum: Nanos) {
        let Some((min, max)) = extremes else { return };
        let (low, high) = self.extremes.unwrap_or((min, max));
        self.extremes = Some((low.min(min), high.max(max)));
        self.sum = self.sum.plus(sum);
        let mut missing = Vec::new();
        let mut at = 0;
        for (bucket, n) in pairs.iter().filter(|(_, n)| *n > 0) {
            while self.pairs.get(at).is_some_and(|(mine, _)| mine < bucket) {
                at += 1;
            }
            match self.pairs.get_mut(at) {
                Some((mine, count)) if mine == bucket => *count = count.saturating_add(*n),
                _ => missing.push((*bucket, *n)),
            }
        }
        // New buckets are rare after the first few additions, so sorting is rare as well.
        if !missing.is_empty() {
            self.pairs.append(&mut missing);
            self.pairs.sort_by_key(|(bucket, _)| *bucket);
        }
    }

    pub(super) fn size(&self) -> usize {
        self.pairs.len()
    }

    pub fn count(&self) -> u64 {
        self.pairs.iter().fold(0, |total, (_, n)| total.saturating_add(*n))
    }

    /// The number of values in buckets above that of `level`.
    pub fn above(&self, level: Nanos) -> u64 {
        let from = punctual_hist::bucket_index(level.as_ns());
        let above = self.pairs.iter().rev().take_while(|(bucket, _)| usize::from(*bucket) > from);
        above.fold(0, |total, (_, n)| total.saturating_add(*n))
    }

    /// Largest value; `None` when empty. Exact if it is also the largest value of the whole run, else at most 1.6 % too
    /// large.
    pub fn max(&self) -> Option<Nanos> {
        self.extremes.map(|(_, max)| max)
    }

    /// Smallest value; `None` when empty. Exact if it is also the smallest value of the whole run, else at most 1.6 %
    /// too small.
    pub fn min(&self) -> Option<Nanos> {
        self.extremes.map(|(min, _)| min)
    }

    /// The non-empty buckets in ascending order, as (index, count).
    pub fn nonzero(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.pairs.iter().filter(|(_, n)| *n > 0).map(|(bucket, n)| (usize::from(*bucket), *n))
    }

    pub fn counts(&self) -> Counts {
        let mut counts = Counts::new();
        if let Some((min, max)) = self.extremes {
            counts.merge_nonzero(self.pairs.iter().map(|(b, n)| (usize::from(*b), *n)), min, max, self.sum);
        }
        counts
    }
}

/// The lower edge of the first non-empty bucket and the upper edge of the last, narrowed to `limits`; `None` if all
/// counts are 0.
pub(super) fn narrowed(pairs: &[(u16, u64)], limits: (Nanos, Nanos)) -> Option<(Nanos, Nanos)> {
    let (first, _) = pairs.iter().find(|(_, n)| *n > 0)?;
    let (last, _) = pairs.iter().rfind(|(_, n)| *n > 0)?;
    let (low, high) = (bucket_low(usize::from(*first)), bucket_high(usize::from(*last)));
    Some((Nanos::from_ns(low).max(limits.0), Nanos::from_ns(high).min(limits.1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs() -> impl Strategy<Value = Vec<(u16, u64)>> {
        prop::collection::btree_map(0u16..3776, 0u64..1000, 0..60).prop_map(|pairs| pairs.into_iter().collect())
    }

    proptest! {
        #[test]
        fn a_tally_is_a_small_histogram(parts in prop::collection::vec(pairs(), 0..6)) {
            let (mut tally, mut dense) = (Tally::default(), Counts::new());
            for pairs in &parts {
                let mut part = Tally::default();
                part.add(pairs, (Nanos::ZERO, Nanos::MAX), Nanos::from_ns(5));
                tally.absorb(&part);
                dense.merge(&part.counts());
            }
            let total: u64 = parts.iter().flatten().map(|(_, n)| n).sum();
            prop_assert_eq!(tally.counts().count(), total);
            prop_assert_eq!(tally.max(), dense.max());
            prop_assert_eq!(tally.counts(), dense);
        }
    }
}
