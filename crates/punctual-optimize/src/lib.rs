//! Finds which knobs help on this machine, by how much, and how certain that is. A campaign of measurements is a value.
//!
//! ```text
//! Design (candidates, seed, rounds) + measurements so far -> CampaignState: what to measure next | the result
//!                                                            (design, screen)                (effect, judge)
//! ```
//! Every decision follows from the design and the measurements, and nothing else is saved, so a resumed campaign
//! continues as if it had not been interrupted. In each round every candidate is measured once alone, and the baseline
//! (the unchanged machine) a few times, in random order. A candidate is compared only with the baselines of its own
//! round, so drift from round to round cancels. A round with a pause in it is begun anew. Must not know how a knob is
//! set. [`across`] handles candidates that need a boot. [`turns`] measures two set-ups of a user in turn, [`experiment`] the cells of
//! a written-down experiment.

pub mod across;
mod design;
mod effect;
pub mod experiment;
pub mod format;
mod judge;
pub mod pause;
mod screen;
mod standing;
#[cfg(test)]
mod tests;
pub mod turns;

pub use design::{ERROR_RATE, LOOKS, TooShort};
pub use effect::{CONFIDENCE, Effect, Metric};
pub use judge::{CandidateVerdict, Judged};
pub use screen::CANDIDATES_MAX as SCREENED_MAX;
pub use standing::{CampaignStage, CampaignState, Next};

use punctual_hist::{Counts, Nanos};
use punctual_numbers::report::{LatencyRow, Report};
use punctual_tuning::plan::Keep;
use serde::{Deserialize, Serialize};

/// A change of the machine that can be made and undone: a knob, or a script of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "format::CandidateTwin", into = "format::CandidateTwin")]
pub struct Candidate {
    /// Id of the knob, or `script:` and the path of the user's program.
    pub id: String,
    pub title: String,
    pub cost: String,
    /// Words of the kernel command line that the candidate needs, which take a boot; empty if it is set at run time.
    pub boot: Vec<Keep>,
}

/// The order and grouping in which candidates are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Each candidate is measured alone and compared with the unchanged machine.
    OneAtATime,
    /// First, many candidates are set at once, by a design of Plackett and Burman (1946) and its mirror image. Then the
    /// most promising ones are measured alone, in further runs.
    Screening,
    /// Each candidate is measured alone, and the less promising half is dropped repeatedly.
    Race,
}

/// The kind of thing that the id of a candidate names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried<'a> {
    Knob(&'a str),
    /// A program of the user, by its path. The id is the path after `script:`.
    Script(&'a str),
}

impl<'a> Tried<'a> {
    const SCRIPT: &'static str = "script:";

    pub fn parse(id: &'a str) -> Self {
        id.strip_prefix(Self::SCRIPT).map_or(Self::Knob(id), Self::Script)
    }

    pub fn id(self) -> String {
        match self {
            Self::Knob(id) => id.to_owned(),
            Self::Script(path) => [Self::SCRIPT, path].concat(),
        }
    }
}

/// Choices that are fixed before anything is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Design {
    pub candidates: Vec<Candidate>,
    pub strategy: Strategy,
    /// Seed of the random order within rounds.
    pub seed: u64,
    /// Number of planned rounds. The campaign ends earlier if every candidate has a verdict.
    pub rounds: u32,
    /// Number of runs of the baseline in each round.
    pub baselines: u32,
    /// Changes by less than this share count as neither better nor worse: 0.1 is a tenth.
    pub margin: f64,
}

/// A set of candidates, by their indices in the design, in ascending order; empty for the baseline.
pub type Arm = Vec<usize>;

/// The result of one measurement, over the releases due of all CPUs and loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Response {
    /// Median latency. A skipped release counts with the time until its thread ran next.
    #[serde(rename = "p50_ns", deserialize_with = "format::nanos")]
    pub p50: Nanos,
    /// The latency that 99.9 % of the releases did not exceed.
    #[serde(rename = "p99_9_ns", deserialize_with = "format::nanos")]
    pub p99_9: Nanos,
    /// Number of releases that were skipped or whose latency exceeded the budget.
    pub missed: u64,
    pub due: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunOutcome {
    Measured(Response),
    /// The candidates could not be measured, for this reason.
    Refused(String),
}

/// One run of a campaign: a measurement, or the attempt of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    /// The candidates that were set.
    #[serde(rename = "set")]
    pub arm: Arm,
    #[serde(flatten)]
    pub outcome: RunOutcome,
}

/// A design, and the runs made by it so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Campaign {
    #[serde(flatten)]
    pub design: Design,
    pub runs: Vec<Measurement>,
    /// Number of runs that were made when the time for the campaign was up. The round that ended there is the last one.
    pub closed_at: Option<usize>,
    /// Numbers of runs after which there was a pause, in ascending order. A block with a pause in it is begun anew, and
    /// its earlier runs are ignored.
    #[serde(rename = "begun_anew_after", default)]
    pub pauses: Vec<usize>,
}

impl Response {
    /// The result of a measurement from its report; `None` if no release was measured.
    pub fn of(report: &Report) -> Option<Self> {
        let (mut ran, mut skipped, mut late) = (Counts::new(), Counts::new(), 0u64);
        for cpu in &report.cpus {
            ran.merge(&cpu.ran);
            skipped.merge(&cpu.skipped);
            late = late.saturating_add(cpu.row.over_budget);
        }
        let row = LatencyRow::of(&ran, &skipped, late);
        Some(Self {
            p50: row.latency_due.p50?,
            p99_9: row.latency_due.p99_9?,
            missed: row.over_budget.saturating_add(row.skipped),
            due: row.due,
        })
    }
}

impl Campaign {
    pub fn new(design: Design) -> Self {
        Self { design, runs: Vec::new(), closed_at: None, pauses: Vec::new() }
    }

    /// The result so far, and the next step.
    pub fn standing(&self) -> CampaignState {
        CampaignState::of(self)
    }

    pub fn next(&self) -> Next {
        CampaignState::next_of(self)
    }

    /// Adds the outcome of a run. It is dropped if `arm` is not the arm of the next run.
    pub fn take(&mut self, arm: &[usize], outcome: RunOutcome) {
        if matches!(self.next(), Next::Measure { arm: wanted, .. } if wanted == arm) {
            self.runs.push(Measurement { arm: arm.to_vec(), outcome });
        }
    }

    /// Ends the campaign after the last complete round, because the time is up. Does nothing within a round.
    pub fn close(&mut self) {
        if matches!(self.next(), Next::Measure { place: 0, stage: CampaignStage::Rounds, .. }) {
            self.closed_at = Some(self.runs.len());
        }
    }

    /// Begins the current block anew, because too much time passed since the last measurement.
    pub fn begin_anew(&mut self) {
        if matches!(self.next(), Next::Measure { place, .. } if place > 0) {
            self.pauses.push(self.runs.len());
        }
    }
}
