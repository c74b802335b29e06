//! Frames folded into the whole: totals per CPU and phase, and a time line of bounded length.

use super::{
    Counters, CpuInterval, CutOff, End, Event, Frame, Granted, Header, InForce, Interval, LoadDone, Mark, WarmUp, Worst,
};
use crate::finding::Finding;
use punctual_hist::{Counts, Nanos};
use std::collections::BTreeMap;

/// The time line is thinned to half when it grows past this.
const SLICES_MAX: usize = 1024;

/// All frames of a recording, folded. Memory does not grow with the length of the run.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The first frame.
    pub header: Header,
    /// What was granted.
    pub threads: Vec<Granted>,
    /// What the audit found before the run.
    pub findings: Vec<Finding>,
    /// State before, during, after.
    pub in_force: Vec<InForce>,
    /// Warm-ups.
    pub warm_up: Vec<WarmUp>,
    /// Totals by CPU.
    pub cpus: BTreeMap<u32, CpuTotals>,
    /// Totals by (phase, CPU).
    pub phases: BTreeMap<(u16, u32), PhaseTotals>,
    /// The run in slices of equal or growing length, at most 1024.
    pub slices: Vec<Slice>,
    /// Marks, in order.
    pub marks: Vec<Mark>,
    /// Events, in order.
    pub events: Vec<Event>,
    /// The worst activations.
    pub worst: Vec<Worst>,
    /// What loads achieved.
    pub loads: Vec<LoadDone>,
    /// The last frame; `None` when the recording was cut off.
    pub end: Option<End>,
    /// How the file was cut off, if it was.
    pub cut_off: Option<CutOff>,
    /// Activation time covered by intervals.
    pub covered: Nanos,
}

/// Totals of one CPU.
#[derive(Clone, Debug, Default)]
pub struct CpuTotals {
    /// Lateness of the activations that ran.
    pub ran: Counts,
    /// Time from skipped releases to the next wake-up.
    pub skipped: Counts,
    /// Ran later than the budget.
    pub over_budget: u64,
    /// Woke before the release.
    pub early: u64,
    /// Longest time between two wake-ups.
    pub longest_gap: Nanos,
    /// Kernel counters.
    pub counters: Counters,
    /// How many seconds of the run have an exact maximum.
    pub blocks: u64,
    /// The second with the largest lateness, and that lateness.
    pub worst_block: Option<(u32, Nanos)>,
}

/// Totals of one CPU in one load phase.
#[derive(Clone, Debug, Default)]
pub struct PhaseTotals {
    /// Lateness of the activations that ran.
    pub ran: Counts,
    /// Time from skipped releases to the next wake-up.
    pub skipped: Counts,
    /// Ran later than the budget.
    pub over_budget: u64,
}

/// A stretch of the time line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Start, relative to the epoch.
    pub start: Nanos,
    /// Length.
    pub length: Nanos,
    /// Load phase at its start.
    pub phase: u16,
    /// By CPU.
    pub cpus: Vec<SliceCpu>,
}

/// One CPU in a stretch of the time line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceCpu {
    /// Which.
    pub cpu: u32,
    /// (bucket, count), ascending.
    pub ran: Vec<(u16, u64)>,
    /// Skipped releases.
    pub skipped: u64,
    /// Largest lateness, at most 1.6 % above the true one, and never above the run's.
    pub max: Option<Nanos>,
}

impl Recording {
    /// An empty recording that begins with `header`.
    pub fn new(header: Header) -> Self {
        Self {
            header,
            threads: Vec::new(),
            findings: Vec::new(),
            in_force: Vec::new(),
            warm_up: Vec::new(),
            cpus: BTreeMap::new(),
            phases: BTreeMap::new(),
            slices: Vec::new(),
            marks: Vec::new(),
            events: Vec::new(),
            worst: Vec::new(),
            loads: Vec::new(),
            end: None,
            cut_off: None,
            covered: Nanos::ZERO,
        }
    }

    /// Adds one frame. A second header is ignored: the first one rules.
    pub fn add(&mut self, frame: Frame) {
        match frame {
            Frame::Header(_) => {}
            Frame::Threads(threads) => self.threads = threads,
            Frame::Findings(findings) => self.findings = findings,
            Frame::InForce(state) => self.in_force.push(state),
            Frame::WarmUp(warm_up) => self.warm_up.extend(warm_up),
            Frame::Interval(interval) => self.add_interval(&interval),
            Frame::Mark(mark) => self.marks.push(mark),
            Frame::Event(event) => self.events.push(event),
            Frame::Worst(worst) => self.worst = worst,
            Frame::LoadDone(load) => self.loads.push(load),
            Frame::End(end) => self.end = Some(end),
        }
    }

    fn add_interval(&mut self, interval: &Interval) {
        self.covered = self.covered.plus(interval.length);
        for cpu in &interval.cpus {
            self.cpus.entry(cpu.cpu).or_default().add(cpu);
            self.phases.entry((interval.phase, cpu.cpu)).or_default().add(cpu);
        }
        self.slices.push(Slice {
            start: interval.start,
            length: interval.length,
            phase: interval.phase,
            cpus: interval.cpus.iter().map(SliceCpu::of).collect(),
        });
        if self.slices.len() > SLICES_MAX {
            self.slices = thinned(std::mem::take(&mut self.slices));
        }
    }
}

impl CpuInterval {
    /// The running extremes are exact and cover this interval, so they narrow its bucket edges; where the extreme of
    /// the whole run lies, they *are* its value.
    fn ran_counts(&self) -> Counts {
        let (min, max) = (self.ran_min.unwrap_or(Nanos::ZERO), self.ran_max.unwrap_or(Nanos::MAX));
        counts(&self.ran, self.ran_sum, min, max)
    }

    fn skipped_counts(&self) -> Counts {
        counts(&self.skipped, self.skipped_sum, Nanos::ZERO, self.skipped_max)
    }
}

/// Bucket pairs as counts, narrowed to `min..=max`. The decoder refuses pairs outside the layout.
fn counts(pairs: &[(u16, u64)], sum: Nanos, min: Nanos, max: Nanos) -> Counts {
    let pairs = pairs.iter().map(|(bucket, n)| (usize::from(*bucket), *n));
    let raw = Counts::from_nonzero(pairs).unwrap_or_default();
    let (Some(low), Some(high)) = (raw.min(), raw.max()) else { return raw };
    raw.with_exact(low.max(min), high.min(max), sum)
}

impl CpuTotals {
    fn add(&mut self, interval: &CpuInterval) {
        let block = interval.block_max.iter().copied().max_by_key(|(_, max)| *max);
        if block.map(|(_, max)| max) > self.worst_block.map(|(_, max)| max) {
            self.worst_block = block;
        }
        self.blocks = self.blocks.saturating_add(interval.block_max.len() as u64);
        self.ran.merge(&interval.ran_counts());
        self.skipped.merge(&interval.skipped_counts());
        self.over_budget = self.over_budget.saturating_add(interval.over_budget);
        self.early = self.early.saturating_add(interval.early);
        self.longest_gap = self.longest_gap.max(interval.longest_gap);
        self.counters.add(&interval.counters);
    }
}

impl PhaseTotals {
    fn add(&mut self, interval: &CpuInterval) {
        self.ran.merge(&interval.ran_counts());
        self.skipped.merge(&interval.skipped_counts());
        self.over_budget = self.over_budget.saturating_add(interval.over_budget);
    }
}

impl Counters {
    fn add(&mut self, more: &Self) {
        self.voluntary_switches = self.voluntary_switches.saturating_add(more.voluntary_switches);
        self.involuntary_switches = self.involuntary_switches.saturating_add(more.involuntary_switches);
        self.minor_faults = self.minor_faults.saturating_add(more.minor_faults);
        self.major_faults = self.major_faults.saturating_add(more.major_faults);
        self.migrations = self.migrations.saturating_add(more.migrations);
    }
}

impl SliceCpu {
    fn of(interval: &CpuInterval) -> Self {
        Self {
            cpu: interval.cpu,
            ran: interval.ran.clone(),
            skipped: interval.skipped.iter().fold(0, |total, (_, n)| total.saturating_add(*n)),
            max: interval.ran_counts().max(),
        }
    }
}

/// Neighbouring slices of the same phase joined two by two.
fn thinned(slices: Vec<Slice>) -> Vec<Slice> {
    let mut joined: Vec<Slice> = Vec::with_capacity(slices.len() / 2 + 1);
    let mut open = false;
    for slice in slices {
        match joined.last_mut() {
            Some(last) if open && last.phase == slice.phase => {
                last.absorb(&slice);
                open = false;
            }
            _ => {
                joined.push(slice);
                open = true;
            }
        }
    }
    joined
}

impl Slice {
    fn absorb(&mut self, next: &Self) {
        self.length = self.length.plus(next.length);
        for theirs in &next.cpus {
            match self.cpus.iter_mut().find(|mine| mine.cpu == theirs.cpu) {
                Some(mine) => mine.absorb(theirs),
                None => self.cpus.push(theirs.clone()),
            }
        }
    }
}

impl SliceCpu {
    fn absorb(&mut self, other: &Self) {
        let mut merged: BTreeMap<u16, u64> = self.ran.iter().copied().collect();
        for (bucket, n) in &other.ran {
            let count = merged.entry(*bucket).or_default();
            *count = count.saturating_add(*n);
        }
        self.ran = merged.into_iter().collect();
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.max = self.max.max(other.max);
    }
}
