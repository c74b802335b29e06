//! Statistics of a periodic thread, written by the thread and read by any other. Neither side waits.

use super::driver::{Cells, Second};
use super::gaps::{Gap, SLOTS};
use super::late::LateTap;
use super::ring::ring;
use punctual_hist::{
    Activation, Counts, Histogram, HistogramReader, HistogramWriter, MonoTime, Nanos, WorstList, WorstReader,
    WorstWriter,
};
use punctual_rt::{Wake, kernel, now};
use rtrb::{Consumer, Producer};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// An activation with at least this latency that also spans two periods is set aside as a [`Gap`].
pub const GAP_DEFERRED: Nanos = Nanos::from_ms(100);
const SECOND: Nanos = Nanos::from_secs(1);
/// Number of finished seconds kept for a slow reader: 17 minutes.
const BLOCKS_KEPT: usize = 1024;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    pub second: u64,
    pub max: Nanos,
    /// The longest time between two wake-ups that ended in this second, without gaps that were set aside.
    pub longest_gap: Nanos,
}

#[derive(Default)]
struct Shared {
    activations: AtomicU64,
    over_budget: AtomicU64,
    early: AtomicU64,
    /// The longest time in nanoseconds by which an activation preceded its release.
    earliest: AtomicU64,
    migrations: AtomicU64,
    last_wake: AtomicU64,
    /// Number of finished seconds for which there was no room.
    blocks_lost: AtomicU64,
}

pub struct Recorder {
    ran: HistogramWriter,
    skipped: HistogramWriter,
    worst: WorstWriter,
    blocks: Producer<Block>,
    gaps: Producer<Gap>,
    late: Option<LateTap>,
    shared: Arc<Shared>,
    period: Nanos,
    budget: Nanos,
    epoch: MonoTime,
    last_woke: MonoTime,
    block: Block,
    block_end: MonoTime,
    usage: Usage,
    /// Whether the loop may ask Linux for its counters. A system call would take a thread of a real-time core in-band.
    asks_linux: bool,
    cpu: u32,
    migrations: u32,
}

/// Kernel counters as last read, and the time of that reading.
#[derive(Clone, Copy)]
struct Usage {
    at: MonoTime,
    counts: kernel::ThreadUsage,
    migrations: u32,
}

impl Recorder {
    /// Makes both sides for a thread whose releases start at `epoch`. Activations with a latency above `budget` are
    /// counted. Allocates: call this before the loop.
    pub fn new(epoch: MonoTime, period: Nanos, budget: Option<Nanos>) -> (Self, RecorderReader) {
        let ((ran, ran_reader), (skipped, skipped_reader)) = (Histogram::new(), Histogram::new());
        let (worst, worst_reader) = WorstList::new();
        let (block_writer, block_reader) = ring(BLOCKS_KEPT);
        let (gap_writer, gap_reader) = ring(SLOTS);
        let shared = Arc::new(Shared::default());
        let reader = RecorderReader {
            ran: ran_reader,
            skipped: skipped_reader,
            worst: worst_reader,
            blocks: block_reader,
            gaps: gap_reader,
            shared: Arc::clone(&shared),
        };
        let recorder = Self {
            ran,
            skipped,
            worst,
            blocks: block_writer,
            gaps: gap_writer,
            late: None,
            shared,
            period,
            budget: budget.unwrap_or(Nanos::MAX),
            epoch,
            last_woke: epoch,
            block: Block::default(),
            block_end: epoch.plus(SECOND),
            usage: Usage::read(epoch, 0),
            asks_linux: true,
            cpu: kernel::current_cpu(),
            migrations: 0,
        };
        (recorder, reader)
    }

    #[must_use]
    pub fn tapped(self, tap: Option<LateTap>) -> Self {
        Self { late: tap, ..self }
    }

    /// Describes the worst activations without the thread's counters: as counted over no time.
    #[must_use]
    pub fn out_of_band(self, is_out_of_band: bool) -> Self {
        Self { asks_linux: !is_out_of_band, ..self }
    }

    /// Reads the kernel's counters, so that the first activation is not charged with the set-up. Enters the kernel:
    /// call this as the last step before the loop.
    pub fn arm(&mut self) {
        self.cpu = kernel::current_cpu();
        self.usage = Usage::read(now(), self.migrations);
    }

    /// Records one activation. Wait-free, allocates nothing; about 25 ns. Once a second, and for one of the worst
    /// activations so far, it reads the thread's counters (`getrusage`, 0.3 us).
    #[inline]
    pub fn record(&mut self, wake: &Wake) {
        let (at, late) = (wake.woke, wake.latency());
        if at >= self.block_end {
            self.finish_block(at);
        }
        let since_last_wake = at.since(self.last_woke);
        self.last_woke = at;
        bump(&self.shared.activations, 1);
        self.note_cpu(kernel::current_cpu());
        self.shared.last_wake.store(at.as_ns(), Relaxed);
        if late >= GAP_DEFERRED && wake.missed >= 2 && self.defer(wake, since_last_wake) {
            return;
        }
        if let Some(tap) = &mut self.late {
            tap.see(wake);
        }
        self.block.longest_gap = self.block.longest_gap.max(since_last_wake);
        self.ran.record(late);
        self.block.max = self.block.max.max(late);
        if late > self.budget {
            bump(&self.shared.over_budget, 1);
        }
        if at < wake.release {
            self.note_early(1, wake.release.since(at));
        }
        if wake.missed > 0 {
            self.skipped.record_series(self.last_skipped_late(wake), self.period, wake.missed);
        }
        if self.worst.wants(late) {
            let activation = self.describe(wake);
            self.worst.offer(activation);
        }
    }

    #[cold]
    fn note_early(&self, activations: u64, earliest: Nanos) {
        bump(&self.shared.early, activations);
        self.shared.earliest.store(earliest.as_ns().max(self.shared.earliest.load(Relaxed)), Relaxed);
    }

    /// Records a second of which a driver told at `at`. Its latencies are counted by [`Recorder::tell_end`].
    pub fn tell(&mut self, at: MonoTime, second: &Second) {
        if second.samples == 0 {
            return;
        }
        bump(&self.shared.activations, second.samples);
        self.shared.last_wake.store(at.as_ns(), Relaxed);
        let length = |ns: i64| Nanos::from_ns(u64::try_from(ns).unwrap_or(0));
        // A second is told shortly after it ended, and no two may have the same number.
        let ended = at.plus(Nanos::from_ms(500)).since(self.epoch).whole(SECOND).saturating_sub(1);
        let number = if self.block.longest_gap == Nanos::ZERO { ended } else { ended.max(self.block.second + 1) };
        let spread = length(second.max.saturating_sub(second.min));
        let overrun = self.period.times(second.overruns.min(1));
        self.block =
            Block { second: number, max: length(second.max), longest_gap: self.period.plus(spread).plus(overrun) };
        self.hand_over_block();
        if second.overruns > 0 {
            // The driver only counts releases that had passed. None is later than the largest latency allows.
            let latest = length(second.max).minus(self.period);
            self.skipped.record_series(latest, Nanos::ZERO, second.overruns);
        }
    }

    /// Records the histogram that a driver tells at the end of a measurement; `whole` is all its seconds together.
    pub fn tell_end(&mut self, cells: &Cells, whole: &Second) {
        self.ran.merge(&cells.latencies(whole));
        bump(&self.shared.over_budget, cells.over(self.budget, whole));
        let earliest = whole.min.checked_neg().and_then(|ns| u64::try_from(ns).ok()).unwrap_or(0);
        if earliest > 0 && whole.samples > 0 {
            self.note_early(cells.early(whole), Nanos::from_ns(earliest));
        }
    }

    #[inline]
    fn note_cpu(&mut self, cpu: u32) {
        if cpu != self.cpu {
            self.cpu = cpu;
            self.migrations = self.migrations.saturating_add(1);
            bump(&self.shared.migrations, 1);
        }
    }

    /// Passes on the statistics of the last, unfinished second. Call this after the loop.
    pub fn finish(mut self) {
        self.hand_over_block();
    }

    fn hand_over_block(&mut self) {
        if self.blocks.push(self.block).is_err() {
            self.shared.blocks_lost.fetch_add(1, Relaxed);
        }
    }

    fn last_skipped_late(&self, wake: &Wake) -> Nanos {
        wake.woke.since(wake.release.plus(self.period.times(wake.missed)))
    }

    #[cold]
    fn finish_block(&mut self, woke: MonoTime) {
        self.hand_over_block();
        let second = woke.since(self.epoch).whole(SECOND);
        self.block = Block { second, ..Block::default() };
        self.block_end = self.epoch.plus(SECOND.times(second.saturating_add(1)));
        self.refresh_usage(woke);
    }

    /// Reads the counters anew and returns the former ones.
    fn refresh_usage(&mut self, at: MonoTime) -> Usage {
        if self.asks_linux {
            return std::mem::replace(&mut self.usage, Usage::read(at, self.migrations));
        }
        self.usage.at = at;
        self.usage
    }

    #[cold]
    fn defer(&mut self, wake: &Wake, since_last_wake: Nanos) -> bool {
        let gap = Gap {
            activation: self.describe(wake),
            skipped: wake.missed,
            last_skipped_late: self.last_skipped_late(wake),
            since_last_wake,
        };
        self.gaps.push(gap).is_ok()
    }

    #[cold]
    fn describe(&mut self, wake: &Wake) -> Activation {
        let before = self.refresh_usage(wake.woke);
        let grown = |now: u64, then: u64| u32::try_from(now.saturating_sub(then)).unwrap_or(u32::MAX);
        let counts = &self.usage.counts;
        Activation {
            release: wake.release,
            woke: wake.woke,
            index: wake.index,
            cpu: self.cpu,
            involuntary_switches: grown(counts.involuntary_switches, before.counts.involuntary_switches),
            faults: grown(counts.faults, before.counts.faults),
            migrations: self.usage.migrations.saturating_sub(before.migrations),
            counted_over: wake.woke.since(before.at),
        }
    }
}

#[inline]
fn bump(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).saturating_add(n), Relaxed);
}

impl Usage {
    fn read(at: MonoTime, migrations: u32) -> Self {
        Self { at, counts: kernel::thread_usage(), migrations }
    }
}

/// Reads the statistics of a thread, without ever delaying that thread.
pub struct RecorderReader {
    ran: HistogramReader,
    skipped: HistogramReader,
    worst: WorstReader,
    blocks: Consumer<Block>,
    gaps: Consumer<Gap>,
    shared: Arc<Shared>,
}

/// The default reads the statistics of a thread that never ran.
impl Default for RecorderReader {
    fn default() -> Self {
        Recorder::new(MonoTime::default(), SECOND, None).1
    }
}

impl RecorderReader {
    /// Latencies of the activations that ran and were not set aside.
    pub fn ran(&self) -> Counts {
        self.ran.snapshot()
    }

    /// For each skipped release, the time until the thread ran again.
    pub fn skipped(&self) -> Counts {
        self.skipped.snapshot()
    }

    pub fn worst(&self) -> Vec<Activation> {
        self.worst.snapshot()
    }

    pub fn take_blocks(&mut self) -> Vec<Block> {
        std::iter::from_fn(|| self.blocks.pop().ok()).collect()
    }

    /// Number of seconds lost since the last call, because calls of [`Self::take_blocks`] were too far apart.
    pub fn take_blocks_lost(&self) -> u64 {
        self.shared.blocks_lost.swap(0, Relaxed)
    }

    /// The oldest gap that was set aside. It is not in any histogram.
    pub fn take_gap(&mut self) -> Option<Gap> {
        self.gaps.pop().ok()
    }

    /// Number of releases in gaps that are set aside, both late and skipped ones.
    pub fn gaps_waiting(&mut self) -> u64 {
        let waiting = self.gaps.slots();
        // A chunk that is not committed stays in the queue.
        self.gaps.read_chunk(waiting).map_or(0, |gaps| {
            let (first, rest) = gaps.as_slices();
            first.iter().chain(rest).fold(0, |due: u64, gap| due.saturating_add(gap.due()))
        })
    }

    pub fn activations(&self) -> u64 {
        self.shared.activations.load(Relaxed)
    }

    pub fn last_wake(&self) -> MonoTime {
        MonoTime::from_ns(self.shared.last_wake.load(Relaxed))
    }

    pub fn over_budget(&self) -> u64 {
        self.shared.over_budget.load(Relaxed)
    }

    pub fn migrations(&self) -> u64 {
        self.shared.migrations.load(Relaxed)
    }

    pub fn early(&self) -> u64 {
        self.shared.early.load(Relaxed)
    }

    /// The longest time by which an activation preceded its release.
    pub fn earliest(&self) -> Nanos {
        Nanos::from_ns(self.shared.earliest.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use punctual_rt::Grid;

    const MS: Nanos = Nanos::from_ms(1);

    /// Runs with a simulated clock on which each wake-up is late by the given time.
    fn run(lates_us: &[u64], budget: Option<Nanos>) -> (u64, RecorderReader) {
        let epoch = MonoTime::from_ns(5_000_000_000);
        let mut grid = Grid::new(epoch, MS);
        let (mut recorder, reader) = Recorder::new(epoch, MS, budget);
        for late in lates_us {
            let woke = grid.release().plus(Nanos::from_us(*late));
            recorder.record(&grid.advance(woke));
        }
        recorder.finish();
        (grid.index(), reader)
    }

    #[test]
    fn a_hog_of_20_ms_costs_20_releases_and_both_views_show_it() {
        let mut lates = vec![10; 1000];
        lates[500] = 20_010;
        let (due, reader) = run(&lates, Some(Nanos::from_us(50)));
        assert_eq!((due, reader.ran().count(), reader.skipped().count()), (1020, 1000, 20));
        assert_eq!(reader.over_budget(), 1);
        let skipped = reader.skipped();
        assert_eq!((skipped.min(), skipped.max()), (Some(Nanos::from_us(10)), Some(Nanos::from_us(19_010))));
        assert_eq!(reader.worst()[0].latency(), Nanos::from_us(20_010));
    }

    #[test]
    fn a_tenth_of_a_second_is_set_aside_not_recorded() {
        let (due, mut reader) = run(&[10, 250_000, 10], None);
        assert_eq!((reader.ran().count(), reader.skipped().count(), reader.gaps_waiting()), (2, 0, 251));
        assert_eq!(due, 253);
        let gap = reader.take_gap().unwrap();
        assert_eq!((gap.skipped, gap.last_skipped_late), (250, Nanos::ZERO));
        assert_eq!(gap.since_last_wake, Nanos::from_us(250_990));
        let blocks = reader.take_blocks();
        assert_eq!(blocks[0].longest_gap, Nanos::from_us(1_010), "the gap may have been a pause of the machine");
        assert_eq!(gap.activation.latency(), Nanos::from_ms(250));
        assert_eq!(reader.take_gap(), None);
    }

    #[test]
    fn every_second_has_its_exact_maximum() {
        let mut lates = vec![10; 2500];
        (lates[3], lates[1500], lates[2400]) = (77, 88, 99);
        let (_, mut reader) = run(&lates, None);
        let (blocks, lost) = (reader.take_blocks(), reader.take_blocks_lost());
        let seen: Vec<_> = blocks.iter().map(|b| (b.second, b.max.as_ns() / 1000)).collect();
        assert_eq!((seen, lost), (vec![(0, 77), (1, 88), (2, 99)], 0));
    }

    #[test]
    fn seconds_of_a_driver_are_counted_with_what_was_early_and_late() {
        let epoch = MonoTime::from_ns(5_000_000_000);
        let (mut recorder, mut reader) = Recorder::new(epoch, MS, Some(Nanos::from_us(50)));
        let one = Second { samples: 1000, sum: 5_000_000, min: -700, max: 9_000, overruns: 0 };
        let two = Second { samples: 998, sum: 8_000_000, min: 3_000, max: 1_500_000, overruns: 2 };
        let at = |ms| epoch.plus(Nanos::from_ms(ms));
        recorder.tell(at(1_001), &one);
        recorder.tell(at(2_001), &two);
        recorder.tell(at(2_040), &Second::default());
        assert_eq!((reader.activations(), reader.ran().count()), (1998, 0), "the histogram comes at the end");
        let mut counts = vec![0; 1000];
        (counts[0], counts[6], counts[8], counts[999]) = (300, 1_000, 697, 1);
        recorder.tell_end(&Cells { width: Nanos::from_us(1), counts }, &one.with(two));
        assert_eq!((reader.ran().count(), reader.ran().max()), (1998, Some(Nanos::from_us(1_500))));
        assert_eq!(reader.ran().sum(), Nanos::from_ms(13));
        assert_eq!((reader.early(), reader.earliest(), reader.over_budget()), (300, Nanos::from_ns(700), 1));
        assert_eq!((reader.skipped().count(), reader.skipped().max()), (2, Some(Nanos::from_us(500))));
        let blocks = reader.take_blocks();
        let seen: Vec<_> = blocks.iter().map(|b| (b.second, b.max.as_ns(), b.longest_gap.as_ns())).collect();
        assert_eq!(seen, [(0, 9_000, 1_009_700), (1, 1_500_000, 3_497_000)]);
    }

    #[test]
    fn what_a_late_reader_loses_is_counted() {
        let epoch = MonoTime::from_ns(5_000_000_000);
        let (mut recorder, mut reader) = Recorder::new(epoch, SECOND, None);
        let mut grid = Grid::new(epoch, SECOND);
        for _ in 0..BLOCKS_KEPT + 10 {
            let woke = grid.release();
            recorder.record(&grid.advance(woke));
        }
        recorder.finish();
        assert_eq!((reader.take_blocks().len(), reader.take_blocks_lost()), (BLOCKS_KEPT, 10));
        assert_eq!((reader.take_blocks().len(), reader.take_blocks_lost()), (0, 0));
    }

    #[test]
    fn more_gaps_than_fit_are_recorded_by_the_loop() {
        let lates = vec![250_000; SLOTS + 3];
        let (due, mut reader) = run(&lates, None);
        assert_eq!(reader.ran().count(), 3);
        assert_eq!(reader.gaps_waiting() + reader.ran().count() + reader.skipped().count(), due);
        assert_eq!(std::iter::from_fn(|| reader.take_gap()).count(), SLOTS);
        assert_eq!(reader.gaps_waiting(), 0);
    }

    proptest! {
        #[test]
        fn every_release_due_is_accounted_for(lates in prop::collection::vec(0u64..300_000, 0..100)) {
            let (due, mut reader) = run(&lates, None);
            prop_assert_eq!(reader.ran().count() + reader.skipped().count() + reader.gaps_waiting(), due);
            prop_assert_eq!(reader.activations(), lates.len() as u64);
        }
    }

    #[test]
    fn a_thread_of_a_core_is_not_asked_for_its_counters() {
        let epoch = now();
        let counted_over = |is_out_of_band| {
            let (recorder, reader) = Recorder::new(epoch, MS, None);
            let mut recorder = recorder.out_of_band(is_out_of_band);
            let mut grid = Grid::new(epoch.plus(MS), MS);
            recorder.record(&grid.advance(epoch.plus(MS).plus(Nanos::from_us(70))));
            reader.worst()[0].counted_over
        };
        assert_eq!((counted_over(false), counted_over(true)), (Nanos::from_us(1_070), Nanos::ZERO));
    }
}
