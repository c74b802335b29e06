//! Finds, before a task starts, what can keep it from holding its period.
//!
//! A check compares the planned task ([`Plan`]) with the facts read from the machine ([`Host`]). A fact that could not
//! be read leads to no finding. Findings about the machine carry the id of the knob in `punctual audit`; ids of
//! findings about the plan itself begin with `task.`.
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
use crate::{Backend, Memory, Nanos, Policy};

/// How a task waits for its next release, as far as the check is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Sleeps until the release.
    Sleeps,
    /// Sleeps, and polls the clock at most this long before the release.
    Polls(Nanos),
    /// Polls all the time, and never yields its CPU.
    Spins,
}

/// The plan of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Name of the task in findings.
    pub name: String,
    /// Time from one release to the next.
    pub period: Nanos,
    /// Phase of the releases: relative to the releases of the first task of the same epoch, or for that first task
    /// relative to the multiples of its period on the clock. `None` if unknown.
    pub phase: Option<Nanos>,
    /// Time from the release by which the body must have finished; `None` for the period.
    pub deadline: Option<Nanos>,
    /// The longest run time of the body; `None` if unknown.
    pub execution: Option<Nanos>,
    /// How the task waits for its next release.
    pub waits: Waits,
    /// Scheduling policy, CPUs, memory and idle states.
    pub setup: Setup,
    /// Whether the thread will be set up by [`Setup::apply`], which sets its timer slack to 1 ns.
    pub is_applied: bool,
    /// The kernel that paces the task. A real-time core wakes its threads whatever Linux does, so rules about Linux's
    /// wake-ups do not hold there.
    pub backend: Backend,
}

impl Plan {
    /// The plan of a task that Linux paces, that sleeps and is set up by [`Setup::apply`]. All else is unknown.
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
            backend: Backend::Linux,
        }
    }

    /// The CPUs that the task may run on: those of its setup, or all online CPUs if the setup names none.
    fn cpus<'a>(&'a self, host: &'a Host) -> &'a [u32] {
        if self.setup.cpus.is_empty() { host.online.as_deref().unwrap_or_default() } else { &self.setup.cpus }
    }

    /// Severity of a finding that the system will refuse part of the setup: fatal only if the task insists on all of
    /// it.
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

    /// The longest time that the task polls before a release; zero if it never or always polls.
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

    /// The limit on exit latencies of idle states that the setup asks for.
    fn idle_limit(&self) -> Option<Nanos> {
        match self.setup.latency_qos {
            LatencyQos::Leave => None,
            LatencyQos::Global(limit) => Some(limit),
            LatencyQos::PerCpu => Some(Nanos::ZERO),
        }
    }
}

/// The codes of all possible findings. Those that do not begin with `task.` are ids of knobs.
///
/// # Real-time
/// Only computes.
pub fn codes() -> impl Iterator<Item = &'static str> {
    rules::ALONE.iter().map(|rule| rule.code).chain([rules::FIRST.code, rules::SAME_TURN])
}

/// Checks the tasks of one program on the machine `host`, each on its own and against the others. Returns the findings,
/// gravest first.
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
