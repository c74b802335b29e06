//! The frames that a measurement emits, and the recording that they add up to.
//!
//! A measurement hands out [`Frame`]s, the recording file holds the same frames, and a [`Recording`] is their fold. So
//! a live run, a complete file and a file that was cut off all go through the same code. Times are relative to the
//! header's epoch.

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
pub use fold::{CpuTotals, EventTotals, Recording};
pub use growing::Growing;
pub use merge::{MergePart, Merging, Mismatch, Unmergeable, differences, machine_differences};
pub use read::{FrameReader, Good, RecordingReader, Unreadable, begins_like_a_recording, read};
pub use remaining::remaining;
pub use runs::{FurtherRun, RecordedRun, Shift};
pub use schedule::interval_length;
pub use slices::{TimeLine, TimeSlice};
pub use stretch::{Edges, Stretch};
pub use tally::{CpuTallies, Tally};
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
use punctual_facts::machine::MachineLine;
use punctual_hist::{Activation, Counts, MonoTime, Nanos};

#[derive(Clone, Debug, PartialEq)]
pub enum Frame {
    /// First frame of every recording.
    Header(Box<Header>),
    /// What the kernel granted to each measuring thread, read back after start.
    Threads(Vec<Granted>),
    Findings(Vec<Finding>),
    /// Settings and state of the machine that affect the result.
    InForce(InForce),
    /// The activations before the statistics of a load phase begin. Each load phase has its own warm-up.
    WarmUp(Vec<WarmUp>),
    Interval(Interval),
    /// A step of the measurement itself, such as the start of a load phase.
    Mark(Mark),
    /// An event on the machine during the run, such as a suspend or a step of the clock.
    Event(Event),
    MaximaLost(MaximaLost),
    /// A measuring thread that a real-time core paces was taken in-band.
    InBand(InBand),
    /// Activations of a CPU preceded their releases by more than before.
    Earliest(Earliest),
    /// The worst activations so far. For each CPU a later frame replaces an earlier one, so it is enough to write the
    /// CPUs whose list has changed.
    Worst(Vec<Worst>),
    LoadDone(LoadDone),
    /// Last frame of a run that was finished.
    End(End),
    /// How causes are looked for. This frame stands before the first interval.
    Tracing(Tracing),
    /// The trace and the counters around one activation; a later frame replaces an earlier one with the same slot.
    Window(Box<Window>),
    /// Late activations since the last frame of this kind.
    Late(LateList),
    /// The size of the trace of each CPU; a later frame replaces an earlier one.
    TraceTotals(Vec<TraceTotal>),
    /// A further run of the same scenario begins; the frames that follow belong to it.
    FurtherRun(Box<FurtherRun>),
    /// The threads of a program were watched, and none of ours measured.
    Program(WatchedProgram),
}

/// A program whose own threads were watched. Each has a number that stands where other recordings have a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchedProgram {
    pub pid: u32,
    pub name: String,
    pub threads: Vec<WatchedThread>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedThread {
    /// The number in the place of a CPU.
    pub number: u32,
    pub tid: u32,
    pub name: String,
}

impl WatchedProgram {
    /// The name of the thread with this number.
    pub fn thread(&self, number: u32) -> Option<&str> {
        self.threads.iter().find(|thread| thread.number == number).map(|thread| thread.name.as_str())
    }

    /// Whether both have the same threads by name, so that their figures can be added up.
    pub fn is_alike(&self, other: &Self) -> bool {
        let names =
            |of: &Self| of.threads.iter().map(|thread| (thread.number, thread.name.clone())).collect::<Vec<_>>();
        self.name == other.name && names(self) == names(other)
    }
}

/// The facts that are known before the first activation.
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
    #[serde(skip)]
    pub scenario: Scenario,
    /// Facts about the machine, in the order in which they are shown.
    #[serde(skip)]
    pub machine: Vec<MachineLine>,
    #[serde(skip)]
    pub placement: Placement,
    #[serde(skip)]
    pub clock: Clock,
    /// Time between two checkpoints of the file at the beginning: the most that a crash can lose there.
    #[serde(skip)]
    pub checkpoint: Nanos,
}

impl Header {
    /// Converts an instant of the measuring machine's monotonic clock to a time of this recording.
    pub fn at(&self, at: MonoTime) -> RecTime {
        RecTime::of(at, self.epoch)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    pub source: Option<String>,
    /// Median time that one reading of the clock takes.
    pub read_cost: Nanos,
    pub tick: Nanos,
    /// The timer phase of each measuring thread, in the order of the threads.
    pub phase: Vec<ThreadPhase>,
}

/// The timer phase of one measuring thread: where its releases lie relative to the multiples of its period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadPhase {
    pub cpu: u32,
    /// Distance of the first release from the multiples of the thread's period.
    pub offset: Nanos,
}

/// What the kernel granted to one measuring thread, as read back from the kernel.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Granted {
    /// The CPU the thread measures.
    pub cpu: u32,
    pub tid: u32,
    pub policy: Policy,
    /// CPUs the thread may run on.
    pub affinity: CpuSet,
    /// Whether the process's memory is locked.
    pub memory_locked: bool,
}

/// When a state of the machine was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// Before the first activation.
    Before,
    /// In the middle of the run.
    During,
    /// After the last activation.
    After,
}

/// The kernel's file with an id that is different at each boot. [`InForce`] has its value.
pub const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The values of files that affect the result, read at one moment of the run.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InForce {
    pub moment: Moment,
    /// Each path with its value, or with the reason why it could not be read.
    #[serde(serialize_with = "crate::published::lines")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, String>"))]
    pub values: Vec<MachineLine>,
}

/// The warm-up of one thread, which is reported apart and counts in no statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WarmUp {
    pub cpu: u32,
    pub activations: u64,
    /// The largest latency of the warm-up.
    #[serde(rename = "max_ns")]
    pub max: Nanos,
}

/// The activations of one stretch of time, with one entry per measuring thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    pub start: RecTime,
    pub length: Nanos,
    pub phase: u16,
    pub cpus: Vec<CpuInterval>,
}

/// The activations of one measuring thread in an interval. `ran` counts the latencies of activations that ran;
/// `skipped` counts the times from each skipped release to the moment the thread ran next. Both are (bucket, count)
/// pairs in ascending order. Sums are those of the interval, and extremes are those of the run so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuInterval {
    pub cpu: u32,
    pub ran: Vec<(u16, u64)>,
    pub ran_sum: Nanos,
    pub ran_min: Option<Nanos>,
    pub ran_max: Option<Nanos>,
    pub skipped: Vec<(u16, u64)>,
    pub skipped_sum: Nanos,
    pub skipped_max: Nanos,
    /// Activations whose latency exceeded the budget.
    pub over_budget: u64,
    /// Activations that woke before their release.
    pub early: u64,
    /// Longest time between two wake-ups that ended in this interval.
    pub longest_gap: Nanos,
    /// Exact largest latency of each second that ended in this interval: (number of the second in the run, largest).
    pub block_max: Vec<(u32, Nanos)>,
    /// How much the thread's kernel counters grew in this interval.
    pub counters: Counters,
}

impl CpuInterval {
    /// An interval with these counts and their extremes, in which nothing else happened.
    pub fn of(cpu: u32, ran: &Counts, skipped: &Counts) -> Self {
        let pairs = |of: &Counts| of.nonzero().filter_map(|(index, n)| Some((u16::try_from(index).ok()?, n))).collect();
        Self {
            cpu,
            ran: pairs(ran),
            ran_sum: ran.sum(),
            ran_min: ran.min(),
            ran_max: ran.max(),
            skipped: pairs(skipped),
            skipped_sum: skipped.sum(),
            skipped_max: skipped.max().unwrap_or_default(),
            ..Self::default()
        }
    }
}

/// Kernel counters of a thread. Minor faults are served from memory, major ones from disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub migrations: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub at: RecTime,
    pub kind: MarkKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// The statistics of the load phase with this number begin: its loads run, and the warm-up is over.
    PhaseStart(u16),
    PhaseEnd(u16),
    LoadSkipped {
        load: String,
        why: String,
    },
    Note(String),
}

/// An event on the machine. While a measurement runs, its time is an instant of the monotonic clock: `Event<MonoTime>`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Event"))]
pub struct Event<At = RecTime> {
    /// When the event ended, or when it was noticed if its end is not known.
    #[serde(rename = "at_ns")]
    pub at: At,
    /// How long the event lasted, or how far the clock jumped; zero for events that have neither.
    #[serde(rename = "length_ns")]
    pub length: Nanos,
    pub kind: EventKind,
    /// Releases on all measured CPUs that fell due while the machine was not running. They are in no histogram, because
    /// they are no latencies.
    pub releases_lost: u64,
}

impl<At> Event<At> {
    /// An event by which no release was lost.
    pub fn new(at: At, length: Nanos, kind: EventKind) -> Self {
        Self { at, length, kind, releases_lost: 0 }
    }
}

impl Event<MonoTime> {
    /// The same event with its time relative to `epoch`, as a recording holds it.
    pub fn recorded(self, epoch: MonoTime) -> Event {
        let Self { at, length, kind, releases_lost } = self;
        Event { at: RecTime::of(at, epoch), length, kind, releases_lost }
    }
}

/// The kind of an event on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// `CLOCK_BOOTTIME` gained on `CLOCK_MONOTONIC`: the machine was suspended.
    Suspended,
    /// Every CPU stood still at once while nothing ran: a virtual machine was paused, or its host did not run it.
    Paused,
    /// `CLOCK_REALTIME` was set.
    WallClockStep,
    /// The TSC and `CLOCK_MONOTONIC` drifted apart.
    TscDrift,
    /// The hypervisor ran other guests while this one wanted to run.
    Steal,
    /// A CPU was throttled for heat.
    Throttled,
    /// The kernel stopped real-time threads for using too much time.
    RtThrottled,
    /// A CPU went off-line or its measuring thread was moved.
    Moved,
}

/// Exact maxima of finished seconds that were overwritten before they were collected. The histograms still hold every
/// sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaximaLost {
    pub at: RecTime,
    /// Lost maxima, one for each second and measured CPU.
    pub blocks: u64,
}

/// How often a real-time core handed a measuring thread over to Linux since the last frame of this kind. Counting begins
/// with the statistics of the load phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InBand {
    /// The end of the interval in which the switches were counted.
    pub at: RecTime,
    pub cpu: u32,
    pub switches: u64,
}

/// By how much activations of a CPU preceded their releases, at most. Only a clock, a timer or a core's gravity that is wrong
/// makes a thread wake early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Earliest {
    /// The end of the interval in which this was seen.
    pub at: RecTime,
    pub cpu: u32,
    pub by: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worst {
    pub cpu: u32,
    /// The activation with the times that the thread read from `CLOCK_MONOTONIC`.
    pub activation: Activation,
}

/// The work that a load did in a phase.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadDone {
    pub phase: u16,
    pub name: String,
    /// The CPUs on which the load ran.
    pub cpus: CpuSet,
    /// What one operation is.
    pub unit: String,
    /// Number of operations; `None` for an outside program, whose operations are not known.
    pub operations: Option<u64>,
    /// The time in which the load did its operations.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// How the load ended, if it failed or ended too early.
    pub failure: Option<String>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct End {
    #[serde(rename = "at_ns")]
    pub at: RecTime,
    pub reason: EndReason,
    /// Why the recording could not be written completely.
    pub write_error: Option<String>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// The run was as long as asked.
    Completed,
    /// SIGINT or SIGTERM ended the run.
    Interrupted,
    /// An activation was later than the stop limit.
    LimitExceeded,
    /// A measuring thread stopped making progress.
    Stalled,
    /// The real-time core no longer let a measuring thread sleep.
    CoreLost,
    /// The clock of the releases, or the other side of a channel, could no longer be used.
    SourceLost,
    /// The program whose threads were watched ended.
    ProgramEnded,
}

impl EndReason {
    /// Whether the measurement itself failed, so that its end says nothing about what was measured.
    pub const fn is_failure(self) -> bool {
        match self {
            Self::Stalled | Self::CoreLost | Self::SourceLost => true,
            Self::Completed | Self::Interrupted | Self::LimitExceeded | Self::ProgramEnded => false,
        }
    }
}

/// Why a file holds less than a finished recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CutOff {
    /// Length of the part of the file that is good.
    pub good_bytes: u64,
    /// Number of bytes behind the good part, which are not read.
    pub lost_bytes: u64,
    pub reason: CutReason,
}

/// What follows the good part of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String", inline))]
pub enum CutReason {
    /// Nothing follows, but the frame that ends a run is missing.
    #[error("the run was never finished")]
    Unfinished,
    #[error("the file ends in the middle of a frame")]
    InAFrame,
    /// A damaged frame follows; the text says what is wrong with the frame.
    #[error("{0}")]
    Damaged(&'static str),
}

impl CutOff {
    /// Whether nothing, or only the beginning of a frame, follows the good part, as after a killed program or a full
    /// disk. Anything else is damage, and most of the run may lie behind it.
    pub fn is_clean(&self) -> bool {
        !matches!(self.reason, CutReason::Damaged(_))
    }
}

impl serde::Serialize for CutReason {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}
