//! The configuration of a periodic task: plain data that is checked before anything is started.

use crate::backend::{Backend, InBand, find_any};
use crate::check::{Findings, Host, Plan, Waits, check};
use crate::setup::{LatencyQos, Require, Setup};
use crate::stats::{FLIGHT_CYCLES, StatsConfig};
use crate::{ConfigError, Error, Margin, Memory, Overrun, Policy, TOLERANCE, Wait};
use punctual_hist::Nanos;

/// Position of a task's releases on a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Away from the scheduler's tick, which the start of the task looks for by polling on the task's CPU for 0.2 s.
    #[default]
    Auto,
    /// At this offset from the multiples of the period on `CLOCK_MONOTONIC`; in a [`Group`](crate::Group), from its
    /// epoch.
    Offset(Nanos),
    /// The first release is `offset` after a multiple of `multiple` on a clock. The clock is read once, at the start: if it
    /// is set later, the releases do not move.
    AlignedTo {
        /// The clock with the multiples.
        clock: PhaseClock,
        /// Interval on the clock whose multiples count; zero means the period.
        multiple: Nanos,
        /// Time from a multiple to the first release.
        offset: Nanos,
    },
}

/// A clock to which a phase can be aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseClock {
    /// `CLOCK_MONOTONIC`: the phase is the same at each start until the machine reboots.
    Monotonic,
    /// `CLOCK_REALTIME`: wall-clock time.
    Realtime,
    /// `CLOCK_TAI`: International Atomic Time, the time scale that PTP distributes, without leap seconds.
    Tai,
}

/// The configuration of a periodic task.
///
/// ```
/// use punctual_rt::setup::Require;
/// use punctual_rt::{Control, Ended, Nanos, Policy, Task, TaskConfig};
///
/// let config = TaskConfig::periodic(Nanos::from_ms(1)).named("axis").policy(Policy::Fifo(85)).require(Require::BestEffort);
/// let (mut runs, mut next) = (0, 0);
/// let task = Task::spawn(&config, move |cycle| {
///     // … read, compute, write …
///     // The `missed` releases after this one had passed as well when the thread was back. They are not run.
///     assert_eq!(cycle.wake.index, next);
///     next = cycle.wake.index + 1 + cycle.wake.missed;
///     runs += 1;
///     if runs == 20 { Control::Stop } else { Control::Continue }
/// })?;
/// let stats = task.stats().clone();
/// assert_eq!(task.join(), Ended::Stopped);
/// assert_eq!(stats.snapshot().counters.activations, 20);
/// # Ok::<(), punctual_rt::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TaskConfig {
    pub(crate) name: String,
    pub(crate) period: Nanos,
    pub(crate) phase: Phase,
    pub(crate) wait: Wait,
    pub(crate) overrun: Overrun,
    pub(crate) tolerance: Nanos,
    pub(crate) confirms_interference: bool,
    pub(crate) flight_cycles: u32,
    pub(crate) deadline: Option<Nanos>,
    pub(crate) budget: Option<Nanos>,
    pub(crate) execution: Option<Nanos>,
    pub(crate) steer_max: Option<Nanos>,
    pub(crate) backend: Option<Backend>,
    pub(crate) in_band: InBand,
    pub(crate) setup: Setup,
}

impl TaskConfig {
    /// A task with this period: ordinary policy, any CPU, hybrid wait, phase away from the tick, missed releases
    /// skipped, nothing locked.
    pub fn periodic(period: Nanos) -> Self {
        Self {
            name: "task".to_owned(),
            period,
            phase: Phase::Auto,
            wait: Wait::Hybrid(Margin::AUTO),
            overrun: Overrun::Skip,
            tolerance: TOLERANCE,
            confirms_interference: false,
            flight_cycles: FLIGHT_CYCLES,
            deadline: None,
            budget: None,
            execution: None,
            steer_max: None,
            backend: None,
            in_band: InBand::Count,
            setup: Setup::new(),
        }
    }

    /// Sets the name of the task and of its thread: 1 to 32 bytes without control characters, direction marks and line
    /// separators. The kernel shows the first 15 bytes.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// Chooses the kernel that paces the task, instead of leaving the choice to the start.
    ///
    /// Without this, a real-time core paces the task if the kernel has one, the policy is [`Policy::Fifo`], the wait is
    /// [`Wait::Sleep`], [`Wait::Anticipate`] or [`Wait::Hybrid`], and no interference is to be confirmed; all other
    /// tasks run on Linux. A core that is there but cannot be used is a refusal, which [`TaskConfig::require`] decides
    /// about. With this, a core that cannot be used is an error in any case, and so is a configuration that cannot run
    /// on it ([`ConfigError::OnlyInBand`]).
    ///
    /// A core needs all memory locked. Memory that [`TaskConfig::memory`] would leave is locked for it.
    #[must_use]
    pub fn backend(self, backend: Backend) -> Self {
        Self { backend: Some(backend), ..self }
    }

    /// Lets the loop ask the kernel what interfered after it lost time while polling, see
    /// [`Pacer::confirming_interference`](crate::Pacer::confirming_interference).
    #[must_use]
    pub fn confirming_interference(self) -> Self {
        Self { confirms_interference: true, ..self }
    }

    setters! {
        /// Sets the position of the releases on the clock.
        phase: Phase;
        /// Sets the way to wait for a release.
        wait: Wait;
        /// Sets what happens to missed releases.
        overrun: Overrun;
        /// Sets the largest error of an activation that is classed as on time; 10 us by default.
        tolerance: Nanos;
        /// Sets how many of the latest cycles the flight recorder keeps: a power of two from 64 to 65536; 1024 by
        /// default.
        flight_cycles: u32;
        /// Sets the time from its release by which a body must have finished. Later ends are counted.
        deadline: Nanos => (Some(deadline));
        /// Sets the largest acceptable latency. Activations with a larger latency are counted.
        budget: Nanos => (Some(budget));
        /// Sets the longest run time of the body that you expect, for [`TaskConfig::check`].
        execution: Nanos => (Some(execution));
        /// Sets the largest distance by which a release may be steered; by default a hundredth of the period.
        steer_max: Nanos => (Some(steer_max));
        /// Sets what happens when a task on a real-time core is taken in-band.
        in_band: InBand;
        /// Sets the scheduling policy.
        policy: Policy => (in setup);
        /// Sets the CPUs to run on.
        cpus: &[u32] => (in setup);
        /// Sets what happens with memory before the loop.
        memory: Memory => (in setup);
        /// Sets which idle states are allowed.
        latency_qos: LatencyQos => (in setup);
        /// Sets what happens if the system refuses a part of the set-up.
        require: Require => (in setup);
    }

    /// Refuses configurations that no system can run, or that would occupy the CPU unintentionally.
    ///
    /// # Errors
    /// [`ConfigError::Period`], [`ConfigError::Margin`], [`ConfigError::SteerMax`], [`ConfigError::Priority`], [`ConfigError::Reservation`],
    /// [`ConfigError::TaskName`], [`ConfigError::FlightCycles`], [`ConfigError::ZeroLength`], [`ConfigError::OnlyInBand`].
    ///
    /// # Real-time
    /// Only computes.
    pub fn validate(&self) -> Result<(), Error> {
        check_period(self.period)?;
        self.wait.validate()?;
        if matches!(self.wait, Wait::Hybrid(Margin::Fixed(margin)) if margin >= self.period) {
            return Err(Error::Config(ConfigError::Margin));
        }
        if self.steer_max.is_some_and(|max| max >= self.period) {
            return Err(Error::Config(ConfigError::SteerMax));
        }
        self.setup.policy.checked()?;
        if matches!(self.backend, Some(Backend::Evl | Backend::Cobalt)) && self.out_of_band_priority().is_none() {
            return Err(Error::Config(ConfigError::OnlyInBand));
        }
        self.stats().validate()
    }

    /// The priority that the task has on a real-time core; `None` if it asks for something that only Linux has.
    pub(super) fn out_of_band_priority(&self) -> Option<u8> {
        match self.setup.policy {
            Policy::Fifo(priority) if self.wait.is_of_cores() && !self.confirms_interference => Some(priority),
            _ => None,
        }
    }

    /// Checks what can keep this task from holding its period on this machine. Use [`check()`] for several tasks at
    /// once.
    ///
    /// # Real-time
    /// Reads files, allocates: call before the loop.
    pub fn check(&self) -> Findings {
        check(&[self.plan()], &Host::here())
    }

    /// The plan of the task for [`check()`]. If the start is to choose the kernel that paces the task, this looks which one
    /// it would choose.
    ///
    /// # Real-time
    /// Allocates, and enters the kernel: call before the loop.
    pub fn plan(&self) -> Plan {
        let waits = match &self.wait {
            Wait::Sleep | Wait::Anticipate | Wait::External { .. } => Waits::Sleeps,
            Wait::Hybrid(Margin::Fixed(margin)) => Waits::Polls(*margin),
            Wait::Hybrid(Margin::Auto { spin_ppm }) => Waits::Polls((self.period * (*spin_ppm).into()) / 1_000_000),
            Wait::Spin => Waits::Spins,
        };
        let phase = match self.phase {
            Phase::Offset(offset) => Some(offset),
            Phase::Auto | Phase::AlignedTo { .. } => None,
        };
        let plan = Plan::new(&self.name, self.period, self.setup.clone());
        Plan { phase, deadline: self.deadline, execution: self.execution, waits, backend: self.paced_by(), ..plan }
    }

    /// The kernel that will pace the task, as far as can be told before its start.
    fn paced_by(&self) -> Backend {
        let chosen = || find_any().ok().flatten().map_or(Backend::Linux, |found| found.backend());
        self.out_of_band_priority().map_or(Backend::Linux, |_| self.backend.unwrap_or_else(chosen))
    }

    pub(super) fn stats(&self) -> StatsConfig {
        let cpu = match self.setup.cpus.as_slice() {
            [only] => Some(*only),
            _ => None,
        };
        let of_name = StatsConfig::new(&self.name, self.period);
        StatsConfig {
            budget: self.budget,
            deadline: self.deadline,
            cpu,
            flight_cycles: self.flight_cycles,
            follows_events: matches!(self.wait, Wait::External { .. }),
            ..of_name
        }
    }

    /// Stack size for the memory that is touched in advance, plus the default stack of a thread for the body.
    pub(super) fn stack_bytes(&self) -> usize {
        const DEFAULT: usize = 2 << 20;
        let touched = match self.setup.memory {
            Memory::Lock { stack_bytes, .. } => stack_bytes,
            Memory::Leave => 0,
        };
        touched.saturating_add(DEFAULT)
    }
}

/// The shortest period. A shorter one would leave no time between two releases.
const PERIOD_MIN: Nanos = Nanos::from_us(1);

pub(super) fn check_period(period: Nanos) -> Result<(), Error> {
    if period < PERIOD_MIN { Err(Error::Config(ConfigError::Period)) } else { Ok(()) }
}
