//! What a periodic task asks for: plain data, checked before anything is started.

use crate::check::{Findings, Host, Plan, Waits, check};
use crate::setup::{LatencyQos, Require, Setup};
use crate::stats::{FLIGHT_CYCLES, StatsConfig};
use crate::{ConfigError, Error, Margin, Memory, Overrun, Policy, TOLERANCE, Wait};
use punctual_hist::Nanos;

/// Where on a clock the releases of a task lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Away from the scheduler tick, which is looked for when the task starts (0.2 s of polling on its CPU).
    #[default]
    Auto,
    /// At this offset from the multiples of the period on `CLOCK_MONOTONIC`; in a [`Group`](crate::Group), from its epoch.
    Offset(Nanos),
    /// The first release is `offset` after a multiple of `multiple` on a clock, as that clock stands at the start.
    AlignedTo {
        /// Which clock the multiples are counted on.
        clock: PhaseClock,
        /// The distance of the instants to align to; zero is taken as the period.
        multiple: Nanos,
        /// The time from such an instant to the first release.
        offset: Nanos,
    },
}

/// A clock to align a phase to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseClock {
    /// `CLOCK_MONOTONIC`: the same phase at each start, until the machine boots.
    Monotonic,
    /// `CLOCK_REALTIME`: wall-clock time.
    Realtime,
    /// `CLOCK_TAI`: atomic time, as PTP distributes it; no leap seconds.
    Tai,
}

/// A periodic task.
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
            setup: Setup::new(),
        }
    }

    /// The name of the task and of its thread: 1 to 32 bytes without control characters, direction marks
    /// and line separators. The kernel shows the first 15.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// Lets the loop ask the kernel who took the time, after it was hit while polling, see
    /// [`Pacer::confirming_interference`](crate::Pacer::confirming_interference).
    #[must_use]
    pub fn confirming_interference(self) -> Self {
        Self { confirms_interference: true, ..self }
    }

    setters! {
        /// Where on the clock the releases lie.
        phase: Phase;
        /// How to wait for a release.
        wait: Wait;
        /// What becomes of releases that were missed.
        overrun: Overrun;
        /// The largest error of an activation that is classed as on time; 10 us unless said otherwise.
        tolerance: Nanos;
        /// How many of the last cycles the flight recorder keeps: a power of two from 64 to 65536; 1024 unless said
        /// otherwise.
        flight_cycles: u32;
        /// The time from its release by which the body must have finished; later ends are counted.
        deadline: Nanos => (Some(deadline));
        /// The largest latency you can live with; later activations are counted.
        budget: Nanos => (Some(budget));
        /// How long the body is expected to run at most, for [`TaskConfig::check`].
        execution: Nanos => (Some(execution));
        /// By how much a release may be steered at most; a hundredth of the period unless said otherwise.
        steer_max: Nanos => (Some(steer_max));
        /// The scheduling policy.
        policy: Policy => (in setup);
        /// The CPUs to run on.
        cpus: &[u32] => (in setup);
        /// How memory is treated.
        memory: Memory => (in setup);
        /// Which idle states are ruled out.
        latency_qos: LatencyQos => (in setup);
        /// Whether to refuse or to go on when the system refuses something.
        require: Require => (in setup);
    }

    /// Refuses what no system could do, or would occupy the CPU without having been asked to.
    ///
    /// # Errors
    /// [`ConfigError::Period`], [`ConfigError::Margin`], [`ConfigError::SteerMax`], [`ConfigError::Priority`], [`ConfigError::Reservation`],
    /// [`ConfigError::TaskName`], [`ConfigError::FlightCycles`], [`ConfigError::ZeroLength`].
    ///
    /// # Real-time
    /// Pure.
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
        self.stats().validate()
    }

    /// What stands between this task and its period on this machine; see [`check()`] for several tasks at once.
    ///
    /// # Real-time
    /// Reads files, allocates: call before the loop.
    pub fn check(&self) -> Findings {
        check(&[self.plan()], &Host::here())
    }

    /// The task as [`check()`] judges it.
    ///
    /// # Real-time
    /// Allocates: call before the loop.
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
        Plan { phase, deadline: self.deadline, execution: self.execution, waits, ..plan }
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

    /// Room for what is touched in advance, and for the body as much as a thread gets by default.
    pub(super) fn stack_bytes(&self) -> usize {
        const DEFAULT: usize = 2 << 20;
        let touched = match self.setup.memory {
            Memory::Lock { stack_bytes, .. } => stack_bytes,
            Memory::Leave => 0,
        };
        touched.saturating_add(DEFAULT)
    }
}

/// The shortest period: a shorter one would leave no time between two releases.
const PERIOD_MIN: Nanos = Nanos::from_us(1);

pub(super) fn check_period(period: Nanos) -> Result<(), Error> {
    if period < PERIOD_MIN { Err(Error::Config(ConfigError::Period)) } else { Ok(()) }
}
