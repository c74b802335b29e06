//! Which knobs help here, by how much, and how sure that is: a campaign of measurements as a value.
//!
//! ```text
//! Design (candidates, seed, rounds) + Runs so far -> Standing: what to measure next | what it came to
//!                                                    (design, screen)                (effect, judge)
//! ```
//! Everything is derived from the design and the runs, and nothing else is kept: a campaign that was interrupted goes on
//! as if it had not been. A run is a measurement with some candidates set; in each round every candidate is measured
//! once and the machine as it was a few times, in an order drawn by lot. So a candidate is held against its own round
//! alone, and whatever drifts from round to round cancels; one that a pause fell into is begun anew. Must not know how a
//! knob is set. What takes a boot to be set is gone through by [`across`].

pub mod across;
mod design;
mod effect;
pub mod format;
mod judge;
pub mod pause;
mod screen;
mod standing;
#[cfg(test)]
mod tests;

pub use design::{ERROR_RATE, LOOKS, TooShort};
pub use effect::{CONFIDENCE, Effect, Metric};
pub use judge::{Judged, Verdict};
/// So many candidates can be screened.
pub use screen::CANDIDATES_MAX as SCREENED_MAX;
pub use standing::{Next, Stage, Standing};

use punctual_hist::{Counts, Nanos};
use punctual_numbers::report::{Report, Row};
use punctual_tuning::plan::Keep;

/// Something that can be set, and set back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What it is called, for the program that sets it as well.
    pub id: String,
    /// What it does, in a few words.
    pub title: String,
    /// What it costs.
    pub cost: String,
    /// Words of the kernel's command line that it takes, and so a boot; none where it is set in a machine that runs.
    pub boot: Vec<Keep>,
}

/// How candidates are gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Each alone, against the machine as it was.
    OneAtATime,
    /// First many at once, by a design of Plackett and Burman (1946) and its mirror image; the most promising then each
    /// alone, on measurements of their own.
    Screening,
    /// Each alone; the less promising half goes, again and again.
    Race,
}

/// What is decided before anything is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// What is tried; a set of them is told by their places here.
    pub candidates: Vec<Candidate>,
    /// How.
    pub strategy: Strategy,
    /// Seed of the order.
    pub seed: u64,
    /// Rounds, if no candidate is done with before.
    pub rounds: u32,
    /// How often in each round the machine is measured as it was.
    pub baselines: u32,
    /// A change of less than this part is called neither better nor worse: 0.1 is a tenth.
    pub margin: f64,
}

/// A set of candidates, by their places, in ascending order; empty for the machine as it was.
pub type Arm = Vec<usize>;

/// What one measurement came to, over the releases due of all CPUs and loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Median latency; a skipped release counts with the time until the thread ran next.
    pub p50: Nanos,
    /// 99.9 % of the releases were at most so late.
    pub p99_9: Nanos,
    /// Releases that were skipped, or later than the budget.
    pub missed: u64,
    /// Releases due.
    pub due: u64,
}

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was measured.
    Measured(Response),
    /// The candidates could not be set, for this reason.
    Refused(String),
}

/// One measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// What was set.
    pub arm: Arm,
    /// What became of it.
    pub outcome: Outcome,
}

/// A design, and what was measured so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Campaign {
    /// What was decided beforehand.
    pub design: Design,
    /// Measured so far, in order.
    pub runs: Vec<Run>,
    /// After so many runs the time was up: the round they ended is the last one.
    pub closed_at: Option<usize>,
    /// After so many runs, in ascending order, there was a pause: the block that it fell into was begun anew, and what had
    /// been measured of it is held against nothing.
    pub pauses: Vec<usize>,
}

impl Response {
    /// Of a whole measurement; nothing where nothing was measured.
    pub fn of(report: &Report) -> Option<Self> {
        let (mut ran, mut skipped, mut late) = (Counts::new(), Counts::new(), 0u64);
        for cpu in &report.cpus {
            ran.merge(&cpu.ran);
            skipped.merge(&cpu.skipped);
            late = late.saturating_add(cpu.row.over_budget);
        }
        let row = Row::of(&ran, &skipped, late);
        Some(Self {
            p50: row.latency_due.p50?,
            p99_9: row.latency_due.p99_9?,
            missed: row.over_budget.saturating_add(row.skipped),
            due: row.due,
        })
    }
}

impl Campaign {
    /// One of which nothing is measured yet.
    pub fn new(design: Design) -> Self {
        Self { design, runs: Vec::new(), closed_at: None, pauses: Vec::new() }
    }

    /// What it came to so far, and what is next.
    pub fn standing(&self) -> Standing {
        Standing::of(self)
    }

    /// What is next, alone.
    pub fn next(&self) -> Next {
        Standing::next_of(self)
    }

    /// Takes the next run in. What was not asked for is none of the campaign's, and is dropped.
    pub fn take(&mut self, arm: &[usize], outcome: Outcome) {
        if matches!(self.next(), Next::Measure { arm: wanted, .. } if wanted == arm) {
            self.runs.push(Run { arm: arm.to_vec(), outcome });
        }
    }

    /// The time is up: the round that is ended is the last one. In the middle of a round nothing is done.
    pub fn close(&mut self) {
        if matches!(self.next(), Next::Measure { place: 0, stage: Stage::Rounds, .. }) {
            self.closed_at = Some(self.runs.len());
        }
    }

    /// Nobody measured for long: the block that is under way is begun anew. Where none is, nothing is lost.
    pub fn begin_anew(&mut self) {
        if matches!(self.next(), Next::Measure { place, .. } if place > 0) {
            self.pauses.push(self.runs.len());
        }
    }
}
