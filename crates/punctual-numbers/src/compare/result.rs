//! What a comparison tells.

use super::comparable::Difference;
use super::{CauseChange, Options};
use crate::claims::Refusal;
use crate::foreign::Series;
use crate::report::{Distrust, may_differ_by_doubt};
use punctual_hist::Nanos;

/// Recordings held against the first of them.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    #[serde(flatten)]
    pub options: Options,
    pub first: Side,
    /// Each of the other recordings against the first.
    pub others: Vec<Against>,
    /// Number of rows that were tested. The odds of each row are corrected for this number.
    #[serde(rename = "rows")]
    pub looked_at: usize,
    /// The odds that any verdict of the whole comparison is wrong where nothing differs: all rows and tests together.
    pub error_rate: f64,
}

/// One recording, or one file of another program.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Side {
    /// What the reader calls it: mostly the path of its file.
    pub name: String,
    #[serde(flatten)]
    pub origin: Origin,
    /// Length of the measurement in nanoseconds; `None` where the file does not state it.
    #[serde(rename = "measured_ns")]
    pub measured: Option<Nanos>,
    /// Reasons not to trust its numbers.
    pub doubts: Vec<Distrust>,
    /// Names of the recordings of this side, where it has several.
    pub runs: Vec<String>,
    /// Latency of the activations that ran, by CPU and load, for pictures.
    #[serde(skip)]
    pub latencies: Vec<(Group, Series)>,
}

/// Which program measured, and when.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "origin", rename_all = "kebab-case")]
pub enum Origin {
    /// It was measured by punctual.
    Punctual {
        version: String,
        /// Wall clock at the start, nanoseconds since 1970.
        started_unix_ns: u64,
    },
    /// It was measured by another program.
    Imported {
        format: &'static str,
        /// The program, with its version where the file says so.
        program: Option<String>,
        /// When it began, in the file's own words.
        started: Option<String>,
        /// What was repaired, doubted or lost when the file was read.
        notes: Vec<String>,
    },
}

/// One measured CPU under one load.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    /// The load, as the user wrote it; `None` where a file does not state it.
    pub load: Option<String>,
    /// The measured CPU; `None` where a file does not state it.
    pub cpu: Option<u32>,
    /// The name in a file of another program, such as `thread 0`.
    pub series: Option<String>,
    /// The kernel was traced meanwhile, which adds a little latency.
    pub traced: bool,
}

/// One recording against the first.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Against {
    #[serde(rename = "recording")]
    pub side: Side,
    /// What differs beside the numbers, what matters most first.
    pub differences: Vec<Difference>,
    /// The two should not have been compared: a difference forbids it, or groups are paired that are not alike.
    pub refused: bool,
    /// CPUs and loads that only one of them has.
    #[serde(rename = "not_compared")]
    pub left_out: Vec<LeftOut>,
    /// What a file of another program does not hold, so that it was not compared.
    #[serde(rename = "not_known")]
    pub lacks: Vec<Lacking>,
    /// CPUs and loads that both have.
    pub groups: Vec<GroupResult>,
    /// What changed among the causes of latency; `None` where not both recordings were traced.
    pub causes: Option<Vec<CauseChange>>,
    /// What the verdict rests on: the weakest basis of any group.
    pub basis: Basis,
    /// The verdict if the values of both were independent of each other, where that is all that is known of them; `None`
    /// where the verdict says it.
    pub if_independent: Option<Compared>,
    /// The verdict over all groups.
    pub verdict: Compared,
    /// The furthest percentile for which every CPU and load had enough data, in parts per million: 990 000 is the 99th.
    pub told_to_ppm: Option<u32>,
    /// Estimated length in nanoseconds that each recording needs for all percentiles up to p99 to be decided; `None` where
    /// they are decided, and where it cannot be estimated.
    #[serde(rename = "wants_ns")]
    pub wants: Option<Nanos>,
    /// Where the error of the comparison comes from.
    pub design: Design,
    /// Why there is not enough data, where more of the same would not help.
    pub undecided: Option<Undecided>,
}

/// Where the error of a comparison comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Design {
    /// One recording on each side: from how stretches of a run differ from each other.
    Pair,
    /// Several recordings on each side: from how the runs of a side differ from each other.
    Runs {
        /// Number of recordings of the first side.
        #[serde(rename = "first_runs")]
        first: usize,
        /// Number of recordings of the second side.
        #[serde(rename = "second_runs")]
        second: usize,
    },
    /// Both sides were measured in turn: from how the differences of the rounds differ from each other.
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
    /// The moods of the machine are too long for the runs: both sides have to be measured in turn.
    Moods(Mood),
    /// There are too few runs for their differences to show anything smaller than this factor.
    FewRuns {
        /// Smallest factor by which a percentile had to change to be seen; null where nothing could be.
        #[serde(rename = "least_factor")]
        least: f64,
    },
}

/// How long the machine stays alike, and how much of that a run saw.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mood {
    /// Length of a mood in nanoseconds: the time in which most of it is forgotten.
    #[serde(rename = "mood_ns")]
    pub length: Nanos,
    /// Length in nanoseconds of the shorter of the two runs.
    #[serde(rename = "run_ns")]
    pub run: Nanos,
}

impl Mood {
    pub(super) fn of(seconds: f64, run: Nanos) -> Self {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
        let length = Nanos::from_ns((seconds * 1e9) as u64);
        Self { length, run }
    }

    /// How many moods the run has seen.
    pub fn seen(&self) -> f64 {
        self.run.as_secs_f64() / self.length.as_secs_f64().max(1e-9)
    }

    /// Whether the run has seen too few moods to be held against another one.
    pub fn is_long(&self) -> bool {
        self.seen() < MOODS_MIN
    }

    /// Whether the run has seen too few moods for a decision: what it has not seen of them cannot be known.
    pub(super) fn is_all(&self) -> bool {
        self.seen() < MOODS_LEAST
    }
}

/// A run that has seen fewer moods than this decides nothing.
const MOODS_LEAST: f64 = 4.0;

/// A run that has seen fewer moods than this is not enough to decide by, and a run a few times as long would hardly be.
const MOODS_MIN: f64 = 20.0;

impl Against {
    /// Whether doubts of either side can have made the difference that was found, or hidden one.
    pub fn is_doubtful_beside(&self, first: &Side) -> bool {
        let (first, second) = (&first.doubts, &self.side.doubts);
        match self.verdict {
            Compared::Better => may_differ_by_doubt(second, first),
            Compared::Worse => may_differ_by_doubt(first, second),
            _ => may_differ_by_doubt(first, second) || may_differ_by_doubt(second, first),
        }
    }
}

/// What limits and odds rest on of how activations depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Both say when: stretches of time show how activations depend on each other.
    Times,
    /// A file lists its values in order: stretches of the list show it.
    Order,
    /// A file says neither: everything holds as if values that are 50 activations apart were independent.
    Independent,
}

/// A CPU and load that only one of two has.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    #[serde(flatten)]
    pub group: Group,
    /// It is the first recording that has it.
    pub in_first: bool,
}

impl LeftOut {
    pub(super) fn of<'a>(first: impl Iterator<Item = &'a Group>, second: impl Iterator<Item = &'a Group>) -> Vec<Self> {
        let left = |in_first: bool| move |group: &Group| Self { group: group.clone(), in_first };
        first.map(left(true)).chain(second.map(left(false))).collect()
    }
}

/// What a file of another program does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Lack {
    /// Times of activations are missing: percentiles are compared by ranks, with 50 activations counted as one, and the
    /// tail is not compared.
    Time,
    /// Times of activations are missing, but not their order: limits are as wide as stretches of the list differ, and the
    /// tail is not compared.
    Instants,
    /// The number of skipped releases is missing.
    Skips,
    /// Latencies beyond this one are only counted.
    Beyond {
        #[serde(rename = "from_ns")]
        from: Nanos,
    },
    /// Counts are missing: the file has percentiles or extremes alone, for which there are no odds.
    Counts,
    /// Load, scheduling, clock and settings are missing.
    Settings,
}

/// A lack, and which of the two has it.
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
    /// The CPU and load in the second recording, if they are not called the same there.
    pub against: Option<Group>,
    /// Why the counts of a file do not stand for all that was measured: (first, second).
    pub unfit: (Option<Refusal>, Option<Refusal>),
    /// Releases due: (first, second). Of a file that does not state how many were skipped, those that ran.
    pub due: (u64, u64),
    /// Cliff's delta: how much more often an activation of the second is the later of a pair, -1 to 1; `None` where
    /// nothing ran.
    #[serde(rename = "cliffs_delta")]
    pub delta: Option<f64>,
    /// Each number by itself. Where the basis is that values were independent, so are the verdicts of rows.
    pub rows: Vec<RowResult>,
    /// How long the machine stays alike; `None` where it has no moods that the runs show.
    pub mood: Option<Mood>,
    /// What the verdicts of its rows rest on.
    pub basis: Basis,
    /// The verdict if its values were independent of each other; `None` where the verdict says it.
    pub if_independent: Option<Compared>,
    /// The verdict over all rows.
    pub verdict: Compared,
}

/// One number of both recordings.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowResult {
    #[serde(flatten)]
    pub what: What,
    /// Value in the first recording: nanoseconds, or misses per million.
    pub first: Option<f64>,
    /// Value in the second recording, in the same unit.
    pub second: Option<f64>,
    pub change: Option<Change>,
    /// Probability that chance alone makes a change this large where nothing differs, for this row alone; `None` where it
    /// cannot be computed, and where the row decides nothing.
    pub odds: Option<f64>,
    /// The same probability, corrected for the number of rows that were tested.
    pub odds_of_all: Option<f64>,
    pub verdict: Compared,
    /// Why this row decides nothing, whatever its numbers are.
    pub withheld: Option<Withheld>,
    /// Estimated length in nanoseconds that each recording needs for this row to be decided; `None` where it is decided,
    /// and where it cannot be estimated.
    #[serde(rename = "wants_ns")]
    pub wants: Option<Nanos>,
    /// How many times as large the variance of this number is as with independent activations, as the interval allows for
    /// it; `None` where it is not known.
    pub design_effect: Option<f64>,
    /// If the two differ, the second is the larger.
    #[serde(skip)]
    pub(super) upwards: bool,
    /// Time that a hypervisor took from the later of the two would suffice for such a difference.
    #[serde(skip)]
    pub(super) stealable: bool,
}

/// Why a row decides nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Withheld {
    /// A file is unfit for this number.
    Unfit,
    /// Time that a hypervisor took from the later of the two would suffice for the difference.
    Stolen,
    /// The runs, or the values of a list, saw too few moods of the machine: the two may have met different ones.
    Moods,
}

/// Which number is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum What {
    /// A percentile over the releases due, in parts per million. A skipped release counts with the time until its thread
    /// ran; in a file of another program it counts as any value.
    Percentile { ppm: u32 },
    /// Releases that were later than the budget or were skipped; without a budget only the skipped ones.
    Misses {
        #[serde(rename = "budget_ns")]
        budget: Option<Nanos>,
    },
    /// Events per million releases: those later than a threshold that follows from both recordings together.
    Rare {
        /// Latency in nanoseconds that counts as an event if it is exceeded.
        #[serde(rename = "threshold_ns")]
        threshold: Nanos,
        /// Releases of the first recording that were later.
        #[serde(rename = "first_events")]
        first: u64,
        /// Releases of the second recording that were later.
        #[serde(rename = "second_events")]
        second: u64,
    },
    /// The median size of the clusters of such events, each by its largest latency.
    RareSizes {
        /// Latency in nanoseconds that counts as an event if it is exceeded.
        #[serde(rename = "threshold_ns")]
        threshold: Nanos,
        /// Numbers of clusters: (first, second).
        clusters: (usize, usize),
    },
}

/// How a number changed.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Change {
    /// Second minus first, in nanoseconds. An unknown limit is infinite.
    Difference(Limits),
    /// Second divided by first.
    Ratio(Limits),
}

/// A number with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// The observed value; `None` where it cannot be computed.
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
    /// The second is better.
    Better,
    /// The second is worse.
    Worse,
    /// The second is better in some rows and worse in others.
    Mixed,
    /// No difference was shown, and the limits exclude one beyond the margin.
    NoDifferenceShown,
    /// No difference beyond the margin was shown, and one could have been missed.
    NotEnoughData,
}

impl Compared {
    /// One verdict of several.
    pub(super) fn of_all(verdicts: impl Iterator<Item = Self>) -> Self {
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

/// Why recordings were not compared. The text is the name of the recording that is not compared with the first.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// Only one recording was given.
    Alone,
    /// Several recordings a side were asked for, and a side is a file of another program.
    NoTimes(String),
    /// The two sides of rounds have different numbers of recordings: (first, second).
    Unpaired(usize, usize),
    /// The margin is not a number from 0 to below 10.
    Margin(f64),
    /// The numbers of the two mean different things, for these reasons, the gravest first.
    Incomparable(String, Vec<Difference>),
    /// The counts of one of the two do not stand for what was measured: reasons of the first, of the named one.
    Unfit(String, Option<Refusal>, Option<Refusal>),
    /// The two have no CPU and load in common.
    NothingInCommon(String, Vec<LeftOut>),
}
