//! Shortens the frames of a finished run: intervals are joined exactly, and of the windows only the worst stay.
//!
//! Joining adds up counts and sums and keeps the largest of all maxima, so every figure of the joined interval is what a
//! single interval would have counted. What is given up is when, within a step, something happened.

use crate::recording::{CpuInterval, Event, EventKind, Frame, InBand, Interval, MaximaLost, RecTime, Worst};
use crate::trace::{Kept, LateList, LateTotal, TraceTotal, Window};
use punctual_hist::Nanos;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How much of a run is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detail {
    /// Length of the time steps. They begin at multiples of it on the wall clock.
    pub step: Nanos,
    /// Windows of the worst activations that are kept, of all CPUs together.
    pub worst: usize,
    /// Windows of ordinary activations that are kept, for comparison.
    pub ordinary: usize,
}

impl Detail {
    /// The levels of detail, the finest first. A store begins with the first, and when it is full, its oldest segments go
    /// down by one level at a time.
    pub const LEVELS: [Self; 3] = [
        Self { step: Nanos::from_secs(300), worst: 8, ordinary: 4 },
        Self { step: Nanos::from_secs(3600), worst: 3, ordinary: 2 },
        Self { step: Nanos::from_secs(86_400), worst: 1, ordinary: 0 },
    ];
}

/// The frames of one run with only this much detail, in an order that a reader of recordings expects.
pub fn condensed(frames: impl IntoIterator<Item = Frame>, detail: Detail) -> Vec<Frame> {
    let mut to = Condensing { detail, started: 0, out: Vec::new(), step: Step::default(), last: Last::default() };
    frames.into_iter().for_each(|frame| to.take(frame));
    to.finish()
}

struct Condensing {
    detail: Detail,
    /// Wall clock at the epoch, nanoseconds since 1970.
    started: u64,
    out: Vec<Frame>,
    step: Step,
    last: Last,
}

/// What happened in the step that is under way.
#[derive(Default)]
struct Step {
    number: u64,
    interval: Option<Interval>,
    events: BTreeMap<EventKind, Event>,
    in_band: BTreeMap<u32, InBand>,
    maxima_lost: Option<MaximaLost>,
}

/// Frames of which a later one replaces an earlier one. They are written once, at the end.
#[derive(Default)]
struct Last {
    worst: BTreeMap<u32, Vec<Worst>>,
    windows: BTreeMap<u32, Window>,
    late: BTreeMap<u32, LateTotal>,
    totals: Vec<TraceTotal>,
}

impl Condensing {
    fn take(&mut self, frame: Frame) {
        match frame {
            Frame::Header(header) => {
                self.started = header.started_unix_ns;
                self.out.push(Frame::Header(header));
            }
            Frame::Interval(interval) => self.interval(interval),
            Frame::Event(event) => {
                self.reach(event.at);
                let same = self.step.events.entry(event.kind).or_insert(Event {
                    length: Nanos::ZERO,
                    releases_lost: 0,
                    ..event
                });
                same.at = same.at.max(event.at);
                same.length = same.length.plus(event.length);
                same.releases_lost = same.releases_lost.saturating_add(event.releases_lost);
            }
            Frame::InBand(taken) => {
                let same = self.step.in_band.entry(taken.cpu).or_insert(InBand { switches: 0, ..taken });
                (same.at, same.switches) = (taken.at, same.switches.saturating_add(taken.switches));
            }
            Frame::MaximaLost(lost) => {
                let before = self.step.maxima_lost.map_or(0, |lost| lost.blocks);
                self.step.maxima_lost = Some(MaximaLost { blocks: lost.blocks.saturating_add(before), ..lost });
            }
            Frame::Worst(worst) => {
                let mut by_cpu: BTreeMap<u32, Vec<Worst>> = BTreeMap::new();
                for one in worst {
                    by_cpu.entry(one.cpu).or_default().push(one);
                }
                self.last.worst.extend(by_cpu);
            }
            Frame::Window(window) => {
                self.last.windows.insert(window.slot, *window);
            }
            Frame::Late(list) => list.totals.iter().for_each(|more| self.last.add_late(more)),
            Frame::TraceTotals(totals) => self.last.totals = totals,
            Frame::End(end) => {
                self.end_step();
                let last = std::mem::take(&mut self.last).frames(self.detail);
                self.out.extend(last);
                self.out.push(Frame::End(end));
            }
            // It is written only when the earliest wake-up of a CPU becomes earlier, so a run has few of it.
            kept @ (Frame::Earliest(_)
            | Frame::Threads(_)
            | Frame::Findings(_)
            | Frame::InForce(_)
            | Frame::WarmUp(_)
            | Frame::Mark(_)
            | Frame::LoadDone(_)
            | Frame::Tracing(_)
            | Frame::Program(_)
            | Frame::FurtherRun(_)) => self.out.push(kept),
        }
    }

    fn finish(mut self) -> Vec<Frame> {
        self.end_step();
        let last = std::mem::take(&mut self.last).frames(self.detail);
        self.out.extend(last);
        self.out
    }

    fn interval(&mut self, interval: Interval) {
        self.reach(interval.start);
        match &mut self.step.interval {
            Some(joined) if joined.phase == interval.phase => join(joined, interval),
            other => {
                let before = other.replace(interval);
                self.out.extend(before.map(Frame::Interval));
            }
        }
    }

    /// Ends the step under way if `at` is no longer in it.
    fn reach(&mut self, at: RecTime) {
        let number = self.started.saturating_add(at.as_ns()) / self.detail.step.as_ns().max(1);
        if number > self.step.number {
            self.end_step();
            self.step.number = number;
        }
    }

    fn end_step(&mut self) {
        let Step { interval, events, in_band, maxima_lost, number } = std::mem::take(&mut self.step);
        self.step.number = number;
        self.out.extend(interval.map(|interval| Frame::Interval(shortened(interval))));
        self.out.extend(events.into_values().map(Frame::Event));
        self.out.extend(in_band.into_values().map(Frame::InBand));
        self.out.extend(maxima_lost.map(Frame::MaximaLost));
    }
}

impl Last {
    fn add_late(&mut self, more: &LateTotal) {
        self.late.entry(more.cpu).or_insert(LateTotal { cpu: more.cpu, ..LateTotal::default() }).add(more);
    }

    fn frames(self, detail: Detail) -> Vec<Frame> {
        let mut frames = Vec::new();
        let worst: Vec<Worst> = self
            .worst
            .into_values()
            .flat_map(|mut worst| {
                worst.sort_by_key(|one| Reverse(one.activation.latency()));
                worst.truncate(detail.worst);
                worst
            })
            .collect();
        if !worst.is_empty() {
            frames.push(Frame::Worst(worst));
        }
        let (ordinary, mut late): (Vec<Window>, Vec<Window>) =
            self.windows.into_values().partition(|window| window.kept == Kept::Ordinary);
        late.sort_by_key(|window| Reverse(window.woke.since(window.release)));
        // One activation may stand in two slots, if its window was moved.
        late.dedup_by_key(|window| (window.cpu, window.release));
        let kept = late.into_iter().take(detail.worst).chain(ordinary.into_iter().take(detail.ordinary));
        frames.extend(kept.map(|window| Frame::Window(Box::new(window))));
        if !self.late.is_empty() {
            frames.push(Frame::Late(LateList { late: Vec::new(), totals: self.late.into_values().collect() }));
        }
        if !self.totals.is_empty() {
            frames.push(Frame::TraceTotals(self.totals));
        }
        frames
    }
}

/// Keeps of the maxima of single seconds only the largest, with its second.
fn shortened(mut interval: Interval) -> Interval {
    for cpu in &mut interval.cpus {
        let largest = cpu.block_max.iter().copied().max_by_key(|(_, max)| *max);
        cpu.block_max = largest.into_iter().collect();
    }
    interval
}

fn join(joined: &mut Interval, next: Interval) {
    joined.length = joined.length.plus(next.length);
    for cpu in next.cpus {
        match joined.cpus.iter_mut().find(|known| known.cpu == cpu.cpu) {
            Some(known) => join_cpu(known, cpu),
            None => joined.cpus.push(cpu),
        }
    }
}

/// Sums are those of both intervals, and extremes are those of the run so far, which the later interval knows.
fn join_cpu(joined: &mut CpuInterval, next: CpuInterval) {
    add(&mut joined.ran, &next.ran);
    add(&mut joined.skipped, &next.skipped);
    joined.ran_sum = joined.ran_sum.plus(next.ran_sum);
    joined.skipped_sum = joined.skipped_sum.plus(next.skipped_sum);
    joined.ran_min = next.ran_min.or(joined.ran_min);
    joined.ran_max = next.ran_max.or(joined.ran_max);
    joined.skipped_max = joined.skipped_max.max(next.skipped_max);
    joined.over_budget = joined.over_budget.saturating_add(next.over_budget);
    joined.early = joined.early.saturating_add(next.early);
    joined.longest_gap = joined.longest_gap.max(next.longest_gap);
    joined.block_max.extend(next.block_max);
    joined.counters.add(&next.counters);
}

/// Adds (bucket, count) pairs in ascending order.
fn add(sums: &mut Vec<(u16, u64)>, more: &[(u16, u64)]) {
    let mut missing = Vec::new();
    for (bucket, count) in more {
        match sums.binary_search_by_key(bucket, |(known, _)| *known) {
            Ok(place) => {
                if let Some((_, sum)) = sums.get_mut(place) {
                    *sum = sum.saturating_add(*count);
                }
            }
            Err(_) => missing.push((*bucket, *count)),
        }
    }
    if !missing.is_empty() {
        sums.append(&mut missing);
        sums.sort_by_key(|(bucket, _)| *bucket);
    }
}
