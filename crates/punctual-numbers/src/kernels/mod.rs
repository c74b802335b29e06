//! Kernels side by side: several kernels, each measured in several runs under the same loads, as one table.
//!
//! ```text
//! KernelRuns (recordings) -> Cell (kernel x load) -> KernelRow, with differences from the first kernel -> SideBySide
//! ```
//! Whether a difference is certain is decided by [`crate::compare`], from how much the runs of one kernel differ. The
//! causes come from runs of their own, because tracing adds latency.

mod criterion;
#[cfg(test)]
mod tests;

pub use criterion::Criterion;

use crate::compare::{Compared, ComparedNumber, Comparison, Options, RowResult, verdict_of};
use crate::explain::{Blame, CauseName, Explanation, Part, Spike};
use crate::recording::Recording;
use crate::report::LatencyRow;
use punctual_facts::machine::MachineLine;
use punctual_hist::{Counts, Nanos};

/// The recordings of one kernel.
#[derive(Clone, Debug)]
pub struct KernelRuns<'a> {
    /// The kernel as the user named it.
    pub name: String,
    /// Measurements, one for each seed.
    pub runs: Vec<&'a Recording>,
    /// Traced measurements, which only tell causes.
    pub traced: Vec<&'a Recording>,
}

/// All kernels that could be measured.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SideBySide {
    /// Names of the loads, in the order in which they ran.
    pub loads: Vec<String>,
    /// Latencies beyond which releases are counted in each cell.
    #[serde(rename = "thresholds_ns")]
    pub thresholds: Vec<Nanos>,
    /// The kernels in the user's order. The others are held against the first.
    pub kernels: Vec<KernelRow>,
}

/// One kernel under all loads.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelRow {
    /// The kernel as the user named it.
    pub name: String,
    /// Release of the kernel, as it names itself; `None` if a recording does not state it.
    pub release: Option<String>,
    /// Number of measurements, each with a seed of its own.
    pub runs: usize,
    /// One cell for each load.
    pub cells: Vec<Cell>,
    /// How all of it compares with the first kernel; `None` for the first kernel itself, and if the two could not be
    /// compared.
    pub against_first: Option<Compared>,
}

/// One kernel under one load.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// The load, as the user wrote it.
    pub load: String,
    #[serde(flatten)]
    pub row: LatencyRow,
    /// The largest latency of each measurement, in the order of the seeds.
    #[serde(rename = "largest_ns")]
    pub largest: Vec<Option<Nanos>>,
    /// Number of releases that were later than each threshold, or skipped.
    pub later: Vec<u64>,
    /// The traced activation with the largest latency; `None` if there is none.
    pub path: Option<Path>,
    /// How this cell compares with that of the first kernel; `None` for the first kernel itself, and if the two could
    /// not be compared.
    pub against_first: Option<Against>,
    /// Latency of the activations that ran, for pictures.
    #[serde(skip)]
    pub ran: Counts,
}

/// The difference between a cell and that of the first kernel.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Against {
    /// The verdict over all numbers of the cell.
    pub verdict: Compared,
    /// Each number in both.
    pub numbers: Vec<RowResult>,
}

/// What one late activation spent its time on.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Path {
    #[serde(rename = "latency_ns")]
    pub latency: Nanos,
    /// Causes, the one with the largest time beyond that of ordinary activations first.
    pub causes: Vec<Blame>,
    /// Parts in order and without gaps, which sum to the latency.
    pub parts: Vec<Part>,
}

/// Latencies in microseconds among which thresholds are chosen.
const STEPS_US: [u64; 16] = [10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1_000, 2_000, 5_000, 10_000, 50_000, 100_000];
/// Largest number of thresholds.
const THRESHOLDS_MAX: usize = 6;

impl SideBySide {
    /// The table of these kernels. A kernel without a measurement is left out.
    pub fn of(kernels: &[KernelRuns<'_>], options: Options) -> Self {
        let measured: Vec<&KernelRuns<'_>> = kernels.iter().filter(|kernel| !kernel.runs.is_empty()).collect();
        let loads = measured.first().map(|kernel| loads(kernel)).unwrap_or_default();
        let mut rows: Vec<KernelRow> = measured.iter().map(|kernel| row(kernel, &loads)).collect();
        let thresholds = thresholds(&rows);
        for cell in rows.iter_mut().flat_map(|row| &mut row.cells) {
            cell.later = thresholds.iter().map(|level| beyond(&cell.ran, *level) + cell.row.skipped).collect();
        }
        if let Some((first, others)) = measured.split_first() {
            for (row, other) in rows.iter_mut().skip(1).zip(others) {
                compare(row, first, other, options);
            }
        }
        Self { loads, thresholds, kernels: rows }
    }
}

fn loads(kernel: &KernelRuns<'_>) -> Vec<String> {
    let phases = kernel.runs.first().map(|run| &run.header.scenario.load_phases);
    phases.into_iter().flatten().map(crate::scenario::LoadPhase::name).collect()
}

fn row(kernel: &KernelRuns<'_>, loads: &[String]) -> KernelRow {
    let facts = kernel.runs.first().map(|run| run.header.machine.as_slice()).unwrap_or_default();
    let cells = (0..).zip(loads).map(|(number, load)| cell(kernel, number, load)).collect();
    KernelRow {
        name: kernel.name.clone(),
        release: MachineLine::of(facts, "kernel").map(str::to_owned),
        runs: kernel.runs.len(),
        cells,
        against_first: None,
    }
}

/// One load phase over all runs and CPUs.
fn cell(kernel: &KernelRuns<'_>, number: u16, load: &str) -> Cell {
    let (mut ran, mut skipped, mut over_budget) = (Counts::new(), Counts::new(), 0_u64);
    let mut largest = Vec::new();
    for run in &kernel.runs {
        let mut of_run = None;
        for (_, tallies) in run.phases.iter().filter(|((phase, _), _)| *phase == number) {
            ran.merge(&tallies.ran.counts());
            skipped.merge(&tallies.skipped.counts());
            over_budget = over_budget.saturating_add(tallies.over_budget);
            of_run = of_run.max(tallies.ran.max()).max(tallies.skipped.max());
        }
        largest.push(of_run);
    }
    Cell {
        load: load.to_owned(),
        row: LatencyRow::of(&ran, &skipped, over_budget),
        largest,
        later: Vec::new(),
        path: path(kernel, number),
        against_first: None,
        ran,
    }
}

/// Names of the threads that trace and record. The measured CPU is the guest's only one, so they run there too.
const OURS: [&str; 3] = ["trace", "sync", "punctual"];

/// The completely traced activation with the largest latency in this load phase, of those that no thread of ours made
/// late; if there is none, of all.
fn path(kernel: &KernelRuns<'_>, number: u16) -> Option<Path> {
    let is_whole = |spike: &Spike| spike.phase == number && spike.incomplete.is_none() && !spike.parts.is_empty();
    let spikes = kernel.traced.iter().flat_map(|run| Explanation::of(run).spikes).filter(is_whole);
    let spike = spikes.max_by_key(|spike| (!is_ours(spike), spike.latency()))?;
    Some(Path { latency: spike.latency(), causes: spike.causes, parts: spike.parts })
}

fn is_ours(spike: &Spike) -> bool {
    let is_of_us = |name: &CauseName| match name {
        CauseName::Given(name) => OURS.contains(&name.as_str()),
        CauseName::Under(name) => matches!(&**name, CauseName::Given(name) if OURS.contains(&name.as_str())),
        CauseName::Worker(_) => false,
    };
    spike.parts.iter().any(|part| is_of_us(&part.cause.name))
}

/// The steps between the smallest median and the largest latency of all cells, so that each tells kernels apart.
fn thresholds(rows: &[KernelRow]) -> Vec<Nanos> {
    let cells = || rows.iter().flat_map(|row| &row.cells);
    let low = cells().filter_map(|cell| cell.row.latency.p50).min().unwrap_or_default();
    let high = cells().filter_map(|cell| cell.row.latency.max).max().unwrap_or_default();
    let within = STEPS_US.map(Nanos::from_us).into_iter().filter(|step| *step > low && *step < high);
    let all: Vec<Nanos> = within.collect();
    // With too many, every second, third and so on from the largest down.
    let step = all.len().div_ceil(THRESHOLDS_MAX).max(1);
    let mut kept: Vec<Nanos> = all.into_iter().rev().step_by(step).collect();
    kept.reverse();
    kept
}

/// Number of values in buckets above that of `level`.
fn beyond(counts: &Counts, level: Nanos) -> u64 {
    let from = punctual_hist::bucket_index(level.as_ns());
    counts.nonzero().filter(|(bucket, _)| *bucket > from).fold(0, |sum, (_, n)| sum.saturating_add(n))
}

/// Adds the differences from the first kernel.
fn compare(row: &mut KernelRow, first: &KernelRuns<'_>, other: &KernelRuns<'_>, options: Options) {
    fn named<'a>(kernel: &KernelRuns<'a>) -> Vec<(String, &'a Recording)> {
        kernel.runs.iter().map(|run| (kernel.name.clone(), *run)).collect()
    }
    let Ok(comparison) = Comparison::of_sides(&named(first), &named(other), false, options) else { return };
    let groups = comparison.others.into_iter().flat_map(|against| against.groups);
    for result in groups {
        let cell = (0..).zip(&mut row.cells).find(|(_, cell)| Some(&cell.load) == result.group.load.as_ref());
        if let Some((phase, cell)) = cell {
            let is_apart = |ppm| criterion::are_apart(first, other, phase, ppm);
            cell.against_first = Some(Against::of(result.rows, is_apart));
        }
    }
    let cells = row.cells.iter().filter_map(|cell| cell.against_first.as_ref());
    row.against_first = Some(Compared::of_all(cells.map(|against| against.verdict)));
}

impl Against {
    /// Takes back a verdict on a percentile if the runs of the two kernels overlap. A path through a kernel takes one of
    /// few lengths. Runs of one kernel are therefore often equal, and by how much they differ says too little about how
    /// much others will.
    fn of(mut numbers: Vec<RowResult>, is_apart: impl Fn(u32) -> bool) -> Self {
        for number in &mut numbers {
            let ComparedNumber::Percentile { ppm } = number.what else { continue };
            let is_decided = matches!(number.verdict, Compared::Better | Compared::Worse);
            if is_decided && !is_apart(ppm) {
                number.verdict = Compared::NotEnoughData;
            }
        }
        Self { verdict: verdict_of(&numbers), numbers }
    }
}
