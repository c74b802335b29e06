//! What was measured: the frames a measurement emits, and their sum.
//!
//! A measurement hands out [`Frame`]s; the recording file holds the same frames; [`Recording`] is their fold. So a
//! live run, a file read again and a file cut off in the middle all go through the same code.
//! Times are relative to the header's epoch.

mod blocks;
mod causes;
mod fold;
mod growing;
mod merge;
mod read;
mod remaining;
mod runs;
#[cfg(test)]
pub(crate) mod sample;
pub mod schedule;
mod slices;
mod stretch;
mod tally;
mod time;
mod windows;
mod wire;

pub use blocks::Blocks;
pub use causes::Causes;
pub use fold::{CpuTotals, EventTotals, PhaseTotals, Recording};
pub use growing::Growing;
pub use merge::{MergePart, Merging, Mismatch, Unmergeable, differences, machine_differences};
pub use read::{FrameReader, Good, RecordingReader, Unreadable, begins_like_a_recording, read};
pub use remaining::remaining;
pub use runs::{FurtherRun, Run, Shift};
pub use schedule::interval_length;
pub use slices::{SliceCpu, TimeLine, TimeSlice};
pub use stretch::{Edges, Stretch};
pub use tally::Tally;
pub use time::RecTime;
pub use windows::Windows;
#[cfg(test)]
pub(crate) use wire::strategies;
pub use wire::{FORMAT, Unencodable, encode, encode_preamble};

use crate::placement::Placement;
use crate::scenario::{Policy, Scenario};
use crate::trace::{LateList, TraceTotal, Tracing, Window};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::finding::Finding;
use punctual_hist::{Activation, MonoTime, Nanos};
use std::fmt;

/// One piece of a recording.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame {
    /// First frame of every recording.
    Header(Box<Header>),
    /// What the kernel granted to each measuring thread, read back after start.
    Threads(Vec<Granted>),
    /// What the audit found before the run.
    Findings(Vec<Finding>),
    /// State of the machine that matters for the result.
    InForce(InForce),
    /// Activations before statistics began; each phase has its own.
    WarmUp(Vec<WarmUp>),
    /// What happened in one stretch of time.
    Interval(Interval),
    /// Something we did.
    Mark(Mark),
    /// Something that happened to the machine.
    Event(Event),
    /// Exact maxima that nobody will know.
    MaximaLost(MaximaLost),
    /// The worst activations so far. For each CPU a later frame replaces an earlier one, so it is enough to write the
    /// CPUs whose list has changed.
    Worst(Vec<Worst>),
    /// What a load achieved in a phase.
    LoadDone(LoadDone),
    /// Last frame of a run that was finished.
    End(End),
    /// How causes are looked for; before the first interval.
    Tracing(Tracing),
    /// All that is known of one activation; a later frame replaces an earlier one in the same slot.
    Window(Box<Window>),
    /// Late activations since the last such frame.
    Late(LateList),
    /// What the trace of each CPU came to; a later frame replaces an earlier one.
    TraceTotals(Vec<TraceTotal>),
    /// A further run of the same scenario begins; what follows is of it.
    Run(Box<FurtherRun>),
}

/// What is known before the first activation.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Header {
    /// Version of the program that measured.
    #[serde(rename = "measured_with")]
    pub tool_version: String,
    /// Wall clock at the epoch, nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// Instant all times of the recording are relative to.
    #[serde(rename = "epoch_ns")]
    pub epoch: MonoTime,
    /// What was asked.
    #[serde(skip)]
    pub scenario: Scenario,
    /// Facts that identify the machine: (name, value), in the order to show them.
    #[serde(skip)]
    pub machine: Vec<(String, String)>,
    /// Who ran where.
    #[serde(skip)]
    pub placement: Placement,
    /// The clock that was read.
    #[serde(skip)]
    pub clock: Clock,
    /// How often, at first, a checkpoint is written: what a crash can lose.
    #[serde(skip)]
    pub checkpoint: Nanos,
}

impl Header {
    /// The instant `at` of the measuring machine's monotonic clock in this recording.
    pub fn at(&self, at: MonoTime) -> RecTime {
        RecTime::of(at, self.epoch)
    }
}

/// The clock that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Name of the kernel's clock source, when known.
    pub source: Option<String>,
    /// Median cost of one reading.
    pub read_cost: Nanos,
    /// Length of the scheduler tick.
    pub tick: Nanos,
    /// Offset of the first release of each measuring thread from the grid of multiples of its period, by CPU.
    pub phase: Vec<(u32, Nanos)>,
}

/// What the kernel granted to one measuring thread, read back and not assumed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Granted {
    /// The CPU the thread measures.
    pub cpu: u32,
    pub tid: u32,
    pub policy: Policy,
    /// CPUs it may run on.
    pub affinity: CpuSet,
    /// Whether the process's memory is locked.
    pub memory_locked: bool,
}

/// When a state was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// Before the first activation.
    Before,
    /// In the middle of the run.
    During,
    /// After the last.
    After,
}

/// State of the machine at a moment: what was read, and what it held or why not.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InForce {
    pub moment: Moment,
    /// (path, value or reason).
    #[serde(serialize_with = "crate::published::map")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, String>"))]
    pub values: Vec<(String, String)>,
}

/// The warm-up of one thread: not in the statistics, but not hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WarmUp {
    pub cpu: u32,
    /// How many activations.
    pub activations: u64,
    /// The latest of them.
    #[serde(rename = "max_ns")]
    pub max: Nanos,
}

/// What happened in one stretch of time, one entry per measuring thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    pub start: RecTime,
    pub length: Nanos,
    /// Which load phase was on.
    pub phase: u16,
    pub cpus: Vec<CpuInterval>,
}

/// What happened to one measuring thread in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuInterval {
    pub cpu: u32,
    /// Latency of activations that ran: (bucket, count), ascending.
    pub ran: Vec<(u16, u64)>,
    /// Sum of those latencies.
    pub ran_sum: Nanos,
    /// Smallest latency since the start of the run; `None` until something ran.
    pub ran_min: Option<Nanos>,
    /// Largest latency since the start of the run; `None` until something ran.
    pub ran_max: Option<Nanos>,
    /// Time from each skipped release to the moment the thread ran next: (bucket, count), ascending.
    pub skipped: Vec<(u16, u64)>,
    /// Sum of those times.
    pub skipped_sum: Nanos,
    /// Largest of those times since the start of the run.
    pub skipped_max: Nanos,
    /// Activations that ran later than the budget.
    pub over_budget: u64,
    /// Activations that woke before their release.
    pub early: u64,
    /// Longest time between two wake-ups that ended in this interval.
    pub longest_gap: Nanos,
    /// Exact largest latency of each second of the run that was finished in this interval: (second, largest).
    pub block_max: Vec<(u32, Nanos)>,
    /// Kernel counters of the thread, increase in this interval.
    pub counters: Counters,
}

/// Kernel counters of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Switches because the thread waited.
    pub voluntary_switches: u64,
    /// Switches because it was pre-empted.
    pub involuntary_switches: u64,
    /// Page faults served from memory.
    pub minor_faults: u64,
    /// Page faults served from disk.
    pub major_faults: u64,
    /// Changes of CPU.
    pub migrations: u64,
}

/// Something we did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub at: RecTime,
    pub kind: MarkKind,
}

/// What we did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// Load phase of this number began to count: its loads run, the threads are warm.
    PhaseStart(u16),
    /// Load phase of this number ended.
    PhaseEnd(u16),
    /// A load could not be run, and why.
    LoadSkipped(String, String),
    /// A note for the reader.
    Note(String),
}

/// Something that happened to the machine. While a measurement runs, events have instants of the monotonic clock:
/// `Event<MonoTime>`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Event"))]
pub struct Event<At = RecTime> {
    /// When it was over, or seen.
    #[serde(rename = "at_ns")]
    pub at: At,
    /// How long it lasted, or how far the clock jumped; zero where that makes no sense.
    #[serde(rename = "length_ns")]
    pub length: Nanos,
    pub kind: EventKind,
    /// Releases that were due meanwhile on all measured CPUs and are in no histogram, because the machine was not
    /// running: not a latency.
    pub releases_lost: u64,
}

impl<At> Event<At> {
    /// An event in which no release was lost.
    pub fn new(at: At, length: Nanos, kind: EventKind) -> Self {
        Self { at, length, kind, releases_lost: 0 }
    }
}

impl Event<MonoTime> {
    /// The same in a recording of this epoch.
    pub fn recorded(self, epoch: MonoTime) -> Event {
        let Self { at, length, kind, releases_lost } = self;
        Event { at: RecTime::of(at, epoch), length, kind, releases_lost }
    }
}

/// What happened to the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// `CLOCK_BOOTTIME` gained on `CLOCK_MONOTONIC`: the machine was suspended.
    Suspended,
    /// Every CPU stood still at once while nothing ran: a virtual machine was paused, or starved of its host.
    Paused,
    /// `CLOCK_REALTIME` was set.
    WallClockStep,
    /// The TSC and `CLOCK_MONOTONIC` drifted apart.
    TscDrift,
    /// The hypervisor ran others while this machine wanted to run.
    Steal,
    /// A CPU was throttled for heat.
    Throttled,
    /// The kernel stopped real-time threads for using too much time.
    RtThrottled,
    /// A CPU went off-line or its measuring thread was moved.
    Moved,
}

/// Exact maxima of finished seconds that were overwritten before they were collected. A count and no length of time, and
/// nothing that happened to the machine: the histograms have every sample all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaximaLost {
    /// When they were missed.
    pub at: RecTime,
    /// How many, one for each second and measured CPU.
    pub blocks: u64,
}

/// One of the worst activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worst {
    /// The measured CPU.
    pub cpu: u32,
    /// As the thread saw it; instants of `CLOCK_MONOTONIC`.
    pub activation: Activation,
}

/// What a load achieved in a phase.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadDone {
    pub phase: u16,
    pub name: String,
    /// Where it ran.
    pub cpus: CpuSet,
    /// What one operation is.
    pub unit: String,
    /// How many operations; `None` for an outside program, which does not say.
    pub operations: Option<u64>,
    /// In how much time.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// How it ended, when not as asked.
    pub failure: Option<String>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct End {
    /// When.
    #[serde(rename = "at_ns")]
    pub at: RecTime,
    pub reason: EndReason,
    /// The recording could not be written completely, because of this.
    pub write_error: Option<String>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// It had run as long as asked.
    Completed,
    /// SIGINT or SIGTERM.
    Interrupted,
    /// An activation was later than the stop limit.
    LimitExceeded,
    /// A measuring thread stopped making progress.
    Stalled,
}

/// Why a file holds less than a finished recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CutOff {
    /// Bytes that are good.
    pub good_bytes: u64,
    /// What follows them.
    pub reason: CutReason,
}

/// What follows the good part of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String", inline))]
pub enum CutReason {
    /// Nothing, and yet the run was never finished.
    Unfinished,
    /// The beginning of a frame that was never written to its end.
    InAFrame,
    /// A frame that is damaged, and how.
    Damaged(&'static str),
}

impl CutOff {
    /// Whether nothing follows but the beginning of a frame that was never written to its end: what a killed or full
    /// program leaves.
    pub fn is_clean(&self) -> bool {
        match self.reason {
            CutReason::Unfinished | CutReason::InAFrame => true,
            CutReason::Damaged(_) => false,
        }
    }
}

impl fmt::Display for CutReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unfinished => "the run was never finished",
            Self::InAFrame => "the file ends in the middle of a frame",
            Self::Damaged(how) => how,
        })
    }
}

impl serde::Serialize for CutReason {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}
