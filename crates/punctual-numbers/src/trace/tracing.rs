//! How was looked: the engine, what it came to, and what it cannot see.

use punctual_hist::Nanos;

/// How was looked on, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    /// The kernel's trace and the events of its own latency tracers.
    Timerlat,
    /// The kernel's trace.
    Tracefs,
    /// A program in the kernel.
    Bpf,
    /// Counters before and after.
    Deltas,
    /// Only what the process knows of itself.
    InProcess,
}

/// What a recording says of how causes were looked for.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tracing {
    /// The engine used.
    pub rung: Rung,
    /// Better ones, and why they were not used.
    #[serde(serialize_with = "crate::published::map")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, String>"))]
    pub refused: Vec<(Rung, String)>,
    /// Load phases that were traced: numbers of the others are not disturbed by it.
    pub phases: Vec<u16>,
    /// Events that were recorded, `group:name`.
    pub events: Vec<String>,
    /// What this engine cannot see on this kernel.
    pub blind: Vec<Blind>,
    /// The clock of the records.
    pub clock: String,
    /// Bytes of the kernel's buffer for each measured CPU.
    pub buffer_bytes: u64,
    /// Later than this is late; `None`: than the 99.9 % of the run so far.
    #[serde(rename = "threshold_ns")]
    pub threshold: Option<Nanos>,
    /// At most so many windows are kept.
    pub windows_max: u32,
    /// What known timers came to, by CPU.
    pub self_test: Vec<SelfTest>,
}

/// What a self-test of the trace came to on one CPU: each number should be that of the timers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SelfTest {
    pub cpu: u32,
    /// Timers fired.
    pub timers: u32,
    /// Expiries seen.
    pub expiries: u32,
    /// Wakings seen.
    pub wakings: u32,
    /// Switches to the thread seen.
    pub switches: u32,
    /// Largest difference between a record's clock and the thread's own reading that contradicts their order.
    #[serde(rename = "warp_ns")]
    pub warp: Nanos,
}

impl SelfTest {
    /// Whether nothing was missing and the clocks fit together.
    pub fn passed(&self) -> bool {
        !self.has_holes() && !self.is_warped()
    }

    /// Whether something of its timers was not seen.
    pub fn has_holes(&self) -> bool {
        self.misses_timers() || self.switches < self.timers
    }

    /// Whether expiries or wakings were not seen. Without these no window can be trusted; where only switches are
    /// missing, each window shows what it lacks.
    pub fn misses_timers(&self) -> bool {
        self.expiries.min(self.wakings) < self.timers
    }

    /// Whether the clocks do not fit together.
    pub fn is_warped(&self) -> bool {
        self.warp >= Nanos::from_us(1)
    }
}

/// Something that cannot be seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Blind {
    /// No records at all: only counters.
    Records,
    /// An event the kernel does not have or does not give: `group:name`.
    Event(String),
    /// Sections with interrupts or pre-emption off are seen only by what they delay.
    CriticalSections,
    /// What ran in a gap without records, where nothing counts interruptions by firmware.
    Firmware,
    /// The host.
    Hypervisor,
    /// Records of this CPU have holes that nobody reported: the self-test found them, or windows that lack a switch.
    Holes(u32),
    /// A witness that cannot be had: what it is and of which CPUs, and why.
    Witness(String, String),
}

/// What the trace of one CPU came to, at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceTotal {
    pub cpu: u32,
    /// Records read.
    pub records: u64,
    /// Records the kernel lost, and pages of them that could not be read, one each.
    pub lost: u64,
    /// Bytes read.
    pub bytes: u64,
}
