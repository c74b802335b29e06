//! Applying a set-up step by step, with the way back.

use super::{LatencyQos, LatencyRequest, Require, Setup, granted, pin_current, set_policy};
use crate::memory::{Memory, lock_memory, prefault_heap, prefault_stack, release_heap, unlock_memory};
use crate::{Error, Policy, SetupError, sys};
use std::fmt;

/// One step of a set-up that can be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
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

impl fmt::Display for What {
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
    pub what: What,
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
    let steps: [(What, Step); 7] = [
        (What::Cpus, cpus_step),
        (What::MemoryLock, memory_step),
        (What::Stack, stack_step),
        (What::Heap, heap_step),
        (What::LatencyQos, latency_step),
        (What::ReadBack, read_back_step),
        // Last: nothing of the above is done at real-time priority, and a policy that was granted never needs a way back.
        (What::Policy, policy_step),
    ];
    for (what, step) in steps {
        if let Err(error) = step(setup, &mut before, &mut prepared) {
            if setup.require == Require::Strict {
                before.restore();
                return Err(error);
            }
            prepared.refusals.push(Refusal { what, error });
        }
    }
    Ok(prepared)
}

type Step = fn(&Setup, &mut Before, &mut Prepared) -> Result<(), Error>;

/// The kernel takes a list of which it can grant a part; here that is a refusal, too.
fn cpus_step(setup: &Setup, _: &mut Before, _: &mut Prepared) -> Result<(), Error> {
    if setup.cpus.is_empty() {
        return Ok(());
    }
    pin_current(&setup.cpus)?;
    let granted = sys::affinity().map_err(SetupError::ReadBack)?;
    let missing = setup.cpus.iter().find(|cpu| !granted.contains(cpu));
    missing.map_or(Ok(()), |cpu| Err(Error::Setup(SetupError::Affinity { cpu: *cpu, errno: libc::EINVAL })))
}

fn memory_step(setup: &Setup, before: &mut Before, _: &mut Prepared) -> Result<(), Error> {
    if setup.memory == Memory::Leave {
        return Ok(());
    }
    lock_memory()?;
    before.memory_locked = true;
    Ok(())
}

fn stack_step(setup: &Setup, _: &mut Before, _: &mut Prepared) -> Result<(), Error> {
    match setup.memory {
        Memory::Lock { stack_bytes, .. } => prefault_stack(stack_bytes),
        Memory::Leave => Ok(()),
    }
}

fn heap_step(setup: &Setup, before: &mut Before, _: &mut Prepared) -> Result<(), Error> {
    match setup.memory {
        Memory::Lock { heap_bytes, .. } if heap_bytes > 0 => {
            prefault_heap(heap_bytes)?;
            before.heap_kept = true;
            Ok(())
        }
        _ => Ok(()),
    }
}

fn latency_step(setup: &Setup, _: &mut Before, prepared: &mut Prepared) -> Result<(), Error> {
    prepared.latency = match setup.latency_qos {
        LatencyQos::Leave => None,
        LatencyQos::Global(limit) => Some(LatencyRequest::global(limit)?),
        LatencyQos::PerCpu => {
            // Where the CPUs were left as they are, or some were refused: those the thread may run on.
            Some(LatencyRequest::per_cpu(&sys::affinity().map_err(SetupError::ReadBack)?)?)
        }
    };
    Ok(())
}

fn read_back_step(_: &Setup, _: &mut Before, _: &mut Prepared) -> Result<(), Error> {
    granted().map(drop)
}

fn policy_step(setup: &Setup, _: &mut Before, _: &mut Prepared) -> Result<(), Error> {
    // Nothing is asked for; that the policy cannot even be read was told in the step before.
    if setup.policy == Policy::Other && sys::policy().is_err() {
        return Ok(());
    }
    set_policy(setup.policy)
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
