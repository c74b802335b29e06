//! What one run can claim, on rungs L0 to L4. Each rung needs more data or more assumptions than the one before.
//!
//! ```text
//! L0 seen        the largest latency that was measured
//! L1 misses      upper limit of the probability of a miss
//! L2 next        probability of a new maximum in the next hour, day, year
//! L3 percentiles with limits that need no model
//! L4 beyond      the level exceeded once in an hour to a year, or why it is withheld and what would help
//! L5 a guarantee no measurement gives one
//! ```
//! All claims are about this machine under this load. This module must not contain wording, which renderers have.
//!
//! Each load phase has one set of claims for all its CPUs together, because users choose the load. Each CPU also has a
//! set of its own. A histogram of another program can claim less ([`SeriesClaims`]).

mod beyond;
mod by_cause;
mod course;
mod imported;
mod percentiles;
mod phase;
mod signs;
mod tails;
#[cfg(test)]
mod tests;

pub use beyond::{Maxima, beyond};
pub use imported::{Above, Assumed, SeriesClaims, unfit};
pub(crate) use percentiles::miss_upper;

use crate::explain::{Cause, Explanation};
use crate::recording::Recording;
use crate::stats::rhythm::Rhythm;
use crate::stats::tail::Estimate;
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::Nanos;
use serde::Serialize;

/// Confidence of all intervals and bounds.
pub const CONFIDENCE: f64 = 0.95;

/// Fewest misses of a CPU for which it may count as missing more often than the others.
const MISSES_TELLING: u128 = 5;

/// What one run can claim.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Claims {
    /// One entry for each load phase whose latencies count, in the order of the run.
    pub phases: Vec<PhaseClaims>,
}

/// What can be claimed of a load phase.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseClaims {
    pub phase: u16,
    pub cpus: CpuSet,
    /// Number of releases that came due, whether their thread ran or they were skipped.
    pub due: u64,
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// L0: the largest latency; for a skipped release, the time until its thread ran.
    #[serde(rename = "largest_ns")]
    pub largest: Option<Nanos>,
    /// Design effect: how much larger the variance of counts of exceedances is than for independent activations, 1 or
    /// more, with its own uncertainty. Each limit below is computed for the number of samples divided by the design
    /// effect at its level; this is the largest of these design effects.
    pub clustering: f64,
    /// How long the machine stays as it is before it changes. `None` if the run is too short to be cut into 16 cells.
    pub moods: Option<Moods>,
    /// The publications whose methods compute the limits.
    pub methods: Methods,
    /// Extremal index: the share of the largest latencies that come alone, 1 if all do. `None` if the run is too short.
    pub extremal_index: Option<f64>,
    /// How the run changes over time; `None` if it does not. Numbers of a run that changes do not hold for the next
    /// one.
    pub drift: Option<Drift>,
    /// L1: misses of the budget; `None` without a budget.
    pub misses: Option<Misses>,
    /// L2: the probability of a new largest latency in the time to come; empty if the run drifts or nothing ran.
    pub next: Vec<NewMaximum>,
    /// L3: percentiles with their limits, from 99 % on.
    pub percentiles: Vec<Percentile>,
    /// L4: the levels beyond what was measured, or the reason why they are withheld.
    #[serde(flatten, serialize_with = "answered")]
    #[cfg_attr(feature = "schema", schemars(with = "Answered<'static>"))]
    pub beyond: Result<Beyond, Refusal>,
    /// L4 for each cause: the levels that its latencies exceed, most frequent cause first; empty if causes were not looked
    /// for.
    pub by_cause: Vec<CauseClaims>,
    /// Signs of where the latencies come from.
    pub signs: Vec<Sign>,
    /// What can be claimed of each CPU; empty if there is only one.
    pub by_cpu: Vec<PhaseClaims>,
}

/// The levels beyond what was measured, or why they are withheld: two members, one of which is null.
#[derive(serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Answered<'a> {
    beyond: Option<&'a Beyond>,
    refused: Option<&'a Refusal>,
}

fn answered<S: serde::Serializer>(answer: &Result<Beyond, Refusal>, serializer: S) -> Result<S::Ok, S::Error> {
    Answered { beyond: answer.as_ref().ok(), refused: answer.as_ref().err() }.serialize(serializer)
}

/// How long the machine stays as it is before it changes, as the spectrum of counts of late activations shows it.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Moods {
    /// The probability that the machine has moods at all.
    #[serde(rename = "moods_probability")]
    pub probability: f64,
    /// The time for which the machine stays as it is, twice its correlation time. `None` if no moods were found.
    #[serde(rename = "mood_ns")]
    pub length: Option<Nanos>,
    /// Number of independent stretches in the run: its moods or, if it has none, the cells into which it was cut.
    #[serde(rename = "independent_stretches")]
    pub stretches: f64,
    /// Whether the moods are too long for this run: it may hold fewer than eight, which are too few to predict the next
    /// run. No limits are given then.
    pub too_long: bool,
    /// Length of a run that would hold enough moods; `None` if this run does.
    #[serde(rename = "run_wanted_ns")]
    pub run_wanted: Option<Nanos>,
}

/// The publications whose methods compute the limits, as authors and year.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Methods {
    /// Publication on exact limits of the probability of a miss.
    #[serde(rename = "misses_by")]
    pub misses: &'static str,
    /// Publication on limits of percentiles by the ranks of sorted values.
    #[serde(rename = "percentiles_by")]
    pub percentiles: &'static str,
    /// Publication on the number of independent values by the spectrum of counts.
    #[serde(rename = "moods_by")]
    pub moods: &'static str,
    /// Publication on levels beyond what was measured.
    #[serde(rename = "levels_by")]
    pub levels: &'static str,
}

impl Methods {
    /// The publications that this version follows.
    pub const USED: Self = Self {
        misses: "Clopper and Pearson 1934",
        percentiles: "Wilks 1941",
        moods: "Whittle 1953, Mueller and Watson 2008",
        levels: "Coles 2001",
    };
}

/// L4: levels of latency beyond what was measured.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Beyond {
    /// Latency from which on the tail law was fitted.
    #[serde(rename = "threshold_ns")]
    pub threshold: Nanos,
    /// Number of blocks whose maximum lies above the threshold.
    pub exceedances: u64,
    pub blocks: u64,
    #[serde(rename = "block_ns")]
    pub block: Nanos,
    /// Shape of the tail: below 0 it has an end, at 0 it is exponential, above 0 it is heavy.
    pub shape: Estimate,
    /// Probability of a fit at least this bad if the fitted law is right.
    #[serde(rename = "fit_odds")]
    pub fits: f64,
    /// Levels exceeded once in an hour, a day, a month and a year, as far as the data allow.
    pub levels: Vec<Level>,
    /// Times too long for this run, each with the length of a run that would suffice.
    pub too_far: Vec<TooFar>,
}

/// A latency that is exceeded once in a given time on average, with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Level {
    #[serde(rename = "once_in_ns")]
    pub once_in: Nanos,
    #[serde(rename = "value_ns")]
    pub value: Nanos,
    #[serde(rename = "low_ns")]
    pub low: Nanos,
    /// Upper limit of the level; `None` if the data do not give one.
    #[serde(rename = "high_ns")]
    pub high: Option<Nanos>,
}

/// A time for which the measurement is too short to give a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TooFar {
    #[serde(rename = "once_in_ns")]
    pub once_in: Nanos,
    #[serde(rename = "run_wanted_ns")]
    pub run_wanted: Nanos,
}

/// L2: the probability that a future measurement of this length brings a new maximum.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NewMaximum {
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    pub odds: f64,
}

/// What can be claimed of the latencies that one cause makes.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseClaims {
    #[serde(flatten)]
    pub cause: Cause,
    /// Number of late activations for which this cause is blamed first.
    pub activations: u64,
    /// L4: the levels that latencies of this cause exceed, or the reason why they are withheld.
    #[serde(flatten, serialize_with = "answered")]
    #[cfg_attr(feature = "schema", schemars(with = "Answered<'static>"))]
    pub beyond: Result<Beyond, Refusal>,
}

/// L1: misses of the budget, and the upper limit of their probability.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Misses {
    /// A release is a miss if its latency is larger than this, or if it was skipped.
    #[serde(rename = "budget_ns")]
    pub budget: Nanos,
    pub missed: u64,
    /// Design effect: how much larger the variance of the counts of misses is than for independent activations, 1 or
    /// more.
    #[serde(skip)]
    pub spread: f64,
    /// Upper limit of the probability of a miss, at 95 %. `None` if the machine changes too slowly for this run to
    /// predict the next one.
    #[serde(rename = "probability_upper_95")]
    pub upper: Option<f64>,
    /// Number of independent releases that the limit is computed from. `None` without a limit.
    #[serde(rename = "independent_releases")]
    pub independent: Option<u64>,
    /// The next claim, for which the run is too short: one miss in this number of releases, a power of ten.
    #[serde(rename = "next_claim_one_in")]
    pub wanted_one_in: u64,
    /// How much longer to measure for the next claim, if no more misses come; `None` if more time does not help.
    #[serde(rename = "more_time_ns")]
    pub more: Option<Nanos>,
}

/// L3: a percentile of latency with its limits.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Percentile {
    /// One value in this many is above the percentile: 100 for 99 %.
    pub one_in: u64,
    /// The percentile of the measured values; `None` with too few values.
    #[serde(rename = "value_ns")]
    pub value: Option<Nanos>,
    /// Lower limit at 95 %, two-sided.
    #[serde(rename = "low_95_ns")]
    pub low: Option<Nanos>,
    /// Upper limit at 95 %, two-sided; `None` if the run does not give one.
    #[serde(rename = "high_95_ns")]
    pub high: Option<Nanos>,
    /// How much longer to measure, without a larger latency, until the largest seen is a one-sided upper limit at 95 %;
    /// `None` if it is one already.
    #[serde(rename = "more_time_ns")]
    pub more: Option<Nanos>,
    /// Number of independent releases that the limits are computed from. `None` if limits are withheld.
    #[serde(rename = "independent_releases")]
    pub independent: Option<u64>,
}

/// How a run changes over time.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Drift {
    /// Kendall's tau of the block maxima against time, -1 to 1.
    pub tau: f64,
    /// Number of blocks above the threshold in the first and in the second half of the run.
    pub halves: (u64, u64),
}

/// Why no level beyond what was measured is claimed.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Refusal {
    /// There are no block maxima, because nothing says when values were measured, as in an imported histogram.
    NoTimes,
    /// The numbers of an imported file contradict each other, so nothing at all is claimed from them.
    Doubted,
    /// An imported file lists only what is above a threshold, so that nothing is known of the rest.
    Censored,
    /// This many values of an imported file are in no cell and may be larger than all others: releases that were
    /// skipped, or values that were lost.
    Missing { values: u64 },
    /// There are too few blocks of a second or more, or too few values of an import.
    TooFew {
        blocks: u64,
        wanted: u64,
        /// Additional time to measure until there are enough blocks or values.
        #[serde(rename = "more_ns")]
        more: Nanos,
    },
    /// Blocks depend on the blocks before them, over longer times than a run of this length can average out.
    Dependent {
        /// Rank correlation of neighbouring blocks.
        correlation: f64,
        /// Length of the blocks at which the correlation was found.
        #[serde(rename = "block_ns")]
        block: Nanos,
    },
    /// The latencies change over the run, as the drift shows.
    Drifts(Drift),
    /// Late activations come at regular times, so they follow a schedule and no law of chance.
    Regular(Rhythm),
    /// Late activations fall on every n-th activation (n is `activations`), so they follow a schedule.
    EveryNth { activations: u64 },
    /// Several causes make late activations; they are listed with their shares, the largest first.
    SeveralCauses { causes: Vec<CauseShare> },
    /// One cause of nearly fixed size makes late activations, so no tail law applies to it.
    FixedCause {
        cause: Cause,
        #[serde(rename = "size_ns")]
        size: Nanos,
    },
    /// The cause is known for only a part of the late activations.
    Sampled { known: u64, late: u64 },
    /// Bins of this width are too coarse for a tail of this scale. The scale is absent if the whole tail lies in one
    /// bin.
    Coarse {
        #[serde(rename = "width_ns")]
        width: Nanos,
        #[serde(rename = "scale_ns")]
        scale: Option<Nanos>,
    },
    /// No law fits above any threshold. The odds belong to the best fit.
    NoFit { odds: f64 },
    /// The tail is too heavy or its shape too uncertain. The members are the estimated shape and its limits.
    Shape { shape: f64, low: f64, high: f64 },
    /// The levels depend on where the tail is taken to begin: over the thresholds they differ by this part of their
    /// value.
    Unstable { part: f64 },
    /// The largest values do not follow the law of the others, so another mechanism made them.
    Apart {
        count: u64,
        #[serde(rename = "from_ns")]
        from: Nanos,
    },
}

impl PhaseClaims {
    /// The CPU with the largest latency, if it differs from all CPUs together: one of its percentiles lies above their
    /// limits, or it misses twice as often.
    pub fn latest_if_it_differs(&self) -> Option<&Self> {
        let latest = self.by_cpu.iter().max_by_key(|cpu| cpu.largest)?;
        let higher = |(one, all): (&Percentile, &Percentile)| matches!((one.low, all.high), (Some(low), Some(high)) if low > high);
        let differs = latest.percentiles.iter().zip(&self.percentiles).any(higher);
        (differs || latest.misses_more_than(self)).then_some(latest)
    }

    fn misses_more_than(&self, all: &Self) -> bool {
        let missed = |claims: &Self| claims.misses.map_or(0, |misses| u128::from(misses.missed));
        let (mine, theirs) = (missed(self) * u128::from(all.due), missed(all) * u128::from(self.due));
        missed(self) >= MISSES_TELLING && mine > 2 * theirs
    }
}

/// A hill of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hill {
    /// Latency at which the hill is highest.
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    /// Share of all values that lie on this hill.
    pub share: f64,
}

/// One of several causes, with its share.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseShare {
    #[serde(flatten)]
    pub cause: Cause,
    /// Share of the late activations that this cause made.
    pub share: f64,
}

/// A sign of where latencies come from.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Sign {
    /// The largest latencies of this CPU come at regular times. `activations` and `ticks` are the period in activations
    /// and in ticks of the kernel, if it is a whole number of them.
    Rhythm { cpu: u32, rhythm: Rhythm, activations: Option<u64>, ticks: Option<u64> },
    /// The largest latencies of this CPU fall on every n-th activation (n is `activations`).
    EveryNth { cpu: u32, activations: u64 },
    /// The latencies of this CPU have several hills, so several mechanisms make them.
    Modes {
        cpu: u32,
        /// The hills in ascending order of latency.
        hills: Vec<Hill>,
    },
}

impl Sign {
    pub fn cpu(&self) -> u32 {
        match self {
            Self::Rhythm { cpu, .. } | Self::EveryNth { cpu, .. } | Self::Modes { cpu, .. } => *cpu,
        }
    }
}

impl Claims {
    /// The claims of a recording. `explanation` has the causes of latency, if they were looked for.
    pub fn of(recording: &Recording, explanation: Option<&Explanation>) -> Self {
        let asked = recording.header.scenario.load_phases.len();
        let mut numbers: Vec<u16> = recording.phases.keys().map(|(phase, _)| *phase).collect();
        numbers.dedup();
        numbers.retain(|phase| !recording.causes.apart(*phase, asked));
        Self { phases: numbers.into_iter().map(|phase| phase::claims(recording, explanation, phase)).collect() }
    }

    /// Largest design effect of misses among the phases; `None` if a phase has no limit. The phases are judged
    /// separately, because a difference between their loads is not an effect of chance.
    pub(crate) fn miss_spread(&self) -> Option<f64> {
        let misses = || self.phases.iter().filter_map(|phase| phase.misses);
        let is_told = misses().all(|misses| misses.upper.is_some());
        is_told.then(|| misses().map(|misses| misses.spread).fold(1.0, f64::max))
    }
}
