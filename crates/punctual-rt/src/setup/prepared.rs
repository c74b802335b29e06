//! Applying a set-up step by step, with the way back.

use super::{LatencyQos, LatencyRequest, Require, Setup, granted, pin_current, set_policy};
use crate::memory::{Memory, lock_memory, prefault_heap, prefault_stack, release_heap, unlock_memory};
use crate::{Error, Policy, SetupError, sys};
use std::fmt;

/// One step of a set-up that can be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupStep {
    /// The CPUs to run on.
    Cpus,
    /// All memory locked.
    MemoryLock,
    /// Stack touched in advance.
    Stack,
    /// Heap touched in advance.
    Heap,
    /// Idle states ruled out.
    LatencyQos,
    /// Policy and CPUs read back, to see what was granted.
    ReadBack,
    /// The scheduling policy.
    Policy,
}

impl fmt::Display for SetupStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpus => "CPUs",
            Self::MemoryLock => "memory lock",
            Self::Stack => "stack touched in advance",
            Self::Heap => "heap touched in advance",
            Self::LatencyQos => "idle states ruled out",
            Self::ReadBack => "what was granted",
            Self::Policy => "scheduling policy",
        })
    }
}

/// Something that was asked for and not granted. Prints as what, why, and what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What was asked for.
    pub what: SetupStep,
    /// Why it was not granted.
    pub error: Error,
}

impl Refusal {
    /// What to do about it, in a sentence.
    pub const fn remedy(&self) -> &'static str {
        self.error.remedy()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.what, self.error, self.remedy())
    }
}

/// A thread that is set up: what was refused, and what must be held as long as the loop runs.
#[derive(Debug)]
#[must_use = "the request for idle states ends when this is dropped"]
pub struct Prepared {
    refusals: Vec<Refusal>,
    #[allow(dead_code, reason = "held, and given up when this is dropped")]
    latency: Option<LatencyRequest>,
}

impl Prepared {
    /// What was refused; none under [`Require::Strict`].
    ///
    /// # Real-time
    /// Pure.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }
}

/// How the thread was before, and what was done to the process.
struct Before {
    signals: sys::SignalMask,
    timer_slack: Option<u64>,
    cpus: Option<Vec<u32>>,
    memory_locked: bool,
    heap_kept: bool,
}

pub(super) fn apply(setup: &Setup) -> Result<Prepared, Error> {
    let timer_slack = sys::timer_slack();
    let cpus = sys::affinity().ok();
    // A thread's first lock asks for its id: now rather than in the loop.
    sys::remembered_thread_id();
    let signals = sys::block_signals();
    sys::set_timer_slack(1);
    let mut before = Before { signals, timer_slack, cpus, memory_locked: false, heap_kept: false };
    let mut prepared = Prepared { refusals: Vec::new(), latency: None };
    for what in STEPS {
        if let Err(error) = take(what, setup, &mut before, &mut prepared.latency) {
            if setup.require == Require::Strict {
                before.restore();
                return Err(error);
            }
            prepared.refusals.push(Refusal { what, error });
        }
    }
    Ok(prepared)
}

/// The policy comes last: nothing else is done at real-time priority, and a granted policy never needs a way back.
const STEPS: [SetupStep; 7] = [
    SetupStep::Cpus,
    SetupStep::MemoryLock,
    SetupStep::Stack,
    SetupStep::Heap,
    SetupStep::LatencyQos,
    SetupStep::ReadBack,
    SetupStep::Policy,
];

/// Takes one step; does nothing where nothing is asked for.
fn take(
    what: SetupStep,
    setup: &Setup,
    before: &mut Before,
    latency: &mut Option<LatencyRequest>,
) -> Result<(), Error> {
    match (what, setup.memory) {
        (SetupStep::Cpus, _) if !setup.cpus.is_empty() => {
            pin_current(&setup.cpus)?;
            let granted = sys::affinity().map_err(SetupError::ReadBack)?;
            // The kernel takes a list of which it can grant a part; here that is a refusal, too.
            if let Some(cpu) = setup.cpus.iter().find(|cpu| !granted.contains(cpu)) {
                return Err(SetupError::Affinity { cpu: *cpu, errno: libc::EINVAL }.into());
            }
        }
        (SetupStep::MemoryLock, Memory::Lock { .. }) => {
            lock_memory()?;
            before.memory_locked = true;
        }
        (SetupStep::Stack, Memory::Lock { stack_bytes, .. }) => prefault_stack(stack_bytes)?,
        (SetupStep::Heap, Memory::Lock { heap_bytes, .. }) if heap_bytes > 0 => {
            prefault_heap(heap_bytes)?;
            before.heap_kept = true;
        }
        (SetupStep::LatencyQos, _) => {
            *latency = match setup.latency_qos {
                LatencyQos::Leave => None,
                LatencyQos::Global(limit) => Some(LatencyRequest::global(limit)?),
                // Where the CPUs were left as they are, or some were refused: those the thread may run on.
                LatencyQos::PerCpu => Some(LatencyRequest::per_cpu(&sys::affinity().map_err(SetupError::ReadBack)?)?),
            }
        }
        (SetupStep::ReadBack, _) => drop(granted()?),
        // Where the policy cannot even be read, the step before has told.
        (SetupStep::Policy, _) if setup.policy != Policy::Other || sys::policy().is_ok() => set_policy(setup.policy)?,
        (SetupStep::Cpus | SetupStep::MemoryLock | SetupStep::Stack | SetupStep::Heap | SetupStep::Policy, _) => {}
    }
    Ok(())
}

impl Before {
    /// Puts everything back, last first. What was granted before is granted again, so nothing is left to be told.
    fn restore(self) {
        if self.heap_kept {
            release_heap();
        }
        if self.memory_locked {
            unlock_memory();
        }
        if let Some(cpus) = &self.cpus {
            let _ = sys::set_affinity(cpus);
        }
        if let Some(ns) = self.timer_slack {
            // 0 would ask for the default; threads of a real-time policy show it, and have no slack to restore.
            sys::set_timer_slack(ns);
        }
        sys::set_signal_mask(&self.signals);
    }
}
