//! Turns a recording into the rows of numbers of its report.

use super::over_time::{Phases, timeline};
use super::{
    CpuRow, LatencyRow, Need, Percentiles, PhaseRow, Report, RunCounts, SkippedLoad, Verdict, WorstAt, WorstRow, trust,
};
use crate::claims::Claims;
use crate::explain::Explanation;
use crate::recording::{CpuTotals, MarkKind, RecTime, Recording};
use punctual_facts::finding::{Finding, State};
use punctual_hist::{Counts, Nanos};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

impl Report {
    pub fn of(recording: &Recording) -> Self {
        let phases = Phases::of(recording);
        let need = need(recording);
        let cpus = cpu_rows(recording, &phases);
        let causes = recording.causes.tracing.is_some().then(|| Explanation::of(recording));
        let claims = Claims::of(recording, causes.as_ref());
        let trust = trust::judge(recording, &cpus, &claims);
        let seen = RunCounts::of(&need, &cpus, claims.miss_spread(), recording.covered);
        let verdict = Verdict::of(&seen, &trust.reasons);
        let findings = worst_first(recording.findings.clone());
        let header = &recording.header;
        Self {
            tool_version: header.tool_version.clone(),
            started_unix_ns: header.started_unix_ns,
            epoch: header.epoch,
            runs: recording.runs.clone(),
            stretch: recording.stretch,
            measured: recording.covered,
            need,
            scenario: header.scenario.clone(),
            machine: header.machine.clone(),
            findings,
            total: total(&cpus),
            cpus,
            phases: phase_rows(recording, &phases),
            timeline: timeline(recording),
            worst: worst_rows(recording, &phases),
            claims,
            causes,
            spans: phases.into_spans(),
            loads: recording.loads.clone(),
            loads_skipped: loads_skipped(recording),
            notes: notes(recording),
            events: recording.events.clone(),
            threads: recording.threads.clone(),
            warm_up: recording.warm_up.clone(),
            in_force: recording.in_force.clone(),
            housekeeping: header.placement.housekeeping.clone(),
            verdict,
            trust,
            end: recording.end.as_ref().map(|end| end.reason),
            cut_off: recording.cut_off,
            write_error: recording.end.as_ref().and_then(|end| end.write_error.clone()),
        }
    }
}

impl LatencyRow {
    /// The numbers of two histograms: one of activations that ran, one of skipped releases.
    pub fn of(ran: &Counts, skipped: &Counts, over_budget: u64) -> Self {
        let mut due = ran.clone();
        due.merge(skipped);
        Self {
            due: due.count(),
            ran: ran.count(),
            skipped: skipped.count(),
            over_budget,
            latency: Percentiles::of(ran),
            latency_due: Percentiles::of(&due),
        }
    }
}

impl Percentiles {
    pub fn of(counts: &Counts) -> Self {
        Self {
            min: counts.min(),
            mean: counts.mean(),
            p50: counts.percentile_ppm(500_000),
            p99: counts.percentile_ppm(990_000),
            p99_9: counts.percentile_ppm(999_000),
            p99_99: counts.percentile_ppm(999_900),
            max: counts.max(),
        }
    }
}

fn need(recording: &Recording) -> Need {
    let scenario = &recording.header.scenario;
    let shortest = scenario.threads.iter().map(|thread| thread.period).min();
    Need { period: shortest.unwrap_or_default(), budget: scenario.budget, cpus: scenario.cpus() }
}

impl Report {
    /// The longest time by which an activation of any CPU preceded its release.
    pub fn earliest(&self) -> Option<Nanos> {
        self.cpus.iter().filter_map(|cpu| cpu.earliest).max()
    }
}

/// One row for every CPU that was to be measured, even if it never ran, and for every other CPU that was measured.
fn cpu_rows(recording: &Recording, phases: &Phases) -> Vec<CpuRow> {
    let asked = recording.header.scenario.threads.iter();
    let periods: BTreeMap<u32, Nanos> = asked.map(|thread| (thread.cpu, thread.period)).collect();
    let cpus: BTreeSet<u32> = periods.keys().chain(recording.cpus.keys()).copied().collect();
    let nothing = CpuTotals::default();
    let is_out_of_band = recording.header.scenario.mechanism.is_out_of_band();
    let row = |cpu: u32| {
        let totals = recording.cpus.get(&cpu).unwrap_or(&nothing);
        CpuRow {
            cpu,
            period: periods.get(&cpu).copied().unwrap_or_default(),
            row: LatencyRow::of(&totals.ran, &totals.skipped, totals.over_budget),
            worst_at: worst_at(recording, cpu, totals).map(|at| WorstAt { at, phase: phases.name_at(at) }),
            longest_gap: totals.longest_gap,
            early: totals.early,
            earliest: Some(totals.earliest).filter(|by| *by > Nanos::ZERO),
            in_band_switches: is_out_of_band.then_some(totals.in_band_switches),
            ran: totals.ran.clone(),
            skipped: totals.skipped.clone(),
        }
    };
    cpus.into_iter().map(row).collect()
}

/// When the activation with the largest latency was released. The list of the worst activations has the exact time. A
/// file that was cut off before that list was written has at least the second.
fn worst_at(recording: &Recording, cpu: u32, totals: &CpuTotals) -> Option<RecTime> {
    let list = recording.worst.get(&cpu).map(Vec::as_slice).unwrap_or_default();
    let latest = list.iter().map(|worst| worst.activation).max_by_key(punctual_hist::Activation::latency);
    let block = totals.worst_block.filter(|(_, max)| latest.is_none_or(|latest| latest.latency() < *max));
    block
        .map(|(second, _)| RecTime::from_secs(u64::from(second)))
        .or(latest.map(|latest| recording.header.at(latest.release)))
}

fn total(cpus: &[CpuRow]) -> Option<LatencyRow> {
    if cpus.len() < 2 {
        return None;
    }
    let (mut ran, mut skipped) = (Counts::new(), Counts::new());
    for cpu in cpus {
        ran.merge(&cpu.ran);
        skipped.merge(&cpu.skipped);
    }
    let over_budget = cpus.iter().fold(0u64, |total, cpu| total.saturating_add(cpu.row.over_budget));
    Some(LatencyRow::of(&ran, &skipped, over_budget))
}

fn phase_rows(recording: &Recording, phases: &Phases) -> Vec<PhaseRow> {
    let row = |(&(phase, cpu), totals): (&(u16, u32), &crate::recording::CpuTallies)| PhaseRow {
        phase,
        name: phases.name(phase),
        cpu,
        row: LatencyRow::of(&totals.ran.counts(), &totals.skipped.counts(), totals.over_budget),
    };
    recording.phases.iter().map(row).collect()
}

fn worst_rows(recording: &Recording, phases: &Phases) -> Vec<WorstRow> {
    let row = |worst: &crate::recording::Worst| {
        let at = recording.header.at(worst.activation.release);
        WorstRow {
            cpu: worst.cpu,
            at,
            phase: phases.name_at(at),
            latency: worst.activation.latency(),
            activation: worst.activation,
        }
    };
    let mut rows: Vec<WorstRow> = recording.worst.values().flatten().map(row).collect();
    rows.sort_by_key(|row| Reverse(row.latency));
    rows
}

/// Sorts findings by their state, bad ones first, and then by severity. Findings that are equal in both keep the
/// audit's order.
fn worst_first(mut findings: Vec<Finding>) -> Vec<Finding> {
    let rank = |state: &State| match state {
        State::Bad => 0,
        State::Unknown(_) => 1,
        State::Advice(_) => 2,
        State::Good => 3,
        State::NotApplicable(_) => 4,
    };
    findings.sort_by_key(|finding| (rank(&finding.state), Reverse(finding.severity)));
    findings
}

fn loads_skipped(recording: &Recording) -> Vec<SkippedLoad> {
    let skipped = recording.marks.iter().filter_map(|mark| match &mark.kind {
        MarkKind::LoadSkipped { load, why } => Some(SkippedLoad { name: load.clone(), because: why.clone() }),
        _ => None,
    });
    skipped.collect()
}

fn notes(recording: &Recording) -> Vec<String> {
    let notes = recording.marks.iter().filter_map(|mark| match &mark.kind {
        MarkKind::Note(note) => Some(note.clone()),
        _ => None,
    });
    notes.collect()
}
