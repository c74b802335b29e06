//! What a measurement must be told, what it tells meanwhile, and why it may not take place.

pub use crate::probe::{CpuSoFar, Spike};

use crate::privilege;
use crate::probe::ProbeError;
use crate::trace::EngineChoice;
use punctual_facts::cpus::Cpus;
use punctual_facts::finding::Finding;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::recording::Frame;
use std::path::PathBuf;
use thiserror::Error;

/// What a measurement must be told about the machine it runs on.
#[derive(Clone, Debug)]
pub struct Setting {
    /// CPUs as far as placing threads is concerned.
    pub cpus: Cpus,
    /// Facts that identify the machine, for the header.
    pub machine: Vec<(String, String)>,
    pub clock_source: Option<String>,
    /// What the audit found, for the recording; empty when no audit was made.
    pub findings: Vec<Finding>,
    /// Things the reader of the recording should know beforehand.
    pub notes: Vec<String>,
    /// Where loads may write.
    pub load_dir: PathBuf,
    /// Measure as an ordinary task when the real-time class is refused; the recording then says so. Otherwise nothing
    /// is measured.
    pub ordinary_if_refused: bool,
    /// Version for the header.
    pub tool_version: String,
    /// Look for causes of late activations meanwhile.
    pub explain: Option<Explain>,
}

/// How causes of late activations are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explain {
    /// Later than this is late; `None`: than 99.9 % of the run so far, or than the budget where that is less.
    pub threshold: Option<Nanos>,
    /// How many windows are kept at most.
    pub windows_max: u32,
    /// Bytes of the kernel's buffer for each measured CPU; `None`: as many as a million records a second need.
    pub buffer_bytes: Option<u64>,
    /// Numbers of the load phases that are traced; empty: all.
    pub phases: Vec<u16>,
    pub engine: EngineChoice,
}

impl Explain {
    /// How many windows are kept unless told otherwise.
    pub const WINDOWS_MAX: u32 = 2000;
}

/// Takes what a measurement hands out.
pub trait Observer {
    /// The next frame of the recording.
    fn frame(&mut self, frame: Frame);
    /// Everything handed out so far should be made durable now.
    fn checkpoint(&mut self);
    /// How far it is, a few times a second, warm-ups included.
    fn progress(&mut self, progress: &Progress);
    /// Whether [`Progress::latencies`] is of interest. Reading them costs each measuring thread a few cache misses a
    /// second, after it has taken its time.
    fn looks_closely(&self) -> bool {
        false
    }
    /// Why the recording could not be written completely, if so: it goes into the last frame.
    fn write_error(&self) -> Option<String>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    pub at: MonoTime,
    pub elapsed: Nanos,
    pub total: Nanos,
    pub phase: String,
    pub phase_number: PhaseNumber,
    /// The phase does not count yet.
    pub warming_up: bool,
    pub cpus: Vec<CpuProgress>,
    /// Releases skipped up to the last interval.
    pub skipped: u64,
    /// About once a second, and only for an observer that looks closely; empty otherwise.
    pub latencies: Vec<CpuSoFar>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseNumber {
    /// Counted from one.
    pub number: usize,
    pub of: usize,
}

/// How far the measurement of one CPU is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuProgress {
    pub cpu: u32,
    pub activations: u64,
    /// The largest latency up to the last interval.
    pub max: Option<Nanos>,
}

/// Why a measurement did not take place.
#[derive(Debug, Error)]
pub enum MeasureError {
    /// A measuring thread could not be set up.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// `/dev/cpu_dma_latency` was asked for and refused.
    #[error("open /dev/cpu_dma_latency for writing: {0}")]
    DmaLatency(#[source] std::io::Error),
}

/// What can be done about a measurement that did not take place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Be granted the real-time class, by what this says of the machine, or measure as an ordinary task.
    RealTime(String),
    /// Measure CPUs that this process may run on.
    OtherCpus,
    /// Be granted more locked memory, by what this says of the machine.
    MoreLockedMemory(String),
    LongerPeriod,
    /// Be root, or leave the idle states alone.
    LeaveIdleStates,
}

impl MeasureError {
    /// What the user can do about it, as far as the machine tells.
    pub fn remedy(&self) -> Option<Remedy> {
        use punctual_rt::SetupError::{Affinity, Deadline, MemoryLock, Policy};
        Some(match self {
            Self::DmaLatency(_) => Remedy::LeaveIdleStates,
            Self::Probe(ProbeError::PeriodTooShort { .. }) => Remedy::LongerPeriod,
            Self::Probe(ProbeError::Refused { source: punctual_rt::Error::Setup(refused), .. }) => match refused {
                Policy(errno) | Deadline(errno) => Remedy::RealTime(privilege::explain_policy(*errno)),
                Affinity { .. } => Remedy::OtherCpus,
                MemoryLock(_) => Remedy::MoreLockedMemory(privilege::explain_memory_lock()),
                _ => return None,
            },
            Self::Probe(_) => return None,
        })
    }
}
