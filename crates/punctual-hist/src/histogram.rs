//! A histogram that one thread writes while any number of threads read it. Neither side waits for the other.

use crate::{BUCKETS, Counts, Nanos, bucket_high, bucket_index, bucket_low};
use alloc::{sync::Arc, vec::Vec};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The bucket counts of a histogram, as atomic words in a fixed layout, so that they can lie in memory shared with
/// another process. If all bytes are zero, the histogram is empty.
#[repr(C, align(64))]
pub struct BucketCells([AtomicU64; BUCKETS]);

/// The exact minimum, maximum and sum of a histogram. They are stored apart from the bucket counts, so that the
/// extremes of several histograms of one loop share a few cache lines. If all bytes are zero, the histogram is empty.
#[derive(Default)]
#[repr(C)]
pub struct ExtremeCells {
    /// `u64::MAX` minus the smallest value, so that zero means that there is no value yet.
    min_from_top: AtomicU64,
    max: AtomicU64,
    sum: AtomicU64,
}

impl Default for BucketCells {
    #[allow(clippy::large_stack_arrays, reason = "as large as the value it makes, whose size its users know")]
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; BUCKETS])
    }
}

/// A histogram in memory that the caller provides, for example shared memory.
///
/// Only one thread may record; any number may read. If two threads record at once, counts are lost, but memory stays
/// sound. [`Histogram`] rules this out: it has a single writing end.
#[derive(Clone, Copy)]
pub struct HistogramCells<'a> {
    /// Number of values in each bucket.
    pub buckets: &'a BucketCells,
    /// The exact minimum, maximum and sum.
    pub extremes: &'a ExtremeCells,
}

impl HistogramCells<'_> {
    /// Records one value. Only one thread may record.
    ///
    /// # Real-time
    /// Wait-free, no allocation, no kernel entry: about ten instructions and at most three cache lines.
    #[inline]
    pub fn record(self, value: Nanos) {
        let value = value.as_ns();
        self.bump(value, 1);
        self.widen(value, value, value);
    }

    /// Loads the memory that recording a value near `value` will touch, so that it is in the cache by then.
    ///
    /// # Real-time
    /// Two loads.
    #[inline]
    pub fn warm(self, value: Nanos) {
        let bucket = self.buckets.0.get(bucket_index(value.as_ns())).map(|bucket| bucket.load(Relaxed));
        core::hint::black_box((bucket, self.extremes.sum.load(Relaxed)));
    }

    /// Records the arithmetic series `first, first + step, …` of `n` values, as consecutive skipped releases produce
    /// it. Only one thread may record.
    ///
    /// # Real-time
    /// Bounded by the number of buckets (3776), however long the series is. Recording the releases missed in a stall of
    /// an hour takes microseconds.
    pub fn record_series(self, first: Nanos, step: Nanos, n: u64) {
        let (mut value, mut left, step) = (first.as_ns(), n, step.as_ns());
        while left > 0 {
            let run = members_in_bucket(value, step, left);
            self.record_run(value, step, run);
            left = left.saturating_sub(run);
            value = value.saturating_add(step.saturating_mul(run));
        }
    }

    /// Adds all values of `counts`, whose minimum, maximum and sum are taken as they are. Only one thread may record.
    ///
    /// # Real-time
    /// Visits every bucket (3776): call after the loop.
    pub fn merge(self, counts: &Counts) {
        let (Some(min), Some(max)) = (counts.min(), counts.max()) else { return };
        for (index, n) in counts.nonzero() {
            self.bump(bucket_low(index), n);
        }
        self.widen(min.as_ns(), max.as_ns(), counts.sum().as_ns());
    }

    /// Copies the histogram. A value recorded during the copy is either included or not, never in part. Minimum,
    /// maximum and sum may already include values whose buckets were copied before they were recorded.
    pub fn snapshot(self) -> Counts {
        let buckets: Vec<u64> = self.buckets.0.iter().map(|b| b.load(Relaxed)).collect();
        let Some(first) = buckets.iter().position(|n| *n > 0) else { return Counts::default() };
        // The count of a bucket may become visible to this thread before the minimum does.
        let min = u64::MAX.saturating_sub(self.extremes.min_from_top.load(Relaxed));
        Counts {
            buckets: buckets.into_boxed_slice(),
            min: min.min(bucket_high(first)),
            max: self.extremes.max.load(Relaxed),
            sum: self.extremes.sum.load(Relaxed),
        }
    }

    /// Records `run` members of a series, all of which fall into the bucket of `first`.
    fn record_run(self, first: u64, step: u64, run: u64) {
        let last = first.saturating_add(step.saturating_mul(run.saturating_sub(1)));
        let twice_the_sum = u128::from(first).saturating_add(u128::from(last)).saturating_mul(u128::from(run));
        let sum = u64::try_from(twice_the_sum >> 1).unwrap_or(u64::MAX);
        self.bump(first, run);
        self.widen(first, last, sum);
    }

    #[inline]
    fn bump(self, value: u64, n: u64) {
        if let Some(bucket) = self.buckets.0.get(bucket_index(value)) {
            bucket.store(bucket.load(Relaxed).saturating_add(n), Relaxed);
        }
    }

    #[inline]
    fn widen(self, low: u64, high: u64, sum: u64) {
        let low_from_top = u64::MAX.saturating_sub(low);
        if low_from_top > self.extremes.min_from_top.load(Relaxed) {
            self.extremes.min_from_top.store(low_from_top, Relaxed);
        }
        if high > self.extremes.max.load(Relaxed) {
            self.extremes.max.store(high, Relaxed);
        }
        self.extremes.sum.store(self.extremes.sum.load(Relaxed).saturating_add(sum), Relaxed);
    }
}

#[derive(Default)]
struct Storage {
    extremes: ExtremeCells,
    buckets: BucketCells,
}

impl Storage {
    #[inline]
    fn cells(&self) -> HistogramCells<'_> {
        HistogramCells { buckets: &self.buckets, extremes: &self.extremes }
    }
}

/// Creates a live histogram as a writing and a reading end.
pub struct Histogram;

impl Histogram {
    /// Returns the writing and the reading end. Allocates 30 KB, once.
    #[allow(clippy::new_ret_no_self, reason = "a histogram is its two ends")]
    pub fn new() -> (HistogramWriter, HistogramReader) {
        let storage = Arc::new(Storage::default());
        (HistogramWriter { storage: Arc::clone(&storage) }, HistogramReader { storage })
    }
}

/// The writing end of a histogram. There is only one, so plain loads and stores suffice.
pub struct HistogramWriter {
    storage: Arc<Storage>,
}

impl HistogramWriter {
    /// Records one value.
    ///
    /// # Real-time
    /// Costs the same as [`HistogramCells::record`].
    #[inline]
    pub fn record(&mut self, value: Nanos) {
        self.storage.cells().record(value);
    }

    /// Records the arithmetic series `first, first + step, …` of `n` values, as consecutive skipped releases produce
    /// it.
    ///
    /// # Real-time
    /// Costs the same as [`HistogramCells::record_series`].
    pub fn record_series(&mut self, first: Nanos, step: Nanos, n: u64) {
        self.storage.cells().record_series(first, step, n);
    }

    /// Adds all values of `counts`.
    ///
    /// # Real-time
    /// Costs the same as [`HistogramCells::merge`].
    pub fn merge(&mut self, counts: &Counts) {
        self.storage.cells().merge(counts);
    }
}

/// Number of the first `left` members of a series starting at `value` that fall into the bucket of `value`; at least 1.
fn members_in_bucket(value: u64, step: u64, left: u64) -> u64 {
    if step == 0 {
        return left;
    }
    let high = bucket_high(bucket_index(value));
    let more = high.saturating_sub(value).checked_div(step).unwrap_or(0);
    more.saturating_add(1).min(left)
}

/// The reading end of a histogram; clones read the same histogram.
#[derive(Clone)]
pub struct HistogramReader {
    storage: Arc<Storage>,
}

impl HistogramReader {
    /// Copies the histogram, as [`HistogramCells::snapshot`] does.
    pub fn snapshot(&self) -> Counts {
        self.storage.cells().snapshot()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_layout_is_words_and_nothing_else() {
        assert_eq!((size_of::<ExtremeCells>(), size_of::<BucketCells>()), (24, BUCKETS * 8));
    }

    #[test]
    fn zero_is_a_value_and_an_extreme() {
        let (mut writer, reader) = Histogram::new();
        assert_eq!(reader.snapshot().min(), None);
        writer.record(Nanos::MAX);
        assert_eq!(reader.snapshot().min(), Some(Nanos::MAX));
        writer.record(Nanos::ZERO);
        assert_eq!((reader.snapshot().min(), reader.snapshot().count()), (Some(Nanos::ZERO), 2));
    }

    #[test]
    fn a_series_longer_than_an_hour_is_bounded_and_counted() {
        let (mut writer, reader) = Histogram::new();
        writer.record_series(Nanos::from_ns(17), Nanos::from_us(100), 36_000_000);
        assert_eq!(reader.snapshot().count(), 36_000_000);
        assert_eq!(reader.snapshot().max(), Some(Nanos::from_ns(17 + 100_000 * 35_999_999)));
    }

    #[test]
    fn counts_are_added_with_their_exact_extremes_and_sum() {
        let (mut writer, reader) = Histogram::new();
        let mut counts = Counts::new();
        writer.merge(&counts);
        assert!(reader.snapshot().is_empty());
        let pairs = [(bucket_index(15_999), 7), (bucket_index(20_000), 1)];
        counts.merge_nonzero(pairs, Nanos::from_ns(15_001), Nanos::from_ns(20_000), Nanos::from_ns(125_300));
        writer.merge(&counts);
        assert_eq!(reader.snapshot(), counts);
        writer.record(Nanos::from_ns(21_000));
        assert_eq!((reader.snapshot().count(), reader.snapshot().sum()), (9, Nanos::from_ns(146_300)));
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
