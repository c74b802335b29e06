//! Implements each way to wait: what a loop does between the end of one body and the beginning of the next.
//!
//! All except the relative sleep skip releases that have passed, so that their figures can be compared.

use crate::reader::Hammer;
use crate::round::Plan;
use crate::strategy::{Strategy, Way};
use anyhow::{Context, Result, bail};
use punctual_rt::{Cyclic, Delta, Grid, MonoTime, Nanos, Pacer, Phase, Policy, Sleeper, TaskConfig, kernel, now};
use spin_sleep::{SpinSleeper, SpinStrategy};
use std::time::{Duration, Instant};

/// The outcome of one wait. Every way to wait reads its clock immediately after the wait, so all are measured alike.
#[derive(Clone, Copy, Debug)]
pub struct Paced {
    /// Clock reading after the wait minus the release.
    pub error: Delta,
    /// Number of releases that passed and were not run.
    pub missed: u64,
    /// Time spent polling; `None` if it is not known.
    pub polled: Option<Nanos>,
}

/// A way to wait, ready to use on the current thread.
pub trait Pace {
    /// Waits for the next release.
    fn pace(&mut self) -> Paced;
}

/// Makes the way to wait that `strategy` names. Call it on the thread that will wait.
pub fn start(strategy: &Strategy, first: MonoTime, plan: &Plan) -> Result<Box<dyn Pace>> {
    let period = plan.period;
    let pacer = |wait| Pacer::new(Grid::new(first, period), &wait, Sleeper::Absolute).context("make a pacer");
    Ok(match strategy.way {
        Way::BareAbsolute => Box::new(BareAbsolute { release: first, period }),
        Way::BareRelative => Box::new(BareRelative { release: first, period }),
        Way::Ours(ours) => Box::new(Plain(pacer(ours.wait())?)),
        Way::Task { read, steered } => Box::new(Tasked::new(read, steered, plan)?),
        Way::SpinSleep { accuracy_us, yields } => Box::new(SpinSleep::new(accuracy_us, yields, first, period)),
        Way::Cpp => bail!("{} is a program of its own", strategy.name),
    })
}

struct BareAbsolute {
    release: MonoTime,
    period: Nanos,
}

impl Pace for BareAbsolute {
    fn pace(&mut self) -> Paced {
        kernel::sleep_until(self.release);
        let woke = now();
        let error = woke.signed_since(self.release);
        let missed = (woke - self.release).whole(self.period);
        self.release += self.period * missed.saturating_add(1);
        Paced { error, missed, polled: Some(Nanos::ZERO) }
    }
}

struct BareRelative {
    release: MonoTime,
    period: Nanos,
}

impl Pace for BareRelative {
    fn pace(&mut self) -> Paced {
        kernel::sleep_for(self.period);
        let error = now().signed_since(self.release);
        self.release += self.period;
        Paced { error, missed: 0, polled: Some(Nanos::ZERO) }
    }
}

struct Plain(Pacer);

impl Pace for Plain {
    fn pace(&mut self) -> Paced {
        let wake = self.0.wait();
        let error = now().signed_since(wake.release);
        Paced { error, missed: wake.missed, polled: Some(wake.polled) }
    }
}

/// A task as applications use it, with statistics that other threads and processes can read.
struct Tasked {
    cyclic: Cyclic,
    /// State of the random numbers by which releases are moved; `None` if they are not moved.
    steered: Option<u64>,
    /// Reads the statistics all the time, until it is dropped.
    _hammer: Option<Hammer>,
}

/// Largest distance by which a release is moved, as large as the usual step limit of a servo.
const STEERED_NS: i64 = 5_000;

impl Tasked {
    fn new(read: bool, steered: bool, plan: &Plan) -> Result<Self> {
        let policy = plan.priority.map_or(Policy::Other, Policy::Fifo);
        let config = TaskConfig::periodic(plan.period).named("waits").policy(policy).phase(Phase::Offset(plan.offset));
        let cyclic = Cyclic::new(&config).context("make a task")?;
        let hammer = read.then(|| Hammer::start(cyclic.stats().clone(), plan.cpu)).transpose()?;
        Ok(Self { cyclic, steered: steered.then_some(1), _hammer: hammer })
    }

    /// Moves the next release by a random distance of up to 5 us.
    fn steer(&mut self) {
        let Some(state) = &mut self.steered else { return };
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let by = i64::try_from(*state >> 33).unwrap_or(0) % (2 * STEERED_NS + 1) - STEERED_NS;
        self.cyclic.steer(Delta::from_ns(by));
    }
}

impl Pace for Tasked {
    fn pace(&mut self) -> Paced {
        // `wait` returns nothing only after the task was stopped, which never happens here.
        let Some(wake) = self.cyclic.wait() else { return Paced { error: Delta::ZERO, missed: 1, polled: None } };
        let error = now().signed_since(wake.release);
        self.steer();
        self.cyclic.finish();
        Paced { error, missed: wake.missed, polled: Some(wake.polled) }
    }
}

/// The `spin_sleep` crate. It is measured by `Instant`, the type that it uses, so that no conversion adds to its
/// errors.
struct SpinSleep {
    sleeper: SpinSleeper,
    release: Instant,
    period: Duration,
}

impl SpinSleep {
    fn new(accuracy_us: Option<u32>, yields: bool, first: MonoTime, period: Nanos) -> Self {
        let sleeper = accuracy_us.map_or_else(SpinSleeper::default, |us| SpinSleeper::new(us.saturating_mul(1_000)));
        let spinning = if yields { SpinStrategy::YieldThread } else { SpinStrategy::SpinLoopHint };
        let release = Instant::now() + Duration::from_nanos((first - now()).as_ns());
        Self { sleeper: sleeper.with_spin_strategy(spinning), release, period: Duration::from_nanos(period.as_ns()) }
    }
}

impl Pace for SpinSleep {
    fn pace(&mut self) -> Paced {
        self.sleeper.sleep_until(self.release);
        let woke = Instant::now();
        let late = nanos(woke.saturating_duration_since(self.release));
        let early = nanos(self.release.saturating_duration_since(woke));
        let missed = late.whole(Nanos::from_ns(nanos(self.period).as_ns()));
        let steps = u32::try_from(missed.saturating_add(1)).unwrap_or(u32::MAX);
        self.release += self.period * steps;
        Paced { error: late.ahead() - early.ahead(), missed, polled: None }
    }
}

fn nanos(length: Duration) -> Nanos {
    Nanos::from_ns(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX))
}
