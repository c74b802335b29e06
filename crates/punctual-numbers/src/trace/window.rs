//! The window of a late activation: its trace records, the names of tasks and functions in them, and the counters
//! around it.

use super::{Address, RemoteRecord, Tid, TraceRecord};
use punctual_hist::{MonoTime, Nanos};
use std::collections::BTreeMap;

/// Names for the ids, lines and addresses in a window's records. The keys of `irqs` are the lines' numbers in
/// `/proc/interrupts`.
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
    /// CPUs that the line may interrupt, as a list such as `0-3,8`; empty if they are not known.
    pub affinity: String,
    /// The kernel alone decides which CPU the line interrupts; users cannot move it.
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
    /// The activation was an ordinary one, kept for comparison with late ones.
    Ordinary,
}

/// The records and counters of one activation, which was due at `release` on the measured CPU `cpu` and woke at `woke`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Slot of the window in the recording: a later window with the same slot replaces this one.
    pub slot: u32,
    pub kept: Kept,
    pub cpu: u32,
    pub tid: Tid,
    pub release: MonoTime,
    pub woke: MonoTime,
    pub phase: u16,
    /// Records of the CPU `cpu` in order, from some time before the release until shortly after the wake-up.
    pub records: Vec<TraceRecord>,
    /// Records of other CPUs that affect the CPU `cpu` in this time, in order.
    pub elsewhere: Vec<RemoteRecord>,
    pub names: Names,
    pub incomplete: Option<Incomplete>,
    pub around: Option<Around>,
}

/// Why records of a window may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Incomplete {
    /// The kernel reported that it lost records of this time.
    Lost,
    /// The trace begins after the release, because earlier records had been overwritten.
    Late,
    /// The trace of this CPU was not read up to the wake-up.
    Short,
    /// The clock of the trace and the clock of the thread do not agree.
    Warped,
    /// There were more records than one window may hold.
    TooLong,
    /// This engine keeps no records.
    NoTrace,
    /// Records of this time or of this CPU are missing although the kernel did not report a loss, so it is not known
    /// which task had the CPU.
    Holes,
    /// The thread was not seen to run on this CPU, and its policy lets it run on others.
    Elsewhere,
}

/// Counters around an activation, read before the activation at `from` and after it at `to`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    pub from: MonoTime,
    pub to: MonoTime,
    /// Growth of each counter from `from` to `to`; of counters that exist per CPU, the one of this CPU. A counter that
    /// could be read and did not grow is listed with 0, except for lines of devices that have not yet interrupted this
    /// CPU in the run.
    pub changes: Vec<Growth>,
    /// The longest time between `from` and `to` in which none of our threads was seen running on any CPU.
    pub standstill: Option<Nanos>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    pub counter: Counter,
    /// Growth of the counter, in nanoseconds if it counts time.
    pub by: u64,
    /// Mean growth in an equally long time elsewhere in the run; `None` if too little of the run was observed.
    pub usually: Option<u64>,
}

/// The kinds of counters. Faults, switches and migrations are those of the measuring thread.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// Interrupts of this CPU, named as in `/proc/interrupts`: the label of the row, and its meaning.
    Interrupt(String, String),
    Softirq(String),
    /// Time that tasks of this CPU waited to run, including tasks that the measuring thread kept waiting.
    RunDelay,
    IdleState(String),
    /// Time in which the hypervisor ran other guests instead of this CPU.
    Steal,
    /// System management interrupts of the firmware.
    Smi,
    /// How often this CPU, or its package, was throttled for heat.
    Throttled,
    /// Actual frequency of the CPU, in thousandths of its nominal frequency.
    FrequencyRatio,
    MinorFaults,
    MajorFaults,
    InvoluntarySwitches,
    VoluntarySwitches,
    Migrations,
    /// How often the control group of the thread, or the real-time class as a whole, was throttled.
    RtThrottled,
    /// Time in which the measuring thread was ready to run and had to wait.
    OwnRunDelay,
}

/// An activation that was late, whether or not its window was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    pub cpu: u32,
    pub release: MonoTime,
    pub latency: Nanos,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LateList {
    /// Individual late activations, in order of time for each CPU; if there were too many, some are left out.
    pub late: Vec<Late>,
    pub totals: Vec<LateTotal>,
}

/// Late activations of one CPU since the last list. `latency` is the sum of their latencies; `threshold` is the last
/// threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LateTotal {
    pub cpu: u32,
    pub count: u64,
    pub latency: Nanos,
    pub threshold: Nanos,
    /// Late activations without a window because windows came faster than they could be cut, or took more room than
    /// allowed.
    pub passed_over: u64,
}

impl LateTotal {
    /// Adds what came later on the same CPU.
    pub fn add(&mut self, more: &Self) {
        self.count = self.count.saturating_add(more.count);
        self.latency = self.latency.plus(more.latency);
        self.passed_over = self.passed_over.saturating_add(more.passed_over);
        self.threshold = more.threshold;
    }
}
