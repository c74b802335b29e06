//! Who made it late: from the windows of a recording to causes, ranked over the whole run.
//!
//! ```text
//! Window -> Account (parts that sum to the latency) -> Spike (causes, largest first) -> Explanation (ranked)
//!           account                                     cause                            rank, rhythm, advice
//! ```
//! Nothing is guessed: what the records do not show is a part of its own, of class [`Class::Unexplained`] unless a
//! counter speaks for firmware or the hypervisor; a window with lost records is incomplete and ranks nothing.

mod account;
pub mod advice;
mod bursts;
mod cause;
mod contexts;
mod counters;
mod frame;
mod judge;
pub mod names;
mod nmi;
mod opinion;
mod ordinary;
mod pending;
mod rank;
mod sweep;
mod swept;
#[cfg(test)]
mod tests;
mod whole;
mod witness;

pub use crate::stats::rhythm::Rhythm;
pub use whole::primary_cause;

use crate::trace::{Incomplete, Kept, Tid, TraceTotal, Tracing};
use punctual_hist::{MonoTime, Nanos};

/// Where between the release and the body a part lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// From the release to the entry of the interrupt that serves it.
    TimerLate,
    /// From that entry to the expiry of our timer.
    Expiry,
    /// From the expiry to the waking of our thread.
    Waking,
    /// From the waking to the switch to our thread.
    Dispatch,
    /// From the switch to the body running.
    Return,
    /// Anchors are missing: it lies somewhere in between.
    Unknown,
}

/// What kind of thing took the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// A non-maskable interrupt.
    Nmi,
    /// The handler of a device's interrupt.
    HardIrq,
    /// The callback of a timer, in interrupt context.
    TimerCallback,
    /// The tick, or the local timer's interrupt itself.
    TimerInterrupt,
    /// An interrupt from another CPU: reschedule, function call, IRQ work, static key, TLB shootdown.
    Ipi,
    /// Another interrupt that is no device's.
    Vector,
    /// A softirq.
    Softirq,
    /// A thread of a higher priority, or of the deadline or stop class.
    HigherPriority,
    /// A thread of the same priority.
    SamePriority,
    /// The thread that stops CPUs for each other: `migration/N` and its work.
    StopMachine,
    /// A kernel worker; its function is in the name.
    Worker,
    /// A thread of lower priority that could not be pre-empted.
    PreemptOff,
    /// Interrupts were off under a thread or the idle task.
    IrqOff,
    /// The way out of an idle state.
    IdleExit,
    /// Waking and switching themselves.
    WakeUp,
    /// Our own thread: return to user space, its page faults.
    OwnPath,
    /// A page fault of our own thread.
    PageFault,
    /// Our own thread was not let run: real-time throttling, its control group's, or the kernel's server for ordinary
    /// threads, for the one in the name.
    Throttled,
    /// Our own thread was stopped by a signal or a debugger.
    Stopped,
    /// The measuring thread was moved to another CPU.
    Migration,
    /// The CPU's frequency changed, or was low.
    Frequency,
    /// Firmware: a system management interrupt.
    Firmware,
    /// The hypervisor did not let this CPU run.
    Hypervisor,
    /// The whole machine stood still.
    Paused,
    /// Nothing the kernel ran, and no counter that speaks.
    Unexplained,
}

impl Class {
    /// Every class, in the order of their declaration.
    pub const ALL: [Self; 25] = [
        Self::Nmi,
        Self::HardIrq,
        Self::TimerCallback,
        Self::TimerInterrupt,
        Self::Ipi,
        Self::Vector,
        Self::Softirq,
        Self::HigherPriority,
        Self::SamePriority,
        Self::StopMachine,
        Self::Worker,
        Self::PreemptOff,
        Self::IrqOff,
        Self::IdleExit,
        Self::WakeUp,
        Self::OwnPath,
        Self::PageFault,
        Self::Throttled,
        Self::Stopped,
        Self::Migration,
        Self::Frequency,
        Self::Firmware,
        Self::Hypervisor,
        Self::Paused,
        Self::Unexplained,
    ];
}

/// Something with a name that took time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    /// What kind of thing.
    pub class: Class,
    /// Its name: `nvme0q3 (irq 131)`, `NET_RX`, `hog99`, `kworker: vmstat_update`, `C6`; empty where the class says it all.
    pub name: String,
}

/// A stretch of the time between the release and the body.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// Where it lies.
    pub stage: Stage,
    /// What took it.
    #[serde(flatten)]
    pub cause: Cause,
    /// From.
    #[serde(rename = "from_ns")]
    pub from: MonoTime,
    /// How long.
    #[serde(rename = "length_ns")]
    pub length: Nanos,
    /// Both ends of the stretch say the same; otherwise a record was missing and the later end was believed.
    pub certain: bool,
}

/// One late activation, accounted for.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spike {
    /// The measured CPU.
    pub cpu: u32,
    /// When it was due.
    #[serde(rename = "release_ns")]
    pub release: MonoTime,
    /// When its body ran.
    #[serde(rename = "woke_ns")]
    pub woke: MonoTime,
    /// Load phase.
    pub phase: u16,
    /// Why it was kept.
    pub kept: Kept,
    /// Why it does not tell all; nothing of it is ranked then.
    pub incomplete: Option<Incomplete>,
    /// In order, without gaps: they sum to the latency. Empty where there is no trace.
    pub parts: Vec<Part>,
    /// Time by cause beyond what ordinary activations spend on it, largest first. Without a trace: what counters speak
    /// for, with no time.
    pub causes: Vec<Blame>,
}

impl Spike {
    /// By how much it was late.
    pub fn latency(&self) -> Nanos {
        self.woke.since(self.release)
    }

    /// What is to be blamed first.
    pub fn primary(&self) -> Option<&Blame> {
        self.causes.first()
    }
}

/// What one cause took of one spike.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Blame {
    /// Who.
    #[serde(flatten)]
    pub cause: Cause,
    /// In all.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// Beyond what it takes of an ordinary activation.
    #[serde(rename = "excess_ns")]
    pub excess: Nanos,
    /// Why it could run, who sent it: the cause of the cause.
    pub why: Vec<Why>,
}

/// Why something could run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Why {
    /// Its priority is higher than ours: (its, ours), as the kernel counts, smaller is higher.
    Priority { its: i32, ours: i32 },
    /// It has our priority or a higher one only for now, because of a lock that it holds: its own, as the kernel counts.
    Boosted { own: i32 },
    /// It could not be moved to another CPU: it had migration disabled.
    MigrationOff,
    /// It held pre-emption off.
    PreemptOff,
    /// It held interrupts off.
    IrqsOff,
    /// It was asked to give way and did not.
    NotPreempted,
    /// This task woke it: (task, name).
    WokenBy { task: Tid, name: String },
    /// This asked for the softirq.
    RaisedBy { by: String },
    /// Another CPU sent it: (CPU, who ran there, what was to be done).
    SentBy { cpu: u32, by: String, work: String },
    /// The interrupt may go to these CPUs.
    Affinity { cpus: String },
    /// The kernel alone decides where the interrupt goes.
    Managed,
    /// A counter says so: (its name, by how much it grew).
    Counter { name: String, grew: u64 },
    /// So much of the latency may be the hypervisor's: nobody sees when it takes the CPU of an interrupt.
    PartlyStolen {
        #[serde(rename = "time_ns")]
        time: Nanos,
    },
}

/// What a cause took on one measured CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuExcess {
    pub cpu: u32,
    pub spikes: u64,
    #[serde(rename = "excess_ns")]
    pub excess: Nanos,
}

/// What a cause took in one load phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseExcess {
    pub phase: u16,
    pub spikes: u64,
    #[serde(rename = "excess_ns")]
    pub excess: Nanos,
}

/// A reason, and in how many spikes it was seen.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhyCount {
    #[serde(flatten)]
    pub why: Why,
    pub spikes: u64,
}

/// A cause over the whole run.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ranked {
    /// Who.
    #[serde(flatten)]
    pub cause: Cause,
    /// Spikes it had the largest part of.
    pub first_in: u64,
    /// Spikes it had a part of that matters: a tenth of the latency or more.
    pub count: u64,
    /// All its excess.
    #[serde(rename = "total_ns")]
    pub total: Nanos,
    /// The largest of it in one spike.
    #[serde(rename = "worst_ns")]
    pub worst: Nanos,
    /// Its part of all latency that was looked at, 0 to 1.
    pub share: f64,
    /// By measured CPU: (CPU, spikes, excess).
    pub by_cpu: Vec<CpuExcess>,
    /// By load phase: (phase, spikes, excess).
    pub by_phase: Vec<PhaseExcess>,
    /// First and last time.
    #[serde(rename = "seen_ns")]
    pub seen: (MonoTime, MonoTime),
    /// It comes at regular times.
    pub rhythm: Option<Rhythm>,
    /// Its spikes come in clusters: (clusters, spikes in the largest).
    pub bursts: Option<(u64, u64)>,
    /// Why it could run, most frequent first: (reason, spikes).
    pub why: Vec<WhyCount>,
    /// Knobs of the catalogue that bear on it, most useful first.
    pub knobs: Vec<&'static str>,
    /// The spike that shows it best: an index into the spikes of the explanation.
    pub example: usize,
}

/// Late activations of the run, whether or not a window was kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LateCount {
    /// How many were late.
    pub late: u64,
    /// The sum of their latencies.
    #[serde(rename = "latency_ns")]
    pub latency: Nanos,
    /// Windows that were kept of them.
    pub kept: u64,
    /// Of these, windows that tell all.
    pub complete: u64,
    /// Of these, drawn at random.
    pub sampled: u64,
    /// Late ones of which no window could be cut, or was drawn and not kept: they came too fast, or took too much room.
    pub passed_over: u64,
}

/// Late activations of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuLate {
    pub cpu: u32,
    #[serde(flatten)]
    pub count: LateCount,
}

/// What is late on one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuThreshold {
    pub cpu: u32,
    #[serde(rename = "threshold_ns")]
    pub threshold: Nanos,
}

/// Late activations of one CPU come at regular times.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuRhythm {
    pub cpu: u32,
    #[serde(flatten)]
    pub rhythm: Rhythm,
}

/// What an ordinary activation spends on one cause.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OrdinaryTime {
    #[serde(flatten)]
    pub cause: Cause,
    #[serde(rename = "median_ns")]
    pub median: Nanos,
}

/// What the kernel's noise tracer counted, too, held against the records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Opinions {
    /// Interrupts, softirqs and stretches of threads of which both say the same.
    pub same: u64,
    /// Those of which they do not.
    pub different: u64,
}

/// Who made it late.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// How was looked on; `None`: the recording holds nothing of causes.
    pub tracing: Option<Tracing>,
    /// What the trace of each CPU came to.
    #[serde(rename = "traces")]
    pub totals: Vec<TraceTotal>,
    /// By CPU: what there is to explain.
    pub late: Vec<CpuLate>,
    /// The threshold in force at the end, by CPU.
    pub thresholds: Vec<CpuThreshold>,
    /// Causes, the worst of all first.
    pub causes: Vec<Ranked>,
    /// The late activations kept, latest first.
    pub spikes: Vec<Spike>,
    /// Late activations as such come at regular times: by CPU.
    pub rhythms: Vec<CpuRhythm>,
    /// Share of the latency looked at that has a cause, 0 to 1; `None` where there is none.
    pub explained: Option<f64>,
    /// Share of the latency of kept late activations that could be looked at: that of complete windows, 0 to 1; `None`
    /// where nothing late was kept.
    pub complete: Option<f64>,
    /// What an ordinary activation spends: (cause, median).
    pub ordinary: Vec<OrdinaryTime>,
    /// What the kernel's noise tracer says of it; `None` where it says nothing.
    #[serde(rename = "second_opinion")]
    pub opinions: Option<Opinions>,
}
