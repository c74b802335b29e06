//! What an engine does, whichever it is.
//!
//! An engine keeps the last seconds of what the kernel did on the measured CPUs and hands out records of any stretch of
//! them. How it gets them is its own business.

use super::TraceError;
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::trace::{Blind, Names, Record, Rung, TraceTotal};

/// Which engine is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// The best that can be had.
    #[default]
    Best,
    Tracefs,
    /// A program in the kernel; where it cannot be had, the best.
    Bpf,
    /// The kernel's trace, and its own noise tracer beside it; where it cannot be had, without it.
    Timerlat,
}

/// A CPU that is measured, and the thread that measures it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredThread {
    pub cpu: u32,
    /// As the kernel numbers threads.
    pub tid: u32,
}

/// From one instant to another, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub from: MonoTime,
    pub to: MonoTime,
}

/// From when to when the trace of a CPU is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Covered {
    pub span: Span,
    /// Its clock was seen to be wrong.
    pub warped: bool,
}

/// Looks on while others measure.
pub trait Engine: Send {
    fn cpus(&self) -> Vec<u32>;
    fn begin(&mut self) -> Result<(), TraceError>;
    /// Ends recording; what was recorded is still there.
    fn end(&mut self);
    /// Takes what the kernel has.
    fn drain(&mut self);
    /// Switches its events on. Stops every CPU for moments: not while measuring.
    fn enable(&mut self);
    /// Switches its events off, so that nothing at all is paid for them.
    fn disable(&mut self);
    /// These are the measuring threads: of timers that are armed and of page faults, only theirs are recorded from now on.
    fn measures(&mut self, threads: &[MeasuredThread]);
    /// Activations of a CPU that are later than this are late.
    fn late_is(&mut self, _cpu: u32, _threshold: Nanos) {}
    /// From when to when the trace of a CPU is there.
    fn covered(&self, cpu: u32) -> Option<Covered>;
    /// Records of a CPU between two instants, and the names in them.
    fn records(&self, cpu: u32, span: Span) -> (Vec<Record>, Names);
    /// Whether records may be missing between two instants although nothing in the records says so.
    fn missed(&self, _span: Span) -> bool {
        false
    }
    /// What other CPUs did to one between two instants; names go into `names`.
    fn elsewhere(&self, cpu: u32, span: Span, names: &mut Names) -> Vec<(u32, Record)>;
    fn rung(&self) -> Rung;
    /// Better ones, and why they are not used.
    fn no_better(&self) -> Vec<(Rung, String)>;
    /// Bytes of the kernel's buffer for each CPU.
    fn buffer_bytes(&self) -> u64;
    /// Events recorded: `group:name`.
    fn event_names(&self) -> Vec<String>;
    fn blind(&self) -> Vec<Blind>;
    fn totals(&self) -> Vec<TraceTotal>;
}

/// What is wanted of an engine.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    pub choice: EngineChoice,
    pub cpus: &'a CpuSet,
    pub online: &'a CpuSet,
    /// Bytes of the kernel's buffer for each CPU; `None`: as many as a million records a second need.
    pub buffer_bytes: Option<u64>,
}
