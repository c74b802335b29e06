//! Checks that recordings are runs of one scenario on one machine, one after the other, and plans where each run goes
//! in the merged recording.
//!
//! The plan is made from folded recordings. The caller reads the files and moves their frames one by one as planned, so
//! that memory does not grow with the files.

use super::RecTime;
use super::runs::{Shift, whole_second};
use super::{Header, RecordedRun, Recording};
use crate::scenario::{Amount, LoadPhase, Mechanism, Policy, Scenario, TimerPhase};
use crate::trace::Rung;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::machine::MachineLine;
use punctual_hist::Nanos;
use std::collections::BTreeMap;

/// A difference because of which two recordings cannot be merged: the value in the first, then the value in the other.
/// `Machine` begins with the name of the fact, and `Period` with the CPU.
#[derive(Clone, Debug, PartialEq)]
pub enum Mismatch {
    Machine(String, Option<String>, Option<String>),
    Cpus(CpuSet, CpuSet),
    Period(u32, Nanos, Nanos),
    Policy(Policy, Policy),
    Mechanism(Mechanism, Mechanism),
    Phase(TimerPhase, TimerPhase),
    WarmUp(Amount, Amount),
    /// Misses of the budget were counted while measuring, so counts for different budgets cannot be added.
    Budget(Option<Nanos>, Option<Nanos>),
    Limit(Option<Nanos>, Option<Nanos>),
    DmaLatency(Option<u32>, Option<u32>),
    /// Names of the load phases, in order.
    Loads(Vec<String>, Vec<String>),
    LoadCpus(CpuSet, CpuSet),
    Isolated(CpuSet, CpuSet),
    Shared(CpuSet, CpuSet),
    Suite(Option<String>, Option<String>),
    ClockSource(Option<String>, Option<String>),
    Tick(Nanos, Nanos),
    Engine(Option<Rung>, Option<Rung>),
    /// Numbers of the load phases that were traced.
    Traced(Vec<u16>, Vec<u16>),
}

/// All differences because of which two recordings cannot be merged. Their lengths, and the shares of the load phases,
/// may differ.
pub fn differences(first: &Recording, other: &Recording) -> Vec<Mismatch> {
    let mut all = machine_differences(&first.header.machine, &other.header.machine);
    scenario(&first.header.scenario, &other.header.scenario, &mut all);
    surroundings(&first.header, &other.header, &mut all);
    let engine = |recording: &Recording| recording.causes.tracing.as_ref().map(|tracing| tracing.rung);
    note(engine(first), engine(other), Mismatch::Engine, &mut all);
    let phases = |recording: &Recording| {
        recording.causes.tracing.as_ref().map(|tracing| tracing.phases.clone()).unwrap_or_default()
    };
    note(phases(first), phases(other), Mismatch::Traced, &mut all);
    all
}

fn note<T: PartialEq>(first: T, other: T, differs: impl FnOnce(T, T) -> Mismatch, all: &mut Vec<Mismatch>) {
    if first != other {
        all.push(differs(first, other));
    }
}

pub fn machine_differences(first: &[MachineLine], other: &[MachineLine]) -> Vec<Mismatch> {
    let value = |machine: &[MachineLine], name: &str| MachineLine::of(machine, name).map(str::to_owned);
    let own = first.iter().map(|line| &line.name);
    let added = other.iter().map(|line| &line.name).filter(|name| value(first, name).is_none());
    let mut all = Vec::new();
    for name in own.chain(added) {
        note(value(first, name), value(other, name), |a, b| Mismatch::Machine(name.clone(), a, b), &mut all);
    }
    all
}

fn scenario(first: &Scenario, other: &Scenario, all: &mut Vec<Mismatch>) {
    note(first.cpus(), other.cpus(), Mismatch::Cpus, all);
    for thread in &first.threads {
        let period = other.threads.iter().find(|theirs| theirs.cpu == thread.cpu).map(|theirs| theirs.period);
        if let Some(period) = period {
            note(thread.period, period, |a, b| Mismatch::Period(thread.cpu, a, b), all);
        }
    }
    note(first.policy, other.policy, Mismatch::Policy, all);
    note(first.mechanism, other.mechanism, Mismatch::Mechanism, all);
    note(first.phase, other.phase, Mismatch::Phase, all);
    note(first.warm_up, other.warm_up, Mismatch::WarmUp, all);
    note(first.budget, other.budget, Mismatch::Budget, all);
    note(first.limit, other.limit, Mismatch::Limit, all);
    note(first.dma_latency_us, other.dma_latency_us, Mismatch::DmaLatency, all);
    let loads = |scenario: &Scenario| scenario.load_phases.iter().map(LoadPhase::name).collect::<Vec<_>>();
    note(loads(first), loads(other), Mismatch::Loads, all);
    note(first.suite.clone(), other.suite.clone(), Mismatch::Suite, all);
}

fn surroundings(first: &Header, other: &Header, all: &mut Vec<Mismatch>) {
    let (a, b) = (&first.placement, &other.placement);
    note(a.loads.clone(), b.loads.clone(), Mismatch::LoadCpus, all);
    note(a.isolated.clone(), b.isolated.clone(), Mismatch::Isolated, all);
    note(a.shared.clone(), b.shared.clone(), Mismatch::Shared, all);
    note(first.clock.source.clone(), other.clock.source.clone(), Mismatch::ClockSource, all);
    note(first.clock.tick, other.clock.tick, Mismatch::Tick, all);
}

/// Why recordings cannot be merged. The numbers are positions in the list of recordings, from 0.
#[derive(Clone, Debug, PartialEq)]
pub enum Unmergeable {
    /// The recording with this number differs from the first in machine or scenario.
    Mismatch(usize, Vec<Mismatch>),
    /// Both recordings hold the same run.
    Same { earlier: usize, later: usize },
    /// By the wall clock, a run of the recording `earlier` ended after the next run, of the recording `later`, had
    /// begun.
    Overlap { earlier: usize, later: usize, until_unix_ns: u64, from_unix_ns: u64 },
    /// The recording with this number holds no interval.
    Nothing(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MergePart {
    pub recording: usize,
    pub run: usize,
    /// How the frames are moved; `None` for the first run, whose frames keep their times.
    pub place: Option<Shift>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Merging {
    /// All runs, in order of the wall clock.
    pub parts: Vec<MergePart>,
}

/// Largest overlap of two runs by the wall clock that is taken for a correction of that clock between them.
const OVERLAP_MAX: Nanos = Nanos::from_secs(1);

impl Merging {
    /// # Errors
    /// Returns every reason why the recordings cannot be merged.
    pub fn of(recordings: &[Recording]) -> Result<Self, Vec<Unmergeable>> {
        let Some(first) = recordings.first() else { return Ok(Self { parts: Vec::new() }) };
        let mut against = Vec::new();
        for (number, recording) in recordings.iter().enumerate() {
            let differences = differences(first, recording);
            if !differences.is_empty() {
                against.push(Unmergeable::Mismatch(number, differences));
            }
            if recording.covered == Nanos::ZERO && recording.phases.is_empty() {
                against.push(Unmergeable::Nothing(number));
            }
        }
        let mut runs: Vec<Placed<'_>> = Vec::new();
        for (recording, of) in recordings.iter().enumerate() {
            // Runs of one recording stay in their order, though the wall clock may have been set back between them.
            let mut begun_unix_ns = 0;
            for (number, run) in of.runs.iter().enumerate() {
                begun_unix_ns = run.header.started_unix_ns.max(begun_unix_ns);
                runs.push(Placed { begun_unix_ns, recording, number, run });
            }
        }
        runs.sort_by_key(|placed| (placed.begun_unix_ns, placed.recording, placed.number));
        against.extend(runs.windows(2).filter_map(in_the_way));
        if against.is_empty() { Ok(Self { parts: placed(recordings, &runs) }) } else { Err(against) }
    }
}

/// Run `number` of recording `recording`, and the wall-clock time by which the runs are sorted.
struct Placed<'a> {
    begun_unix_ns: u64,
    recording: usize,
    number: usize,
    run: &'a RecordedRun,
}

/// The reason why a run cannot follow the one before it.
fn in_the_way(pair: &[Placed<'_>]) -> Option<Unmergeable> {
    let [before, after] = pair else { return None };
    let (earlier, later) = (before.recording, after.recording);
    if earlier == later {
        // The order of runs within one recording was checked when they were merged into it.
        return None;
    }
    if before.run.header.started_unix_ns == after.run.header.started_unix_ns {
        return Some(Unmergeable::Same { earlier, later });
    }
    let (until_unix_ns, from_unix_ns) = (before.run.until_unix_ns(), after.run.header.started_unix_ns);
    let overlap = until_unix_ns > from_unix_ns.saturating_add(OVERLAP_MAX.as_ns());
    overlap.then_some(Unmergeable::Overlap { earlier, later, until_unix_ns, from_unix_ns })
}

fn placed(recordings: &[Recording], runs: &[Placed<'_>]) -> Vec<MergePart> {
    let Some(first) = runs.first().and_then(|placed| recordings.get(placed.recording)) else { return Vec::new() };
    // The window slots of each recording follow those of the recordings before it, so that no two windows share a slot.
    let (mut slots, mut taken) = (BTreeMap::new(), 0u32);
    let mut until = RecTime::EPOCH;
    let mut parts = Vec::new();
    for Placed { recording: number, number: run, run: of, .. } in runs {
        let apart = Nanos::from_ns(of.header.started_unix_ns.saturating_sub(first.header.started_unix_ns));
        let at = RecTime::after_epoch(whole_second(apart.max(until.since_epoch())));
        until = at.plus(of.until.since(of.at));
        let recording = recordings.get(*number).unwrap_or(first);
        let slots = *slots.entry(*number).or_insert(taken);
        taken = taken.max(slots.saturating_add(recording.causes.windows.next_slot()));
        let place = Shift::new(&first.header, &recording.header, at.since(of.at), slots);
        parts.push(MergePart { recording: *number, run: *run, place: (!parts.is_empty()).then_some(place) });
    }
    parts
}
