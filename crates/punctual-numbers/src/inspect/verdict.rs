//! What an inspection says as a whole, and whether it passes a gate.

use super::values::{Blind, Engine, InTheWay, Inspection, Intruder, ThreadReport};
use punctual_hist::Nanos;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Nothing but the wait was seen in the cycles, and the threads are set up for real time.
    Clean,
    /// The cycles hold nothing that should not be there, but the threads are not set up for real time.
    SetUpWrong,
    /// The cycles hold what should not be there, or latency exceeded the limit.
    Disturbed,
    /// No thread is paced by a timer.
    NoTimer,
    /// The cycles could not be seen.
    NotSeen,
}

impl Answer {
    pub fn of(inspection: &Inspection) -> Self {
        let paced: Vec<&ThreadReport> = inspection.threads.iter().filter(|thread| thread.cycles.is_some()).collect();
        let is_disturbed = |thread: &&ThreadReport| {
            thread.cycles.as_ref().is_some_and(|of| !of.in_the_way.is_empty() || of.over_limit.is_some_and(|n| n > 0))
        };
        match inspection.engine {
            Engine::Counters => Self::NotSeen,
            Engine::Tracefs if paced.is_empty() => Self::NoTimer,
            Engine::Tracefs if paced.iter().any(is_disturbed) => Self::Disturbed,
            Engine::Tracefs if paced.iter().any(|thread| !thread.findings.is_empty()) => Self::SetUpWrong,
            Engine::Tracefs => Self::Clean,
        }
    }
}

/// What makes an inspection fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailOn {
    /// The address space is changed in a cycle.
    Alloc,
    /// A page fault in a cycle.
    Fault,
    /// Any system call in a cycle besides the wait.
    Syscall,
    /// A wait for a lock in a cycle.
    Lock,
    Late(Nanos),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    Passed,
    Failed,
    /// It was not seen well enough to tell.
    Unknown,
}

impl FailOn {
    /// Whether it is this that is in the way.
    pub fn fits(self, row: &InTheWay) -> bool {
        match self {
            Self::Alloc => row.intruder == Intruder::Memory,
            Self::Fault => row.intruder == Intruder::Fault,
            Self::Syscall => row.call.is_some(),
            Self::Lock => row.intruder == Intruder::Lock,
            Self::Late(_) => false,
        }
    }

    fn fails(self, thread: &ThreadReport) -> bool {
        thread.cycles.as_ref().is_some_and(|cycles| match self {
            Self::Late(limit) => cycles.latency_due.max.is_some_and(|max| max > limit),
            kind => cycles.in_the_way.iter().any(|row| kind.fits(row)),
        })
    }

    /// Whether this kernel lacks the event that shows it.
    fn is_hidden(self, inspection: &Inspection) -> bool {
        let lacks = |event: &str| inspection.blind.iter().any(|blind| matches!(blind, Blind::Event(of) if of == event));
        match self {
            Self::Fault => lacks("exceptions:page_fault_user"),
            Self::Late(_) => lacks("timer:hrtimer_start"),
            Self::Alloc | Self::Syscall | Self::Lock => false,
        }
    }
}

/// One thing that fails, in one thread.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    pub kind: FailOn,
    /// `None` if no thread had cycles to see it in.
    pub thread: Option<&'a ThreadReport>,
    pub gate: Gate,
}

/// Judges each kind in each thread with cycles. What was seen stays seen, whatever was lost beside it; what was not seen
/// is not good if records were lost, or if there was no cycle to see it in.
pub fn judged<'a>(inspection: &'a Inspection, fail_on: &[FailOn]) -> Vec<Judged<'a>> {
    let mut threads: Vec<_> = inspection.threads.iter().filter(|thread| thread.cycles.is_some()).map(Some).collect();
    if threads.is_empty() {
        threads.push(None);
    }
    let judge = |kind: FailOn, thread: Option<&'a ThreadReport>| {
        let gate = match () {
            () if thread.is_some_and(|thread| kind.fails(thread)) => Gate::Failed,
            () if thread.is_none() || inspection.lost > 0 || kind.is_hidden(inspection) => Gate::Unknown,
            () => Gate::Passed,
        };
        Judged { kind, thread, gate }
    };
    fail_on.iter().flat_map(|kind| threads.iter().map(move |thread| judge(*kind, *thread))).collect()
}

/// Whether the inspection passes.
pub fn gate(inspection: &Inspection, fail_on: &[FailOn]) -> Gate {
    let judged = judged(inspection, fail_on);
    let has = |gate| judged.iter().any(|judged| judged.gate == gate);
    if has(Gate::Failed) {
        Gate::Failed
    } else if has(Gate::Unknown) {
        Gate::Unknown
    } else {
        Gate::Passed
    }
}
