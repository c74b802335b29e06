//! Collects values in the order in which a file lists them: a histogram of all values, and one of each stretch of
//! values.
//!
//! Stretches have equal numbers of values. When there are too many stretches, neighbours are joined in pairs, so that
//! memory is bounded however long the file is. Comparisons and claims use the variation of counts from stretch to
//! stretch.

use punctual_hist::{Counts, Nanos, bucket_index, bucket_low};

/// Number of values in a stretch at first: small, so that short files have several stretches.
const SHORTEST: u64 = 64;
/// At this number of stretches, neighbours are joined in pairs. A long file therefore has between half this number and
/// this number of stretches.
const MOST: usize = 128;

/// A histogram of all values, and histograms of the complete stretches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sequence {
    pub counts: Counts,
    order: Order,
    /// Counts of the incomplete stretch by bucket, and the number of its values.
    open: Vec<u32>,
    filled: u64,
}

/// Histograms of stretches of equal length, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// The histogram of each stretch: (bucket, number of values), in ascending order.
    stretches: Vec<Vec<(u16, u32)>>,
    /// Number of values in each stretch.
    each: u64,
}

impl Sequence {
    pub fn record(&mut self, value: Nanos) {
        self.counts.record(value);
        let bucket = bucket_index(value.as_ns());
        if self.open.len() <= bucket {
            self.open.resize(bucket.saturating_add(1), 0);
        }
        if let Some(count) = self.open.get_mut(bucket) {
            *count = count.saturating_add(1);
        }
        self.filled = self.filled.saturating_add(1);
        if self.filled >= self.order.each.max(SHORTEST) {
            self.close();
        }
    }

    fn close(&mut self) {
        let filled = self.open.iter_mut().enumerate().filter(|(_, count)| **count > 0);
        let stretch = filled.filter_map(|(bucket, count)| Some((u16::try_from(bucket).ok()?, std::mem::take(count))));
        let stretch = stretch.collect();
        self.order.stretches.push(stretch);
        self.filled = 0;
        self.order.each = self.order.each.max(SHORTEST);
        if self.order.stretches.len() >= MOST {
            self.order.halve();
        }
    }

    /// The histograms of the stretches; `None` if there are too few values for two stretches. Values of the last,
    /// incomplete stretch are left out.
    pub fn order(&self) -> Option<Order> {
        (self.order.stretches.len() > 1).then(|| self.order.clone())
    }
}

impl Order {
    pub fn stretches(&self) -> usize {
        self.stretches.len()
    }

    fn halve(&mut self) {
        self.each = self.each.saturating_mul(2);
        let pairs = self.stretches.chunks(2).map(|pair| pair.iter().fold(Vec::new(), |sum, one| joined(&sum, one)));
        self.stretches = pairs.collect();
    }

    /// For each of `groups` groups of neighbouring stretches, the counts in `cells`, which are given by their upper
    /// edges. `None` if there are fewer stretches than groups. `grain` is the unit to which values were rounded down.
    pub fn groups(&self, groups: usize, cells: &[Nanos], grain: Nanos) -> Option<Vec<Vec<f64>>> {
        if groups == 0 || self.stretches.len() < groups {
            return None;
        }
        let mut counts = vec![vec![0.0; cells.len()]; groups];
        for (place, stretch) in self.stretches.iter().enumerate() {
            let group = place.saturating_mul(groups).checked_div(self.stretches.len())?;
            for (bucket, count) in stretch {
                let low = Nanos::from_ns(bucket_low(usize::from(*bucket)));
                // Values are multiples of `grain`, so the bucket stands for the first multiple at or above its lower
                // edge.
                let first = low.plus(grain.minus(Nanos::from_ns(1)));
                let value = if grain > Nanos::ZERO { grain.times(first.whole(grain)) } else { low };
                let cell = cells.partition_point(|high| *high < value).min(cells.len().saturating_sub(1));
                if let Some(sum) = counts.get_mut(group).and_then(|group| group.get_mut(cell)) {
                    *sum += f64::from(*count);
                }
            }
        }
        Some(counts)
    }
}

fn joined(a: &[(u16, u32)], b: &[(u16, u32)]) -> Vec<(u16, u32)> {
    let mut sum: Vec<(u16, u32)> = a.iter().chain(b).copied().collect();
    sum.sort_unstable_by_key(|(bucket, _)| *bucket);
    sum.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            kept.1 = kept.1.saturating_add(later.1);
        }
        same
    });
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::float::float;

    #[test]
    fn stretches_keep_their_order_and_bounds_whatever_the_length() {
        for n in [100u64, 8_191, 8_192, 1_000_000] {
            let mut sequence = Sequence::default();
            // Latencies in the second half are ten times as large.
            for place in 0..n {
                sequence.record(Nanos::from_us(if place < n / 2 { 5 } else { 50 }));
            }
            let Some(order) = sequence.order() else {
                assert_eq!(n, 100, "one stretch is no order");
                continue;
            };
            assert!((2..MOST).contains(&order.stretches()), "{n}: {}", order.stretches());
            let cells = [Nanos::from_us(10), Nanos::from_us(100)];
            let halves = order.groups(2, &cells, Nanos::from_ns(1)).unwrap();
            let kept: f64 = halves.iter().flatten().sum();
            assert!(kept <= float(n) && kept > float(n) * 0.98, "{n}: {kept}");
            assert!(halves[0][1] <= float(n) * 0.02 && halves[1][0] <= float(n) * 0.02, "{n}: {halves:?}");
            assert_eq!(order.groups(MOST, &cells, Nanos::from_ns(1)), None);
        }
    }
}
