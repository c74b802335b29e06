//! How causes were looked for: the engine, the result of its self-test, and its blind spots.

use punctual_hist::Nanos;
use serde::Serializer;

/// The engines that can look for causes, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    /// The kernel's trace, with the events of its own latency tracers.
    Timerlat,
    /// The kernel's trace, without events of its latency tracers.
    Tracefs,
    /// A BPF program of ours that runs in the kernel.
    Bpf,
    /// Counters read before and after each late activation.
    Deltas,
    /// Only the counters that the kernel shows a process about itself.
    InProcess,
}

/// An engine that was not used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRung {
    pub rung: Rung,
    pub why: String,
}

/// Serialises refused engines as the members of an object.
fn by_rung<S: Serializer>(refused: &[RefusedRung], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(refused.iter().map(|of| (&of.rung, &of.why)))
}

/// How causes were looked for in a recording.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tracing {
    pub rung: Rung,
    /// Better engines, each with the reason why it was not used.
    #[serde(serialize_with = "by_rung")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, String>"))]
    pub refused: Vec<RefusedRung>,
    /// Numbers of the load phases that were traced; latencies of the others are not disturbed by tracing.
    pub phases: Vec<u16>,
    /// Events that were recorded, `group:name`.
    pub events: Vec<String>,
    /// What this engine cannot see on this kernel.
    pub blind: Vec<Blind>,
    /// The trace clock of the kernel that stamped the records.
    pub clock: String,
    /// Bytes of the kernel's buffer for each measured CPU.
    pub buffer_bytes: u64,
    /// Activations with larger latencies were late; `None` stands for the 99.9th percentile of the run so far.
    #[serde(rename = "threshold_ns")]
    pub threshold: Option<Nanos>,
    /// The largest number of windows that are kept.
    pub windows_max: u32,
    /// The self-test of the trace on each CPU: how many events of known timers were seen.
    pub self_test: Vec<SelfTest>,
}

/// Self-test of the trace on one CPU: each number of events seen should be the number of timers that fired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SelfTest {
    pub cpu: u32,
    pub timers: u32,
    pub expiries: u32,
    pub wakings: u32,
    /// Switches to the thread of the timers.
    pub switches: u32,
    /// Largest amount by which a record's time and the thread's own reading of the clock are in the wrong order.
    #[serde(rename = "warp_ns")]
    pub warp: Nanos,
}

impl SelfTest {
    pub fn passed(&self) -> bool {
        !self.has_holes() && !self.is_warped()
    }

    pub fn has_holes(&self) -> bool {
        self.misses_timers() || self.switches < self.timers
    }

    /// Whether expiries or wakings are missing, so that no window can be trusted. If only switches are missing, the
    /// windows show where.
    pub fn misses_timers(&self) -> bool {
        self.expiries.min(self.wakings) < self.timers
    }

    pub fn is_warped(&self) -> bool {
        self.warp >= Nanos::from_us(1)
    }
}

/// A blind spot of an engine: something it cannot see on this kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Blind {
    /// There are no records at all, only counters.
    Records,
    /// An event that the kernel lacks or does not let us record: `group:name`.
    Event(String),
    /// Sections with interrupts or pre-emption off leave no records; only the delays they cause are seen.
    CriticalSections,
    /// Interruptions by firmware are not counted, so a gap without records cannot be explained.
    Firmware,
    /// The actions of the host on which this guest runs.
    Hypervisor,
    /// Records of this CPU have holes that the kernel did not report: the self-test or a missing switch showed them.
    Holes(u32),
    /// A counter that cannot be read: first its name and CPUs, then the reason.
    Witness(String, String),
}

/// Size of the trace of one CPU at the end of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceTotal {
    pub cpu: u32,
    pub records: u64,
    /// Records that the kernel lost, and one for each page that could not be read.
    pub lost: u64,
    pub bytes: u64,
}
