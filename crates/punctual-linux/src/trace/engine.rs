//! What an engine does, whichever it is, and which of them is used.
//!
//! An engine keeps the last seconds of what the kernel did on the measured CPUs and hands out records of any stretch of
//! them. How it gets them is its own business.

use super::tracefs::Tracefs;
use super::{TraceError, self_test};
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::trace::{Blind, Names, Record, Rung, SelfTest, TraceTotal};
use std::fs;

/// Room for 400,000 switches of tasks, the longest of the usual records with 72 bytes: of a million a second they are
/// those of 0.4 s, and they are read every 10 ms.
const BUFFER_BYTES: u64 = 32 << 20;
/// The trace may take this part of the memory that is available: what the kernel holds, and what was read.
const PART_OF_MEMORY: u64 = 16;
/// Of what was read so many times as much is held as the kernel's buffer has.
pub const READ_PART: u64 = 2;
/// A buffer that is asked for may take this part of it.
const PART_IF_ASKED: u64 = 4;
/// A buffer smaller than this holds nothing worth reading.
pub const BUFFER_BYTES_MIN: u64 = 64 << 10;

/// Which engine is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// The best that can be had.
    #[default]
    Best,
    /// The kernel's trace.
    Tracefs,
    /// A program in the kernel; where it cannot be had, the best.
    Bpf,
    /// The kernel's trace, and its own noise tracer beside it; where it cannot be had, without it.
    Timerlat,
}

/// From when to when the trace of a CPU is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Covered {
    /// From.
    pub from: MonoTime,
    /// To.
    pub to: MonoTime,
    /// Its clock was seen to be wrong.
    pub warped: bool,
}

/// Looks on while others measure.
pub trait Engine: Send {
    /// The measured CPUs.
    fn cpus(&self) -> Vec<u32>;
    /// Begins to record.
    fn begin(&mut self) -> Result<(), TraceError>;
    /// Ends recording; what was recorded is still there.
    fn end(&mut self);
    /// Takes what the kernel has.
    fn drain(&mut self);
    /// Switches its events on. Stops every CPU for moments: not while measuring.
    fn enable(&mut self);
    /// Switches its events off, so that nothing at all is paid for them.
    fn disable(&mut self);
    /// These are the measuring threads, (CPU, task): of timers that are armed and of page faults, only theirs are
    /// recorded from now on.
    fn measures(&mut self, threads: &[(u32, u32)]);
    /// Activations of a CPU that are later than this are late.
    fn late_is(&mut self, _cpu: u32, _threshold: Nanos) {}
    /// From when to when the trace of a CPU is there.
    fn covered(&self, cpu: u32) -> Option<Covered>;
    /// Records of a CPU between two instants, and the names in them.
    fn records(&self, cpu: u32, span: (MonoTime, MonoTime)) -> (Vec<Record>, Names);
    /// Whether records may be missing between two instants although nothing in the records says so.
    fn missed(&self, _span: (MonoTime, MonoTime)) -> bool {
        false
    }
    /// What other CPUs did to one between two instants; names go into `names`.
    fn elsewhere(&self, cpu: u32, span: (MonoTime, MonoTime), names: &mut Names) -> Vec<(u32, Record)>;
    /// The rung this is.
    fn rung(&self) -> Rung;
    /// Better ones, and why they are not used.
    fn no_better(&self) -> Vec<(Rung, String)>;
    /// Bytes of the kernel's buffer for each CPU.
    fn buffer_bytes(&self) -> u64;
    /// Events recorded: `group:name`.
    fn event_names(&self) -> Vec<String>;
    /// What it cannot see.
    fn blind(&self) -> Vec<Blind>;
    /// What it came to.
    fn totals(&self) -> Vec<TraceTotal>;
}

/// What is wanted of an engine.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// Which.
    pub choice: EngineChoice,
    /// The measured CPUs.
    pub cpus: &'a CpuSet,
    /// All CPUs there are.
    pub online: &'a CpuSet,
    /// Bytes of the kernel's buffer for each CPU; `None`: as many as a million records a second need.
    pub buffer_bytes: Option<u64>,
}

/// An engine that was tried out, if there is one, and why others were not used.
#[derive(Default)]
pub struct Opened {
    /// The engine, and what known timers came to.
    pub engine: Option<(Box<dyn Engine>, Vec<SelfTest>)>,
    /// Others, and why not.
    pub refused: Vec<(Rung, String)>,
}

type Opening = fn(&Wish<'_>) -> Result<Box<dyn Engine>, TraceError>;

/// Opens the engine that is wanted, or else the best that can be had; events are on, nothing is recorded yet.
pub fn open(wish: &Wish<'_>) -> Opened {
    let (tracefs, bpf) = ((Rung::Tracefs, tracefs as Opening), (Rung::Bpf, bpf as Opening));
    let timerlat = (Rung::Timerlat, timerlat as Opening);
    let order = match wish.choice {
        EngineChoice::Bpf => vec![bpf, tracefs],
        EngineChoice::Timerlat => vec![timerlat, tracefs],
        EngineChoice::Best if cfg!(feature = "bpf") => vec![tracefs, bpf],
        EngineChoice::Best | EngineChoice::Tracefs => vec![tracefs],
    };
    let mut opened = Opened::default();
    for (rung, opening) in order {
        let tried = opening(wish).and_then(|mut engine| {
            let tests = self_test::repeated(&mut *engine).and_then(self_test::believed)?;
            Ok((engine, tests))
        });
        match tried {
            Ok(tried) => {
                opened.refused.extend(tried.0.no_better());
                opened.engine = Some(tried);
                break;
            }
            Err(error) => opened.refused.push((rung, error.to_string())),
        }
    }
    // Of two reasons the first stays: why it failed, not that it was not tried again.
    opened.refused.sort_by_key(|(rung, _)| *rung);
    opened.refused.dedup_by_key(|(rung, _)| *rung);
    opened
}

fn tracefs(wish: &Wish<'_>) -> Result<Box<dyn Engine>, TraceError> {
    Ok(Box::new(Tracefs::open(wish, false)?))
}

fn timerlat(wish: &Wish<'_>) -> Result<Box<dyn Engine>, TraceError> {
    Ok(Box::new(Tracefs::open(wish, true)?))
}

#[cfg(feature = "bpf")]
fn bpf(wish: &Wish<'_>) -> Result<Box<dyn Engine>, TraceError> {
    Ok(Box::new(super::bpf::Bpf::open(wish.cpus, wish.buffer_bytes)?))
}

#[cfg(not(feature = "bpf"))]
fn bpf(_: &Wish<'_>) -> Result<Box<dyn Engine>, TraceError> {
    Err(TraceError::NoBpf("this program was built without it: build with --features bpf, which needs clang".to_owned()))
}

/// So many bytes each buffer of `cpus` measured CPUs may have, of which `READ_PART` times as much is held besides, and
/// `beside` bytes of other buffers.
pub fn default_bytes(cpus: u64, beside: u64) -> u64 {
    granted(available(), cpus, beside)
}

/// The most bytes that may be asked for, for each of so many CPUs: the kernel would grant all there are, and then the
/// machine has none left. `None` where it cannot be told.
pub fn largest_buffer(cpus: u64) -> Option<u64> {
    available().map(|available| available / PART_IF_ASKED / cpus.max(1))
}

/// Bytes of memory that are available.
fn available() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()?.saturating_mul(1024))
}

fn granted(available: Option<u64>, cpus: u64, beside: u64) -> u64 {
    let Some(available) = available else { return BUFFER_BYTES };
    let all = (available / PART_OF_MEMORY / (1 + READ_PART)).saturating_sub(beside);
    (all / cpus.max(1)).min(BUFFER_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_held_is_a_part_of_the_memory() {
        let gib = 1 << 30;
        assert_eq!(granted(Some(64 * gib), 4, 1 << 24), BUFFER_BYTES);
        for (available, cpus, beside) in [(gib, 2, 1 << 19), (gib, 1, 0), (8 * gib, 64, 48 << 20)] {
            let each = granted(Some(available), cpus, beside);
            let held = (cpus * each + beside) * (1 + READ_PART);
            assert!(each > 64 << 10 && held <= available / PART_OF_MEMORY, "{held} of {available}");
        }
        assert_eq!(granted(Some(0), 1, 1), 0);
        assert_eq!(granted(None, 1, 1), BUFFER_BYTES);
    }
}
