//! Several runs of one scenario in one recording: each run keeps its own stretch of time, its own events and causes.
//!
//! All times of a recording count from the epoch of its first run. The frames of a later run are moved there by a
//! [`Shift`], whether they come from a file or from a measurement that goes on, and a [`FurtherRun`] stands before
//! them. This module must not know where frames come from.

use super::RecTime;
use super::{Earliest, End, Frame, Header, InBand, Interval, Mark, MaximaLost, TraceTotal, Worst};
use crate::trace::{TraceEvent, TraceRecord, Window};
use punctual_hist::{Delta, MonoTime, Nanos, WORST_K};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The beginning of a further run of the same scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct FurtherRun {
    /// Epoch of the run, relative to that of the first run, in whole seconds.
    pub at: RecTime,
    pub header: Header,
}

/// One run of a recording.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Run"))]
pub struct RecordedRun {
    /// Epoch of the run, relative to that of the first run.
    #[serde(rename = "from_ns")]
    pub at: RecTime,
    #[serde(flatten)]
    pub header: Header,
    /// Sum of the lengths of the run's intervals.
    #[serde(rename = "measured_ns")]
    pub covered: Nanos,
    /// End of the last interval of the run, relative to the epoch of the first run.
    #[serde(rename = "to_ns")]
    pub until: RecTime,
    /// Activations that ran, on all CPUs.
    pub ran: u64,
    /// Releases that were skipped, on all CPUs.
    pub skipped: u64,
    /// How the run ended; `None` when it was cut off.
    pub end: Option<End>,
}

impl RecordedRun {
    pub(super) fn new(header: &Header, at: RecTime) -> Self {
        Self { at, header: header.clone(), covered: Nanos::ZERO, until: at, ran: 0, skipped: 0, end: None }
    }

    pub(super) fn add(&mut self, interval: &Interval) {
        self.covered = self.covered.plus(interval.length);
        self.until = self.until.max(interval.start.plus(interval.length));
        let sum = |counts: &[(u16, u64)], to: u64| counts.iter().fold(to, |sum, (_, n)| sum.saturating_add(*n));
        for cpu in &interval.cpus {
            (self.ran, self.skipped) = (sum(&cpu.ran, self.ran), sum(&cpu.skipped, self.skipped));
        }
    }

    /// Wall clock at the end of the last interval, in nanoseconds since 1970.
    pub fn until_unix_ns(&self) -> u64 {
        self.header.started_unix_ns.saturating_add(self.until.since(self.at).as_ns())
    }
}

/// The lists of earlier runs. Within a run a later frame replaces an earlier list; frames of a later run must add to
/// these.
#[derive(Clone, Debug, Default)]
pub(super) struct Earlier {
    worst: BTreeMap<u32, Vec<Worst>>,
    totals: Vec<TraceTotal>,
}

impl Earlier {
    pub(super) fn keep(&mut self, worst: &BTreeMap<u32, Vec<Worst>>, totals: &[TraceTotal]) {
        self.worst.clone_from(worst);
        self.totals = totals.to_vec();
    }

    /// The worst activations of a CPU over all runs. The list is no longer than the list of a single run.
    pub(super) fn with_worst(&self, cpu: u32, mut own: Vec<Worst>) -> Vec<Worst> {
        let Some(earlier) = self.worst.get(&cpu) else { return own };
        own.extend(earlier);
        own.sort_by_key(|worst| (Reverse(worst.activation.latency()), worst.activation.release));
        own.truncate(WORST_K);
        own
    }

    /// The sizes of the traces of all runs, added up by CPU.
    pub(super) fn with_totals(&self, own: Vec<TraceTotal>) -> Vec<TraceTotal> {
        let mut sums: BTreeMap<u32, TraceTotal> = BTreeMap::new();
        for total in self.totals.iter().copied().chain(own) {
            let sum = sums.entry(total.cpu).or_insert(TraceTotal { cpu: total.cpu, ..TraceTotal::default() });
            sum.records = sum.records.saturating_add(total.records);
            sum.lost = sum.lost.saturating_add(total.lost);
            sum.bytes = sum.bytes.saturating_add(total.bytes);
        }
        sums.into_values().collect()
    }
}

/// How frames of a run are changed when they are put into a recording that began with another run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shift {
    /// How much later this run began than the first: whole seconds, so that each one-second maximum still covers one
    /// second.
    later: Nanos,
    /// Distance by which instants of the run's monotonic clock are moved.
    by: Delta,
    /// Number of window slots that the earlier runs occupy.
    slots: u32,
}

const SECOND: Nanos = Nanos::from_secs(1);

pub(super) fn whole_second(at: Nanos) -> Nanos {
    SECOND.times(at.as_ns().div_ceil(SECOND.as_ns()))
}

impl Shift {
    /// A shift for frames whose times count from the epoch of `of`. It moves them by `later`, into a recording that
    /// begins with `first` and in which the first `slots` window slots are occupied.
    pub fn new(first: &Header, of: &Header, later: Nanos, slots: u32) -> Self {
        let later = whole_second(later);
        Self { later, by: first.epoch.plus(later).signed_since(of.epoch), slots }
    }

    /// A shift that moves the run `of` to its wall-clock distance from `first`, with which the recording begins, but
    /// never before `until`.
    pub fn behind(first: &Header, of: &Header, until: RecTime, slots: u32) -> Self {
        let apart = Nanos::from_ns(of.started_unix_ns.saturating_sub(first.started_unix_ns));
        Self::new(first, of, apart.max(until.since_epoch()), slots)
    }

    /// Moves a frame. A header becomes the beginning of a further run.
    pub fn put(&self, frame: Frame) -> Frame {
        match frame {
            Frame::Header(header) => {
                Frame::FurtherRun(Box::new(FurtherRun { at: RecTime::after_epoch(self.later), header: *header }))
            }
            Frame::FurtherRun(mut further) => {
                further.at = self.later(further.at);
                Frame::FurtherRun(further)
            }
            Frame::Interval(interval) => Frame::Interval(self.interval(interval)),
            Frame::Mark(mark) => Frame::Mark(Mark { at: self.later(mark.at), ..mark }),
            Frame::Event(mut event) => {
                event.at = self.later(event.at);
                Frame::Event(event)
            }
            Frame::MaximaLost(lost) => Frame::MaximaLost(MaximaLost { at: self.later(lost.at), ..lost }),
            Frame::InBand(taken) => Frame::InBand(InBand { at: self.later(taken.at), ..taken }),
            Frame::Earliest(seen) => Frame::Earliest(Earliest { at: self.later(seen.at), ..seen }),
            Frame::End(end) => Frame::End(End { at: self.later(end.at), ..end }),
            Frame::Worst(mut worst) => {
                for activation in worst.iter_mut().map(|worst| &mut worst.activation) {
                    (activation.release, activation.woke) =
                        (self.moved(activation.release), self.moved(activation.woke));
                }
                Frame::Worst(worst)
            }
            Frame::Late(mut list) => {
                list.late.iter_mut().for_each(|late| late.release = self.moved(late.release));
                Frame::Late(list)
            }
            Frame::Window(mut window) => {
                self.window(&mut window);
                Frame::Window(window)
            }
            timeless @ (Frame::Threads(_)
            | Frame::Findings(_)
            | Frame::InForce(_)
            | Frame::WarmUp(_)
            | Frame::LoadDone(_)
            | Frame::Tracing(_)
            | Frame::Program(_)
            | Frame::TraceTotals(_)) => timeless,
        }
    }

    fn later(&self, at: RecTime) -> RecTime {
        at.plus(self.later)
    }

    /// Converts an instant of the run's clock to the clock of the first run.
    pub fn moved(&self, at: MonoTime) -> MonoTime {
        at + self.by
    }

    fn interval(&self, mut interval: Interval) -> Interval {
        let seconds = u32::try_from(self.later.whole(SECOND)).unwrap_or(u32::MAX);
        interval.start = self.later(interval.start);
        for cpu in &mut interval.cpus {
            // A second whose number exceeds 32 bits, after more than a century, is left out.
            let moved = |(second, max): &(u32, Nanos)| Some((second.checked_add(seconds)?, *max));
            cpu.block_max = cpu.block_max.iter().filter_map(moved).collect();
        }
        interval
    }

    fn window(&self, window: &mut Window) {
        window.slot = window.slot.saturating_add(self.slots);
        (window.release, window.woke) = (self.moved(window.release), self.moved(window.woke));
        let elsewhere = window.elsewhere.iter_mut().map(|other| &mut other.record);
        window.records.iter_mut().chain(elsewhere).for_each(|record| self.record(record));
        if let Some(around) = &mut window.around {
            (around.from, around.to) = (self.moved(around.from), self.moved(around.to));
        }
    }

    fn record(&self, record: &mut TraceRecord) {
        record.at = self.moved(record.at);
        match &mut record.what {
            TraceEvent::Noise { start, .. } => *start = self.moved(*start),
            // `expires` counts on the timer's own clock, which is the monotonic clock for all timers that are looked at
            // for causes.
            TraceEvent::HrtimerStart { expires, .. } => *expires = expires.saturating_add(self.by.as_ns()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
