//! From a recording to its explanation: windows to spikes, spikes to ranked causes.

use super::account::account;
use super::clues::Rules;
use super::ordinary::Ordinary;
use super::rank::{self, Totals, Weights};
use super::{
    Cause, Class, CpuLate, CpuRhythm, CpuThreshold, Explanation, LateCount, Opinions, Ranked, Spike, cause, opinion,
    ordinary,
};
use crate::recording::Recording;
use crate::stats::rhythm;
use crate::trace::{Incomplete, Kept, LateTotal, Rung, Window, keep};
use punctual_facts::machine::MachineLine;
use punctual_hist::{MonoTime, Nanos};
use std::collections::{BTreeMap, BTreeSet};

impl Explanation {
    pub fn of(recording: &Recording) -> Self {
        let causes = &recording.causes;
        let (rules, ordinary) = ordinary::learn(&causes.windows.ordinary().collect::<Vec<_>>(), Rules::of(recording));
        let spikes = spikes(causes.windows.late(), &rules, &ordinary, &warped(recording));
        let tick = recording.header.clock.tick;
        let run =
            Totals { late: &causes.late_totals, worst_max: worst_max(recording), grid: grid(recording, None), tick };
        let ranked = rank::rank(&spikes, &run);
        Self {
            tracing: causes.tracing.clone(),
            totals: causes.totals.clone(),
            late: counts(&causes.late_totals, &spikes),
            thresholds: thresholds(&causes.late_totals),
            rhythms: rhythms(recording, &spikes, &ranked),
            causes: ranked,
            complete: complete(&spikes),
            explained: explained(&spikes, &run),
            ordinary: ordinary.list(),
            opinions: opinions(recording, &rules),
            spikes,
        }
    }
}

/// What is known of the late cycles of one thread of a program that is inspected.
pub struct Evidence<'a> {
    pub windows: &'a [Window],
    /// Facts about the machine, as a recording has them.
    pub machine: &'a [MachineLine],
    /// Whether the thread may run on several CPUs.
    pub roams: bool,
    /// By CPU, the numbers of late cycles.
    pub late: &'a BTreeMap<u32, LateTotal>,
    /// The usual time from one release to the next.
    pub period: Nanos,
    /// Time between the kernel's ticks.
    pub tick: Nanos,
}

impl Explanation {
    /// What made a thread of a program late.
    pub fn of_thread(evidence: &Evidence<'_>) -> Self {
        let of_kind = |ordinary: bool| {
            evidence.windows.iter().filter(move |window| (window.kept == Kept::Ordinary) == ordinary).cloned()
        };
        let rules = Rules::of_machine(evidence.machine, evidence.roams);
        let (rules, ordinary) = ordinary::learn(&of_kind(true).collect::<Vec<_>>(), rules);
        let spikes = spikes(of_kind(false), &rules, &ordinary, &[]);
        let run = Totals { late: evidence.late, worst_max: None, grid: evidence.period, tick: evidence.tick };
        Self {
            tracing: None,
            totals: Vec::new(),
            late: counts(evidence.late, &spikes),
            thresholds: thresholds(evidence.late),
            causes: rank::rank(&spikes, &run),
            rhythms: Vec::new(),
            complete: complete(&spikes),
            explained: explained(&spikes, &run),
            ordinary: ordinary.list(),
            opinions: None,
            spikes,
        }
    }
}

/// The late activations, the one with the largest latency first. Records of the CPUs `warped` are not believed.
fn spikes(windows: impl Iterator<Item = Window>, rules: &Rules, ordinary: &Ordinary, warped: &[u32]) -> Vec<Spike> {
    let explain = |window: Window| {
        let mut account = account(&window, rules);
        let doubted = warped.contains(&window.cpu) && account.incomplete.is_none();
        account.incomplete = if doubted { Some(Incomplete::Warped) } else { account.incomplete };
        cause::spike(&window, account, ordinary)
    };
    let mut spikes: Vec<Spike> = windows.map(explain).collect();
    rank::distinct(&mut spikes);
    spikes
}

fn thresholds(late: &BTreeMap<u32, LateTotal>) -> Vec<CpuThreshold> {
    late.values().map(|total| CpuThreshold { cpu: total.cpu, threshold: total.threshold }).collect()
}

/// Agreement of the records with the kernel's noise tracer, if that was running.
fn opinions(recording: &Recording, rules: &Rules) -> Option<Opinions> {
    let causes = &recording.causes;
    let noise = causes.tracing.as_ref().is_some_and(|tracing| tracing.rung == Rung::Timerlat);
    noise.then(|| opinion::tally(causes.windows.iter(), rules.rt)).flatten()
}

/// The cause to blame first for one late activation of a recording, which may still be growing; `None` if no window of
/// it was kept or its window shows no cause.
pub fn primary_cause(recording: &Recording, woke: MonoTime) -> Option<Cause> {
    let window = recording.causes.windows.woken_at(woke)?;
    let (rules, ordinary) = ordinary::learn(&[], Rules::of(recording));
    let spike = cause::spike(&window, account(&window, &rules), &ordinary);
    spike.primary().map(|blame| blame.cause.clone())
}

/// The CPUs on which the self-test found that records contradict the thread's own clock.
fn warped(recording: &Recording) -> Vec<u32> {
    let tests = recording.causes.tracing.iter().flat_map(|tracing| &tracing.self_test);
    tests.filter(|test| test.is_warped()).map(|test| test.cpu).collect()
}

/// The number K of the worst activations of each CPU that are all kept.
fn worst_max(recording: &Recording) -> Option<usize> {
    let cpus: BTreeSet<u32> = recording.header.scenario.threads.iter().map(|thread| thread.cpu).collect();
    let tracing = recording.causes.tracing.as_ref()?;
    usize::try_from(keep::worst_max(tracing.windows_max, cpus.len())).ok()
}

/// Time between releases of one CPU; without a CPU, the longest one of all CPUs.
fn grid(recording: &Recording, cpu: Option<u32>) -> Nanos {
    let threads = recording.header.scenario.threads.iter();
    let threads = threads.filter(|thread| cpu.is_none_or(|cpu| thread.cpu == cpu));
    threads.map(|thread| thread.period).max().unwrap_or(Nanos::ZERO)
}

/// By CPU, the numbers of late activations.
fn counts(late: &BTreeMap<u32, LateTotal>, spikes: &[Spike]) -> Vec<CpuLate> {
    let mut counts: BTreeMap<u32, LateCount> = BTreeMap::new();
    for total in late.values() {
        let count = counts.entry(total.cpu).or_default();
        (count.late, count.latency, count.passed_over) = (total.count, total.latency, total.passed_over);
    }
    for spike in spikes {
        let count = counts.entry(spike.cpu).or_default();
        count.kept += 1;
        count.complete += u64::from(spike.incomplete.is_none());
        count.sampled += u64::from(spike.incomplete.is_none() && spike.kept == Kept::Sampled);
    }
    counts.into_iter().map(|(cpu, count)| CpuLate { cpu, count }).collect()
}

/// By CPU, the rhythm of late activations whose causes have no rhythm of their own.
fn rhythms(recording: &Recording, spikes: &[Spike], ranked: &[Ranked]) -> Vec<CpuRhythm> {
    let known: BTreeSet<&Cause> = ranked.iter().filter(|one| one.rhythm.is_some()).map(|one| &one.cause).collect();
    let explained = |spike: &&Spike| spike.causes.iter().any(|blame| known.contains(&blame.cause));
    let explained: BTreeSet<_> = spikes.iter().filter(explained).map(|spike| (spike.cpu, spike.release)).collect();
    let mut times: BTreeMap<u32, Vec<MonoTime>> = BTreeMap::new();
    for late in recording.causes.late.iter().filter(|late| !explained.contains(&(late.cpu, late.release))) {
        times.entry(late.cpu).or_default().push(late.release);
    }
    let tick = recording.header.clock.tick;
    let found = |(cpu, times): (u32, Vec<MonoTime>)| {
        rhythm::rhythm(&times, grid(recording, Some(cpu)), tick).map(|rhythm| CpuRhythm { cpu, rhythm })
    };
    times.into_iter().filter_map(found).collect()
}

/// Share of the latency of kept activations that belongs to complete windows; `None` without latency.
fn complete(spikes: &[Spike]) -> Option<f64> {
    let sum = |spikes: &mut dyn Iterator<Item = &Spike>| spikes.map(|spike| spike.latency().as_secs_f64()).sum::<f64>();
    let all = sum(&mut spikes.iter());
    (all > 0.0).then(|| sum(&mut spikes.iter().filter(|spike| spike.incomplete.is_none())) / all)
}

/// Share of the traced latency that has a cause; `None` without traced latency.
fn explained(spikes: &[Spike], run: &Totals<'_>) -> Option<f64> {
    let weights = Weights::of(spikes, run);
    let (mut all, mut unknown) = (0.0, 0.0);
    for spike in spikes.iter().filter(|spike| spike.incomplete.is_none()) {
        let weight = weights.weight(spike);
        all += weight * spike.latency().as_secs_f64();
        let unexplained = spike.causes.iter().filter(|blame| blame.cause.class == Class::Unexplained);
        unknown += weight * unexplained.map(|blame| blame.time.as_secs_f64()).sum::<f64>();
    }
    (all > 0.0).then(|| (1.0 - unknown / all).clamp(0.0, 1.0))
}
