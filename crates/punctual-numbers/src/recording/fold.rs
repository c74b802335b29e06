//! Folds the frames of a recording into totals per CPU and phase and a time line of bounded length.

use super::blocks::Blocks;
use super::causes::Causes;
use super::runs::{Earlier, FurtherRun, RecordedRun};
use super::tally::{CpuTallies, narrowed};
use super::{
    Counters, CpuInterval, CutOff, Earliest, End, Event, EventKind, Frame, Granted, Header, InBand, InForce, Interval,
    LoadDone, Mark, RecTime, Stretch, TimeLine, WarmUp, WatchedProgram, Worst,
};
use punctual_facts::finding::Finding;
use punctual_hist::{Counts, Nanos};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of events that are kept individually; those beyond it are only counted.
const EVENTS_MAX: usize = 4096;

/// All frames of a recording, folded. Memory does not grow with the length of the run.
#[derive(Clone, Debug)]
pub struct Recording {
    pub header: Header,
    /// The runs of the recording, in order: one, unless runs were merged or resumed.
    pub runs: Vec<RecordedRun>,
    pub threads: Vec<Granted>,
    /// What the audit found before the run.
    pub findings: Vec<Finding>,
    pub in_force: Vec<InForce>,
    pub warm_up: Vec<WarmUp>,
    pub cpus: BTreeMap<u32, CpuTotals>,
    /// Latencies and skips by number of the load phase, then by CPU.
    pub phases: BTreeMap<(u16, u32), CpuTallies>,
    pub slices: TimeLine,
    pub blocks: Blocks,
    pub marks: Vec<Mark>,
    /// The first 4096 events, in order.
    pub events: Vec<Event>,
    pub event_totals: BTreeMap<EventKind, EventTotals>,
    /// Number of exact one-second maxima, counted per CPU, that were overwritten before they were collected.
    pub maxima_lost: u64,
    pub worst: BTreeMap<u32, Vec<Worst>>,
    pub loads: Vec<LoadDone>,
    /// The last frame; `None` when the recording was cut off.
    pub end: Option<End>,
    pub cut_off: Option<CutOff>,
    /// Sum of the lengths of the intervals, without traced phases that are kept apart from the headline numbers.
    pub covered: Nanos,
    pub causes: Causes,
    /// The program whose threads were watched; `None` if threads of this program measured.
    pub program: Option<WatchedProgram>,
    /// The stretch of time to which this recording was restricted when it was read; `None` for the whole recording.
    pub stretch: Option<Stretch>,
    earlier: Earlier,
    /// Whether the last interval belongs to a phase that is kept apart because it was traced.
    disturbed: bool,
}

/// Totals of one CPU over all intervals; the fields correspond to those of a [`CpuInterval`].
#[derive(Clone, Debug, Default)]
pub struct CpuTotals {
    pub ran: Counts,
    pub skipped: Counts,
    pub over_budget: u64,
    pub early: u64,
    /// The longest time by which an activation preceded its release; zero if none did.
    pub earliest: Nanos,
    /// Longest time between two wake-ups.
    pub longest_gap: Nanos,
    pub counters: Counters,
    /// How often a real-time core handed the thread over to Linux.
    pub in_band_switches: u64,
    /// Number of seconds of the run whose exact maximum is known.
    pub blocks: u64,
    /// The second with the largest latency, and that latency.
    pub worst_block: Option<(u32, Nanos)>,
}

/// Number of events of one kind, and the sums of their lengths and of the releases they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventTotals {
    pub times: u64,
    pub length: Nanos,
    pub releases_lost: u64,
}

impl Recording {
    pub fn new(header: Header) -> Self {
        Self {
            runs: vec![RecordedRun::new(&header, RecTime::EPOCH)],
            header,
            threads: Vec::new(),
            findings: Vec::new(),
            in_force: Vec::new(),
            warm_up: Vec::new(),
            cpus: BTreeMap::new(),
            phases: BTreeMap::new(),
            slices: TimeLine::default(),
            blocks: Blocks::default(),
            marks: Vec::new(),
            events: Vec::new(),
            event_totals: BTreeMap::new(),
            maxima_lost: 0,
            worst: BTreeMap::new(),
            loads: Vec::new(),
            end: None,
            cut_off: None,
            covered: Nanos::ZERO,
            causes: Causes::default(),
            program: None,
            stretch: None,
            earlier: Earlier::default(),
            disturbed: false,
        }
    }

    /// Adds one frame. A second header is ignored.
    pub fn add(&mut self, frame: Frame) {
        match frame {
            Frame::Header(_) => {}
            Frame::Threads(threads) => self.add_threads(threads),
            // If a further run was not audited, the findings of the earlier audit stay.
            Frame::Findings(findings) if findings.is_empty() && self.runs.len() > 1 => {}
            Frame::Findings(findings) => self.findings = findings,
            Frame::InForce(state) => self.in_force.push(state),
            Frame::WarmUp(warm_up) => self.warm_up.extend(warm_up),
            Frame::Interval(interval) => self.add_interval(&interval),
            Frame::Mark(mark) => self.marks.push(mark),
            Frame::Event(event) => self.add_event(event),
            Frame::MaximaLost(lost) => self.maxima_lost = self.maxima_lost.saturating_add(lost.blocks),
            // As an interval does, a traced phase stays out of the totals.
            Frame::InBand(InBand { cpu, switches, .. }) => {
                if !self.disturbed {
                    let totals = self.cpus.entry(cpu).or_default();
                    totals.in_band_switches = totals.in_band_switches.saturating_add(switches);
                }
            }
            Frame::Earliest(Earliest { cpu, by, .. }) => {
                if !self.disturbed {
                    let totals = self.cpus.entry(cpu).or_default();
                    totals.earliest = totals.earliest.max(by);
                }
            }
            // A list is written after the interval it belongs to. The list of a traced phase is dropped, because
            // tracing enlarges latencies, which would displace the worst of the untraced phases.
            Frame::Worst(worst) => {
                if !self.disturbed {
                    self.replace_worst(&worst);
                }
            }
            Frame::LoadDone(load) => self.loads.push(load),
            Frame::End(end) => {
                if let Some(run) = self.runs.last_mut() {
                    run.end = Some(end.clone());
                }
                self.end = Some(end);
            }
            Frame::Tracing(tracing) => self.causes.tracing = Some(tracing),
            Frame::Window(window) => self.causes.windows.keep(&window),
            Frame::Late(list) => self.causes.add_late(list),
            Frame::TraceTotals(totals) => self.causes.totals = self.earlier.with_totals(totals),
            Frame::FurtherRun(further) => self.begin(&further),
            Frame::Program(program) => self.program = Some(program),
        }
    }

    /// Begins a further run. `end` describes the last run, so it is unset until that run has ended.
    fn begin(&mut self, further: &FurtherRun) {
        self.runs.push(RecordedRun::new(&further.header, further.at));
        self.earlier.keep(&self.worst, &self.causes.totals);
        self.end = None;
    }

    /// Adds what the kernel granted to the threads of a run. Grants that differ only in the thread id are kept once.
    fn add_threads(&mut self, threads: Vec<Granted>) {
        let same = |a: &Granted, b: &Granted| Granted { tid: b.tid, ..a.clone() } == *b;
        if self.runs.len() == 1 {
            self.threads = threads;
            return;
        }
        for thread in threads {
            if !self.threads.iter().any(|known| same(known, &thread)) {
                self.threads.push(thread);
            }
        }
    }

    fn add_interval(&mut self, interval: &Interval) {
        // Tracing enlarges latencies a little, so traced phases stay out of the totals if there are untraced ones.
        self.disturbed = self.causes.apart(interval.phase, self.header.scenario.load_phases.len());
        let headline = !self.disturbed;
        if headline {
            self.covered = self.covered.plus(interval.length);
        }
        for cpu in &interval.cpus {
            if headline {
                self.cpus.entry(cpu.cpu).or_default().add(cpu);
            }
            self.phases.entry((interval.phase, cpu.cpu)).or_default().add(cpu);
        }
        self.slices.add(interval);
        if let Some(run) = self.runs.last_mut() {
            run.add(interval);
        }
        self.blocks.add(interval);
    }

    fn add_event(&mut self, event: Event) {
        let totals = self.event_totals.entry(event.kind).or_default();
        totals.times = totals.times.saturating_add(1);
        totals.length = totals.length.plus(event.length);
        totals.releases_lost = totals.releases_lost.saturating_add(event.releases_lost);
        if self.events.len() < EVENTS_MAX {
            self.events.push(event);
        }
    }

    fn replace_worst(&mut self, worst: &[Worst]) {
        for cpu in worst.iter().map(|w| w.cpu).collect::<BTreeSet<_>>() {
            let own = worst.iter().filter(|w| w.cpu == cpu).copied().collect();
            self.worst.insert(cpu, self.earlier.with_worst(cpu, own));
        }
    }
}

impl CpuInterval {
    /// Smallest and largest latency of the run so far. Both are exact and include this interval, so they narrow the
    /// edges of its outermost buckets.
    pub(super) fn ran_limits(&self) -> (Nanos, Nanos) {
        (self.ran_min.unwrap_or(Nanos::ZERO), self.ran_max.unwrap_or(Nanos::MAX))
    }

    pub(super) fn skipped_limits(&self) -> (Nanos, Nanos) {
        (Nanos::ZERO, self.skipped_max)
    }
}

/// Adds an interval's buckets to `counts`. The edges of the outermost buckets are narrowed to `limits`, which are
/// exact.
fn merge(counts: &mut Counts, pairs: &[(u16, u64)], limits: (Nanos, Nanos), sum: Nanos) {
    if let Some((min, max)) = narrowed(pairs, limits) {
        counts.merge_nonzero(pairs.iter().map(|(bucket, n)| (usize::from(*bucket), *n)), min, max, sum);
    }
}

impl CpuTotals {
    fn add(&mut self, interval: &CpuInterval) {
        let block = interval.block_max.iter().copied().max_by_key(|(_, max)| *max);
        if block.map(|(_, max)| max) > self.worst_block.map(|(_, max)| max) {
            self.worst_block = block;
        }
        self.blocks = self.blocks.saturating_add(interval.block_max.len() as u64);
        merge(&mut self.ran, &interval.ran, interval.ran_limits(), interval.ran_sum);
        merge(&mut self.skipped, &interval.skipped, interval.skipped_limits(), interval.skipped_sum);
        self.over_budget = self.over_budget.saturating_add(interval.over_budget);
        self.early = self.early.saturating_add(interval.early);
        self.longest_gap = self.longest_gap.max(interval.longest_gap);
        self.counters.add(&interval.counters);
    }
}

impl Counters {
    pub(crate) fn add(&mut self, more: &Self) {
        self.voluntary_switches = self.voluntary_switches.saturating_add(more.voluntary_switches);
        self.involuntary_switches = self.involuntary_switches.saturating_add(more.involuntary_switches);
        self.minor_faults = self.minor_faults.saturating_add(more.minor_faults);
        self.major_faults = self.major_faults.saturating_add(more.major_faults);
        self.migrations = self.migrations.saturating_add(more.migrations);
    }
}
