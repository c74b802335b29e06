//! The number that tells a bad kernel from a good one most clearly, and where the limit between them lies.

use super::KernelRuns;
use crate::recording::Recording;
use punctual_hist::{Counts, Nanos};

/// A point of the latency's distribution under one load.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Criterion {
    /// The load, as the user wrote it.
    pub load: String,
    /// The percentile in parts per million; `None` for the largest latency.
    pub ppm: Option<u32>,
    /// The median over the runs of the good kernel.
    #[serde(rename = "good_ns")]
    pub good: Nanos,
    /// The median over the runs of the bad kernel.
    #[serde(rename = "bad_ns")]
    pub bad: Nanos,
    /// A kernel whose median is larger than this is bad: the geometric mean of both.
    #[serde(rename = "limit_ns")]
    pub limit: Nanos,
    #[serde(skip)]
    phase: u16,
}

/// The points that are looked at.
const POINTS: [Option<u32>; 4] = [Some(500_000), Some(990_000), Some(999_000), None];

impl Criterion {
    /// The clearest point: every run of the bad kernel is beyond every run of the good one, by the largest factor, and
    /// by at least `margin`. `None` if there is no such point.
    pub fn between(good: &KernelRuns<'_>, bad: &KernelRuns<'_>, margin: f64) -> Option<Self> {
        let loads = super::loads(good);
        let all = (0..).zip(loads).flat_map(|(phase, load)| POINTS.map(|ppm| (phase, load.clone(), ppm)));
        let clear = all.filter_map(|(phase, load, ppm)| {
            let (of_good, of_bad) = (values(good, phase, ppm), values(bad, phase, ppm));
            let (most, least) = (of_good.last().copied()?, of_bad.first().copied()?);
            let gap = least.as_secs_f64() / most.as_secs_f64().max(1e-9);
            let (good, bad) = (middle(&of_good)?, middle(&of_bad)?);
            let limit = Nanos::from_ns((u128::from(good.as_ns()) * u128::from(bad.as_ns())).isqrt().try_into().ok()?);
            (gap > 1.0 + margin).then_some((gap, Self { load, ppm, good, bad, limit, phase }))
        });
        // The first of equal ones, so that the answer is the same each time.
        let clearest = clear.reduce(|best, other| if other.0 > best.0 { other } else { best });
        clearest.map(|(_, criterion)| criterion)
    }

    /// The number of a kernel; `None` if a run does not have it.
    pub fn value(&self, kernel: &KernelRuns<'_>) -> Option<Nanos> {
        middle(&values(kernel, self.phase, self.ppm))
    }

    pub fn is_bad(&self, value: Nanos) -> bool {
        value > self.limit
    }
}

/// Smallest number of runs of each kernel from which seeds can be told from kernels.
const LEAST_RUNS: usize = 3;

/// Whether every run of one kernel is beyond every run of the other in a percentile, and both have enough runs to say so.
pub(super) fn are_apart(one: &KernelRuns<'_>, other: &KernelRuns<'_>, phase: u16, ppm: u32) -> bool {
    let [one, other] = [one, other].map(|kernel| values(kernel, phase, Some(ppm)));
    let is_below = |low: &[Nanos], high: &[Nanos]| low.last() < high.first();
    one.len().min(other.len()) >= LEAST_RUNS && (is_below(&one, &other) || is_below(&other, &one))
}

/// The values of all runs, ascending.
fn values(kernel: &KernelRuns<'_>, phase: u16, ppm: Option<u32>) -> Vec<Nanos> {
    let mut values: Vec<Nanos> = kernel.runs.iter().filter_map(|run| value(run, phase, ppm)).collect();
    values.sort_unstable();
    values
}

fn value(run: &Recording, phase: u16, ppm: Option<u32>) -> Option<Nanos> {
    let mut due = Counts::new();
    for (_, tallies) in run.phases.iter().filter(|((of, _), _)| *of == phase) {
        due.merge(&tallies.ran.counts());
        due.merge(&tallies.skipped.counts());
    }
    ppm.map_or_else(|| due.max(), |ppm| due.percentile_ppm(ppm))
}

fn middle(sorted: &[Nanos]) -> Option<Nanos> {
    sorted.get(sorted.len() / 2).copied()
}
