//! A series of runs, one after the other: where it shifted, where it drifts, and what else changed there.
//!
//! ```text
//! Packed -> Run (percentiles of its whole histogram) -> Trend (shifts, drifts, verdict)
//!           run                                         watch, drift
//! ```
//! The runs are looked at in order, as a nightly job would. The latest few are held against those before, back to the
//! last shift, and the error is how much runs differ from each other and how far neighbours resemble each other. The
//! number of activations within a run never makes a shift surer.

mod drift;
mod run;
#[cfg(test)]
mod tests;
mod watch;

pub use run::{Changed, Run, WATCHED_PPM};
pub use watch::{Against, against};

use crate::stats::float::float;
use punctual_hist::Nanos;

/// A series with fewer runs shows no shift.
pub const RUNS_MIN: usize = watch::BASE_MIN + 2;

#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Options {
    /// A shift smaller than this part of the value before is not reported: 0.1 is a tenth.
    pub margin: f64,
    /// Number of false alarms in a thousand runs that is accepted.
    pub false_alarms_per_1000: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { margin: 0.1, false_alarms_per_1000: 1.0 }
    }
}

/// The percentile of a shift or a drift, before and after.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Moved {
    /// Which percentile, in parts per million.
    pub percentile_ppm: u32,
    /// Its usual value before, in nanoseconds.
    #[serde(rename = "before_ns")]
    pub before: Nanos,
    /// Its value after, in nanoseconds.
    #[serde(rename = "after_ns")]
    pub after: Nanos,
    /// Value after divided by value before.
    pub ratio: f64,
    /// Lower limit of the ratio, of 95 %.
    pub low: f64,
    /// Upper limit of the ratio, of 95 %.
    pub high: f64,
}

/// A change of level between two runs.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shift {
    /// Index of the first run after the shift.
    pub at: usize,
    /// Name of that run.
    pub run: String,
    /// How many runs after the shift it took to find it.
    pub found_after: usize,
    /// Percentiles that moved, the one with the largest change first.
    pub moved: Vec<Moved>,
    /// Settings and findings that changed between the run before and this one.
    pub changed: Vec<Changed>,
    /// Whether latency rose by the shift.
    pub worse: bool,
}

/// A slow change over the runs since the last shift.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Drift {
    /// Index of the first run.
    pub from: usize,
    /// Index of the last run.
    pub to: usize,
    /// The percentile that drifted most.
    pub moved: Moved,
    /// Whether latency rises over these runs.
    pub worse: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The last shift or drift made latency rise.
    Worse,
    /// The last shift or drift made latency fall.
    Better,
    /// No shift and no drift was found.
    Steady,
    /// There are too few runs.
    TooFew,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trend {
    /// The limits by which shifts were looked for.
    pub options: Options,
    /// How the series ended, by its last shift or drift.
    pub verdict: Verdict,
    /// The runs, in the order of their start.
    pub runs: Vec<Run>,
    /// Changes of level, in order.
    pub shifts: Vec<Shift>,
    /// Slow changes since the last shift.
    pub drifts: Vec<Drift>,
    /// How strongly neighbouring runs resemble each other since the last shift, from 0 to 1; null for too few runs.
    pub resemblance: Option<f64>,
    /// The smallest shift of p99.9 that the next three runs would show most of the time, as a part of the value; null
    /// for too few runs.
    pub smallest_seen: Option<f64>,
}

impl Trend {
    /// Looks at a series. The runs are put in the order of their start.
    pub fn of(mut runs: Vec<Run>, options: Options) -> Self {
        runs.sort_by(|a, b| a.started_unix_ns.cmp(&b.started_unix_ns).then_with(|| a.name.cmp(&b.name)));
        let (shifts, start) = watch::shifts(&runs, &options);
        let drifts: Vec<Drift> = drift::of(&runs, start, &options).into_iter().collect();
        let verdict = match (runs.len() < RUNS_MIN, drifts.last(), shifts.last()) {
            (true, _, _) => Verdict::TooFew,
            (_, Some(Drift { worse: true, .. }), _) | (_, None, Some(Shift { worse: true, .. })) => Verdict::Worse,
            (_, Some(_), _) | (_, None, Some(_)) => Verdict::Better,
            (_, None, None) => Verdict::Steady,
        };
        let (resemblance, smallest_seen) = watch::sight(&runs, start, &options);
        Self { options, verdict, runs, shifts, drifts, resemblance, smallest_seen }
    }
}

/// The logarithms of one percentile of these runs; `None` if a run has too few activations for it.
fn logs(runs: &[Run], ppm: u32) -> Option<Vec<f64>> {
    runs.iter().map(|run| Some(float(run.at(ppm)?.as_ns().max(1)).ln())).collect()
}
