//! The live histogram: one thread writes, any thread reads, neither waits for the other.

use crate::{BUCKETS, Counts, Nanos, bucket_index, bucket_low};
use alloc::{boxed::Box, sync::Arc, vec::Vec};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

struct Shared {
    buckets: Box<[AtomicU64]>,
    min: AtomicU64,
    max: AtomicU64,
    sum: AtomicU64,
}

/// Makes the two ends of a live histogram.
pub struct Histogram;

impl Histogram {
    /// One end to write, one to read. Allocates 30 KB, once.
    #[allow(clippy::new_ret_no_self, reason = "a histogram is its two ends")]
    pub fn new() -> (HistogramWriter, HistogramReader) {
        let zeros: Vec<AtomicU64> = core::iter::repeat_with(AtomicU64::default).take(BUCKETS).collect();
        let shared = Arc::new(Shared {
            buckets: zeros.into_boxed_slice(),
            min: AtomicU64::new(u64::MAX),
            max: AtomicU64::new(0),
            sum: AtomicU64::new(0),
        });
        (HistogramWriter { shared: Arc::clone(&shared) }, HistogramReader { shared })
    }
}

/// The writing end; there is only one, so plain loads and stores suffice.
pub struct HistogramWriter {
    shared: Arc<Shared>,
}

impl HistogramWriter {
    /// Records one value.
    ///
    /// # Real-time
    /// Wait-free, no allocation, no kernel entry: about ten instructions and at most four cache lines.
    #[inline]
    pub fn record(&mut self, value: Nanos) {
        self.record_n(value.as_ns(), 1);
    }

    /// Records the arithmetic series `first, first + step, …` of `n` values, as skipped releases make it.
    ///
    /// # Real-time
    /// Bounded by the number of buckets (3776) however long the series, so a stall of an hour costs microseconds.
    pub fn record_series(&mut self, first: Nanos, step: Nanos, n: u64) {
        let (mut value, mut left, step) = (first.as_ns(), n, step.as_ns());
        while left > 0 {
            let run = members_in_bucket(value, step, left);
            self.record_run(value, step, run);
            left = left.saturating_sub(run);
            value = value.saturating_add(step.saturating_mul(run));
        }
    }

    /// Records `run` members of a series that all fall into the bucket of `first`.
    fn record_run(&mut self, first: u64, step: u64, run: u64) {
        let last = first.saturating_add(step.saturating_mul(run.saturating_sub(1)));
        let twice_the_sum = u128::from(first).saturating_add(u128::from(last)).saturating_mul(u128::from(run));
        let sum = u64::try_from(twice_the_sum >> 1).unwrap_or(u64::MAX);
        self.bump(first, run);
        self.widen(first, last, sum);
    }

    #[inline]
    fn record_n(&mut self, value: u64, n: u64) {
        self.bump(value, n);
        self.widen(value, value, value);
    }

    #[inline]
    fn bump(&mut self, value: u64, n: u64) {
        if let Some(bucket) = self.shared.buckets.get(bucket_index(value)) {
            bucket.store(bucket.load(Relaxed).saturating_add(n), Relaxed);
        }
    }

    #[inline]
    fn widen(&mut self, low: u64, high: u64, sum: u64) {
        let shared = &*self.shared;
        if low < shared.min.load(Relaxed) {
            shared.min.store(low, Relaxed);
        }
        if high > shared.max.load(Relaxed) {
            shared.max.store(high, Relaxed);
        }
        shared.sum.store(shared.sum.load(Relaxed).saturating_add(sum), Relaxed);
    }
}

/// How many of `left` members of the series starting at `value` share its bucket; at least one.
fn members_in_bucket(value: u64, step: u64, left: u64) -> u64 {
    if step == 0 {
        return left;
    }
    let high = crate::bucket_high(bucket_index(value));
    let more = high.saturating_sub(value).checked_div(step).unwrap_or(0);
    more.saturating_add(1).min(left)
}

/// The reading end; clones read the same histogram.
#[derive(Clone)]
pub struct HistogramReader {
    shared: Arc<Shared>,
}

impl HistogramReader {
    /// A copy of the counts. A value recorded meanwhile is either in or not; none is ever half in. The extremes and
    /// the sum may be ahead of the counts by the values recorded during the copy.
    pub fn snapshot(&self) -> Counts {
        let buckets: Vec<u64> = self.shared.buckets.iter().map(|b| b.load(Relaxed)).collect();
        let first = buckets.iter().position(|n| *n > 0);
        let mut counts = Counts {
            buckets: buckets.into_boxed_slice(),
            min: self.shared.min.load(Relaxed),
            max: self.shared.max.load(Relaxed),
            sum: self.shared.sum.load(Relaxed),
        };
        match first {
            // The bucket's store may become visible before the minimum's.
            Some(index) => counts.min = counts.min.min(crate::bucket_high(index)).max(bucket_low(index)),
            None => counts = Counts::default(),
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_series_longer_than_an_hour_is_bounded_and_counted() {
        let (mut writer, reader) = Histogram::new();
        writer.record_series(Nanos::from_ns(17), Nanos::from_us(100), 36_000_000);
        assert_eq!(reader.snapshot().count(), 36_000_000);
        assert_eq!(reader.snapshot().max(), Some(Nanos::from_ns(17 + 100_000 * 35_999_999)));
    }

    #[test]
    fn a_reader_sees_every_value_of_a_running_writer_once() {
        let (mut writer, reader) = Histogram::new();
        let thread = std::thread::spawn(move || (0..200_000u64).for_each(|v| writer.record(Nanos::from_ns(v % 5_000))));
        let mut before = Counts::new();
        let mut total = 0;
        while total < 200_000 {
            let now = reader.snapshot();
            total += now.since(&before).count();
            assert_eq!(total, now.count());
            before = now;
        }
        thread.join().unwrap();
        assert_eq!(reader.snapshot().count(), 200_000);
    }

    proptest! {
        #[test]
        fn a_series_equals_its_members(first in 0u64..1 << 34, step in 0u64..1 << 30, n in 0u64..200) {
            let (mut by_series, series) = Histogram::new();
            by_series.record_series(Nanos::from_ns(first), Nanos::from_ns(step), n);
            let mut one_by_one = Counts::new();
            (0..n).for_each(|i| one_by_one.record(Nanos::from_ns(first + i * step)));
            prop_assert_eq!(series.snapshot(), one_by_one);
        }
    }
}
