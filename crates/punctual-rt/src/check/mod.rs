//! What stands between a task and its period, found before the task starts.
//!
//! A decision over two values: what is planned ([`Plan`]) and what was read of the machine ([`Host`]). What could not be
//! read makes no finding. Findings about the machine bear the id of the knob that `punctual audit` knows; those about
//! the plan itself begin with `task.`.
//!
//! ```
//! use punctual_rt::check::{Host, Plan, Severity, Waits, check};
//! use punctual_rt::{Nanos, Policy, Setup};
//!
//! let setup = Setup::new().policy(Policy::Fifo(85)).cpus(&[0]);
//! let margin = Waits::Polls(Nanos::from_us(1200));
//! let plan = Plan { waits: margin, ..Plan::new("control", Nanos::from_us(1000), setup) };
//! let findings = check(&[plan], &Host::here());
//! let margin = findings.iter().find(|finding| finding.code == "task.margin").unwrap();
//! assert_eq!(margin.severity, Severity::Fatal, "it polls longer than its period");
//! ```

mod finding;
mod host;
mod read;
mod rules;

pub use crate::idle::IdleState;
pub use crate::sys::clock_read_cost;
pub use finding::{Finding, Findings, Severity};
pub use host::{Host, HostCpu, Rights};

use crate::setup::{LatencyQos, Require, Setup};
use crate::{Memory, Nanos, Policy};

/// How a task waits for its next release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Sleeps until the release.
    Sleeps,
    /// Sleeps until at most this time before the release, then polls the clock.
    Polls(Nanos),
    /// Polls all the time, and never gives its CPU up.
    Spins,
}

/// What is planned for one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What the task is called in findings.
    pub name: String,
    /// The time from one release to the next.
    pub period: Nanos,
    /// When its releases are, counted from those of the first task of the same epoch, or for that first task from the
    /// multiples of its period on the clock; `None` when that is not known.
    pub phase: Option<Nanos>,
    /// The time from the release by which the body must have finished; `None` for the period.
    pub deadline: Option<Nanos>,
    /// The longest time that its body runs; `None` when not known.
    pub execution: Option<Nanos>,
    /// How the task waits for its next release.
    pub waits: Waits,
    /// Policy, CPUs, memory, idle states.
    pub setup: Setup,
    /// Whether the thread will be set up by [`Setup::apply`], which sets its timer slack to 1 ns.
    pub is_applied: bool,
}

impl Plan {
    /// A task that sleeps and is set up by [`Setup::apply`], nothing else of which is known.
    pub fn new(name: &str, period: Nanos, setup: Setup) -> Self {
        Self {
            name: name.to_owned(),
            period,
            phase: None,
            deadline: None,
            execution: None,
            waits: Waits::Sleeps,
            setup,
            is_applied: true,
        }
    }

    /// The CPUs it may run on, as far as that is known: with none stated, all.
    fn cpus<'a>(&'a self, host: &'a Host) -> &'a [u32] {
        if self.setup.cpus.is_empty() { host.online.as_deref().unwrap_or_default() } else { &self.setup.cpus }
    }

    /// How grave it is that the system will refuse something: only a strict task does not start for that.
    fn when_refused(&self) -> Severity {
        match self.setup.require {
            Require::Strict => Severity::Fatal,
            Require::BestEffort => Severity::High,
        }
    }

    fn priority(&self) -> Option<u8> {
        match self.setup.policy {
            Policy::Fifo(priority) | Policy::RoundRobin(priority) => Some(priority),
            Policy::Other | Policy::Deadline { .. } => None,
        }
    }

    /// The time it polls before each release, where that is bounded.
    fn margin(&self) -> Nanos {
        match self.waits {
            Waits::Polls(margin) => margin,
            Waits::Sleeps | Waits::Spins => Nanos::ZERO,
        }
    }

    fn locks(&self) -> Option<(usize, usize)> {
        match self.setup.memory {
            Memory::Lock { stack_bytes, heap_bytes } => Some((stack_bytes, heap_bytes)),
            Memory::Leave => None,
        }
    }

    /// The idle states it rules out: those that take longer to leave.
    fn idle_limit(&self) -> Option<Nanos> {
        match self.setup.latency_qos {
            LatencyQos::Leave => None,
            LatencyQos::Global(limit) => Some(limit),
            LatencyQos::PerCpu => Some(Nanos::ZERO),
        }
    }
}

/// Every code a finding can have. Those that do not begin with `task.` are ids of knobs.
///
/// # Real-time
/// Pure.
pub fn codes() -> impl Iterator<Item = &'static str> {
    rules::ALONE.iter().map(|rule| rule.code).chain([rules::FIRST.code, rules::SAME_TURN])
}

/// Judges tasks of one program, each by itself and against the others, on this machine. Gravest first.
///
/// # Real-time
/// Allocates: call before the loop.
pub fn check(plans: &[Plan], host: &Host) -> Findings {
    let alone = plans.iter().flat_map(|plan| rules::ALONE.iter().filter_map(|rule| rule.finding(plan, host)));
    let first = plans.first().and_then(|first| rules::FIRST.finding(first, host));
    let mut all: Vec<Finding> = alone.chain(first).chain(rules::judge_together(plans)).collect();
    all.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    Findings(all)
}

#[cfg(test)]
mod tests;
