//! Observes a program of the user: which of its threads are periodic, and what is in their cycles.
//!
//! ```text
//! target -> observe (trace and stacks, or counters; late) -> Observed -> report -> Inspection
//!           members, process, settings                                   code
//! ```
//! What the records mean is decided in `punctual-numbers`. The program is neither stopped nor changed.

mod again;
mod allocations;
mod bill;
mod calls;
mod child;
mod code;
mod cycles_file;
mod flow;
mod late;
mod marks;
mod members;
mod observe;
mod process;
mod procfs;
mod report;
mod sample;
mod settings;
mod stacks;
mod target;

use crate::trace::{OpenedProgram, ProgramTrace, open_program};
use bill::Prices;
use observe::Observed;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::machine::MachineLine;
use punctual_hist::Nanos;
use punctual_numbers::inspect::{Engine, Inspection};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use thiserror::Error;

pub use again::{Program, Sought};
pub(crate) use observe::offsets;
pub use target::{Target, ThreadFilter, find};

/// What is to be inspected, and how.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub struct Wanted {
    pub target: Target,
    /// Whether processes that it has started or starts are observed as well. Those of a command always are.
    pub children: bool,
    /// Threads to report; all if `None`.
    pub thread: Option<ThreadFilter>,
    pub duration: Nanos,
    /// Latencies above this are counted.
    pub limit: Option<Nanos>,
    /// Whether more than counters may be used.
    pub may_trace: bool,
    /// The only engine to use; the best one if `None`.
    pub engine: Option<Engine>,
    /// Whether to probe functions of the allocator, which puts breakpoints into the program's memory.
    pub allocations: bool,
    /// Whether to look for what makes threads late.
    pub causes: bool,
    pub cpus: CpuSet,
    /// A file for a line of each cycle.
    pub cycles: Option<PathBuf>,
    /// Facts about the machine, as a recording has them.
    pub machine: Vec<MachineLine>,
    /// The largest share of one CPU that looking may take, after its first second.
    pub cost: f64,
}

#[derive(Debug, Error)]
pub enum InspectError {
    #[error("no process has the id {0}; list processes with ps -e")]
    NoProcess(u32),
    #[error("no running program is called {0:?}; list programs with ps -e")]
    NoName(String),
    #[error("several processes are called {name:?}: {}; name one by its number", pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))]
    Several { name: String, pids: Vec<u32> },
    #[error("no thread of process {pid} is called {wanted}; list its threads with ps -T -p {pid}")]
    NoThread { pid: u32, wanted: String },
    #[error("{0} is a thread of the kernel, not a program")]
    Kernel(u32),
    #[error("the engine that you asked for cannot be used: {0}")]
    NoEngine(String),
    #[error("start {program}: {error}")]
    Start { program: String, error: std::io::Error },
    #[error("write the cycles to {}: {error}", path.display())]
    Cycles { path: PathBuf, error: std::io::Error },
    #[error(
        "the program ended before any of its threads could be observed; give it more to do, or look at its own messages"
    )]
    EndedAtOnce,
}

/// The engine that would be used. It is opened for that, and nothing is recorded.
pub fn engine(wanted: &Wanted) -> Result<Engine, InspectError> {
    opened(wanted).map(|opened| opened.trace.as_ref().map_or(Engine::Counters, ProgramTrace::engine))
}

/// Observes the program until the time is up, the program ends or `interrupted` is set. What is known is told to `watcher` every
/// second; causes are known only at the end.
pub fn run(
    wanted: &Wanted,
    interrupted: &AtomicBool,
    watcher: Option<&mut dyn FnMut(&Inspection)>,
) -> Result<Inspection, InspectError> {
    let calls = calls::calls();
    let unrecorded = Prices::unrecorded();
    let OpenedProgram { trace, refused } = opened(wanted)?;
    let engine = trace.as_ref().map_or(Engine::Counters, ProgramTrace::engine);
    let report = |seen: &Observed| report::report(wanted, seen, (engine, refused.clone()), &calls);
    let mut tell = watcher.map(|watcher| {
        move |seen: &Observed| {
            // A report that cannot be made yet, for a thread that was not seen, may be made later.
            if let Ok(inspection) = report(seen) {
                watcher(&inspection);
            }
        }
    });
    let told = tell.as_mut().map(|tell| tell as &mut dyn FnMut(&Observed));
    let observed = observe::observe(wanted, trace.map(|trace| (trace, unrecorded)), &calls, interrupted, told)?;
    report::report(wanted, &observed, (engine, refused.clone()), &calls)
}

fn opened(wanted: &Wanted) -> Result<OpenedProgram, InspectError> {
    if !wanted.may_trace {
        return Ok(OpenedProgram::default());
    }
    crate::trace::sweep();
    let opened = open_program(wanted.engine, &wanted.cpus);
    match (wanted.engine, &opened.trace, opened.refused.as_slice()) {
        (Some(_), None, [refused]) => Err(InspectError::NoEngine(refused.why.clone())),
        _ => Ok(opened),
    }
}
