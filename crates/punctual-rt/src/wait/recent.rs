//! The distribution of the most recent sleeps: quantiles of a sliding window, in constant memory and bounded time.

use punctual_hist::{Nanos, bucket_high, bucket_index};

const WINDOW: usize = 256;
/// Combines eight buckets of the histogram into one, 12 % wide, which is fine enough for a margin.
const COARSER: u32 = 3;
const COUNTS: usize = punctual_hist::BUCKETS >> COARSER;

/// A window over the last 256 values, with two quantiles that follow it.
pub(super) struct Recent {
    ring: [u16; WINDOW],
    counts: [u16; COUNTS],
    at: usize,
    filled: u16,
    high: Quantile,
    median: Quantile,
}

/// A position in the counts that is moved with each value, instead of being searched for.
struct Quantile {
    /// Rank of the quantile, in 256ths of the number of values.
    per_256: u32,
    bucket: usize,
    /// Number of values in lower buckets.
    below: u16,
}

impl Recent {
    /// Makes an empty window; `per_256` is the rank of the high quantile.
    pub(super) const fn new(per_256: u32) -> Self {
        Self {
            ring: [0; WINDOW],
            counts: [0; COUNTS],
            at: 0,
            filled: 0,
            high: Quantile { per_256, bucket: 0, below: 0 },
            median: Quantile { per_256: 128, bucket: 0, below: 0 },
        }
    }

    /// Adds a value. If the window is full, the oldest value is removed.
    ///
    /// # Real-time
    /// Bounded by the number of buckets (472), which is reached only if a quantile moves across all of them.
    pub(super) fn add(&mut self, value: Nanos) {
        let new = bucket_index(value.as_ns()) >> COARSER;
        if usize::from(self.filled) >= WINDOW {
            let old = self.ring.get(self.at).copied().map_or(0, usize::from);
            self.count(old, u16::wrapping_sub);
            self.high.forget(old);
            self.median.forget(old);
        } else {
            self.filled = self.filled.saturating_add(1);
        }
        self.count(new, u16::wrapping_add);
        self.high.note(new);
        self.median.note(new);
        if let Some(slot) = self.ring.get_mut(self.at) {
            *slot = u16::try_from(new).unwrap_or(u16::MAX);
        }
        self.at = self.at.wrapping_add(1) & (WINDOW - 1);
        self.high.settle(&self.counts, self.filled);
        self.median.settle(&self.counts, self.filled);
    }

    /// Number of values in the window.
    pub(super) fn filled(&self) -> u16 {
        self.filled
    }

    /// The high quantile: the upper edge of its bucket, so it is never too small.
    pub(super) fn high(&self) -> Nanos {
        self.high.edge()
    }

    /// The median: the upper edge of its bucket, so it is never too small.
    pub(super) fn median(&self) -> Nanos {
        self.median.edge()
    }

    fn count(&mut self, bucket: usize, change: fn(u16, u16) -> u16) {
        if let Some(count) = self.counts.get_mut(bucket) {
            *count = change(*count, 1);
        }
    }
}

impl Quantile {
    fn note(&mut self, bucket: usize) {
        self.below = self.below.wrapping_add(u16::from(bucket < self.bucket));
    }

    fn forget(&mut self, bucket: usize) {
        self.below = self.below.wrapping_sub(u16::from(bucket < self.bucket));
    }

    /// Moves to the bucket with this rank.
    fn settle(&mut self, counts: &[u16; COUNTS], filled: u16) {
        let rank = (u32::from(filled.saturating_sub(1)).saturating_mul(self.per_256)) >> 8;
        while u32::from(self.below) > rank && self.bucket > 0 {
            self.bucket = self.bucket.wrapping_sub(1);
            self.below = self.below.wrapping_sub(counts.get(self.bucket).copied().unwrap_or(0));
        }
        while let Some(here) = counts.get(self.bucket) {
            let with = self.below.wrapping_add(*here);
            if u32::from(with) > rank {
                break;
            }
            (self.below, self.bucket) = (with, self.bucket.wrapping_add(1));
        }
    }

    fn edge(&self) -> Nanos {
        let last = (self.bucket << COARSER) | ((1 << COARSER) - 1);
        Nanos::from_ns(bucket_high(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_quantile_of_the_last_256(values in prop::collection::vec(1u64..1 << 40, 1..700)) {
            let mut recent = Recent::new(253);
            for (n, value) in values.iter().enumerate() {
                recent.add(Nanos::from_ns(*value));
                let mut window: Vec<u64> = values[n.saturating_sub(255)..=n].to_vec();
                window.sort_unstable();
                for (per_256, got) in [(253, recent.high()), (128, recent.median())] {
                    let truth = window[((window.len() - 1) * per_256) >> 8];
                    let got = got.as_ns();
                    prop_assert!(got >= truth && got - truth <= truth / 7 + 8, "{got} for {truth} of {}", window.len());
                }
            }
        }
    }
}
