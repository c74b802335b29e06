//! A scenario, run: frames of its recording handed out as they come.
//!
//! The calling thread becomes the housekeeping thread: it keeps off the measured CPUs where there is room, watches the
//! clocks, switches loads and collects what the measuring threads recorded. Nothing on the machine is changed unless
//! the scenario asks for it.

mod causes;
mod gaps;
mod phases;
mod prepare;
mod run;
mod watch;

pub use crate::probe::{CpuSoFar, Spike};
pub use punctual_rt::check::clock_read_cost;
pub use punctual_rt::now;

use crate::privilege;
use crate::probe::ProbeError;
use crate::trace::EngineChoice;
use punctual_facts::cpus::Cpus;
use punctual_facts::finding::Finding;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::recording::{EndReason, Frame};
use punctual_numbers::scenario::Scenario;
use punctual_rt::SetupError;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use thiserror::Error;

/// What a measurement must be told about the machine it runs on.
#[derive(Clone, Debug)]
pub struct Setting {
    /// CPUs as far as placing threads is concerned.
    pub cpus: Cpus,
    /// Facts that identify the machine, for the header.
    pub machine: Vec<(String, String)>,
    /// Name of the clock source.
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
    /// At most so many windows are kept.
    pub windows_max: u32,
    /// Bytes of the kernel's buffer for each measured CPU; `None`: as many as a million records a second need.
    pub buffer_bytes: Option<u64>,
    /// Numbers of the load phases that are traced; empty: all.
    pub phases: Vec<u16>,
    /// By which means.
    pub engine: EngineChoice,
}

impl Explain {
    /// So many windows are kept unless told otherwise.
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

/// How far a measurement is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Now.
    pub at: MonoTime,
    /// Time measured.
    pub elapsed: Nanos,
    /// Time to be measured.
    pub total: Nanos,
    /// Name of the load phase.
    pub phase: String,
    /// Its number, from 1, and how many there are.
    pub phase_number: (usize, usize),
    /// The phase does not count yet.
    pub warming_up: bool,
    /// Per measured CPU: activations so far, and the largest lateness up to the last interval.
    pub cpus: Vec<(u32, u64, Option<Nanos>)>,
    /// Releases skipped up to the last interval.
    pub skipped: u64,
    /// About once a second, and only for an observer that looks closely; empty otherwise.
    pub latencies: Vec<CpuSoFar>,
}

/// Why a measurement did not take place.
#[derive(Debug, Error)]
pub enum MeasureError {
    /// A measuring thread could not be set up.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// `/dev/cpu_dma_latency` was asked for and refused.
    #[error("open /dev/cpu_dma_latency for writing: {0}; run as root, or leave --dma-latency away")]
    DmaLatency(#[source] std::io::Error),
}

impl MeasureError {
    /// What the user can do about it, where that takes looking at the machine.
    pub fn remedy(&self) -> Option<String> {
        use SetupError::{Affinity, Deadline, MemoryLock, Policy};
        let Self::Probe(ProbeError::Refused { source: punctual_rt::Error::Setup(refused), .. }) = self else {
            return None;
        };
        match refused {
            Policy(errno) | Deadline(errno) => Some(privilege::explain_policy(*errno)),
            Affinity { .. } => Some(
                "the CPU is outside this process's cpuset (/proc/self/cgroup, cpuset.cpus.effective) or off-line; name \
                 other CPUs with --cpus"
                    .to_owned(),
            ),
            MemoryLock(_) => Some(privilege::explain_memory_lock()),
            _ => None,
        }
    }
}

/// Runs a scenario that was checked. Sets `interrupted` from a signal handler to end it early and cleanly.
///
/// # Errors
/// Only before the first activation: once measuring has begun, whatever happens is in the recording.
pub fn measure(
    scenario: &Scenario,
    setting: &Setting,
    interrupted: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<EndReason, MeasureError> {
    let prepared = prepare::prepare(scenario, setting)?;
    Ok(run::run(prepared, scenario, setting, interrupted, observer))
}
