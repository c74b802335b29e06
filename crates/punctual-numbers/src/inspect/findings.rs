//! What is wrong with how a thread is set up, and with how it waits.

use super::pacing::Pacing;
use super::record::Clock;
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::Nanos;
use serde::Serialize;

/// From this priority on, a thread competes with the kernel's own threads that everything depends on.
const PRIORITY_MAX: u32 = 96;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    Other,
    Fifo,
    RoundRobin,
    Deadline,
    Batch,
    Idle,
    Ext,
}

impl Policy {
    /// The policy with this number in system calls.
    pub fn of(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Other,
            1 => Self::Fifo,
            2 => Self::RoundRobin,
            3 => Self::Batch,
            5 => Self::Idle,
            6 => Self::Deadline,
            7 => Self::Ext,
            _ => return None,
        })
    }

    pub fn is_real_time(self) -> bool {
        matches!(self, Self::Fifo | Self::RoundRobin | Self::Deadline)
    }
}

/// CPU time that a control group may use in each period, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuMax {
    /// CPU time that may be used in each period, in nanoseconds.
    #[serde(rename = "quota_ns")]
    pub quota: Nanos,
    /// Length of the period, in nanoseconds.
    #[serde(rename = "period_ns")]
    pub period: Nanos,
}

/// How a thread is set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setup {
    /// The scheduling policy; null if it is unknown to this program.
    pub policy: Option<Policy>,
    /// The real-time priority; 0 for other policies.
    pub priority: u32,
    /// The CPUs that the thread may run on, in the kernel's list format.
    pub cpus: CpuSet,
    /// The number of bytes of the process that are locked in memory; null if it is not known.
    pub locked_bytes: Option<u64>,
    /// The number of bytes of the process that are in memory; null if it is not known.
    pub resident_bytes: Option<u64>,
    /// How much later than asked the kernel may end sleeps, in nanoseconds; null if it is not known.
    #[serde(rename = "timer_slack_ns")]
    pub timer_slack: Option<Nanos>,
    /// The limit on CPU time by the thread's control group; null if there is none.
    pub cpu_max: Option<CpuMax>,
    /// The limit on the performance that the thread may ask of its CPU, of 1024; null if it is not known.
    pub uclamp_max: Option<u32>,
    /// The largest real-time priority that the process may take without privileges; null if it is not limited.
    pub rtprio_limit: Option<u64>,
    /// The number of bytes that the process may lock without privileges; null if it is not limited.
    pub memlock_limit: Option<u64>,
}

impl Setup {
    /// The priority as the kernel counts it, where a lower number goes first. Ordinary threads have no order.
    pub fn kernel_priority(&self) -> Option<i32> {
        let priority = i32::try_from(self.priority).ok()?;
        Some(match self.policy? {
            Policy::Deadline => -1,
            Policy::Fifo | Policy::RoundRobin => 99 - priority,
            Policy::Other | Policy::Batch | Policy::Idle | Policy::Ext => 120,
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// The thread has no real-time policy.
    NotRealTime,
    /// The thread's priority is above that of threads that the kernel depends on.
    PriorityTooHigh(u32),
    /// Part of the process's memory is not locked, so that it can fault in a cycle.
    MemoryNotLocked,
    /// The kernel may end the thread's sleeps later than asked, by this time in nanoseconds.
    TimerSlack(Nanos),
    /// The thread may run on several CPUs, so that it is moved between them.
    NotPinned(CpuSet),
    /// The control group limits the thread's CPU time.
    CpuMax(CpuMax),
    /// The performance that the thread may ask of its CPU is limited to this, of 1024.
    UclampMax(u32),
    /// The thread sleeps for a length of time, so that its period grows by what each cycle takes.
    RelativeSleep,
    /// The thread sleeps for lengths of time that it computes anew, so that its period does not grow.
    CorrectedSleep,
    /// The thread sleeps on a clock that can be set.
    RealtimeClock,
    /// The time limit of a wait paces the thread.
    PacedByTimeOut,
    /// The thread with this name often wakes this one, although its priority is lower.
    WokenByLower(String),
    /// The thread had this real-time priority while it was observed, and has a lower one or none now.
    Demoted(u32),
}

/// What is wrong with a thread that a timer paces, or that is meant to be one because of its policy.
pub fn findings(setup: Option<&Setup>, pacing: Option<Pacing>) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(setup) = setup {
        of_setup(setup, pacing.is_some(), &mut found);
    }
    match pacing {
        Some(Pacing::Sleep { absolute, clock, .. }) => {
            found.extend((!absolute).then_some(Finding::RelativeSleep));
            found.extend((clock == Clock::Realtime && absolute).then_some(Finding::RealtimeClock));
        }
        Some(Pacing::TimeOut { .. }) => found.push(Finding::PacedByTimeOut),
        Some(Pacing::Timerfd { .. } | Pacing::PosixTimer { .. } | Pacing::Woken(_)) | None => {}
    }
    found
}

fn of_setup(setup: &Setup, is_paced: bool, found: &mut Vec<Finding>) {
    let is_real_time = setup.policy.is_some_and(Policy::is_real_time);
    if !is_paced && !is_real_time {
        return;
    }
    if setup.policy.is_some() && !is_real_time {
        found.push(Finding::NotRealTime);
    }
    if is_real_time && setup.priority >= PRIORITY_MAX {
        found.push(Finding::PriorityTooHigh(setup.priority));
    }
    // The kernel counts a locked page once, and a resident one also if it belongs to a file of others: nearly all is all.
    if let (Some(locked), Some(resident)) = (setup.locked_bytes, setup.resident_bytes) {
        found.extend((locked < resident / 2).then_some(Finding::MemoryNotLocked));
    }
    // The kernel ignores timer slack for real-time threads.
    let slack = setup.timer_slack.filter(|slack| !is_real_time && slack.as_ns() > 1);
    found.extend(slack.map(Finding::TimerSlack));
    if setup.cpus.len() > 1 && setup.policy != Some(Policy::Deadline) {
        found.push(Finding::NotPinned(setup.cpus.clone()));
    }
    found.extend(setup.cpu_max.map(Finding::CpuMax));
    found.extend(setup.uclamp_max.filter(|max| *max < 1024).map(Finding::UclampMax));
}
