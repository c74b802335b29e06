//! What an inspection says as a whole, and whether it passes a gate.

use super::cost::{GivenUp, Saved};
use super::findings::{Finding, Policy};
use super::values::{Blind, Engine, InTheWay, Inspection, Intruder, ThreadReport, Unprobed};
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
    /// Nothing that paces a thread was seen.
    NoTimer,
    /// The cycles could not be seen.
    NotSeen,
}

impl Answer {
    pub fn of(inspection: &Inspection) -> Self {
        let paced = inspection.judged();
        let is_disturbed = |thread: &&ThreadReport| {
            thread.cycles.as_ref().is_some_and(|of| !of.in_the_way.is_empty() || of.over_limit.is_some_and(|n| n > 0))
        };
        match inspection.engine {
            Engine::Counters => Self::NotSeen,
            Engine::Bpf | Engine::Tracefs if paced.is_empty() => Self::NoTimer,
            Engine::Bpf | Engine::Tracefs if paced.iter().any(is_disturbed) => Self::Disturbed,
            Engine::Bpf | Engine::Tracefs if paced.iter().any(|of| !of.findings.is_empty()) => Self::SetUpWrong,
            Engine::Bpf | Engine::Tracefs => Self::Clean,
        }
    }
}

impl Inspection {
    /// The threads that are judged: those with cycles and a real-time policy, or all with cycles if none has one. An
    /// ordinary thread beside real-time ones does what is not urgent.
    pub fn judged(&self) -> Vec<&ThreadReport> {
        let paced: Vec<&ThreadReport> = self.threads.iter().filter(|thread| thread.cycles.is_some()).collect();
        let is_real_time = |thread: &&&ThreadReport| thread.is_real_time() || thread.was_real_time();
        let real_time: Vec<&ThreadReport> = paced.iter().filter(is_real_time).copied().collect();
        if real_time.is_empty() { paced } else { real_time }
    }
}

impl ThreadReport {
    pub fn is_real_time(&self) -> bool {
        self.setup.as_ref().and_then(|setup| setup.policy).is_some_and(Policy::is_real_time)
    }

    fn was_real_time(&self) -> bool {
        self.findings.iter().any(|finding| matches!(finding, Finding::Demoted(_)))
    }
}

/// What makes an inspection fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailOn {
    /// An allocator is called in a cycle, or changes the address space.
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
            Self::Alloc => matches!(row.intruder, Intruder::Memory | Intruder::Allocation),
            Self::Fault => row.intruder == Intruder::Fault,
            Self::Syscall => row.call.is_some(),
            Self::Lock => matches!(row.intruder, Intruder::Lock | Intruder::PiLock),
            Self::Late(_) => false,
        }
    }

    fn fails(self, thread: &ThreadReport) -> bool {
        thread.cycles.as_ref().is_some_and(|cycles| match self {
            Self::Late(limit) => cycles.latency_due.max.is_some_and(|max| max > limit),
            kind => cycles.in_the_way.iter().any(|row| kind.fits(row)),
        })
    }

    /// Whether it could not be seen here.
    fn is_hidden(self, inspection: &Inspection) -> bool {
        let gave_up = |what| {
            inspection.cost.iter().flat_map(|cost| &cost.given_up).any(|given_up: &GivenUp| given_up.what == what)
        };
        let lacks = |event: &str| inspection.blind.iter().any(|blind| matches!(blind, Blind::Event(of) if of == event));
        match self {
            Self::Fault => gave_up(Saved::Inside) || lacks("exceptions:page_fault_user"),
            Self::Late(_) => lacks("timer:hrtimer_start"),
            // After some time of looking, what comes seldom may be missed, and what comes often was seen.
            Self::Alloc if gave_up(Saved::Inside) => true,
            Self::Alloc => {
                let hides = |why: &Unprobed| !matches!(why, Unprobed::After(_));
                inspection.blind.iter().any(|blind| matches!(blind, Blind::SmallAllocations(why) if hides(why)))
            }
            Self::Syscall | Self::Lock => gave_up(Saved::Inside),
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
    let mut threads: Vec<_> = inspection.judged().into_iter().map(Some).collect();
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
