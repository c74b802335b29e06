//! The statistics page, which the loop writes and all others read, in this process or another. It consists only of
//! atomic words at offsets that a layout version defines.
//!
//! This module does not know how the memory is allocated or who reads it.

mod sequence;

use crate::atomics::{AtomicU64, Ordering::Relaxed};
use crate::wake::{Class, Wake};
use punctual_hist::{BucketCells, ExtremeCells, HistogramCells, MonoTime, Nanos, Slot};
use sequence::Sequence;

/// First word of every page: `punctRT1` in memory order.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"punctRT1");
/// Version of the page's layout. It must change with every change of an offset or a meaning below.
pub(crate) const LAYOUT_VERSION: u64 = 1;
pub(crate) const NAME_BYTES: usize = 32;
/// Number of worst activations that are kept in a list.
pub const WORST_KEPT: usize = 16;
/// Number of activations kept around the worst one, including it; a quarter of the activations come after it.
pub(crate) const FROZEN: usize = 32;
/// Allowed lengths of the flight recorder, in activations.
pub(crate) const FLIGHT_LENGTHS: std::ops::RangeInclusive<u32> = 64..=65_536;

/// The slot of one activation.
pub(crate) type CycleSlot = Slot<7>;

/// The page without the flight recorder, which follows it.
#[repr(C, align(64))]
pub(crate) struct Head {
    pub(crate) fixed: Fixed,
    pub(crate) live: Live,
    pub(crate) buckets: Each<BucketCells>,
    pub(crate) worst: [CycleSlot; WORST_KEPT],
    pub(crate) frozen: [CycleSlot; FROZEN],
}

/// One value for each histogram of the page.
#[repr(C)]
pub(crate) struct Each<T> {
    pub(crate) latency: T,
    pub(crate) overshoot: T,
    pub(crate) polled: T,
    pub(crate) period_error: T,
    pub(crate) execution: T,
    pub(crate) response: T,
    pub(crate) early: T,
}

impl<T> Each<T> {
    /// Combines the values `a` and `b` of each histogram with `make`.
    #[inline]
    pub(crate) fn of<'a, A, B>(a: &'a Each<A>, b: &'a Each<B>, make: impl Fn(&'a A, &'a B) -> T) -> Self {
        Self {
            latency: make(&a.latency, &b.latency),
            overshoot: make(&a.overshoot, &b.overshoot),
            polled: make(&a.polled, &b.polled),
            period_error: make(&a.period_error, &b.period_error),
            execution: make(&a.execution, &b.execution),
            response: make(&a.response, &b.response),
            early: make(&a.early, &b.early),
        }
    }
}

impl Head {
    #[inline]
    pub(crate) fn histograms(&self) -> Each<HistogramCells<'_>> {
        Each::of(&self.buckets, &self.live.extremes, |buckets, extremes| HistogramCells { buckets, extremes })
    }
}

/// Members that are written once, before the page can be found by readers.
#[repr(C, align(64))]
pub(crate) struct Fixed {
    /// Written last: a page with this word is complete.
    pub(crate) magic: AtomicU64,
    pub(crate) version: AtomicU64,
    /// Size of the whole page with its flight recorder, in bytes.
    pub(crate) bytes: AtomicU64,
    pub(crate) pid: AtomicU64,
    pub(crate) name: [AtomicU64; NAME_BYTES / 8],
    pub(crate) period: AtomicU64,
    pub(crate) budget: Optional,
    pub(crate) deadline: Optional,
    pub(crate) cpu: Optional,
    pub(crate) started: AtomicU64,
    pub(crate) started_boot: AtomicU64,
    /// Not zero if the releases only approximate events from outside.
    pub(crate) follows_events: AtomicU64,
    /// Number of the back end; zero, also in pages of earlier versions, for Linux.
    pub(crate) backend: AtomicU64,
}

/// Members that change with every activation. `sequence` guards them and the histograms.
#[repr(C, align(64))]
pub(crate) struct Live {
    pub(crate) sequence: Sequence,
    pub(crate) activations: AtomicU64,
    pub(crate) first_woke: AtomicU64,
    pub(crate) last_woke: AtomicU64,
    pub(crate) missed: AtomicU64,
    pub(crate) outages: AtomicU64,
    pub(crate) lost_in_outages: AtomicU64,
    pub(crate) over_budget: AtomicU64,
    pub(crate) deadline_misses: AtomicU64,
    pub(crate) classes: [AtomicU64; Class::ALL.len()],
    pub(crate) extremes: Each<ExtremeCells>,
    pub(crate) periods: PeriodSums,
    /// Number of the worst activation so far, around which the frozen slots were kept.
    pub(crate) frozen_at: Optional,
    /// How often the loop was taken in-band. Not guarded by `sequence`: its one word is written several times a second.
    pub(crate) in_band_switches: AtomicU64,
}

/// Sums over period errors and over the wake-up errors that cause them.
#[repr(C)]
pub(crate) struct PeriodSums {
    pub(crate) count: AtomicU64,
    pub(crate) sum: Wide,
    pub(crate) squares: Wide,
    pub(crate) pairs: AtomicU64,
    pub(crate) products: Wide,
    pub(crate) error_sum: Wide,
    pub(crate) error_squares: Wide,
}

/// A signed number of 128 bits in two words.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Wide {
    low: AtomicU64,
    high: AtomicU64,
}

impl Wide {
    #[inline]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "takes the number apart into halves")]
    pub(crate) fn store(&self, value: i128) {
        self.low.store(value as u64, Relaxed);
        self.high.store((value >> 64) as u64, Relaxed);
    }

    #[allow(clippy::cast_possible_wrap, reason = "puts the halves together")]
    pub(crate) fn load(&self) -> i128 {
        let (low, high) = (self.low.load(Relaxed), self.high.load(Relaxed));
        i128::from(high as i64) << 64 | i128::from(low)
    }
}

/// A number that may be absent. Zero means absent, so that zeroed memory is valid.
#[derive(Default)]
#[repr(transparent)]
pub(crate) struct Optional(AtomicU64);

impl Optional {
    #[inline]
    pub(crate) fn store(&self, value: Option<u64>) {
        self.0.store(encoded(value), Relaxed);
    }

    pub(crate) fn load(&self) -> Option<u64> {
        self.0.load(Relaxed).checked_sub(1)
    }
}

#[inline]
fn encoded(value: Option<u64>) -> u64 {
    value.map_or(0, |n| n.saturating_add(1))
}

/// One activation in the flight recorder or in the list of the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CycleRecord {
    /// Number of the release, counted from 0 and including missed ones.
    pub index: u64,
    /// The instant at which the activation was due.
    pub release: MonoTime,
    /// When the thread read the clock after waiting.
    pub woke: MonoTime,
    /// When the body finished; `None` if it did not report its end, or is still running.
    pub finished: Option<MonoTime>,
    /// By how much longer than requested the kernel's sleep took; `None` if there was no sleep.
    pub overshoot: Option<Nanos>,
    /// Time spent polling.
    pub polled: Nanos,
    /// Class of the activation.
    pub class: Class,
    /// Number of releases missed after this one.
    pub missed: u64,
}

/// Index of the word in a slot that holds the end of the body.
pub(crate) const FINISHED_WORD: usize = 3;
const CLASS_BITS: u32 = 8;

/// The words of an activation whose body has not run yet.
#[inline]
pub(crate) fn cycle_words(wake: &Wake) -> [u64; 7] {
    let missed = wake.missed.min(u64::MAX >> CLASS_BITS);
    [
        wake.index,
        wake.release.as_ns(),
        wake.woke.as_ns(),
        finished_word(None),
        encoded(wake.overshoot.map(Nanos::as_ns)),
        wake.polled.as_ns(),
        missed << CLASS_BITS | u64::from(wake.class as u8),
    ]
}

#[inline]
pub(crate) fn finished_word(at: Option<MonoTime>) -> u64 {
    encoded(at.map(MonoTime::as_ns))
}

impl CycleRecord {
    /// Decodes the words of a slot; `None` if they are not valid.
    pub(crate) fn from_words(words: &[u64; 7]) -> Option<Self> {
        let [index, release, woke, finished, overshoot, polled, class_missed] = *words;
        Some(Self {
            index,
            release: MonoTime::from_ns(release),
            woke: MonoTime::from_ns(woke),
            finished: finished.checked_sub(1).map(MonoTime::from_ns),
            overshoot: overshoot.checked_sub(1).map(Nanos::from_ns),
            polled: Nanos::from_ns(polled),
            class: *Class::ALL.get(usize::try_from(class_missed & 0xff).ok()?)?,
            missed: class_missed >> CLASS_BITS,
        })
    }

    /// `woke` minus `release`; zero if the thread woke early.
    pub const fn latency(&self) -> Nanos {
        self.woke.since(self.release)
    }

    /// Time that the body took; `None` if it did not report its end.
    ///
    /// # Real-time
    /// Only computes.
    pub fn execution(&self) -> Option<Nanos> {
        self.finished.map(|at| at - self.woke)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// If a number in this test changes, `LAYOUT_VERSION` must change as well.
    #[test]
    fn layout_1_is_where_it_was() {
        assert_eq!(LAYOUT_VERSION, 1);
        assert_eq!((size_of::<Fixed>(), size_of::<Live>(), size_of::<CycleSlot>()), (128, 448, 64));
        assert_eq!(
            [offset_of!(Fixed, version), offset_of!(Fixed, bytes), offset_of!(Fixed, pid), offset_of!(Fixed, name)],
            [8, 16, 24, 32]
        );
        assert_eq!(
            [offset_of!(Fixed, period), offset_of!(Fixed, started), offset_of!(Fixed, started_boot)],
            [64, 96, 104]
        );
        assert_eq!([offset_of!(Live, classes), offset_of!(Live, extremes), offset_of!(Live, periods)], [72, 136, 304]);
        assert_eq!([offset_of!(Live, frozen_at), offset_of!(Each<u8>, early)], [400, 6]);
        assert_eq!([offset_of!(Fixed, backend), offset_of!(Live, in_band_switches)], [120, 408]);
        assert_eq!([offset_of!(Head, live), offset_of!(Head, buckets)], [128, 576]);
        assert_eq!([offset_of!(Head, worst), offset_of!(Head, frozen), size_of::<Head>()], [212_032, 213_056, 215_104]);
    }

    #[test]
    fn every_field_of_a_cycle_survives() {
        let wake = Wake {
            index: 7,
            release: MonoTime::from_ns(1_000),
            woke: MonoTime::from_ns(1_234),
            interval: Nanos::from_ms(1),
            missed: 3,
            class: Class::TimedOut,
            overshoot: Some(Nanos::ZERO),
            polled: Nanos::from_ns(55),
        };
        let mut words = cycle_words(&wake);
        words[FINISHED_WORD] = finished_word(Some(MonoTime::from_ns(2_000)));
        let record = CycleRecord::from_words(&words).unwrap();
        assert_eq!((record.index, record.latency(), record.missed), (7, Nanos::from_ns(234), 3));
        assert_eq!((record.execution(), record.overshoot), (Some(Nanos::from_ns(766)), Some(Nanos::ZERO)));
        assert_eq!((record.class, record.polled), (Class::TimedOut, Nanos::from_ns(55)));
        words[6] = 200;
        assert_eq!(CycleRecord::from_words(&words), None, "a class nobody knows");
    }

    #[test]
    fn wide_numbers_keep_their_sign() {
        let wide = Wide::default();
        for n in [0, -1, i128::MIN, i128::MAX, -(1 << 64), (1 << 64) - 1] {
            wide.store(n);
            assert_eq!(wide.load(), n);
        }
    }
}
