//! Defines what to measure: which threads, how they wait, for how long, under which loads.
//!
//! A scenario is complete and explicit: nothing is left to a default that is chosen later.

use punctual_facts::cpu_set::CpuSet;
use punctual_facts::cpus::Cpus;
use punctual_hist::Nanos;
use punctual_hist::SplitMix;

/// Scheduling policy of the measuring threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// `SCHED_FIFO` at this priority (1..=95).
    Fifo(u8),
    /// `SCHED_RR` at this priority (1..=95).
    RoundRobin(u8),
    /// `SCHED_DEADLINE` with this run time per period; its threads are not pinned to CPUs.
    Deadline {
        #[serde(rename = "runtime_ns")]
        runtime: Nanos,
    },
    /// `SCHED_OTHER`, for kernels that refuse a real-time policy.
    Other,
}

/// How a measuring thread waits for its release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// `clock_nanosleep` until the release, given as an absolute time.
    Absolute,
    /// `clock_nanosleep` for the time that is left until the release.
    Relative,
    /// `timerfd` armed for the release, then `read`.
    Timerfd,
    /// `futex` wait with the release as its time-out.
    Futex,
    /// Sleeps to a little before the release, then polls the clock.
    Hybrid,
    /// Polls the clock; never sleeps.
    Spin,
    /// Sleeps one period after each wake-up, as the test suite of 2002 did. There is no grid of releases, so no release
    /// is skipped.
    Nanosleep,
    /// Sleeps out-of-band on the EVL core until the release, given as an absolute time.
    Evl,
    /// Sleeps out-of-band on the Cobalt core until the release, given as an absolute time.
    Cobalt,
    /// Waits out-of-band for a timer file of the Cobalt core, armed for each release; `latency` of Xenomai waits for one, too.
    CobaltTimer,
    /// The EVL core's latency driver wakes a task of its own in the kernel, which reads the clock there.
    EvlKernel,
    /// The EVL core's latency driver reads the clock in the handler of its timer.
    EvlIrq,
    /// The Cobalt core's latency driver wakes a task of its own in the kernel, which reads the clock there.
    CobaltKernel,
    /// The Cobalt core's latency driver reads the clock in the handler of its timer.
    CobaltIrq,
    /// The releases lie on another clock than `CLOCK_MONOTONIC`, and latency is read from that clock.
    OnClock(OtherClock),
    /// A message is sent to another processor at each release. The latency is the time until its answer is there.
    RoundTrip(Channel),
}

/// A way to another processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// An endpoint of Linux's rpmsg.
    Rpmsg,
    /// Two words of memory that both sides see.
    SharedMemory,
}

/// A clock other than `CLOCK_MONOTONIC` on which releases may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OtherClock {
    /// `CLOCK_REALTIME`, the time of day.
    Realtime,
    /// `CLOCK_TAI`, the time of day without leap seconds.
    Tai,
    /// An auxiliary clock of Linux, which a program steers apart from the time of day: `aux:0` to `aux:7`.
    Auxiliary(u8),
    /// The clock of a PTP device, by the number in its name: `/dev/ptp0`.
    Ptp(u8),
}

/// Number of auxiliary clocks.
const AUXILIARY_CLOCKS: u8 = 8;

impl std::fmt::Display for OtherClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Realtime => f.write_str("realtime"),
            Self::Tai => f.write_str("tai"),
            Self::Auxiliary(number) => write!(f, "aux:{number}"),
            Self::Ptp(number) => write!(f, "/dev/ptp{number}"),
        }
    }
}

impl std::str::FromStr for OtherClock {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |digits: &str| digits.parse::<u8>().map_err(|_| format!("`{digits}` is no number of a clock"));
        match text {
            "realtime" => Ok(Self::Realtime),
            "tai" => Ok(Self::Tai),
            _ => match (text.strip_prefix("aux:"), text.strip_prefix("/dev/ptp")) {
                (Some(digits), _) => match number(digits)? {
                    known @ 0..AUXILIARY_CLOCKS => Ok(Self::Auxiliary(known)),
                    other => Err(format!("there is no auxiliary clock {other}; they are aux:0 to aux:7")),
                },
                (_, Some(digits)) => number(digits).map(Self::Ptp),
                _ => {
                    Err("a clock is monotonic, realtime, tai, aux:0 to aux:7, or a device such as /dev/ptp0".to_owned())
                }
            },
        }
    }
}

/// A real-time core beside Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Core {
    /// EVL, of Xenomai 4.
    Evl,
    /// Cobalt, of Xenomai 3.
    Cobalt,
}

/// Where on a real-time core the clock is read after a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreContext {
    /// In a thread of a program.
    User,
    /// In a task of the kernel.
    Kernel,
    /// In the handler of the timer interrupt.
    Irq,
}

impl Mechanism {
    /// The mechanism that measures a core in this context.
    pub const fn on(core: Core, context: CoreContext) -> Self {
        match (core, context) {
            (Core::Evl, CoreContext::User) => Self::Evl,
            (Core::Evl, CoreContext::Kernel) => Self::EvlKernel,
            (Core::Evl, CoreContext::Irq) => Self::EvlIrq,
            (Core::Cobalt, CoreContext::User) => Self::Cobalt,
            (Core::Cobalt, CoreContext::Kernel) => Self::CobaltKernel,
            (Core::Cobalt, CoreContext::Irq) => Self::CobaltIrq,
        }
    }

    /// The core that is measured, and the context; `None` if Linux wakes the threads.
    pub const fn core(self) -> Option<(Core, CoreContext)> {
        Some(match self {
            Self::Evl => (Core::Evl, CoreContext::User),
            Self::EvlKernel => (Core::Evl, CoreContext::Kernel),
            Self::EvlIrq => (Core::Evl, CoreContext::Irq),
            Self::Cobalt | Self::CobaltTimer => (Core::Cobalt, CoreContext::User),
            Self::CobaltKernel => (Core::Cobalt, CoreContext::Kernel),
            Self::CobaltIrq => (Core::Cobalt, CoreContext::Irq),
            Self::Absolute
            | Self::Relative
            | Self::Timerfd
            | Self::Futex
            | Self::Hybrid
            | Self::Spin
            | Self::Nanosleep
            | Self::OnClock(_)
            | Self::RoundTrip(_) => return None,
        })
    }

    /// Whether a real-time core beside Linux paces threads of this program.
    pub const fn is_out_of_band(self) -> bool {
        matches!(self.core(), Some((_, CoreContext::User)))
    }

    /// The core whose driver measures in the kernel. No thread of this program is woken then, and the driver tells
    /// numbers once a second and a histogram at the end, but no single activations.
    pub const fn driver_of(self) -> Option<(Core, CoreContext)> {
        match self.core() {
            Some((_, CoreContext::User)) => None,
            other => other,
        }
    }

    /// Whether both sleep in the same way and differ only in the kernel that wakes them.
    pub fn differs_only_in_kernel(self, other: Self) -> bool {
        let way = |mechanism: Self| match mechanism {
            Self::Timerfd | Self::CobaltTimer => Some("timer file"),
            Self::Absolute | Self::Evl | Self::Cobalt => Some("sleep"),
            _ => None,
        };
        self != other && way(self).is_some() && way(self) == way(other)
    }
}

/// How long a driver that measures in the kernel warms up. Nobody can set it.
pub const DRIVER_WARM_UP: Nanos = Nanos::from_secs(1);
/// Longest period that such a driver accepts.
pub const DRIVER_PERIOD_MAX: Nanos = Nanos::from_secs(1);

/// The instants of the clock at which releases lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TimerPhase {
    /// The same instant on all CPUs, as far from the scheduler tick as the period allows.
    Auto,
    /// The same instant on all CPUs, at multiples of the period.
    Aligned,
    /// Spread evenly over the period, CPU by CPU.
    Staggered,
    /// At random offsets, drawn from this seed.
    Random(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeThread {
    /// The CPU whose latency the thread measures.
    pub cpu: u32,
    pub period: Nanos,
}

/// The length of a run: a length of time, or a number of activations of every thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Amount {
    #[serde(rename = "time_ns")]
    Time(Nanos),
    Activations(u64),
}

/// A phase of the run with the loads that run during it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadPhase {
    /// Names of the loads; an empty list means idle. `cmd:PROGRAM ARGS` is an outside program.
    pub loads: Vec<String>,
    /// Weight of the phase: its share of the run is this number divided by the sum over all phases.
    pub parts: u32,
}

impl LoadPhase {
    /// The phase's name as the user wrote it: `idle`, `cpu+memory`.
    pub fn name(&self) -> String {
        if self.loads.is_empty() { "idle".to_owned() } else { self.loads.join("+") }
    }
}

/// The complete definition of a measurement.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scenario {
    /// The measuring threads, one per CPU.
    #[serde(skip)]
    pub threads: Vec<ProbeThread>,
    pub policy: Policy,
    pub mechanism: Mechanism,
    #[serde(rename = "timer_phase")]
    pub phase: TimerPhase,
    /// Length of the warm-up, which ends before statistics begin.
    pub warm_up: Amount,
    /// Length of the measurement, without the warm-up.
    pub length: Amount,
    /// Largest latency that the user accepts.
    #[serde(skip)]
    pub budget: Option<Nanos>,
    /// The run stops at the first activation with a larger latency than this.
    #[serde(rename = "limit_ns")]
    pub limit: Option<Nanos>,
    /// The value in microseconds at which `/dev/cpu_dma_latency` is held during the run.
    pub dma_latency_us: Option<u32>,
    /// Phases of load, in order.
    pub load_phases: Vec<LoadPhase>,
    /// CPUs the loads may use; `None` stands for all CPUs that are not isolated.
    pub load_cpus: Option<CpuSet>,
    /// Name of the suite this scenario belongs to.
    pub suite: Option<String>,
}

impl Scenario {
    /// A scenario with one thread on each of these CPUs, which waits with [`Mechanism::Absolute`], in one phase without
    /// load. There is no budget, no limit and no warm-up; callers change the fields they need.
    pub fn plain(cpus: impl IntoIterator<Item = u32>, period: Nanos, policy: Policy, length: Amount) -> Self {
        Self {
            threads: cpus.into_iter().map(|cpu| ProbeThread { cpu, period }).collect(),
            policy,
            mechanism: Mechanism::Absolute,
            phase: TimerPhase::Auto,
            warm_up: Amount::Activations(0),
            length,
            budget: None,
            limit: None,
            dma_latency_us: None,
            load_phases: vec![LoadPhase { loads: Vec::new(), parts: 1 }],
            load_cpus: None,
            suite: None,
        }
    }

    pub fn cpus(&self) -> CpuSet {
        self.threads.iter().map(|t| t.cpu).collect()
    }

    /// Number of releases due in phase number `phase` for a thread of this period. The numbers of all phases add up to
    /// that of the whole run.
    pub fn due(&self, phase: usize, period: Nanos) -> u64 {
        let whole = match self.length {
            Amount::Time(time) => time.whole(period),
            Amount::Activations(n) => n,
        };
        let parts = |phases: &[LoadPhase]| phases.iter().map(|p| u128::from(p.parts)).sum::<u128>();
        let sum = parts(&self.load_phases).max(1);
        let up_to = |n: usize| u128::from(whole) * parts(self.load_phases.get(..n).unwrap_or_default()) / sum;
        u64::try_from(up_to(phase + 1).saturating_sub(up_to(phase))).unwrap_or(u64::MAX)
    }
}

/// Shortest period that is accepted; whether a machine can keep up with it shows only in the measurement.
pub const PERIOD_MIN: Nanos = Nanos::from_us(10);
/// Longest period. A run that is interrupted ends within one period, so this limits the wait.
pub const PERIOD_MAX: Nanos = Nanos::from_secs(10);
/// Longest warm-up and longest run that are accepted: ten years.
pub const LONGEST: Nanos = Nanos::from_secs(3_650 * 86_400);
/// Highest priority that is accepted; higher priorities are left to the kernel's own threads.
pub const PRIORITY_MAX: u8 = 95;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScenarioError {
    NoCpus,
    /// Nothing says which CPUs are on-line.
    OnlineUnknown,
    /// The requested CPUs that are not on-line, then all on-line CPUs.
    NotOnline(CpuSet, CpuSet),
    /// A period outside `PERIOD_MIN..=PERIOD_MAX`.
    Period(Nanos),
    /// A priority outside 1..=95.
    Priority(u8),
    /// This length is less than one activation.
    TooShort(Nanos),
    /// A warm-up or a run of more than `LONGEST`.
    TooLong(Nanos),
    /// The budget is a period or more. An activation that late makes the thread skip the next release, which already is
    /// a miss.
    Budget(Nanos),
    /// There is no load phase, or a load phase has no length.
    NoPhase,
    /// Real-time threads that never sleep would occupy every CPU and lock up the machine.
    SpinEverywhere,
    /// A deadline run time that is zero or does not fit into the period.
    Runtime(Nanos),
    /// A real-time core paces threads of `SCHED_FIFO` only.
    OnlyFifo,
    /// A core's driver that measures in the kernel does not accept this period.
    DriverPeriod(Nanos),
    /// Several threads would take each other's answers from one endpoint.
    OneThread,
}

impl Scenario {
    /// Returns the scenario unless it cannot be measured, or not safely, on a machine with these CPUs.
    ///
    /// # Errors
    /// The first fault of the scenario.
    pub fn checked(self, cpus: &Cpus) -> Result<Self, ScenarioError> {
        if cpus.online.is_empty() {
            return Err(ScenarioError::OnlineUnknown);
        }
        let asked = self.cpus();
        if asked.is_empty() {
            return Err(ScenarioError::NoCpus);
        }
        if !asked.is_subset(&cpus.online) {
            return Err(ScenarioError::NotOnline(asked.difference(&cpus.online), cpus.online.clone()));
        }
        if let Some(loads) = self.load_cpus.as_ref().filter(|loads| !loads.is_subset(&cpus.online)) {
            return Err(ScenarioError::NotOnline(loads.difference(&cpus.online), cpus.online.clone()));
        }
        for thread in &self.threads {
            self.check_thread(thread)?;
        }
        if matches!(self.mechanism, Mechanism::RoundTrip(_)) && self.threads.len() > 1 {
            return Err(ScenarioError::OneThread);
        }
        if self.load_phases.is_empty() || self.load_phases.iter().any(|phase| phase.parts == 0) {
            return Err(ScenarioError::NoPhase);
        }
        self.check_policy()?;
        let real_time = self.policy != Policy::Other;
        if self.mechanism == Mechanism::Spin && real_time && cpus.allowed.difference(&asked).is_empty() {
            return Err(ScenarioError::SpinEverywhere);
        }
        Ok(self)
    }

    fn check_thread(&self, thread: &ProbeThread) -> Result<(), ScenarioError> {
        if thread.period < PERIOD_MIN || thread.period > PERIOD_MAX {
            return Err(ScenarioError::Period(thread.period));
        }
        if self.mechanism.driver_of().is_some() && thread.period > DRIVER_PERIOD_MAX {
            return Err(ScenarioError::DriverPeriod(thread.period));
        }
        let takes = |amount| match amount {
            Amount::Time(time) => time,
            Amount::Activations(n) => thread.period.times(n),
        };
        if let Some(too_long) = [self.warm_up, self.length].map(takes).into_iter().find(|time| *time > LONGEST) {
            return Err(ScenarioError::TooLong(too_long));
        }
        if let Some(budget) = self.budget.filter(|budget| *budget >= thread.period) {
            return Err(ScenarioError::Budget(budget));
        }
        match self.length {
            Amount::Time(length) if length < thread.period => Err(ScenarioError::TooShort(length)),
            Amount::Activations(0) => Err(ScenarioError::TooShort(Nanos::ZERO)),
            _ => Ok(()),
        }
    }

    fn check_policy(&self) -> Result<(), ScenarioError> {
        match self.policy {
            Policy::Fifo(p) | Policy::RoundRobin(p) if p == 0 || p > PRIORITY_MAX => Err(ScenarioError::Priority(p)),
            Policy::Deadline { runtime }
                if runtime == Nanos::ZERO || self.threads.iter().any(|t| runtime > t.period) =>
            {
                Err(ScenarioError::Runtime(runtime))
            }
            Policy::RoundRobin(_) | Policy::Deadline { .. } | Policy::Other if self.mechanism.core().is_some() => {
                Err(ScenarioError::OnlyFifo)
            }
            _ => Ok(()),
        }
    }
}

/// Offset of each thread's releases from the grid of multiples of its period.
///
/// The scheduler tick fires at multiples of its own length. Relative to multiples of the period, ticks can therefore
/// fall only on multiples of the greatest common divisor of both. `Auto` puts releases half-way between two of these
/// points, as far from every tick as possible.
pub fn phase_offsets(scenario: &Scenario, tick: Nanos) -> Vec<Nanos> {
    let count = scenario.threads.len() as u64;
    let mut random = SplitMix::new(if let TimerPhase::Random(seed) = scenario.phase { seed } else { 0 });
    let offset = |(i, thread): (usize, &ProbeThread)| {
        let period = thread.period.as_ns();
        Nanos::from_ns(match scenario.phase {
            TimerPhase::Aligned => 0,
            TimerPhase::Auto => greatest_common_divisor(period, tick.as_ns()) / 2,
            TimerPhase::Staggered => period / count * i as u64,
            TimerPhase::Random(_) => random.bits() % period,
        })
    };
    scenario.threads.iter().enumerate().map(offset).collect()
}

pub(crate) fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_have_the_names_that_are_typed() {
        for text in ["realtime", "tai", "aux:0", "aux:7", "/dev/ptp0", "/dev/ptp12"] {
            assert_eq!(text.parse::<OtherClock>().unwrap().to_string(), text);
        }
        for wrong in ["", "aux:", "aux:8", "aux:-1", "/dev/ptp", "/dev/ptp999", "/dev/rtc0", "TAI"] {
            assert!(wrong.parse::<OtherClock>().is_err(), "{wrong}");
        }
    }

    fn scenario(cpus: &str, period: Nanos) -> Scenario {
        let length = Amount::Time(Nanos::from_secs(1));
        Scenario::plain(CpuSet::parse_list(cpus).unwrap().iter(), period, Policy::Fifo(90), length)
    }

    fn two_cpus() -> Cpus {
        let both = CpuSet::parse_list("0-1").unwrap();
        Cpus { online: both.clone(), allowed: both, ..Cpus::default() }
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        let ms = Nanos::from_ms(1);
        let check = |s: Scenario| s.checked(&two_cpus()).unwrap_err();
        assert_eq!(check(scenario("", ms)), ScenarioError::NoCpus);
        for cpus in ["", "0"] {
            assert_eq!(scenario(cpus, ms).checked(&Cpus::default()), Err(ScenarioError::OnlineUnknown));
        }
        let (seven, both) = (CpuSet::parse_list("7").unwrap(), two_cpus().online);
        assert_eq!(check(scenario("0,7", ms)), ScenarioError::NotOnline(seven, both));
        assert_eq!(check(scenario("0", Nanos::ZERO)), ScenarioError::Period(Nanos::ZERO));
        assert_eq!(check(scenario("0", Nanos::from_secs(11))), ScenarioError::Period(Nanos::from_secs(11)));
        let with = |policy| Scenario { policy, ..scenario("0", ms) };
        assert_eq!(check(with(Policy::Fifo(0))), ScenarioError::Priority(0));
        assert_eq!(check(with(Policy::RoundRobin(96))), ScenarioError::Priority(96));
        let too_much = Nanos::from_ms(2);
        assert_eq!(check(with(Policy::Deadline { runtime: too_much })), ScenarioError::Runtime(too_much));
        let forever = Amount::Activations(u64::MAX);
        let long = ScenarioError::TooLong(Nanos::MAX);
        assert_eq!(check(Scenario { warm_up: forever, ..scenario("0", ms) }), long);
        assert_eq!(check(Scenario { length: forever, ..scenario("0", ms) }), long);
        assert_eq!(check(Scenario { budget: Some(ms), ..scenario("0", ms) }), ScenarioError::Budget(ms));
        let too_slow = Nanos::from_ns(1_000_000_001);
        let by_driver = Scenario { mechanism: Mechanism::EvlIrq, ..scenario("0", too_slow) };
        assert_eq!(check(by_driver), ScenarioError::DriverPeriod(too_slow));
        for mechanism in [Mechanism::Evl, Mechanism::CobaltKernel] {
            assert_eq!(check(Scenario { mechanism, ..with(Policy::Other) }), ScenarioError::OnlyFifo);
        }
        let mechanism = Mechanism::RoundTrip(Channel::Rpmsg);
        assert_eq!(check(Scenario { mechanism, ..scenario("0-1", ms) }), ScenarioError::OneThread);
        let short = Scenario { length: Amount::Time(Nanos::from_us(10)), ..scenario("0", ms) };
        assert_eq!(check(short), ScenarioError::TooShort(Nanos::from_us(10)));
        assert_eq!(check(Scenario { load_phases: vec![], ..scenario("0", ms) }), ScenarioError::NoPhase);
    }

    #[test]
    fn a_mechanism_of_a_core_knows_its_core_and_context() {
        for core in [Core::Evl, Core::Cobalt] {
            for context in [CoreContext::User, CoreContext::Kernel, CoreContext::Irq] {
                let mechanism = Mechanism::on(core, context);
                assert_eq!(mechanism.core(), Some((core, context)));
                assert_eq!(mechanism.is_out_of_band(), context == CoreContext::User);
                assert_eq!(mechanism.driver_of().is_some(), context != CoreContext::User);
            }
        }
        assert_eq!(Mechanism::Spin.core(), None);
        assert!(Mechanism::Timerfd.differs_only_in_kernel(Mechanism::CobaltTimer));
        assert!(!Mechanism::Timerfd.differs_only_in_kernel(Mechanism::Cobalt));
        assert!(!Mechanism::EvlIrq.differs_only_in_kernel(Mechanism::CobaltIrq));
    }

    #[test]
    fn a_real_time_spinner_leaves_one_cpu_free() {
        let spin = |cpus, policy| Scenario { mechanism: Mechanism::Spin, policy, ..scenario(cpus, Nanos::from_ms(1)) };
        assert_eq!(spin("0-1", Policy::Fifo(50)).checked(&two_cpus()), Err(ScenarioError::SpinEverywhere));
        assert!(spin("1", Policy::Fifo(50)).checked(&two_cpus()).is_ok());
        assert!(spin("0-1", Policy::Other).checked(&two_cpus()).is_ok());
    }

    #[test]
    fn auto_keeps_off_every_tick() {
        for (period_us, tick_us) in [(1000, 4000), (250, 4000), (1000, 1000), (1500, 1000), (10_000, 4000)] {
            let s = scenario("0", Nanos::from_us(period_us));
            let offset = phase_offsets(&s, Nanos::from_us(tick_us))[0].as_ns();
            let nearest = (0..tick_us).map(|k| (offset + k * period_us * 1000) % (tick_us * 1000));
            let distance = nearest.map(|p| p.min(tick_us * 1000 - p)).min().unwrap();
            assert!(distance >= 125_000, "{period_us} us against a tick of {tick_us} us: {distance} ns apart");
        }
    }

    #[test]
    fn staggered_spreads_and_random_repeats() {
        let s = Scenario { phase: TimerPhase::Staggered, ..scenario("0-3", Nanos::from_ms(1)) };
        let us: Vec<u64> = phase_offsets(&s, Nanos::from_ms(4)).iter().map(|n| n.as_ns() / 1000).collect();
        assert_eq!(us, [0, 250, 500, 750]);
        let s = Scenario { phase: TimerPhase::Random(42), ..s };
        assert_eq!(phase_offsets(&s, Nanos::ZERO), phase_offsets(&s, Nanos::ZERO));
    }
}
