//! The reading end of the statistics: consistent copies of what the loop has written.
//!
//! The page of another process may contain any words. A snapshot can be made of them and printed in any case.

use super::{PeriodMoments, Rhythm, name_from};
use crate::atomics::{AtomicU64, Ordering::Relaxed};
use crate::backend::Backend;
use crate::page::{CycleRecord, CycleSlot, Each, Head, Live};
use crate::sys::{PageMemory, boot_and_monotonic};
use crate::wake::Class;
use punctual_hist::{Counts, HistogramCells, MonoTime, Nanos};
use std::sync::Arc;
use std::time::Duration;

/// Number of attempts at a consistent copy, before an inconsistent one is accepted.
const TRIES: usize = 64;
/// Number of attempts without a pause. Later attempts begin with a pause, because the loop may have lost its CPU while
/// writing.
const TRIES_AT_ONCE: usize = 8;
const PAUSE: Duration = Duration::from_micros(100);
/// A kind of wake-up that occurs more often than once in this number of activations is a part of the distribution, and
/// not its tail.
const PART: u64 = 20;
/// If `CLOCK_BOOTTIME` has gained this much on `CLOCK_MONOTONIC`, the machine was suspended. A smaller gain is the time
/// between the two readings.
const SUSPEND: Nanos = Nanos::from_ms(1);

/// The reading end of the statistics; clones read the same page.
#[derive(Clone)]
pub struct StatsReader {
    page: Arc<PageMemory>,
}

/// Counts of activations and releases by kind. A plain copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Activations that ran.
    pub activations: u64,
    /// Releases missed outside of outages.
    pub missed: u64,
    /// Outages: activations with a latency of at least 100 ms after which at least two releases were missed, each
    /// counted once.
    pub outages: u64,
    /// Releases missed during outages.
    pub lost_in_outages: u64,
    /// Activations with a latency larger than the budget.
    pub over_budget: u64,
    /// Activations whose body finished after the deadline.
    pub deadline_misses: u64,
    /// Number of activations of each class, in the order of the numbers of [`Class`].
    pub classes: [u64; 8],
    /// When the first activation woke.
    pub first_woke: MonoTime,
    /// When the last activation woke; it shows whether the loop is still running.
    pub last_woke: MonoTime,
}

impl Counters {
    /// Number of activations of one class.
    ///
    /// # Real-time
    /// Only computes.
    pub fn of(&self, class: Class) -> u64 {
        self.classes.get(usize::from(class as u8)).copied().unwrap_or(0)
    }
}

/// All statistics of a loop at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Name of the task.
    pub name: String,
    /// Process id, as the process itself states it.
    pub pid: u32,
    /// The CPU that the task was set up for. The thread may have been moved since.
    pub cpu: Option<u32>,
    /// Whether events from outside activate the task. The task's releases then approximate the events, and latency is
    /// measured from these releases.
    pub follows_events: bool,
    /// The kernel that paces the task.
    pub backend: Backend,
    /// How often the task was taken in-band since its first sleep; always 0 on [`Backend::Linux`]. A switch shows after
    /// at most 0.1 s, and when the loop has ended.
    pub in_band_switches: u64,
    /// Nominal period of the task.
    pub period: Nanos,
    /// The largest acceptable latency.
    pub budget: Option<Nanos>,
    /// Time from the release by which a body must finish.
    pub deadline: Option<Nanos>,
    /// When the statistics were created.
    pub started: MonoTime,
    /// When this copy was made.
    pub taken: MonoTime,
    /// How long the machine was suspended between `started` and `taken`, which the grid does not see.
    pub suspended: Nanos,
    /// Whether all members up to `periods` belong together. If not, the loop wrote during every attempt: it is very
    /// fast, or its process ended while writing. Then `activations` is the number of values in the latency histogram
    /// plus the activations that timed out.
    pub coherent: bool,
    /// Counts of activations and releases by kind.
    pub counters: Counters,
    /// Wake-up latency: woke minus release; zero if early. One value per activation that did not time out.
    pub latency: Counts,
    /// Release minus woke, of the activations that woke early.
    pub early: Counts,
    /// By how much longer than requested the kernel's sleeps took.
    pub overshoot: Counts,
    /// Time spent polling, of the activations that polled.
    pub polled: Counts,
    /// Difference between the distance of two successive wake-ups and the distance of their releases, without sign.
    /// Pairs with missed releases have no value here, because misses are counted separately.
    pub period_error: Counts,
    /// Time from waking to the end of the body.
    pub execution: Counts,
    /// Time from the release to the end of the body, except for activations that timed out.
    pub response: Counts,
    /// Sums over period errors; `None` if the copy is not coherent.
    pub periods: Option<PeriodMoments>,
    /// The activations with the largest latencies, worst first.
    pub worst: Vec<CycleRecord>,
    /// The flight recorder: the last activations, oldest first.
    pub recent: Vec<CycleRecord>,
    /// The activations around the one with the largest latency, oldest first.
    pub around_worst: Vec<CycleRecord>,
}

impl StatsReader {
    pub(super) fn new(page: Arc<PageMemory>) -> Self {
        Self { page }
    }

    /// Whether another process can attach to the statistics.
    ///
    /// # Errors
    /// The `errno` with which the kernel refused shared memory.
    ///
    /// # Real-time
    /// Only computes.
    pub fn shared(&self) -> Result<(), i32> {
        self.page.shared()
    }

    /// Name of the task.
    ///
    /// # Real-time
    /// Allocates: call before the loop, or in another thread.
    pub fn name(&self) -> String {
        name_from(self.page.head().fixed.name.each_ref().map(load))
    }

    /// Copies only the counters, without waiting, and cheap enough for frequent calls. `None` if the loop wrote during
    /// all of 64 attempts.
    ///
    /// # Real-time
    /// Bounded, no allocation, no kernel entry. The loop is delayed only by sharing cache lines.
    pub fn counters(&self) -> Option<Counters> {
        let live = &self.page.head().live;
        guarded(live, || counters(live), || ())
    }

    /// Copies everything. Bounded: after 64 attempts within some 10 ms the copy is marked as not coherent.
    ///
    /// # Real-time
    /// Not for the loop: allocates 300 KB, takes some 30 us, and sleeps while the loop keeps writing. The loop is not
    /// disturbed.
    pub fn snapshot(&self) -> Snapshot {
        let head = self.page.head();
        let copied = guarded(&head.live, || Copied::of(head), || std::thread::sleep(PAUSE));
        let coherent = copied.is_some();
        let mut copied = copied.unwrap_or_else(|| Copied::of(head));
        if !coherent {
            let timed_out = copied.counters.of(Class::TimedOut);
            copied.counters.activations = copied.histograms.latency.count().saturating_add(timed_out);
        }
        let Each { latency, overshoot, polled, period_error, execution, response, early } = copied.histograms;
        let fixed = &head.fixed;
        let (started, taken) = (MonoTime::from_ns(load(&fixed.started)), boot_and_monotonic());
        Snapshot {
            name: self.name(),
            pid: u32::try_from(load(&fixed.pid)).unwrap_or(0),
            cpu: fixed.cpu.load().and_then(|n| u32::try_from(n).ok()),
            follows_events: load(&fixed.follows_events) != 0,
            backend: Backend::of_number(load(&fixed.backend)),
            in_band_switches: load(&head.live.in_band_switches),
            period: Nanos::from_ns(load(&fixed.period)),
            budget: fixed.budget.load().map(Nanos::from_ns),
            deadline: fixed.deadline.load().map(Nanos::from_ns),
            started,
            taken: taken.1,
            suspended: suspended((load(&fixed.started_boot), started), taken),
            coherent,
            counters: copied.counters,
            latency,
            early,
            overshoot,
            polled,
            period_error,
            execution,
            response,
            periods: coherent.then_some(copied.periods),
            worst: worst(head),
            recent: in_order(records(self.page.slots())),
            around_worst: around_worst(head),
        }
    }
}

/// The values guarded by the sequence counter.
struct Copied {
    counters: Counters,
    periods: PeriodMoments,
    histograms: Each<Counts>,
}

impl Copied {
    fn of(head: &Head) -> Self {
        let (buckets, extremes) = (&head.buckets, &head.live.extremes);
        let histograms =
            Each::of(buckets, extremes, |buckets, extremes| HistogramCells { buckets, extremes }.snapshot());
        Self { counters: counters(&head.live), periods: moments(&head.live), histograms }
    }
}

/// The result of a `copy` during which the loop did not write; `None` if it wrote during all of a bounded number of
/// attempts. After the first attempts, `pause` is called before each.
fn guarded<T>(live: &Live, copy: impl Fn() -> T, pause: impl Fn()) -> Option<T> {
    for attempt in 0..TRIES {
        if attempt >= TRIES_AT_ONCE {
            pause();
        }
        if let Some(seen) = live.sequence.resting() {
            let copied = copy();
            if live.sequence.unchanged_since(seen) {
                return Some(copied);
            }
        }
        std::hint::spin_loop();
    }
    None
}

fn load(cell: &AtomicU64) -> u64 {
    cell.load(Relaxed)
}

fn counters(live: &Live) -> Counters {
    Counters {
        activations: load(&live.activations),
        missed: load(&live.missed),
        outages: load(&live.outages),
        lost_in_outages: load(&live.lost_in_outages),
        over_budget: load(&live.over_budget),
        deadline_misses: load(&live.deadline_misses),
        classes: live.classes.each_ref().map(load),
        first_woke: MonoTime::from_ns(load(&live.first_woke)),
        last_woke: MonoTime::from_ns(load(&live.last_woke)),
    }
}

fn moments(live: &Live) -> PeriodMoments {
    let sums = &live.periods;
    PeriodMoments {
        count: load(&sums.count),
        sum: sums.sum.load(),
        squares: sums.squares.load(),
        pairs: load(&sums.pairs),
        products: sums.products.load(),
        error_sum: sums.error_sum.load(),
        error_squares: sums.error_squares.load(),
    }
}

/// By how much `CLOCK_BOOTTIME` has gained on `CLOCK_MONOTONIC`; zero if the gain is too small for a suspend.
fn suspended(then: (u64, MonoTime), now: (u64, MonoTime)) -> Nanos {
    let boot = Nanos::from_ns(now.0.saturating_sub(then.0));
    let gained = boot - (now.1 - then.1);
    if gained < SUSPEND { Nanos::ZERO } else { gained }
}

/// The records of all readable slots, each with its number. A slot that the loop is writing is left out.
fn records(slots: &[CycleSlot]) -> impl Iterator<Item = (u64, CycleRecord)> + '_ {
    let read = |slot: &CycleSlot| (0..4).find_map(|_| slot.read());
    slots.iter().filter_map(read).filter_map(|(number, words)| Some((number, CycleRecord::from_words(&words)?)))
}

fn in_order(records: impl Iterator<Item = (u64, CycleRecord)>) -> Vec<CycleRecord> {
    let mut numbered: Vec<(u64, CycleRecord)> = records.collect();
    numbered.sort_by_key(|(number, _)| *number);
    numbered.into_iter().map(|(_, record)| record).collect()
}

fn worst(head: &Head) -> Vec<CycleRecord> {
    let mut list = in_order(records(&head.worst));
    list.sort_by_key(|record| std::cmp::Reverse(record.latency()));
    list
}

fn around_worst(head: &Head) -> Vec<CycleRecord> {
    let Some(wanted) = head.frozen_numbers() else { return Vec::new() };
    in_order(records(&head.frozen).filter(|(number, _)| wanted.contains(number)))
}

impl Snapshot {
    /// Share of the time that was spent polling, 0 to 1; `None` before the second wake-up. The time includes one period
    /// before the first wake-up, because that wake-up was polled for as well.
    ///
    /// # Real-time
    /// Only computes; floating point.
    pub fn spin_share(&self) -> Option<f64> {
        let elapsed = self.counters.last_woke - self.counters.first_woke;
        let whole = (elapsed + self.period).as_secs_f64();
        (elapsed > Nanos::ZERO).then(|| (self.polled.sum().as_secs_f64() / whole).min(1.0))
    }

    /// The meaning of the sequence of period errors; `None` if the copy is not coherent.
    ///
    /// There is no verdict if some wake-ups were polled for and others came late from sleep, or if many releases were
    /// missed or timed out. In these cases the sequence reflects how the kinds alternate, and not what the program
    /// does.
    ///
    /// # Real-time
    /// Only computes; floating point.
    pub fn rhythm(&self) -> Option<Rhythm> {
        let periods = self.periods.as_ref()?;
        let (c, slept) = (&self.counters, self.counters.of(Class::LateFromSleep));
        let polled = self.polled.count().min(c.activations.saturating_sub(slept));
        let lost = c.missed.saturating_add(c.lost_in_outages).saturating_add(c.of(Class::TimedOut));
        let is_part = |part: u64, whole: u64| part > whole / PART;
        Some(match periods.rhythm() {
            certain @ (Rhythm::TooFew | Rhythm::Still) => certain,
            _ if is_part(lost, c.activations.saturating_add(lost)) => Rhythm::Broken,
            _ if is_part(slept, c.activations) && is_part(polled, c.activations) => Rhythm::Mixed,
            told => told,
        })
    }

    /// The classes that occurred, with their counts.
    ///
    /// # Real-time
    /// Only computes.
    pub fn classes(&self) -> impl Iterator<Item = (Class, u64)> + '_ {
        Class::ALL.into_iter().map(|class| (class, self.counters.of(class))).filter(|(_, n)| *n > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_boot_clock_gained_is_a_suspend() {
        let at = |boot: u64, mono: u64| (boot * 1_000_000, MonoTime::from_ns(mono * 1_000_000));
        assert_eq!(suspended(at(1_000, 1_000), at(9_000, 9_000)), Nanos::ZERO);
        assert_eq!(suspended(at(1_500, 1_000), at(9_500, 6_000)), Nanos::from_secs(3));
        assert_eq!(suspended(at(9_000, 9_000), at(1_000, 1_000)), Nanos::ZERO, "clocks of a hostile page");
    }
}
