//! What is kept of one late activation: its records, their names, and the counters around it.

use super::{Address, Record, Tid};
use punctual_hist::{MonoTime, Nanos};
use std::collections::BTreeMap;

/// Names for the numbers in a window's records. `irqs` is by line, as `/proc/interrupts` has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    pub tasks: BTreeMap<Tid, String>,
    /// Tasks that are known to be threads of the kernel, which are never in user mode.
    pub kernel_threads: Vec<Tid>,
    pub irqs: BTreeMap<u32, IrqLine>,
    pub functions: BTreeMap<Address, String>,
}

/// A line on which a device interrupts. `action` has the names of its handlers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IrqLine {
    pub action: String,
    /// CPUs that the line may interrupt, as a list; empty where they are not known.
    pub affinity: String,
    /// The kernel alone decides which CPU is interrupted.
    pub managed: bool,
}

/// Why a window was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// The activation is among the worst of its CPU.
    Worst,
    /// The window was drawn at random from all late activations of its CPU, each as likely as any other.
    Sampled,
    /// The activation was an ordinary one, to compare with.
    Ordinary,
}

/// All that is known of one activation: it was due at `release` on the measured CPU `cpu`, and its body ran at `woke`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its place in the recording: a later window in the same slot replaces this one.
    pub slot: u32,
    pub kept: Kept,
    pub cpu: u32,
    pub tid: Tid,
    pub release: MonoTime,
    pub woke: MonoTime,
    /// Number of the load phase.
    pub phase: u16,
    /// Records of this CPU in order, from some time before the release to the wake-up and a little beyond.
    pub records: Vec<Record>,
    /// What other CPUs did to this one meanwhile: (CPU, record), in order.
    pub elsewhere: Vec<(u32, Record)>,
    pub names: Names,
    pub incomplete: Option<Incomplete>,
    pub around: Option<Around>,
}

/// Why a window does not tell everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Incomplete {
    /// The kernel lost records of this time.
    Lost,
    /// The trace begins after the release: what was before had been overwritten.
    Late,
    /// The trace of this CPU was not read up to the wake-up.
    Short,
    /// The clock of the trace and that of the thread do not agree.
    Warped,
    /// There were more records than are kept of one activation.
    TooLong,
    /// This engine keeps no records.
    NoTrace,
    /// Records of this time or of this CPU are missing that the kernel did not report as lost, so that it is not known who
    /// had the CPU.
    Holes,
    /// The thread was not seen to run on this CPU, and its policy lets it run on others.
    Elsewhere,
}

/// Counters around an activation, read before it at `from` and after it at `to`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    pub from: MonoTime,
    pub to: MonoTime,
    /// Growth between the two, of this CPU where a counter is by CPU. A counter that could be read and did not grow is
    /// here with 0, except for lines of devices that have not interrupted this CPU in the run so far.
    pub changes: Vec<Growth>,
    /// The longest time within the activation during which certainly no thread of ours ran on any CPU.
    pub standstill: Option<Nanos>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    pub counter: Counter,
    /// Growth of the counter, in nanoseconds if it counts time.
    pub by: u64,
    /// Growth in an equally long time elsewhere in the run; `None` where that is not known yet.
    pub usually: Option<u64>,
}

/// Something that is counted. Faults, switches and migrations are those of the measuring thread.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// An interrupt of this CPU, as `/proc/interrupts` names it: (line, what it is).
    Interrupt(String, String),
    Softirq(String),
    /// Time that tasks of this CPU waited to run, including tasks that the measuring thread kept waiting.
    RunDelay,
    IdleState(String),
    /// Time in which the hypervisor ran others.
    Steal,
    /// System management interrupts of the firmware.
    Smi,
    /// How often this CPU, or its package, was throttled for heat.
    Throttled,
    /// Cycles at the actual and at the nominal frequency, as a ratio in thousandths.
    FrequencyRatio,
    MinorFaults,
    MajorFaults,
    InvoluntarySwitches,
    VoluntarySwitches,
    Migrations,
    /// How often the control group of the thread, or real time as a whole, was throttled.
    RtThrottled,
    /// Time in which the measuring thread was ready to run and had to wait.
    OwnRunDelay,
}

/// An activation that was late, whether or not a window was kept of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    pub cpu: u32,
    pub release: MonoTime,
    pub latency: Nanos,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LateList {
    /// One by one, in order for each CPU; some are left out where there were too many.
    pub late: Vec<Late>,
    pub totals: Vec<LateTotal>,
}

/// Late activations of one CPU since the list before. `latency` is their sum, `threshold` what was in force at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LateTotal {
    pub cpu: u32,
    pub count: u64,
    pub latency: Nanos,
    pub threshold: Nanos,
    /// Activations of which no window could be cut, or was drawn and not kept: windows came faster than they could be
    /// cut, or took more room than they may.
    pub passed_over: u64,
}
