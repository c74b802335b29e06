//! What is kept of one late activation: its records, their names, and the counters around it.

use super::{Address, Record, Tid};
use punctual_hist::{MonoTime, Nanos};
use std::collections::BTreeMap;

/// Names for the numbers in a window's records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Tasks.
    pub tasks: BTreeMap<Tid, String>,
    /// Those of them that are threads of the kernel, which are never in user mode; as far as that is known.
    pub kernel_threads: Vec<Tid>,
    /// Device interrupts, by line: what `/proc/interrupts` calls them.
    pub irqs: BTreeMap<u32, Line>,
    /// Kernel functions, by address.
    pub functions: BTreeMap<Address, String>,
}

/// A line that interrupts come in on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Names of its handlers.
    pub action: String,
    /// CPUs it may interrupt, as a list; empty where not known.
    pub affinity: String,
    /// The kernel alone decides where it goes.
    pub managed: bool,
}

/// Why a window was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// It is among the worst of its CPU.
    Worst,
    /// It was drawn at random from all late activations of its CPU, each as likely as any other.
    Sampled,
    /// It is an ordinary activation, to compare with.
    Ordinary,
}

/// All that is known of one activation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its place in the recording: a later window in the same slot replaces this one.
    pub slot: u32,
    /// Why it was kept.
    pub kept: Kept,
    /// The measured CPU.
    pub cpu: u32,
    /// The measuring thread.
    pub tid: Tid,
    /// When it was due.
    pub release: MonoTime,
    /// When its body ran.
    pub woke: MonoTime,
    /// Load phase.
    pub phase: u16,
    /// Records of this CPU in order, from some time before the release to the wake-up and a little beyond.
    pub records: Vec<Record>,
    /// What other CPUs did to this one meanwhile: (CPU, record), in order.
    pub elsewhere: Vec<(u32, Record)>,
    /// Names of what occurs in it.
    pub names: Names,
    /// Records were lost in it, or the trace does not reach over all of it.
    pub incomplete: Option<Incomplete>,
    /// What counters say of the time around it.
    pub around: Option<Around>,
}

/// Why a window does not tell all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Incomplete {
    /// The kernel lost records in it.
    Lost,
    /// The trace begins after the release: what was before had been overwritten.
    Late,
    /// The trace of this CPU was not read up to the wake-up.
    Short,
    /// Clocks do not fit together.
    Warped,
    /// It had more records than are kept of one activation.
    TooLong,
    /// This engine keeps no records.
    NoTrace,
    /// Records are missing in it, or of this CPU, that nobody reported as lost, so that more than a little of its time
    /// has no owner.
    Holes,
    /// The thread was not seen to run on this CPU, and its policy lets it run on others.
    Elsewhere,
}

/// Counters around an activation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Read before.
    pub from: MonoTime,
    /// Read after.
    pub to: MonoTime,
    /// What changed between, of this CPU where it is by CPU. What could be read and did not change is here with 0,
    /// but for lines of devices that never interrupted this CPU in the run so far.
    pub changes: Vec<Change>,
    /// The longest time that surely nothing of ours ran on any CPU, within the activation.
    pub standstill: Option<Nanos>,
}

/// How much a counter grew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub counter: Counter,
    /// By how much; nanoseconds where it counts time.
    pub by: u64,
    /// How much it grows in as long a time elsewhere in the run; `None` where that is not known yet.
    pub usually: Option<u64>,
}

/// Something that is counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// An interrupt of this CPU, as `/proc/interrupts` names it: (line, what it is).
    Interrupt(String, String),
    /// A softirq of this CPU.
    Softirq(String),
    /// Time this CPU's tasks waited to run: also those that the measuring thread kept waiting.
    RunDelay,
    /// Entries into an idle state, by its name.
    IdleState(String),
    /// Time the hypervisor ran others.
    Steal,
    /// System management interrupts.
    Smi,
    /// Times this CPU, or its package, was throttled for heat.
    Throttled,
    /// Cycles at the actual and at the nominal frequency, as a ratio in thousandths.
    FrequencyRatio,
    /// Page faults of the measuring thread served from memory.
    MinorFaults,
    /// Page faults of the measuring thread served from disk.
    MajorFaults,
    /// The measuring thread was pre-empted.
    InvoluntarySwitches,
    /// The measuring thread waited.
    VoluntarySwitches,
    /// The measuring thread changed CPU.
    Migrations,
    /// The control group of the thread, or real time as a whole, was throttled.
    RtThrottled,
    /// Time the measuring thread could have run and waited to.
    OwnRunDelay,
}

/// An activation that was late, whether or not a window was kept of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    /// The measured CPU.
    pub cpu: u32,
    /// When it was due.
    pub release: MonoTime,
    /// By how much it was late.
    pub latency: Nanos,
}

/// Late activations of a stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LateList {
    /// One by one, in order for each CPU; not all where there were too many.
    pub late: Vec<Late>,
    /// By CPU: how many there were since the last list, their sum, and the threshold that was in force at the end.
    pub totals: Vec<LateTotal>,
}

/// Late activations of one CPU in a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LateTotal {
    /// The measured CPU.
    pub cpu: u32,
    pub count: u64,
    /// The sum of their latencies.
    pub latency: Nanos,
    /// Later than this was late.
    pub threshold: Nanos,
    /// Of these no window could be cut, or was drawn and not kept: windows came faster than they could be cut, or took
    /// more room than they may.
    pub passed_over: u64,
}
