//! The interfaces of all engines.
//!
//! One kind records what the threads of one program do. The other keeps the last seconds of what the kernel did on the
//! measured CPUs, and returns the records of any span in them.

use super::TraceError;
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::inspect::{Engine as RecordedBy, Record};
use punctual_numbers::trace::{Blind, Names, RefusedRung, RemoteRecord, Rung, TraceRecord, TraceTotal};
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    #[default]
    Best,
    Tracefs,
    /// The BPF engine, or the best other engine if it is not available.
    Bpf,
    /// The kernel's trace with its noise tracer, or without that if it is not available.
    Timerlat,
}

/// A measured CPU and the thread that measures it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredThread {
    pub cpu: u32,
    pub tid: u32,
}

/// A span of time, including both ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub from: MonoTime,
    pub to: MonoTime,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Covered {
    pub span: Span,
    /// Whether a record had an impossible time.
    pub warped: bool,
}

pub trait Engine: Send {
    fn cpus(&self) -> Vec<u32>;
    fn begin(&mut self) -> Result<(), TraceError>;
    fn end(&mut self);
    fn drain(&mut self);
    /// Switches events on. This stops every CPU for moments, so it must not be called while measuring.
    fn enable(&mut self);
    /// Switches events off, so that they cost nothing.
    fn disable(&mut self);
    /// Sets the measuring threads. From now on, armed timers and page faults are recorded for these only.
    fn measures(&mut self, threads: &[MeasuredThread]);
    /// Sets the latency above which activations of a CPU are late.
    fn late_is(&mut self, _cpu: u32, _threshold: Nanos) {}
    fn covered(&self, cpu: u32) -> Option<Covered>;
    /// Records of a CPU in a span, and the names in them.
    fn records(&self, cpu: u32, span: Span) -> (Vec<TraceRecord>, Names);
    /// Whether records of a span may be missing although no record says so.
    fn missed(&self, _span: Span) -> bool {
        false
    }
    /// What other CPUs did to `cpu` in a span. Names are added to `names`.
    fn elsewhere(&self, cpu: u32, span: Span, names: &mut Names) -> Vec<RemoteRecord>;
    fn rung(&self) -> Rung;
    fn no_better(&self) -> Vec<RefusedRung>;
    fn buffer_bytes(&self) -> u64;
    /// Recorded events, such as `group:name`.
    fn event_names(&self) -> Vec<String>;
    fn blind(&self) -> Vec<Blind>;
    fn totals(&self) -> Vec<TraceTotal>;
}

#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    pub choice: EngineChoice,
    pub cpus: &'a CpuSet,
    pub online: &'a CpuSet,
    /// Bytes of the kernel's trace buffer per CPU; `None` for the default.
    pub buffer_bytes: Option<u64>,
}

/// Records the threads of one program. The kernel's part of it ends when the value is dropped.
pub trait ProgramEngine {
    fn engine(&self) -> RecordedBy;
    /// Records these threads, and those that they start later.
    fn follow(&self, tids: &[u32]) -> Result<(), TraceError>;
    /// Records this thread no more; where the next call of `follow` says so in any case, nothing is done.
    fn forget(&self, _: u32) {}
    fn switch(&self, on: bool) -> Result<(), TraceError>;
    /// From now on, of all that is in the cycles only these system calls are recorded, in which the threads wait.
    fn record_only(&self, _: &BTreeSet<u32>) -> Result<(), TraceError> {
        Err(TraceError::NotUnderstood("this engine records all system calls of the threads".to_owned()))
    }
    /// Adds all records that can be read without waiting.
    fn drain(&mut self, records: &mut Vec<Record>);
    /// Records of the program that the kernel lost so far.
    fn lost(&self) -> u64;
    /// Paths of events that are missing or cannot be read here.
    fn blind(&self) -> &[String];
}
