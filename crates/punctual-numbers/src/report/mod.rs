//! The report of a measurement, which is all that renderers read: numbers and reasons, but no sentences.
//!
//! [`Report::of`] makes a report from a recording. Rows are in `build`, the course of time in `over_time`, and the
//! three judgements in a module each: `verdict`, `trust`, `next`.

mod build;
mod causes;
mod next;
mod over_time;
#[cfg(test)]
pub(crate) mod tests;
mod trust;
mod verdict;

pub use causes::CausesDoubt;
pub use next::{NextStep, Situation, most_important};
pub use verdict::{DUE_WANTED, Direction, RunCounts, may_differ_by_doubt};

use crate::claims::Claims;
use crate::explain::Explanation;
use crate::recording::{CutOff, EndReason, Event, Granted, InForce, LoadDone, RecTime, RecordedRun, Stretch, WarmUp};
use crate::scenario::Scenario;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::finding::Finding;
use punctual_facts::machine::{MachineFacts, MachineLine};
use punctual_hist::{Activation, Counts, MonoTime, Nanos};

/// All that is reported of one measurement.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// Version of the program that measured.
    #[serde(rename = "measured_with")]
    pub tool_version: String,
    /// Wall clock at the start, nanoseconds since 1970.
    #[serde(skip)]
    pub started_unix_ns: u64,
    /// Instant to which all times are relative.
    #[serde(rename = "epoch_ns")]
    pub epoch: MonoTime,
    /// The runs of the recording, in order: one, unless runs were merged or resumed.
    pub runs: Vec<RecordedRun>,
    /// The stretch of the recording that is reported; `None` if it is the whole.
    #[serde(skip)]
    pub stretch: Option<Stretch>,
    /// Length of the measurement, in nanoseconds.
    #[serde(rename = "measured_ns")]
    pub measured: Nanos,
    pub need: Need,
    /// What was measured: threads, policy, loads and length.
    pub scenario: Scenario,
    /// Facts about the machine by their names, as they were recorded.
    #[serde(serialize_with = "machine_facts")]
    #[cfg_attr(feature = "schema", schemars(with = "MachineFacts", description = "What the machine is."))]
    pub machine: Vec<MachineLine>,
    /// Findings of the audit about the machine, worst first.
    pub findings: Vec<Finding>,
    /// One row per measured CPU.
    pub cpus: Vec<CpuRow>,
    /// All CPUs as one row; `None` with fewer than two CPUs.
    pub total: Option<LatencyRow>,
    /// One row per load phase and CPU.
    pub phases: Vec<PhaseRow>,
    /// The load phases with their times.
    pub spans: Vec<PhaseSpan>,
    /// The latencies over the course of the run.
    #[serde(skip)]
    pub timeline: Vec<TimelinePoint>,
    /// The worst activations, worst first.
    pub worst: Vec<WorstRow>,
    /// What can be claimed beyond the measured activations.
    pub claims: Claims,
    /// Causes of latency; `None` if they were not looked for.
    #[serde(skip)]
    pub causes: Option<Explanation>,
    pub loads: Vec<LoadDone>,
    /// Loads that could not run, and the reasons.
    pub loads_skipped: Vec<SkippedLoad>,
    /// Notes made during the run.
    #[serde(skip)]
    pub notes: Vec<String>,
    /// What happened to the machine during the run, such as a pause or a clock step.
    pub events: Vec<Event>,
    /// What the kernel granted to each measuring thread.
    pub threads: Vec<Granted>,
    /// Warm-ups, which the statistics leave out.
    pub warm_up: Vec<WarmUp>,
    /// Settings in force before, during and after the run.
    pub in_force: Vec<InForce>,
    /// CPUs on which the helper threads of punctual ran.
    pub housekeeping: CpuSet,
    /// Whether the need was held.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Whether the numbers can be relied upon.
    #[serde(skip)]
    pub trust: Trust,
    /// How the run ended; `None` if the recording does not state it.
    pub end: Option<EndReason>,
    /// Why the file holds less than the run; `None` if it holds all of it.
    pub cut_off: Option<CutOff>,
    /// Why the file could not be written completely; `None` if it was.
    pub write_error: Option<String>,
}

fn machine_facts<S: serde::Serializer>(recorded: &[MachineLine], to: S) -> Result<S::Ok, S::Error> {
    let facts = MachineFacts::of(recorded);
    serde::Serialize::serialize(&facts, to)
}

/// The need that the user stated.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Need {
    /// Time between releases: the shortest of all threads.
    #[serde(rename = "period_ns")]
    pub period: Nanos,
    /// The largest latency that the user accepts.
    #[serde(rename = "budget_ns")]
    pub budget: Option<Nanos>,
    /// CPUs that have to meet the need.
    pub cpus: CpuSet,
}

/// The numbers of one pair of histograms. A percentile is `None` if there are too few values for it.
#[derive(Clone, Debug, Default, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyRow {
    /// Number of releases that came due, whether they ran or were skipped.
    pub due: u64,
    /// The number of activations that ran.
    pub ran: u64,
    /// Number of releases that passed while their thread did not run.
    pub skipped: u64,
    /// Number of activations that ran later than the budget.
    pub over_budget: u64,
    /// Percentiles over the activations that ran.
    #[serde(rename = "latency_ns")]
    pub latency: Percentiles,
    /// Percentiles over the releases due. A skipped release counts with the time until its thread ran next.
    #[serde(rename = "latency_due_ns")]
    pub latency_due: Percentiles,
}

/// Points of a distribution; minimum, mean and maximum are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Percentiles {
    pub min: Option<Nanos>,
    pub mean: Option<Nanos>,
    pub p50: Option<Nanos>,
    pub p99: Option<Nanos>,
    pub p99_9: Option<Nanos>,
    pub p99_99: Option<Nanos>,
    pub max: Option<Nanos>,
}

/// One measured CPU with its numbers.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuRow {
    pub cpu: u32,
    /// Time between the releases of this CPU.
    #[serde(rename = "period_ns")]
    pub period: Nanos,
    #[serde(flatten)]
    pub row: LatencyRow,
    /// When the activation with the largest latency was released, and in which load phase.
    pub worst_at: Option<WorstAt>,
    /// Longest time between two wake-ups.
    #[serde(rename = "longest_gap_ns")]
    pub longest_gap: Nanos,
    /// Number of activations that woke before their release.
    pub early: u64,
    /// The longest time by which one did; null if none did. Such an activation counts with a latency of zero.
    #[serde(rename = "earliest_ns")]
    pub earliest: Option<Nanos>,
    /// How often a real-time core handed the measuring thread over to Linux; null if Linux paces it.
    pub in_band_switches: Option<u64>,
    /// Latency of the activations that ran.
    #[serde(skip)]
    pub ran: Counts,
    /// Time from skipped releases to the next wake-up.
    #[serde(skip)]
    pub skipped: Counts,
}

/// When the activation with the largest latency of a CPU was released.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorstAt {
    /// Time of the release, relative to the epoch.
    #[serde(rename = "at_ns")]
    pub at: RecTime,
    pub phase: String,
}

/// A load that could not run.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SkippedLoad {
    pub name: String,
    pub because: String,
}

/// One CPU in one load phase.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseRow {
    pub phase: u16,
    /// Name of the phase, as the user wrote it.
    pub name: String,
    pub cpu: u32,
    #[serde(flatten)]
    pub row: LatencyRow,
}

/// A load phase on the time axis, relative to the epoch.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseSpan {
    pub name: String,
    #[serde(rename = "from_ns")]
    pub from: RecTime,
    #[serde(rename = "to_ns")]
    pub to: RecTime,
}

/// The latency of one CPU in one stretch of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelinePoint {
    /// Beginning of the stretch, relative to the epoch.
    pub start: RecTime,
    pub length: Nanos,
    pub cpu: u32,
    pub min: Option<Nanos>,
    pub p50: Option<Nanos>,
    /// The percentile p99.9; `None` with fewer than 1000 values.
    pub p99_9: Option<Nanos>,
    pub max: Option<Nanos>,
    pub skipped: u64,
}

/// One of the worst activations.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorstRow {
    pub cpu: u32,
    /// Time of the release, relative to the epoch.
    #[serde(rename = "at_ns")]
    pub at: RecTime,
    pub phase: String,
    /// Time from the release to the wake-up.
    #[serde(rename = "latency_ns")]
    pub latency: Nanos,
    #[serde(flatten)]
    pub activation: Activation,
}

/// Whether the need was held.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    #[serde(rename = "verdict")]
    pub answer: Answer,
    pub due: u64,
    /// Number of releases that were missed: later than the budget, or skipped. Without a budget only skipped releases
    /// count.
    pub missed: u64,
    /// Exact binomial upper bound on the probability of a miss, at `confidence`, which allows for clusters of misses.
    /// `None` if nothing was due or there is no budget.
    pub miss_probability_upper: Option<f64>,
    /// Number of independent releases that this bound is computed from: fewer than came due if large latencies come in
    /// clusters. `None` without a bound.
    #[serde(rename = "independent_releases")]
    pub independent: Option<u64>,
    /// Confidence of the upper bound on the probability of a miss.
    pub confidence: f64,
    pub inconclusive_because: Option<Inconclusive>,
    /// Doubts that do not change the answer but belong beside it; empty if the answer is inconclusive.
    pub although: Vec<Distrust>,
    /// Whether something that only adds latency may have made the misses. They are a fact then, but their cause is
    /// open.
    pub cause_open: bool,
}

/// The answer to the question whether the need was held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// No release was missed.
    Held,
    /// At least one release was missed.
    NotHeld,
    Inconclusive,
}

/// Why the answer is inconclusive.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Inconclusive {
    /// No budget was stated, so there is no limit to hold.
    NoBudget,
    /// Fewer releases came due than the question needs, on one CPU or on all CPUs together.
    TooFew {
        due: u64,
        wanted: u64,
        /// How long a run takes until `wanted` releases come due; null if nothing came due.
        #[serde(rename = "time_ns")]
        time: Option<Nanos>,
    },
    /// A measured thread has no samples at all.
    NothingRan,
    /// No miss was seen, but this doubt means that misses may have been hidden.
    Doubt { doubt: Distrust },
}

/// Whether the numbers can be relied upon.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trust {
    /// Doubts that count for the verdict, each according to its direction.
    pub reasons: Vec<Distrust>,
    /// Facts worth knowing that do not spoil the numbers.
    pub remarks: Vec<Distrust>,
}

impl Trust {
    /// Whether no doubt can have hidden latency, so that the machine is no worse than the numbers show.
    pub fn ok(&self) -> bool {
        !self.reasons.iter().any(|doubt| doubt.direction().hides())
    }
}

/// A reason to doubt the numbers.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Distrust {
    /// The hypervisor took the CPU from this machine for this time.
    Steal {
        #[serde(rename = "time_ns")]
        time: Nanos,
    },
    /// All CPUs stood still at once, as in a virtual machine that is paused or gets no CPU time.
    Paused {
        times: u64,
        #[serde(rename = "total_ns")]
        total: Nanos,
    },
    Suspended {
        times: u64,
        #[serde(rename = "total_ns")]
        total: Nanos,
    },
    /// The wall clock was set while measuring.
    WallClockStep {
        times: u64,
    },
    /// TSC and monotonic clock drifted apart.
    TscDrift,
    /// Helper threads of punctual shared these measured CPUs.
    #[serde(rename = "helper-shared-cpu")]
    HelperShared {
        cpus: CpuSet,
    },
    /// Helper threads of punctual ran on SMT siblings of measured CPUs. The CPUs listed are the measured ones.
    #[serde(rename = "helper-on-sibling")]
    HelperSibling {
        cpus: CpuSet,
    },
    /// A CPU was throttled for heat.
    Throttled,
    /// The kernel stopped real-time threads.
    RtThrottled,
    /// Reading the clock takes longer than it can without a system call (through the vDSO).
    SlowClock {
        #[serde(rename = "cost_ns")]
        cost: Nanos,
    },
    /// The measuring thread took page faults in its loop.
    #[serde(rename = "page-faults")]
    Faults {
        cpu: u32,
        faults: u64,
    },
    /// A real-time core handed the measuring thread over to Linux in its loop.
    #[serde(rename = "in-band-switches")]
    InBand {
        cpu: u32,
        times: u64,
    },
    /// The measuring thread did not stay on its CPU.
    Migrations {
        cpu: u32,
        times: u64,
    },
    MemoryNotLocked,
    /// A thread was measured without the real-time class.
    NotRealTime,
    /// The kernel granted a thread something else than was requested.
    GrantedOtherwise {
        cpu: u32,
    },
    /// Fewer releases came due than the requested percentiles need.
    TooFew {
        due: u64,
    },
    EndedEarly {
        reason: EndReason,
    },
    CutOff,
    /// The recording is damaged before its end: what was measured after that is not in the numbers.
    Damaged {
        /// Length in bytes of the part after the damage, which is not read.
        lost_bytes: u64,
    },
    /// Part of the recording could not be written.
    WriteFailed,
    /// Some exact maxima, each of one second of one CPU, were not collected in time.
    MaximaLost {
        maxima: u64,
    },
    /// A setting that matters changed during the run.
    ChangedDuring {
        path: String,
    },
    /// A load that was requested did not run, or ran differently.
    LoadMissing {
        load: String,
        why: String,
    },
    Tracing {
        tracer: String,
    },
    /// The measuring thread woke before its release.
    Early {
        cpu: u32,
        times: u64,
        /// By how much at most; null if the recording does not tell.
        #[serde(rename = "by_ns")]
        by: Option<Nanos>,
    },
    /// The latencies changed over the run under this load, so the moods of the machine are longer than about a fifth of
    /// the run.
    Drifts {
        load: String,
    },
}
