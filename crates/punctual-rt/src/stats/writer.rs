//! The writing end of the statistics, which the loop uses: two calls per cycle, each a bounded number of plain stores.
//!
//! This module reads no clock. The caller passes every instant.

use super::{OUTAGE, PeriodMoments, StatsConfig};
use crate::atomics::{AtomicU64, Ordering::Relaxed};
use crate::backend::Backend;
use crate::page::{CycleSlot, FINISHED_WORD, FROZEN, Head, Live, PeriodSums, WORST_KEPT, cycle_words, finished_word};
use crate::sys::PageMemory;
use crate::wake::{Class, Wake};
use punctual_hist::{Delta, MonoTime, Nanos};
use std::sync::Arc;

/// Number of activations kept before the worst one.
const FROZEN_BEFORE: u64 = 23;
/// Number of activations kept after the worst one.
const FROZEN_AFTER: u64 = 8;
/// Number of slots that are copied per cycle, so that no single cycle has to copy all.
const FROZEN_PER_CYCLE: usize = 4;

/// The writing end of the statistics; there is only one.
pub struct StatsWriter {
    page: Arc<PageMemory>,
    budget: Nanos,
    deadline: Nanos,
    /// Number of the next activation, without missed ones, which gives its place in the flight recorder.
    cycle: u64,
    open: Option<Open>,
    periods: Periods,
    worst: Worst,
    freeze: Option<Freeze>,
    last: Last,
}

/// The values recorded last. The next values probably belong to the same buckets, so `warm` loads these buckets.
#[derive(Default)]
struct Last {
    late: Nanos,
    overshoot: Nanos,
    polled: Nanos,
    period_error: Nanos,
    execution: Nanos,
    response: Nanos,
}

/// The activation whose body is running.
struct Open {
    release: MonoTime,
    woke: MonoTime,
    cycle: u64,
    worst_place: Option<usize>,
    /// Whether the wait for an outside event timed out, so that there is no release for latency and response.
    timed_out: bool,
}

impl StatsWriter {
    pub(super) fn new(page: Arc<PageMemory>, config: &StatsConfig) -> Self {
        Self {
            page,
            budget: config.budget.unwrap_or(Nanos::MAX),
            deadline: config.deadline.unwrap_or(Nanos::MAX),
            cycle: 0,
            open: None,
            periods: Periods::default(),
            worst: Worst { latency: [Nanos::ZERO; WORST_KEPT], floor: Nanos::ZERO, largest: Nanos::ZERO },
            freeze: None,
            last: Last::default(),
        }
    }

    /// Records the outcome of a wait. Call right after the wait, or after the urgent work of the cycle. An activation
    /// that timed out is only counted.
    ///
    /// # Real-time
    /// Wait-free: no allocation, no kernel entry, no panic. Together with [`StatsWriter::finished`] it takes about 30
    /// ns if the page is in the caches, and some hundreds if not (see [`StatsWriter::warm`]). An activation among the
    /// worst 16 so far costs one more pass over 16 words. After the worst so far, each of the next eight cycles copies
    /// four slots.
    #[inline]
    pub fn woke(&mut self, wake: &Wake) {
        let (head, slots, cycle) = (self.page.head(), self.page.slots(), self.cycle);
        self.cycle = cycle.saturating_add(1);
        let timed_out = wake.class == Class::TimedOut;
        let late = if timed_out { Nanos::ZERO } else { wake.latency() };

        head.live.sequence.begin();
        count(&head.live, wake, cycle == 0);
        if late > self.budget {
            bump(&head.live.over_budget, 1);
        }
        if !timed_out {
            distribute(head, wake, late);
        }
        let period_error = self.periods.note(head, wake);
        head.live.sequence.end();

        self.last.late = late;
        self.last.overshoot = wake.overshoot.unwrap_or(self.last.overshoot);
        self.last.polled = wake.polled;
        self.last.period_error = period_error;
        let words = cycle_words(wake);
        if let Some(slot) = slot_of(slots, cycle) {
            slot.write(cycle, &words);
        }
        if self.freeze.is_some() {
            self.freeze = freeze_some(self.freeze, head, slots, cycle);
        }
        let mut worst_place = None;
        if late > self.worst.floor {
            if late > self.worst.largest {
                self.freeze = Some(Freeze::around(cycle));
                head.live.frozen_at.store(Some(cycle));
            }
            worst_place = self.worst.insert(head, cycle, late, &words);
        }
        self.open = Some(Open { release: wake.release, woke: wake.woke, cycle, worst_place, timed_out });
    }

    /// Notes which kernel paces the task.
    pub(crate) fn paced_by(&self, backend: Backend) {
        self.page.head().fixed.backend.store((backend as u8).into(), Relaxed);
    }

    /// A function that tells the readers how often the task was taken in-band.
    pub(crate) fn tells_switches(&self) -> Box<dyn Fn(u64) + Send> {
        let page = Arc::clone(&self.page);
        Box::new(move |switches| page.head().live.in_band_switches.store(switches, Relaxed))
    }

    /// Sets the nominal period that readers see.
    ///
    /// # Real-time
    /// One store.
    pub fn set_period(&mut self, period: Nanos) {
        self.page.head().fixed.period.store(period.as_ns(), Relaxed);
    }

    /// Loads the memory that the next two calls will probably touch, because the caches may have lost it during the
    /// sleep. Call it between a sleep and the release, where a polling wait has time to spare.
    ///
    /// # Real-time
    /// Some twenty loads, no stores.
    #[inline]
    pub fn warm(&self) {
        let (head, slots) = (self.page.head(), self.page.slots());
        let (histograms, last) = (head.histograms(), &self.last);
        histograms.latency.warm(last.late);
        histograms.overshoot.warm(last.overshoot);
        histograms.polled.warm(last.polled);
        histograms.period_error.warm(last.period_error);
        histograms.execution.warm(last.execution);
        histograms.response.warm(last.response);
        let slot = slot_of(slots, self.cycle).map(CycleSlot::warm);
        std::hint::black_box((
            slot,
            head.live.sequence.resting(),
            head.live.frozen_at.load(),
            head.live.periods.count.load(Relaxed),
        ));
    }

    /// Records that the body of the last activation finished `at`. Optional; only the first call per cycle counts.
    ///
    /// # Real-time
    /// Wait-free: no allocation, no kernel entry, no panic. The time is included in that of [`StatsWriter::woke`].
    #[inline]
    pub fn finished(&mut self, at: MonoTime) {
        let Some(open) = self.open.take() else { return };
        let (head, slots) = (self.page.head(), self.page.slots());
        let response = at - open.release;
        let execution = at - open.woke;
        self.last.execution = execution;
        if !open.timed_out {
            self.last.response = response;
        }

        head.live.sequence.begin();
        let histograms = head.histograms();
        histograms.execution.record(execution);
        if !open.timed_out {
            histograms.response.record(response);
            if response > self.deadline {
                bump(&head.live.deadline_misses, 1);
            }
        }
        head.live.sequence.end();

        let word = finished_word(Some(at));
        if let Some(slot) = slot_of(slots, open.cycle) {
            slot.amend(FINISHED_WORD, word);
        }
        if let Some(slot) = open.worst_place.and_then(|place| head.worst.get(place)) {
            slot.amend(FINISHED_WORD, word);
        }
    }
}

#[inline]
fn bump(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).saturating_add(n), Relaxed);
}

/// The slot of activation `cycle`; the number of slots is a power of two.
#[inline]
fn slot_of(slots: &[CycleSlot], cycle: u64) -> Option<&CycleSlot> {
    #[allow(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
    slots.get(cycle as usize & slots.len().saturating_sub(1))
}

#[inline]
fn count(live: &Live, wake: &Wake, first: bool) {
    bump(&live.activations, 1);
    if first {
        live.first_woke.store(wake.woke.as_ns(), Relaxed);
    }
    live.last_woke.store(wake.woke.as_ns(), Relaxed);
    if let Some(class) = live.classes.get(usize::from(wake.class as u8)) {
        bump(class, 1);
    }
    if wake.missed > 0 {
        // If the releases follow outside events, silence shows as a long interval, and not as latency.
        let outage = wake.missed >= 2 && wake.latency().max(wake.interval) >= OUTAGE;
        bump(if outage { &live.lost_in_outages } else { &live.missed }, wake.missed);
        bump(&live.outages, outage.into());
    }
}

#[inline]
fn distribute(head: &Head, wake: &Wake, late: Nanos) {
    let histograms = head.histograms();
    histograms.latency.record(late);
    if wake.woke < wake.release {
        histograms.early.record(wake.release - wake.woke);
    }
    if let Some(overshoot) = wake.overshoot {
        histograms.overshoot.record(overshoot);
    }
    if wake.polled > Nanos::ZERO {
        histograms.polled.record(wake.polled);
    }
}

/// Sums over period errors. Two activations make a period only if no release was missed between them or after the
/// second. If releases were missed after the second, it was late by more than a period, which is counted elsewhere; and
/// no shorter period follows that would compensate for it. An activation that timed out neither ends nor begins a
/// period.
#[derive(Default)]
struct Periods {
    former: Option<Former>,
    sums: PeriodMoments,
}

#[derive(Clone, Copy)]
struct Former {
    /// Number of the release that must come next.
    next: u64,
    /// By how much the previous activation deviated from its release, in nanoseconds.
    error: i64,
    /// The period error that ended with the previous activation.
    period_error: Option<i64>,
}

impl Periods {
    #[inline]
    fn note(&mut self, head: &Head, wake: &Wake) -> Nanos {
        if wake.class == Class::TimedOut {
            self.former = None;
            return Nanos::ZERO;
        }
        let error = wake.error().as_ns();
        let before = self.former.filter(|former| former.next == wake.index && wake.missed == 0);
        let period_error = before.map(|former| error.saturating_sub(former.error));
        if let (Some(former), Some(this)) = (before, period_error) {
            head.histograms().period_error.record(Delta::from_ns(this).length());
            self.add(&head.live.periods, error, this, former.period_error);
        }
        let next = wake.index.saturating_add(1);
        self.former = (wake.missed == 0).then_some(Former { next, error, period_error });
        Delta::from_ns(period_error.unwrap_or(0)).length()
    }

    #[inline]
    fn add(&mut self, cells: &PeriodSums, error: i64, this: i64, former: Option<i64>) {
        let sums = &mut self.sums;
        sums.count = sums.count.saturating_add(1);
        sums.sum = sums.sum.saturating_add(this.into());
        sums.squares = sums.squares.saturating_add(product(this, this));
        sums.error_sum = sums.error_sum.saturating_add(error.into());
        sums.error_squares = sums.error_squares.saturating_add(product(error, error));
        cells.count.store(sums.count, Relaxed);
        cells.sum.store(sums.sum);
        cells.squares.store(sums.squares);
        cells.error_sum.store(sums.error_sum);
        cells.error_squares.store(sums.error_squares);
        if let Some(former) = former {
            sums.pairs = sums.pairs.saturating_add(1);
            sums.products = sums.products.saturating_add(product(former, this));
            cells.pairs.store(sums.pairs, Relaxed);
            cells.products.store(sums.products);
        }
    }
}

/// The exact product: 128 bits hold the product of any two 64-bit numbers.
#[inline]
fn product(a: i64, b: i64) -> i128 {
    i128::from(a).wrapping_mul(i128::from(b))
}

struct Worst {
    latency: [Nanos; WORST_KEPT],
    floor: Nanos,
    largest: Nanos,
}

impl Worst {
    /// Replaces the activation with the smallest latency in the list.
    #[cold]
    fn insert(&mut self, head: &Head, cycle: u64, late: Nanos, words: &[u64; 7]) -> Option<usize> {
        let (place, kept) = self.latency.iter_mut().enumerate().min_by_key(|(_, kept)| **kept)?;
        *kept = late;
        head.worst.get(place)?.write(cycle, words);
        self.floor = self.latency.iter().copied().min().unwrap_or_default();
        self.largest = self.largest.max(late);
        Some(place)
    }
}

/// The activations around the worst that are still to be copied.
#[derive(Clone, Copy)]
struct Freeze {
    next: u64,
    last: u64,
}

impl Freeze {
    fn around(cycle: u64) -> Self {
        Self { next: cycle.saturating_sub(FROZEN_BEFORE), last: cycle.saturating_add(FROZEN_AFTER) }
    }
}

/// Copies a few activations whose bodies have finished from the flight recorder to the frozen slots.
#[cold]
fn freeze_some(freeze: Option<Freeze>, head: &Head, slots: &[CycleSlot], cycle: u64) -> Option<Freeze> {
    let mut freeze = freeze?;
    for _ in 0..FROZEN_PER_CYCLE {
        if freeze.next >= cycle {
            return Some(freeze);
        }
        if let (Some((number, words)), Some(copy)) =
            (slot_of(slots, freeze.next)?.read(), slot_of(&head.frozen, freeze.next))
        {
            copy.write(number, &words);
        }
        if freeze.next == freeze.last {
            return None;
        }
        freeze.next = freeze.next.saturating_add(1);
    }
    Some(freeze)
}

const _: () = assert!(FROZEN_BEFORE + FROZEN_AFTER + 1 == FROZEN as u64, "the frozen slots hold exactly these");
const _: () = assert!(FROZEN.is_power_of_two(), "as the place of a slot is its number's low bits");

impl Head {
    /// The numbers of the activations that the frozen slots are to hold.
    pub(super) fn frozen_numbers(&self) -> Option<std::ops::RangeInclusive<u64>> {
        let around = Freeze::around(self.live.frozen_at.load()?);
        Some(around.next..=around.last)
    }
}
