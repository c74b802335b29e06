//! What to measure: which threads, how they wait, for how long, under which loads.
//!
//! A scenario is a complete, explicit value; every default has been decided by whoever made it.

use crate::cpu_set::CpuSet;
use punctual_hist::Nanos;

/// Scheduling policy of the measuring threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_FIFO` at this priority (1..=95).
    Fifo(u8),
    /// `SCHED_RR` at this priority (1..=95).
    RoundRobin(u8),
    /// `SCHED_DEADLINE` with this run time per period; the threads are then not pinned.
    Deadline {
        /// Run time granted in each period.
        runtime: Nanos,
    },
    /// `SCHED_OTHER`, for those whom the real-time class is refused.
    Other,
}

/// How a measuring thread waits for its release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// `clock_nanosleep` to the release itself.
    Absolute,
    /// `clock_nanosleep` for the time left to the release.
    Relative,
    /// `timerfd` armed for the release, then `read`.
    Timerfd,
    /// `futex` wait with the release as its time-out.
    Futex,
    /// Polls the clock; never sleeps.
    Spin,
    /// Sleeps one period from wherever it is, as the suite of 2002 did; has no grid, so nothing is ever skipped.
    Nanosleep,
}

/// Where on the clock the releases lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerPhase {
    /// Same instant on all CPUs, as far from the tick as the period allows.
    Auto,
    /// Same instant on all CPUs, at multiples of the period.
    Aligned,
    /// Spread evenly over the period, CPU by CPU.
    Staggered,
    /// At random, from this seed.
    Random(u64),
}

/// One measuring thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeThread {
    /// The CPU it is measured for.
    pub cpu: u32,
    /// Time between releases.
    pub period: Nanos,
}

/// An amount of running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// For so long.
    Time(Nanos),
    /// For so many activations of every thread.
    Activations(u64),
}

/// Loads that run at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadPhase {
    /// Names of loads; empty is idle. `cmd:PROGRAM ARGS` is an outside program.
    pub loads: Vec<String>,
    /// The phase's part of the whole: so many parts of the sum over all phases.
    pub parts: u32,
}

impl LoadPhase {
    /// The phase's name as the user wrote it: `idle`, `cpu+memory`.
    pub fn name(&self) -> String {
        if self.loads.is_empty() { "idle".to_owned() } else { self.loads.join("+") }
    }
}

/// Everything a measurement is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The measuring threads, one per CPU.
    pub threads: Vec<ProbeThread>,
    /// Their policy.
    pub policy: Policy,
    /// How they wait.
    pub mechanism: Mechanism,
    /// Where the releases lie.
    pub phase: TimerPhase,
    /// What runs before statistics begin.
    pub warm_up: Amount,
    /// How much is measured.
    pub length: Amount,
    /// Largest lateness the user can live with.
    pub budget: Option<Nanos>,
    /// Stop at the first activation later than this.
    pub limit: Option<Nanos>,
    /// Hold `/dev/cpu_dma_latency` at so many microseconds during the run.
    pub dma_latency_us: Option<u32>,
    /// Phases of load, in order.
    pub load_phases: Vec<LoadPhase>,
    /// CPUs the loads may use; `None` lets every CPU that is not isolated be used.
    pub load_cpus: Option<CpuSet>,
    /// Name of the suite this scenario belongs to.
    pub suite: Option<String>,
}

impl Scenario {
    /// The measured CPUs.
    pub fn cpus(&self) -> CpuSet {
        self.threads.iter().map(|t| t.cpu).collect()
    }
}
