//! The input of a measurement, its progress, and the reasons why it may be refused.

pub use crate::probe::{CpuSoFar, Endpoint, Spike};
pub use crate::trace::TracePace;

use crate::privilege;
use crate::probe::driver::DriverError;
use crate::probe::{ClockError, ProbeError};
use crate::trace::EngineChoice;
use punctual_facts::cpus::Cpus;
use punctual_facts::finding::Finding;
use punctual_facts::machine::MachineLine;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::recording::Frame;
use std::path::PathBuf;
use thiserror::Error;

#[derive(Clone, Debug)]
pub struct Setting {
    pub cpus: Cpus,
    pub machine: Vec<MachineLine>,
    pub clock_source: Option<String>,
    /// Findings of the audit; empty if there was no audit.
    pub findings: Vec<Finding>,
    pub notes: Vec<String>,
    pub load_dir: PathBuf,
    /// Measure as an ordinary task if the real-time class is refused, and say so in the recording. Otherwise a refusal
    /// is an error.
    pub ordinary_if_refused: bool,
    pub tool_version: String,
    pub explain: Option<Explain>,
    pub pace: Pace,
    /// The other side of a round trip.
    pub endpoint: Option<Endpoint>,
}

/// How often the threads beside the measuring ones work. This decides what a measurement costs, and how soon it notices
/// what happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Time between two looks of the housekeeping thread.
    pub tick: Nanos,
    /// Length of the intervals; `None` for intervals that lengthen with the run.
    pub interval: Option<Nanos>,
    pub trace: TracePace,
}

impl Default for Pace {
    fn default() -> Self {
        Self { tick: Nanos::from_ms(100), interval: None, trace: TracePace::Steady }
    }
}

impl Pace {
    /// For measurements of months beside other work: about ten wake-ups a minute for every hundred of the usual pace.
    pub const SPARING: Self =
        Self { tick: Nanos::from_secs(1), interval: Some(Nanos::from_secs(10)), trace: TracePace::WhenLate };
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explain {
    /// Activations with a larger latency are late. `None` stands for the 99.9th percentile of the run so far, or the
    /// budget if that is less.
    pub threshold: Option<Nanos>,
    /// Without a threshold, only about this many of the largest latencies so far are late, whatever the budget. `None`
    /// for the thousandth part.
    pub rarest: Option<u64>,
    pub windows_max: u32,
    /// Bytes of the kernel's trace buffer per measured CPU; `None` for the default.
    pub buffer_bytes: Option<u64>,
    /// Load phases that are traced; empty for all.
    pub phases: Vec<u16>,
    pub engine: EngineChoice,
}

impl Explain {
    pub const WINDOWS_MAX: u32 = 2000;
}

pub trait Observer {
    fn frame(&mut self, frame: Frame);
    /// Makes all frames that were passed so far durable.
    fn checkpoint(&mut self);
    /// Receives the progress a few times per second, also during warm-ups.
    fn progress(&mut self, progress: &Progress);
    /// Whether [`Progress::latencies`] is wanted. Reading them costs each measuring thread a few cache misses per
    /// second, but none between a release and the clock reading after it.
    fn looks_closely(&self) -> bool {
        false
    }
    /// The reason why the recording could not be written completely, which is also in the last frame.
    fn write_error(&self) -> Option<String>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    pub at: MonoTime,
    pub elapsed: Nanos,
    pub total: Nanos,
    pub phase: String,
    /// Whether the present phase has no load.
    pub is_idle: bool,
    pub phase_number: PhaseNumber,
    pub warming_up: bool,
    pub cpus: Vec<CpuProgress>,
    /// Number of releases skipped up to the last interval.
    pub skipped: u64,
    /// Latencies of each CPU, filled about once a second if the observer wants them; otherwise empty.
    pub latencies: Vec<CpuSoFar>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseNumber {
    pub number: usize,
    pub of: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuProgress {
    pub cpu: u32,
    pub activations: u64,
    /// The largest latency up to the last interval.
    pub max: Option<Nanos>,
    /// Activations of the present phase whose latency exceeded the budget.
    pub over_budget: u64,
}

#[derive(Debug, Error)]
pub enum MeasureError {
    #[error(transparent)]
    Probe(#[from] ProbeError),
    #[error("open /dev/cpu_dma_latency for writing: {0}")]
    DmaLatency(#[source] std::io::Error),
    /// The real-time core that is to wake the threads cannot be used.
    #[error("{0}")]
    Core(punctual_rt::Error),
    /// The clock on which the releases are to lie cannot be read.
    #[error("{0}")]
    Clock(#[from] ClockError),
    /// A round trip is to be measured, and nobody said to where.
    #[error("a round trip needs an endpoint")]
    NoEndpoint,
    /// The driver of a core cannot measure or tune.
    #[error("{0}")]
    Driver(#[from] DriverError),
}

/// What can be done about a measurement that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeasureRemedy {
    /// Get the right to use the real-time class, as the text says, or measure as an ordinary task.
    RealTime(String),
    /// Measure CPUs that this process may use.
    OtherCpus,
    /// Get the right to lock more memory, as the text says.
    MoreLockedMemory(String),
    LongerPeriod,
    /// Run as root, or leave the idle states unchanged.
    LeaveIdleStates,
    /// Name the other side of the round trip.
    NameEndpoint,
    /// Make the real-time core, the clock or the endpoint usable, as the text says.
    Core(String),
}

impl MeasureError {
    pub fn remedy(&self) -> Option<MeasureRemedy> {
        use punctual_rt::SetupError::{Affinity, Cobalt, Deadline, Evl, MemoryLock, Policy};
        Some(match self {
            Self::DmaLatency(_) => MeasureRemedy::LeaveIdleStates,
            Self::Core(refused) => MeasureRemedy::Core(refused.remedy().to_owned()),
            Self::Driver(refused) | Self::Probe(ProbeError::Driver { source: refused, .. }) => {
                MeasureRemedy::Core(refused.remedy())
            }
            Self::Clock(refused) | Self::Probe(ProbeError::Clock { source: refused, .. }) => {
                MeasureRemedy::Core(refused.remedy())
            }
            Self::Probe(ProbeError::Endpoint { source: refused, .. }) => MeasureRemedy::Core(refused.remedy()),
            Self::NoEndpoint => MeasureRemedy::NameEndpoint,
            Self::Probe(ProbeError::PeriodTooShort { .. }) => MeasureRemedy::LongerPeriod,
            Self::Probe(ProbeError::Refused { source: source @ punctual_rt::Error::Setup(refused), .. }) => {
                match refused {
                    Evl(_) | Cobalt(_) => MeasureRemedy::Core(source.remedy().to_owned()),
                    Policy(errno) | Deadline(errno) => MeasureRemedy::RealTime(privilege::explain_policy(*errno)),
                    Affinity { .. } => MeasureRemedy::OtherCpus,
                    MemoryLock(_) => MeasureRemedy::MoreLockedMemory(privilege::explain_memory_lock()),
                    _ => return None,
                }
            }
            Self::Probe(_) => return None,
        })
    }
}
