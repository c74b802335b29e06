//! Records what the threads of one program do: their system calls, timers, page faults, and when they run.
//!
//! The kernel filters by thread, so that other programs leave no records. Two engines give the same records: a program in the
//! kernel, and an instance of the kernel's trace. Where stacks cannot be sampled, one more instance records those that frame
//! pointers show, only at system calls other than those that loops wait in.

mod tracefs;

pub use self::tracefs::Watch;

use self::tracefs::{Traced, stacks};
use super::TraceError;
use super::engine::ProgramEngine;
use super::place;
use punctual_facts::cpu_set::CpuSet;
use punctual_numbers::inspect::{Engine, Record, Refused, Seen};
use std::collections::BTreeSet;

pub const USER_STACK: &str = "ftrace:user_stack";

/// The kernel's numbers of the events at which stacks are of interest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackEvents {
    pub call: Option<u16>,
    pub fault: Option<u16>,
}

/// The trace of one program. Nothing is recorded before [`ProgramTrace::begin`].
pub struct ProgramTrace {
    main: Box<dyn ProgramEngine>,
    stacks: Option<Watch>,
    cpus: CpuSet,
    /// Paths of events that are missing or cannot be read here.
    pub blind: Vec<String>,
}

/// The best engine that could be opened, and why better ones could not.
#[derive(Default)]
pub struct OpenedProgram {
    pub trace: Option<ProgramTrace>,
    pub refused: Vec<Refused>,
}

/// Opens the engine `only`, or the best one of all.
pub fn open_program(only: Option<Engine>, cpus: &CpuSet) -> OpenedProgram {
    let best: &[Engine] = if cfg!(feature = "bpf") { &[Engine::Bpf, Engine::Tracefs] } else { &[Engine::Tracefs] };
    let mut opened = OpenedProgram::default();
    for engine in only.as_ref().map_or(best, std::slice::from_ref) {
        let main = match engine {
            Engine::Bpf => bpf(cpus),
            Engine::Tracefs => Traced::open(cpus).map(|traced| Box::new(traced) as Box<dyn ProgramEngine>),
            Engine::Counters => break,
        };
        match main {
            Ok(main) => {
                let blind = main.blind().to_vec();
                opened.trace = Some(ProgramTrace { main, stacks: None, cpus: cpus.clone(), blind });
                break;
            }
            Err(error) => opened.refused.push(Refused { engine: *engine, why: error.to_string() }),
        }
    }
    opened
}

#[cfg(feature = "bpf")]
fn bpf(cpus: &CpuSet) -> Result<Box<dyn ProgramEngine>, TraceError> {
    Ok(Box::new(super::bpf::Follower::open(cpus)?))
}

#[cfg(not(feature = "bpf"))]
fn bpf(_: &CpuSet) -> Result<Box<dyn ProgramEngine>, TraceError> {
    Err(TraceError::LeftOut)
}

impl ProgramTrace {
    pub fn engine(&self) -> Engine {
        self.main.engine()
    }

    pub fn stack_events(&self) -> StackEvents {
        let Ok(tracefs) = place::tracefs() else { return StackEvents::default() };
        let id = |event: &str| tracefs.read(&format!("events/{event}/id")).ok()?.trim().parse().ok();
        StackEvents { call: id("raw_syscalls/sys_enter"), fault: id("exceptions/page_fault_user") }
    }

    /// Records the stacks that frame pointers show. `waits` are the numbers of system calls that loops wait in.
    pub fn record_stacks(&mut self, waits: &[u32]) {
        match stacks(&self.cpus, waits) {
            Ok(stacks) => self.stacks = Some(stacks),
            Err(_) => self.blind.push(USER_STACK.to_owned()),
        }
    }

    /// Records these threads, and those that they start later.
    pub fn follow(&self, tids: &[u32]) -> Result<(), TraceError> {
        self.main.follow(tids)?;
        self.stacks.iter().try_for_each(|stacks| stacks.follow(tids))
    }

    /// Follows a thread of ours no more.
    pub fn forget(&self, tid: u32) {
        self.main.forget(tid);
    }

    /// Records no more stacks that frame pointers show. Whether any were recorded.
    pub fn end_stacks(&self) -> bool {
        self.stacks.as_ref().is_some_and(|stacks| stacks.instance.switch(false).is_ok())
    }

    /// From now on, of all that is in the cycles only these system calls are recorded, in which the threads wait.
    pub fn record_only(&self, waits: &BTreeSet<u32>) -> Result<(), TraceError> {
        self.main.record_only(waits)
    }

    pub fn begin(&self) -> Result<(), TraceError> {
        self.switch(true)
    }

    pub fn end(&self) {
        let _ = self.switch(false);
    }

    fn switch(&self, on: bool) -> Result<(), TraceError> {
        self.stacks.iter().try_for_each(|stacks| stacks.instance.switch(on))?;
        self.main.switch(on)
    }

    /// Adds all records that can be read without waiting.
    pub fn drain(&mut self, records: &mut Vec<Record>) {
        self.main.drain(records);
        if let Some(stacks) = &mut self.stacks {
            stacks.drain(records, |seen| matches!(seen, Seen::Stack { .. }));
        }
    }

    /// Records of the program that the kernel lost so far.
    pub fn lost(&self) -> u64 {
        self.main.lost()
    }
}
