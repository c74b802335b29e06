//! Finds the cycles of a program's threads in the kernel's trace, and what is in them that should not be there.
//!
//! ```text
//! RawEvent -> Record -> Step (calls, faults, waits for the CPU) -> Pacing -> Cycle -> Inspection
//!    decode               steps                          pacing    cycles   digest, findings
//! ```
//! This module has no access to the machine: system calls have the numbers and names that the reader of the trace gave
//! them, and what threads are set up with arrives as values.

mod cost;
mod cycles;
mod decode;
mod digest;
mod findings;
mod late;
mod marks;
mod pacing;
mod record;
mod releases;
mod steps;
#[cfg(test)]
mod tests;
mod values;
mod verdict;

pub use cost::{Cost, CycleCost, GivenUp, Saved};
pub use cycles::Cycle;
pub use decode::{CLONE_THREAD, PROGRAM_EVENTS, ProgramDecoder, ProgramEvent};
pub use digest::{Digest, Order, Person, Rules};
pub use findings::{CpuMax, Finding, Policy, Setup, findings};
pub use late::WakeUp;
pub use marks::{Mark, MarkTally, Marked, PROVIDER};
pub use pacing::sleeping;
pub use record::{Call, CallKind, Clock, Offsets, Record, Seen, StackOf};
pub use releases::{Released, ReleasedBy, Releases};
pub use values::{
    Blind, Code, Counters, CycleTimes, End, Engine, InTheWay, Inspection, Intruder, Locate, MarkReport, MarkedCycles,
    MarkedStage, MarkedThread, OtherMarks, Pace, PeriodErrors, PeriodErrorsShow, Probed, Program, Quantiles, Refused,
    StartUp, ThreadCycles, ThreadReport, Unprobed, WokenBy, WorstCycle,
};
pub use verdict::{Answer, FailOn, Gate, Judged, gate, judged};
