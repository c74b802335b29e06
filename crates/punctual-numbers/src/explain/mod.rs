//! Finds what made activations late: from the windows of a recording to causes, ranked over the whole run.
//!
//! ```text
//! Window -> Account (parts that sum to the latency) -> Spike (causes, largest first) -> Explanation (ranked)
//!           account                                     cause                            rank, rhythm, advice
//! ```
//! Nothing is guessed: what the records do not show is a part of its own, of class [`Class::Unexplained`] unless a
//! counter points to firmware or the hypervisor. A window with lost records is incomplete and takes no part in the
//! ranking.

mod account;
pub mod advice;
mod bursts;
mod cause;
mod cause_name;
mod clues;
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

pub use crate::stats::rhythm::Rhythm;
pub use cause_name::CauseName;
pub use whole::{Evidence, primary_cause};

use crate::trace::{Incomplete, Kept, Tid, TraceTotal, Tracing};
use punctual_hist::{MonoTime, Nanos};

/// The stage, between release and body, in which a part lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// From the release to the entry of the timer interrupt.
    TimerLate,
    /// From the entry of the timer interrupt to the expiry of our timer.
    Expiry,
    /// From the expiry to the waking of our thread.
    Waking,
    /// From the waking to the switch to our thread.
    Dispatch,
    /// From the switch to the body running.
    Return,
    /// The records that separate the stages are missing.
    Unknown,
}

/// Declares an enum and the list of its variants, so that none can be missing from the list.
macro_rules! listed {
    ($(#[$of:meta])* pub enum $name:ident { $($(#[$doc:meta])* $one:ident,)* }) => {
        $(#[$of])*
        pub enum $name { $($(#[$doc])* $one,)* }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$one),*];
        }
    };
}

listed! {
    /// The kind of activity that took the time.
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
        /// An interrupt from another CPU, such as a reschedule, a function call or a TLB shootdown.
        Ipi,
        /// Another interrupt that no device raised.
        Vector,
        /// A softirq, in interrupt context or in a thread of its own.
        Softirq,
        /// A thread of a higher priority, or of the deadline or stop class.
        HigherPriority,
        /// A thread of the same priority.
        SamePriority,
        /// The thread that stops CPUs for each other: `migration/N` and its work.
        StopMachine,
        /// A kernel worker, named after the function that it ran.
        Worker,
        /// A thread of lower priority that could not be pre-empted.
        PreemptOff,
        /// Interrupts were off under a thread or the idle task.
        IrqOff,
        /// The way out of an idle state.
        IdleExit,
        /// The waking of our thread and the switch to it.
        WakeUp,
        /// Work of our own thread, such as its return to user space.
        OwnPath,
        /// A page fault of our own thread.
        PageFault,
        /// Our own thread was kept from the CPU: by real-time throttling, by the throttling of its control group, or by
        /// the kernel's server for ordinary threads, which served the thread in the name.
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
        /// No record shows what took the time, and no counter explains it.
        Unexplained,
    }
}

/// Something that took time, with its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    pub class: Class,
    /// The name of the cause, such as `nvme0q3 (irq 131)`, `NET_RX`, `hog99`, `kworker: vmstat_update` or `C6`; empty
    /// if the class needs no name.
    pub name: CauseName,
}

/// A stretch of the time between the release and the body.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    pub stage: Stage,
    #[serde(flatten)]
    pub cause: Cause,
    #[serde(rename = "from_ns")]
    pub from: MonoTime,
    #[serde(rename = "length_ns")]
    pub length: Nanos,
    /// Whether the records at both ends agree. If not, a record is missing, and the later end was believed.
    pub certain: bool,
}

/// One late activation, with the causes of its latency.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spike {
    pub cpu: u32,
    #[serde(rename = "release_ns")]
    pub release: MonoTime,
    /// Time at which the body of the activation began to run.
    #[serde(rename = "woke_ns")]
    pub woke: MonoTime,
    /// Number of the load phase, counted from 0.
    pub phase: u16,
    pub kept: Kept,
    /// Why the records of the spike are incomplete. An incomplete spike takes no part in the ranking.
    pub incomplete: Option<Incomplete>,
    /// Parts in order and without gaps, which sum to the latency; empty if there is no trace.
    pub parts: Vec<Part>,
    /// Causes, the one with the largest time beyond that of ordinary activations first. Without a trace these are the
    /// causes that counters point to, with no time.
    pub causes: Vec<Blame>,
}

impl Spike {
    pub fn latency(&self) -> Nanos {
        self.woke.since(self.release)
    }

    pub fn primary(&self) -> Option<&Blame> {
        self.causes.first()
    }
}

/// The time that one cause took in one spike.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Blame {
    #[serde(flatten)]
    pub cause: Cause,
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// Time of the cause beyond the median of ordinary activations, in nanoseconds.
    #[serde(rename = "excess_ns")]
    pub excess: Nanos,
    /// Why the cause could run, or what sent it.
    pub why: Vec<Why>,
}

/// Why a cause could run, or what brought it about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Why {
    /// The priority of the cause is higher than ours. Priorities are those of the kernel: a smaller number is higher.
    Priority { its: i32, ours: i32 },
    /// A lock that the thread holds lends it a higher priority. `own` is its own priority, as a number of the kernel.
    Boosted { own: i32 },
    /// The thread that ran could not be moved to another CPU: it had migration disabled.
    MigrationOff,
    /// The thread that ran held pre-emption off.
    PreemptOff,
    /// The thread that ran held interrupts off.
    IrqsOff,
    /// The thread that ran was asked to give way and did not.
    NotPreempted,
    /// The task or interrupt that woke the thread that ran.
    WokenBy { task: Tid, name: String },
    /// The task or interrupt that raised the softirq.
    RaisedBy { by: String },
    /// Another CPU sent the interrupt. `by` is what ran there, `work` is the function that was to be called.
    SentBy { cpu: u32, by: String, work: String },
    /// The CPUs to which the interrupt may be delivered.
    Affinity { cpus: String },
    /// The kernel alone decides to which CPU the interrupt goes.
    Managed,
    /// A counter points to the cause: the name of the counter and its growth.
    Counter {
        name: String,
        grew: u64,
        /// Whether the counter counts nanoseconds.
        #[serde(skip)]
        is_time: bool,
    },
    /// The hypervisor may have taken up to this time. The records do not show when it takes the CPU during an
    /// interrupt.
    PartlyStolen {
        #[serde(rename = "time_ns")]
        time: Nanos,
    },
}

impl Why {
    /// By how much a counter grew, or how much time there may be of it, in nanoseconds for times. `None` for what has no
    /// amount.
    pub const fn amount(&self) -> Option<u64> {
        match self {
            Self::Counter { grew, .. } => Some(*grew),
            Self::PartlyStolen { time } => Some(time.as_ns()),
            _ => None,
        }
    }

    /// The same reason with an amount of zero, which is equal for reasons that differ only in their amount.
    #[must_use]
    pub(super) fn without_amount(&self) -> Self {
        let mut same = self.clone();
        match &mut same {
            Self::Counter { grew, .. } => *grew = 0,
            Self::PartlyStolen { time } => *time = Nanos::ZERO,
            _ => {}
        }
        same
    }
}

/// The excess of a cause on one measured CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuExcess {
    pub cpu: u32,
    pub spikes: u64,
    #[serde(rename = "excess_ns")]
    pub excess: Nanos,
}

/// The excess of a cause in one load phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseExcess {
    pub phase: u16,
    pub spikes: u64,
    #[serde(rename = "excess_ns")]
    pub excess: Nanos,
}

/// A reason, and the number of spikes in which it was seen. A reason with an amount has the largest of its spikes.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhyCount {
    #[serde(flatten)]
    pub why: Why,
    pub spikes: u64,
}

/// Clusters of spikes in time, published as (number of clusters, spikes in the largest one).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(into = "(u64, u64)")]
pub struct Bursts {
    pub clusters: u64,
    /// Number of spikes in the largest cluster.
    pub largest: u64,
}

impl From<Bursts> for (u64, u64) {
    fn from(Bursts { clusters, largest }: Bursts) -> Self {
        (clusters, largest)
    }
}

/// A cause, ranked over the whole run.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ranked {
    #[serde(flatten)]
    pub cause: Cause,
    /// Number of spikes in which the cause had the largest part.
    pub first_in: u64,
    /// Number of spikes in which the cause had at least a tenth of the latency.
    pub count: u64,
    /// Sum of the excess of the cause over all spikes, in nanoseconds.
    #[serde(rename = "total_ns")]
    pub total: Nanos,
    /// Largest excess of the cause in one spike, in nanoseconds.
    #[serde(rename = "worst_ns")]
    pub worst: Nanos,
    /// Share of the cause in all traced latency, 0 to 1.
    pub share: f64,
    pub by_cpu: Vec<CpuExcess>,
    pub by_phase: Vec<PhaseExcess>,
    /// Times at which the cause was seen first and last, in nanoseconds.
    #[serde(rename = "seen_ns")]
    pub seen: (MonoTime, MonoTime),
    /// The period at which the cause comes; `None` if it is not regular.
    pub rhythm: Option<Rhythm>,
    /// Clusters of the spikes of the cause: (number of clusters, spikes in the largest); `None` if there are none.
    #[cfg_attr(feature = "schema", schemars(with = "Option<(u64, u64)>"))]
    pub bursts: Option<Bursts>,
    /// Reasons why the cause could run, the most frequent one first.
    pub why: Vec<WhyCount>,
    /// Knobs of the catalogue that bear on the cause, most useful first.
    pub knobs: Vec<&'static str>,
    /// The spike that shows the cause best: its index among all spikes, of which the worst has index 0.
    pub example: usize,
}

/// Numbers of late activations, with and without a window of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LateCount {
    pub late: u64,
    /// Sum of the latencies of all late activations, in nanoseconds.
    #[serde(rename = "latency_ns")]
    pub latency: Nanos,
    /// Number of late activations of which a window was kept.
    pub kept: u64,
    /// Number of windows that are complete.
    pub complete: u64,
    /// Number of complete windows that were drawn at random.
    pub sampled: u64,
    /// Number of late activations that have no window, because they came too fast or their windows took too much room.
    pub passed_over: u64,
}

/// Numbers of late activations of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuLate {
    pub cpu: u32,
    #[serde(flatten)]
    pub count: LateCount,
}

/// The latency from which an activation of one CPU is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuThreshold {
    pub cpu: u32,
    #[serde(rename = "threshold_ns")]
    pub threshold: Nanos,
}

/// The period at which late activations of one CPU come.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuRhythm {
    pub cpu: u32,
    #[serde(flatten)]
    pub rhythm: Rhythm,
}

/// The median time that ordinary activations spend on one cause.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OrdinaryTime {
    #[serde(flatten)]
    pub cause: Cause,
    #[serde(rename = "median_ns")]
    pub median: Nanos,
}

/// Agreement of the kernel's noise tracer with the records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Opinions {
    /// Number of interrupts, softirqs and runs of threads for which the tracer and the records give the same length.
    pub same: u64,
    /// Number of interrupts, softirqs and runs of threads for which the lengths differ.
    pub different: u64,
}

/// What made activations late, over the whole run.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// How the run was traced; `None` if it was not.
    pub tracing: Option<Tracing>,
    /// Totals of the trace of each CPU.
    #[serde(rename = "traces")]
    pub totals: Vec<TraceTotal>,
    /// By CPU, the numbers of late activations to be explained.
    pub late: Vec<CpuLate>,
    /// By CPU, the latency from which activations counted as late at the end of the run.
    pub thresholds: Vec<CpuThreshold>,
    /// Causes, the one with the largest share first.
    pub causes: Vec<Ranked>,
    /// Late activations of which a window was kept, the one with the largest latency first.
    #[serde(skip)]
    pub spikes: Vec<Spike>,
    /// By CPU, the period of late activations that no cause with a period of its own explains.
    pub rhythms: Vec<CpuRhythm>,
    /// Share of the traced latency that has a cause, 0 to 1; `None` if no latency was traced.
    pub explained: Option<f64>,
    /// Share of the latency of spikes that lies in complete windows, 0 to 1; `None` if there are no spikes.
    pub complete: Option<f64>,
    /// Median times that ordinary activations spend, the largest first.
    pub ordinary: Vec<OrdinaryTime>,
    /// Agreement with the kernel's noise tracer; `None` if that was not running.
    #[serde(rename = "second_opinion")]
    pub opinions: Option<Opinions>,
}
