//! What a comparison tells.

use super::comparable::Difference;
use super::imported::Lacking;
use super::{CauseChange, Options};
use crate::claims::Refusal;
use crate::foreign::Series;
use crate::report::Distrust;
use punctual_hist::Nanos;

/// Recordings held against the first of them.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// How was compared.
    #[serde(flatten)]
    pub options: Options,
    /// The first recording.
    pub first: Side,
    /// Each of the others against it.
    pub others: Vec<Against>,
    /// So many rows were looked at; the odds of each allow for that.
    #[serde(rename = "rows")]
    pub looked_at: usize,
}

/// One recording.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Side {
    /// How it is called.
    pub name: String,
    /// Who measured it.
    #[serde(flatten)]
    pub origin: Origin,
    /// How long was measured, where it is stated.
    #[serde(rename = "measured_ns")]
    pub measured: Option<Nanos>,
    /// Why its numbers are to be doubted.
    pub doubts: Vec<Distrust>,
    /// Values of what ran, by CPU and load, for pictures.
    #[serde(skip)]
    pub latencies: Vec<(Group, Series)>,
}

/// Who measured, and when.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "origin", rename_all = "kebab-case")]
pub enum Origin {
    /// This program.
    Punctual {
        /// Its version.
        version: String,
        /// Wall clock at the start, nanoseconds since 1970.
        started_unix_ns: u64,
    },
    /// Another one.
    Imported {
        /// The name of the format.
        format: &'static str,
        /// The program, with its version where it says so.
        program: Option<String>,
        /// When it began, in the file's own words.
        started: Option<String>,
        /// What was repaired, doubted or lost when it was read.
        notes: Vec<String>,
    },
}

/// A CPU under a load.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    /// The load, as the user wrote it; `None` where a file does not state it.
    pub load: Option<String>,
    /// The measured CPU; `None` where a file does not state it.
    pub cpu: Option<u32>,
    /// What a file of another program calls it: `thread 0`.
    pub series: Option<String>,
    /// Measured while it was traced.
    pub traced: bool,
}

/// One recording against the first.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Against {
    /// It.
    #[serde(rename = "recording")]
    pub side: Side,
    /// What differs beside the numbers, what matters most first.
    pub differences: Vec<Difference>,
    /// It should not have been compared: a difference refuses it, or what is held against each other is not the same.
    pub refused: bool,
    /// CPUs and loads that only one of them has.
    #[serde(rename = "not_compared")]
    pub left_out: Vec<LeftOut>,
    /// What a file of another program does not hold, so that it was not compared.
    #[serde(rename = "not_known")]
    pub lacks: Vec<Lacking>,
    /// CPUs and loads that both have.
    pub groups: Vec<GroupResult>,
    /// What changed among causes; `None` where not both looked for them.
    pub causes: Option<Vec<CauseChange>>,
    /// All of it in one word.
    pub verdict: Verdict,
    /// How far out there was enough to tell, in parts per million: 990 000 is the 99th percentile, of every CPU and load.
    pub told_to_ppm: Option<u32>,
    /// How long each of both would have to be for all of the body to be told; `None` where it is, or nobody can say.
    #[serde(rename = "wants_ns")]
    pub wants: Option<Nanos>,
}

/// What was not compared.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Which.
    #[serde(flatten)]
    pub group: Group,
    /// It is the first recording that has it.
    pub in_first: bool,
}

/// One CPU under one load, in both recordings.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupResult {
    /// Which, in the first recording.
    #[serde(flatten)]
    pub group: Group,
    /// What of the second it was held against, where that is not called the same.
    pub against: Option<Group>,
    /// Why cells of a file do not speak for all that was measured, as its claims say it: (first, second).
    pub unfit: (Option<Refusal>, Option<Refusal>),
    /// Releases due: (first, second); those that ran, where a file does not state how many were skipped.
    pub due: (u64, u64),
    /// Cliff's delta: how much more often an activation of the second is the later of a pair, -1 to 1; `None` where
    /// nothing ran.
    #[serde(rename = "cliffs_delta")]
    pub delta: Option<f64>,
    /// What was looked at.
    pub rows: Vec<Row>,
    /// All of it in one word.
    pub verdict: Verdict,
}

/// One number of both recordings.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// Which.
    #[serde(flatten)]
    pub what: What,
    /// Of the first: nanoseconds, or misses per million.
    pub first: Option<f64>,
    /// Of the second.
    pub second: Option<f64>,
    /// What became of it.
    pub change: Option<Change>,
    /// Odds that chance alone changes so much beyond the margin, for this row alone; `None` where nothing can be said.
    pub odds: Option<f64>,
    /// The same, allowing for how many rows were looked at.
    pub odds_of_all: Option<f64>,
    /// What follows.
    pub verdict: Verdict,
    /// Why it decides nothing, whatever the numbers are.
    pub withheld: Option<Withheld>,
    /// How long each recording would have to be for this to be told; `None` where it is, or nobody can say.
    #[serde(rename = "wants_ns")]
    pub wants: Option<Nanos>,
    /// The second is the larger, if anything.
    #[serde(skip)]
    pub(super) upwards: bool,
    /// What a hypervisor took from the later of the two would make such a difference alone.
    #[serde(skip)]
    pub(super) stealable: bool,
}

/// Why a row decides nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Withheld {
    /// What makes a file unfit.
    Unfit,
    /// What a hypervisor took from the later of the two would make the difference alone.
    Stolen,
}

/// What is held against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum What {
    /// A percentile over the releases due, in parts per million; a skipped one counts with the time until its thread ran,
    /// and in a file of another program as any value.
    Percentile { ppm: u32 },
    /// Misses: later than this budget, or skipped; without a budget only skipped.
    Misses {
        #[serde(rename = "budget_ns")]
        budget: Option<Nanos>,
    },
    /// The largest of each block of this length; so many blocks of (first, second).
    BlockMaxima {
        #[serde(rename = "block_ns")]
        block: Nanos,
        blocks: (usize, usize),
    },
    /// Blocks that reach beyond all of the other recording, of so many blocks.
    Beyond {
        /// Blocks of the first beyond the second.
        #[serde(rename = "first_blocks")]
        first: usize,
        /// Blocks of the second beyond the first.
        #[serde(rename = "second_blocks")]
        second: usize,
        /// Blocks there are: (first, second).
        blocks: (usize, usize),
    },
}

/// What became of a number.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Change {
    /// Second minus first, in nanoseconds. A limit that nobody knows is infinite.
    Difference(Limits),
    /// Second to first.
    Ratio(Limits),
}

/// A number with its limits.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// What was seen; `None` where it cannot be computed.
    pub seen: Option<f64>,
    /// Lower limit.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub low: f64,
    /// Upper limit.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub high: f64,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The second is better.
    Better,
    /// The second is worse.
    Worse,
    /// Better in some, worse in others.
    Mixed,
    /// None was shown, and one that matters would have been.
    NoDifferenceShown,
    /// None was shown, and one that matters could have been missed.
    NotEnoughData,
}

/// Why recordings were not compared.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// There is nothing to hold it against.
    Alone,
    /// The margin is no part of anything.
    Margin(f64),
    /// The numbers of the named one mean something else; all that refuses it, first what matters most.
    Incomparable(String, Vec<Difference>),
    /// Nothing of the named one and the first can be held against each other, because of what makes cells of a file unfit:
    /// of the first, of the named one.
    Unfit(String, Option<Refusal>, Option<Refusal>),
    /// The named one has no CPU and load in common with the first.
    NothingInCommon(String, Vec<LeftOut>),
}
