//! Applies a set-up step by step, and undoes it if a step is refused.

use super::{LatencyQos, LatencyRequest, Require, Setup, granted, pin_current, set_policy};
use crate::memory::{Memory, lock_memory, prefault_heap, prefault_stack, release_heap, unlock_memory};
use crate::{Error, Policy, SetupError, sys};
use std::fmt;

/// One step of a set-up that can be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupStep {
    /// Binding the thread to its CPUs.
    Cpus,
    /// Locking all memory.
    MemoryLock,
    /// Touching the stack in advance.
    Stack,
    /// Touching the heap in advance.
    Heap,
    /// Limiting idle states.
    LatencyQos,
    /// Reading back policy and CPUs, to see what was granted.
    ReadBack,
    /// Setting the scheduling policy.
    Policy,
    /// Attaching the thread to a real-time core, which [`TaskConfig::backend`](crate::TaskConfig::backend) asks for.
    Backend,
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
            Self::Backend => "back end",
        })
    }
}

/// A refused step of a set-up. Prints what was refused, why, and what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The refused step.
    pub what: SetupStep,
    /// The reason of the refusal.
    pub error: Error,
}

impl Refusal {
    /// A sentence that says what to do about the refusal.
    pub const fn remedy(&self) -> &'static str {
        self.error.remedy()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.what, self.error, self.remedy())
    }
}

/// A thread that was set up: its refusals, and what must be held as long as the loop runs.
#[derive(Debug)]
#[must_use = "the request for idle states ends when this is dropped"]
pub struct Prepared {
    refusals: Vec<Refusal>,
    #[allow(dead_code, reason = "held, and given up when this is dropped")]
    latency: Option<LatencyRequest>,
}

impl Prepared {
    /// The refused steps; empty under [`Require::Strict`].
    ///
    /// # Real-time
    /// Only computes.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// Adds a refusal of a step that follows the set-up.
    pub(crate) fn refuse(&mut self, what: SetupStep, error: Error) {
        self.refusals.push(Refusal { what, error });
    }
}

/// The state of the thread before the set-up, and the changes that the set-up made to the process.
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
    // The first lock of a thread asks the kernel for the thread's id. It is asked for here, so that the loop does not
    // do it.
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

/// The policy is last: no other step runs at real-time priority, and a policy that was granted never has to be undone.
const STEPS: [SetupStep; 7] = [
    SetupStep::Cpus,
    SetupStep::MemoryLock,
    SetupStep::Stack,
    SetupStep::Heap,
    SetupStep::LatencyQos,
    SetupStep::ReadBack,
    SetupStep::Policy,
];

/// Carries out one step, if the setup asks for it.
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
            // The kernel may grant only some of the listed CPUs. Here that counts as a refusal.
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
                // Without a list of CPUs, or if some were refused, the request is for the CPUs that the thread may run
                // on.
                LatencyQos::PerCpu => Some(LatencyRequest::per_cpu(&sys::affinity().map_err(SetupError::ReadBack)?)?),
            }
        }
        (SetupStep::ReadBack, _) => drop(granted()?),
        // If the policy cannot even be read, the step `ReadBack` has reported the refusal.
        (SetupStep::Policy, _) if setup.policy != Policy::Other || sys::policy().is_ok() => set_policy(setup.policy)?,
        (
            SetupStep::Cpus
            | SetupStep::MemoryLock
            | SetupStep::Stack
            | SetupStep::Heap
            | SetupStep::Policy
            | SetupStep::Backend,
            _,
        ) => {}
    }
    Ok(())
}

impl Before {
    /// Undoes everything, last step first. The kernel granted the previous settings before, so it should not refuse
    /// them now; errors are not reported.
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
            // A slack of 0 would set the default. Threads with a real-time policy show 0, and have no slack to restore.
            sys::set_timer_slack(ns);
        }
        sys::set_signal_mask(&self.signals);
    }
}
