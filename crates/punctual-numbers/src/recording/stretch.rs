//! Reads a stretch of time of a recording as a recording of its own: only frames of that time are folded.
//!
//! Latencies are known only by interval, so the stretch is widened to the edges of intervals. Frames that describe a
//! whole run are left out: warm-ups, the work of loads, the size of the trace.

use super::{Event, Frame, Interval, Mark, MarkKind, RecTime, Worst};
use crate::trace::{LateList, LateTotal};
use punctual_hist::{MonoTime, Nanos, WORST_K};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A stretch of time, relative to the epoch of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The beginning and the end that the caller gave.
    pub from: RecTime,
    pub to: RecTime,
    /// Edges of the intervals in the stretch; `None` if there are none.
    pub edges: Option<Edges>,
}

/// The start of the first interval and the end of the last interval that overlap a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edges {
    pub from: RecTime,
    pub to: RecTime,
}

impl Stretch {
    pub fn new(from: RecTime, to: RecTime) -> Self {
        Self { from, to, edges: None }
    }

    /// Whether the stretch had to be widened to the edges of intervals.
    pub fn is_widened(&self) -> bool {
        self.edges.is_some_and(|edges| edges.from < self.from || edges.to > self.to)
    }

    fn holds(&self, at: RecTime) -> bool {
        self.from <= at && at < self.to
    }

    fn touches(&self, start: RecTime, end: RecTime) -> bool {
        start < self.to && end > self.from
    }

    fn take(&mut self, interval: &Interval) -> bool {
        let end = interval.start.plus(interval.length);
        let inside = self.touches(interval.start, end);
        if inside {
            let edges = self.edges.unwrap_or(Edges { from: interval.start, to: end });
            self.edges = Some(Edges { from: edges.from.min(interval.start), to: edges.to.max(end) });
        }
        inside
    }
}

/// Passes on the frames, or parts of frames, that belong to a stretch.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    pub(super) stretch: Stretch,
    pub(super) epoch: MonoTime,
    /// The activations of the run with the largest latencies in the stretch, by CPU and release.
    worst: BTreeMap<u32, BTreeMap<MonoTime, Worst>>,
}

impl Filter {
    pub(super) fn new(stretch: Stretch) -> Self {
        Self { stretch: Stretch { edges: None, ..stretch }, epoch: MonoTime::default(), worst: BTreeMap::new() }
    }

    /// The part of the frame that belongs to the stretch.
    pub(super) fn pass(&mut self, frame: Frame) -> Option<Frame> {
        match frame {
            Frame::Interval(interval) => self.stretch.take(&interval).then(|| Frame::Interval(whole_seconds(interval))),
            Frame::Mark(mark) => self.says(&mark).then_some(Frame::Mark(mark)),
            Frame::Event(event) => self.saw(&event).then_some(Frame::Event(event)),
            Frame::MaximaLost(lost) => self.stretch.holds(lost.at).then_some(Frame::MaximaLost(lost)),
            Frame::InBand(taken) => self.stretch.holds(taken.at).then_some(Frame::InBand(taken)),
            Frame::Earliest(seen) => self.stretch.holds(seen.at).then_some(Frame::Earliest(seen)),
            Frame::Worst(list) => self.latest(list),
            Frame::Window(window) => self.is_due(window.release).then_some(Frame::Window(window)),
            Frame::Late(list) => Some(Frame::Late(self.late(list))),
            Frame::WarmUp(_) | Frame::LoadDone(_) | Frame::TraceTotals(_) => None,
            Frame::FurtherRun(further) => {
                // Each run has its own list of worst activations.
                self.worst.clear();
                Some(Frame::FurtherRun(further))
            }
            whole @ (Frame::Header(_)
            | Frame::Threads(_)
            | Frame::Findings(_)
            | Frame::InForce(_)
            | Frame::Tracing(_)
            | Frame::Program(_)
            | Frame::End(_)) => Some(whole),
        }
    }

    fn is_due(&self, release: MonoTime) -> bool {
        self.stretch.holds(RecTime::of(release, self.epoch))
    }

    /// Whether a mark belongs to the stretch. Marks of phases always do, because the stretch's phase may have begun
    /// earlier. Notes made at the epoch concern the whole run.
    fn says(&self, mark: &Mark) -> bool {
        match mark.kind {
            MarkKind::PhaseStart(_) | MarkKind::PhaseEnd(_) => true,
            MarkKind::LoadSkipped { .. } | MarkKind::Note(_) => {
                mark.at == RecTime::EPOCH || self.stretch.holds(mark.at)
            }
        }
    }

    fn saw(&self, event: &Event) -> bool {
        self.stretch.holds(event.at) || self.stretch.touches(event.at.minus(event.length), event.at)
    }

    /// Collects the worst activations of the stretch from all lists, each of which holds the worst of the run so far.
    fn latest(&mut self, list: Vec<Worst>) -> Option<Frame> {
        let due: Vec<Worst> = list.into_iter().filter(|worst| self.is_due(worst.activation.release)).collect();
        for worst in due {
            let mine = self.worst.entry(worst.cpu).or_default();
            mine.insert(worst.activation.release, worst);
            if mine.len() > WORST_K {
                let least = mine.values().map(|w| w.activation).min_by_key(|a| (a.latency(), Reverse(a.release)));
                least.and_then(|least| mine.remove(&least.release));
            }
        }
        let all: Vec<Worst> = self.worst.values().flat_map(BTreeMap::values).copied().collect();
        (!all.is_empty()).then_some(Frame::Worst(all))
    }

    fn late(&self, list: LateList) -> LateList {
        let every = list.late.len();
        let late: Vec<_> = list.late.into_iter().filter(|late| self.is_due(late.release)).collect();
        if late.len() == every && every > 0 {
            return LateList { late, totals: list.totals };
        }
        let of = |total: &LateTotal| {
            let own = || late.iter().filter(|late| late.cpu == total.cpu);
            let latency = own().fold(Nanos::ZERO, |sum, late| sum.plus(late.latency));
            LateTotal { count: own().count() as u64, latency, passed_over: 0, ..*total }
        };
        let totals = list.totals.iter().map(of).filter(|total| total.count > 0).collect();
        LateList { late, totals }
    }
}

/// Removes the maxima of seconds that began before the interval, because those seconds may lie partly outside the
/// stretch.
fn whole_seconds(mut interval: Interval) -> Interval {
    let first = interval.start.as_ns() / Nanos::from_secs(1).as_ns();
    for cpu in &mut interval.cpus {
        cpu.block_max.retain(|(second, _)| u64::from(*second) >= first);
    }
    interval
}

#[cfg(test)]
mod tests;
