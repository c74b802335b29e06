//! The result of a comparison, as JSON documents and renderers have it.

use super::comparable::Difference;
use super::{CauseChange, Options};
use crate::claims::Refusal;
use crate::foreign::Series;
use crate::report::{Distrust, may_differ_by_doubt};
use crate::scenario::{Mechanism, Scenario};
use crate::stats::float::whole;
use punctual_hist::Nanos;

/// Recordings compared with the first of them.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    #[serde(flatten)]
    pub options: Options,
    pub first: Side,
    /// The comparison of each other recording with the first.
    pub others: Vec<Against>,
    /// Number of rows that were tested. The odds of each row are corrected for this number.
    #[serde(rename = "rows")]
    pub looked_at: usize,
    /// The probability that any row of a comparison of equal systems is called better or worse.
    pub error_rate: f64,
}

/// One recording, or one file of another program.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Side {
    /// The name shown to the reader, mostly the path of its file.
    pub name: String,
    #[serde(flatten)]
    pub origin: Origin,
    /// Length of the measurement in nanoseconds; `None` if the file does not state it.
    #[serde(rename = "measured_ns")]
    pub measured: Option<Nanos>,
    /// Reasons not to trust the numbers of this side.
    pub doubts: Vec<Distrust>,
    /// Names of the recordings of this side, if it has several.
    pub runs: Vec<String>,
    /// Latency of the activations that ran, by CPU and load, for pictures.
    #[serde(skip)]
    pub latencies: Vec<(Group, Series)>,
}

/// The program that measured, and when.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "origin", rename_all = "kebab-case")]
pub enum Origin {
    /// A recording that punctual measured.
    Punctual {
        version: String,
        /// Wall clock at the start, nanoseconds since 1970.
        started_unix_ns: u64,
    },
    /// A file that another program measured.
    Imported {
        format: &'static str,
        /// The program, with its version where the file says so.
        program: Option<String>,
        /// Start of the measurement, as the file writes it.
        started: Option<String>,
        /// What was repaired, doubted or lost when the file was read.
        notes: Vec<String>,
    },
}

/// One CPU that was measured under one load.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    /// The load, as the user wrote it; `None` if a file does not state it.
    pub load: Option<String>,
    /// The measured CPU; `None` if a file does not state it.
    pub cpu: Option<u32>,
    /// The name in a file of another program, such as `thread 0`.
    pub series: Option<String>,
    /// Whether the kernel was traced during the measurement, which adds a little latency.
    pub traced: bool,
}

/// The comparison of one recording with the first.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Against {
    #[serde(rename = "recording")]
    pub side: Side,
    /// Differences beside the numbers, the most important ones first.
    pub differences: Vec<Difference>,
    /// Whether the two recordings should not have been compared, because a difference forbids it or paired groups are
    /// not alike.
    pub refused: bool,
    /// CPUs and loads that only one of the two recordings has.
    #[serde(rename = "not_compared")]
    pub left_out: Vec<LeftOut>,
    /// Facts that a file of another program does not hold, so that they were not compared.
    #[serde(rename = "not_known")]
    pub lacks: Vec<Lacking>,
    /// CPUs and loads that both recordings have.
    pub groups: Vec<GroupResult>,
    /// Changes among the causes of latency; `None` unless both recordings were traced.
    pub causes: Option<Vec<CauseChange>>,
    /// What the other kernel changes; `None` unless the recordings differ in the kernel that wakes the threads.
    pub kernels: Option<SecondKernel>,
    /// The basis of the verdict: the weakest one of any group.
    pub basis: Basis,
    /// The verdict that would hold if the values of both were independent; `None` unless the verdict was withheld
    /// because independence is not known.
    pub if_independent: Option<Compared>,
    /// The verdict of the comparison over all groups.
    pub verdict: Compared,
    /// The furthest percentile for which every CPU and load had enough data, in parts per million: 990 000 is p99.
    pub told_to_ppm: Option<u32>,
    /// Estimated length in nanoseconds that each recording needs for all percentiles up to p99 to be decided; `None` if
    /// they are decided or it cannot be estimated.
    #[serde(rename = "wants_ns")]
    pub wants: Option<Nanos>,
    /// The source of the error that differences are compared with.
    pub design: Design,
    /// Why longer recordings of the same kind would not decide; `None` if they would, or if there is a decision.
    pub undecided: Option<Undecided>,
}

/// The source of the error that differences are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Design {
    /// One recording on each side. The error comes from the variation between stretches of a run.
    Pair,
    /// Several recordings on each side. The error comes from the variation between the runs of a side.
    Runs {
        /// Number of recordings of the first side.
        #[serde(rename = "first_runs")]
        first: usize,
        /// Number of recordings of the second side.
        #[serde(rename = "second_runs")]
        second: usize,
    },
    /// Rounds, in which both sides were measured one after the other. The error comes from the variation between the
    /// differences of the rounds.
    Rounds {
        /// Number of rounds, each with one recording of either side.
        rounds: usize,
    },
}

/// Why a comparison cannot be decided by these recordings.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum Undecided {
    /// The moods of the machine are too long for the runs: the two sides have to be measured alternately.
    Moods(Mood),
    /// There are too few runs for their differences to show anything smaller than this factor.
    FewRuns {
        /// Smallest factor by which a percentile had to change to be seen; null if no change could be seen.
        #[serde(rename = "least_factor")]
        least: f64,
    },
}

/// How long the machine stays in one mood, and how long the runs were.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mood {
    /// Length of a mood in nanoseconds: the time in which its autocorrelation falls to a third.
    #[serde(rename = "mood_ns")]
    pub length: Nanos,
    /// Length in nanoseconds of the shorter of the two runs.
    #[serde(rename = "run_ns")]
    pub run: Nanos,
    /// The probability that a mood is longer than [`Mood::longest`].
    #[serde(skip)]
    too_long: f64,
}

impl Mood {
    /// The longest mood, in seconds, for which a run of this length sees enough moods for a decision.
    pub(super) fn longest(run: Nanos) -> f64 {
        run.as_secs_f64() / MOODS_LEAST
    }

    pub(super) fn of(seconds: f64, run: Nanos, too_long: f64) -> Self {
        let length = Nanos::from_ns(whole(seconds * 1e9));
        Self { length, run, too_long }
    }

    /// Number of moods that the shorter run saw.
    pub fn seen(&self) -> f64 {
        self.run.as_secs_f64() / self.length.as_secs_f64().max(1e-9)
    }

    /// Whether the run saw fewer moods than `MOODS_MIN`. Then measuring both sides alternately is advised, not a longer run.
    pub fn is_long(&self) -> bool {
        self.seen() < MOODS_MIN
    }

    /// Whether the run saw too few moods for any decision.
    pub(super) fn is_all(&self) -> bool {
        self.seen() < MOODS_LEAST || self.too_long > TOO_LONG
    }
}

/// Runs that saw fewer moods than this decide nothing.
const MOODS_LEAST: f64 = 4.0;
/// Runs decide nothing if, with at least this probability, moods are longer than [`Mood::longest`].
const TOO_LONG: f64 = 0.2;

/// If runs that saw fewer moods than this do not decide, a run a few times as long would hardly do so either.
const MOODS_MIN: f64 = 20.0;

impl Against {
    /// Whether doubts about either side may have caused the difference that was found, or hidden a difference.
    pub fn is_doubtful_beside(&self, first: &Side) -> bool {
        let (first, second) = (&first.doubts, &self.side.doubts);
        match self.verdict {
            Compared::Better => may_differ_by_doubt(second, first),
            Compared::Worse => may_differ_by_doubt(first, second),
            _ => may_differ_by_doubt(first, second) || may_differ_by_doubt(second, first),
        }
    }
}

/// What limits and odds know about the dependence of activations on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Both have times: stretches of time show how activations depend on each other.
    Times,
    /// A file lists its values in order: stretches of the list show how the values depend on each other.
    Order,
    /// A file has neither times nor order: limits hold if values that are 50 activations apart are independent.
    Independent,
}

/// A CPU and load that only one of the two recordings has.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    #[serde(flatten)]
    pub group: Group,
    /// Whether the first recording is the one that has it.
    pub in_first: bool,
}

impl LeftOut {
    pub(super) fn of<'a>(first: impl Iterator<Item = &'a Group>, second: impl Iterator<Item = &'a Group>) -> Vec<Self> {
        let left = |in_first: bool| move |group: &Group| Self { group: group.clone(), in_first };
        first.map(left(true)).chain(second.map(left(false))).collect()
    }
}

/// A fact that a file of another program does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Lack {
    /// Times of activations are missing: percentiles are compared by ranks, with 50 activations counted as one, and the
    /// tail is not compared.
    Time,
    /// Times of activations are missing, but not their order: limits are as wide as stretches of the list differ, and
    /// the tail is not compared.
    Instants,
    /// The number of skipped releases is missing.
    Skips,
    /// Latencies from this one on are counted but have no values.
    Beyond {
        #[serde(rename = "from_ns")]
        from: Nanos,
    },
    /// Counts are missing: the file has only percentiles or extremes, for which there are no odds.
    Counts,
    /// Load, scheduling, clock and settings are missing.
    Settings,
}

/// A missing fact, and which of the two files lacks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lacking {
    #[serde(flatten)]
    pub lack: Lack,
    pub first: bool,
    pub second: bool,
}

/// One CPU under one load, in both recordings.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupResult {
    /// The CPU and load in the first recording.
    #[serde(flatten)]
    pub group: Group,
    /// The CPU and load in the second recording; `None` if they are the same as in the first.
    pub against: Option<Group>,
    /// Why the counts of a file do not stand for everything that was measured: (first, second).
    pub unfit: (Option<Refusal>, Option<Refusal>),
    /// Number of releases due: (first, second). For a file that does not state how many were skipped, it is the number
    /// of those that ran.
    pub due: (u64, u64),
    /// Cliff's delta, -1 to 1: the probability that an activation of the second is later than one of the first, minus
    /// the probability that it is earlier. `None` if nothing ran.
    #[serde(rename = "cliffs_delta")]
    pub delta: Option<f64>,
    /// The comparison of each number. If the basis is `independent`, the verdicts of rows hold for independent values
    /// only.
    pub rows: Vec<RowResult>,
    /// How long the machine stays in one mood; `None` if the runs show no moods.
    pub mood: Option<Mood>,
    /// What the verdicts of the rows know about the dependence of activations.
    pub basis: Basis,
    /// The verdict that would hold if the values were independent; `None` unless the verdict was withheld because
    /// independence is not known.
    pub if_independent: Option<Compared>,
    /// The verdict of the group over all rows.
    pub verdict: Compared,
}

/// One number, compared between both recordings.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowResult {
    #[serde(flatten)]
    pub what: ComparedNumber,
    /// The number in the first recording: nanoseconds, or misses or events per million releases.
    pub first: Option<f64>,
    /// The number in the second recording, in the same unit.
    pub second: Option<f64>,
    pub change: Option<Change>,
    /// Probability that two equal systems differ this much by chance, for this row alone; `None` if it cannot be
    /// computed or the row decides nothing.
    pub odds: Option<f64>,
    /// The same probability, corrected for the number of rows that were tested.
    pub odds_of_all: Option<f64>,
    pub verdict: Compared,
    /// Why this row decides nothing, whatever its numbers are.
    pub withheld: Option<Withheld>,
    /// Estimated length in nanoseconds that each recording needs for this row to be decided; `None` if it is decided or
    /// it cannot be estimated.
    #[serde(rename = "wants_ns")]
    pub wants: Option<Nanos>,
    /// Design effect: the factor by which the variance of this number exceeds its variance for independent activations,
    /// as the interval allows for it. `None` if it is not known.
    pub design_effect: Option<f64>,
    /// Whether the number of the second recording is the larger one, if the two differ.
    #[serde(skip)]
    pub(super) upwards: bool,
    /// Whether the time that a hypervisor took from the recording with the larger number can explain the difference.
    #[serde(skip)]
    pub(super) stealable: bool,
}

/// Why a row decides nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Withheld {
    /// A file cannot give this number reliably.
    Unfit,
    /// The time that a hypervisor took from the recording with the larger number can explain the difference.
    Stolen,
    /// The runs or lists saw too few moods of the machine, so the two may have met different ones.
    Moods,
}

/// The number that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum ComparedNumber {
    /// A percentile of all releases due, in parts per million. A skipped release counts with the time until its thread
    /// ran; in a file of another program it may have any latency.
    Percentile { ppm: u32 },
    /// Releases that were later than the budget or were skipped; without a budget only the skipped ones.
    Misses {
        #[serde(rename = "budget_ns")]
        budget: Option<Nanos>,
    },
    /// Number of events per million releases. An event is a release later than a threshold that is computed from both
    /// recordings together.
    Rare {
        /// Latency in nanoseconds that counts as an event if it is exceeded.
        #[serde(rename = "threshold_ns")]
        threshold: Nanos,
        /// Number of releases of the first recording that exceeded the threshold.
        #[serde(rename = "first_events")]
        first: u64,
        /// Number of releases of the second recording that exceeded the threshold.
        #[serde(rename = "second_events")]
        second: u64,
    },
    /// The median size of the clusters of rare events, each taken as its largest latency.
    RareSizes {
        /// Latency in nanoseconds that counts as an event if it is exceeded.
        #[serde(rename = "threshold_ns")]
        threshold: Nanos,
        /// Numbers of clusters: (first, second).
        clusters: (usize, usize),
    },
}

/// The change of a number, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Change {
    /// The second value minus the first, in nanoseconds. An unknown limit is infinite.
    Difference(Limits),
    /// The second value divided by the first.
    Ratio(Limits),
}

/// A number with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// The observed value; `None` if it cannot be computed.
    pub seen: Option<f64>,
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub low: f64,
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub high: f64,
}

/// The verdict of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Compared {
    /// The second recording is better than the first.
    Better,
    /// The second recording is worse than the first.
    Worse,
    /// The second recording is better in some rows and worse in others.
    Mixed,
    /// No difference was shown, and the limits exclude one beyond the margin.
    NoDifferenceShown,
    /// No difference beyond the margin was shown, but a larger one could have been missed.
    NotEnoughData,
}

impl Compared {
    pub(crate) fn of_all(verdicts: impl Iterator<Item = Self>) -> Self {
        let verdicts: Vec<Self> = verdicts.collect();
        let found = |wanted: Self| verdicts.contains(&wanted);
        let (better, worse) = (found(Self::Better), found(Self::Worse));
        match (better, worse) {
            _ if found(Self::Mixed) || (better && worse) => Self::Mixed,
            (true, _) => Self::Better,
            (_, true) => Self::Worse,
            _ if found(Self::NoDifferenceShown) && !found(Self::NotEnoughData) => Self::NoDifferenceShown,
            _ => Self::NotEnoughData,
        }
    }
}

/// Why recordings were not compared. A text names the recording that could not be compared with the first.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// Only one recording was given.
    Alone,
    /// A side of several recordings was requested, but contains a file of another program.
    NoTimes(String),
    /// The two sides of rounds have different numbers of recordings: (first side, second side).
    Unpaired(usize, usize),
    /// The margin is not a number from 0 to below 10.
    Margin(f64),
    /// The numbers of the two recordings mean different things, because of these differences, the gravest first.
    Incomparable(String, Vec<Difference>),
    /// The counts of one of the two do not stand for what was measured: (name of the other recording, reason for the
    /// first, reason for the other).
    Unfit(String, Option<Refusal>, Option<Refusal>),
    NothingInCommon(String, Vec<LeftOut>),
}

/// Two recordings that differ in the kernel that wakes the threads.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SecondKernel {
    /// How the threads of the first recording wait, which names their kernel.
    #[serde(rename = "first_mechanism")]
    pub first: Mechanism,
    /// The same for the second recording.
    #[serde(rename = "second_mechanism")]
    pub second: Mechanism,
    /// The furthest decided percentile of each CPU and load; if none is decided, the furthest one with odds. A group with
    /// too little data for any is missing.
    pub gains: Vec<Gain>,
    /// How often a real-time core took threads in-band, in all recordings of both sides.
    pub in_band_switches: u64,
    /// What was measured in the first recording, for the command that measures more.
    #[serde(skip)]
    pub scenario: Scenario,
}

/// The change of one percentile on one CPU under one load.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gain {
    #[serde(flatten)]
    pub group: Group,
    /// The percentile, in parts per million.
    pub ppm: u32,
    /// Its latency in the first recording, in nanoseconds.
    #[serde(rename = "first_ns")]
    pub first: f64,
    /// Its latency in the second recording, in nanoseconds.
    #[serde(rename = "second_ns")]
    pub second: f64,
    pub change: Change,
    pub verdict: Compared,
}
