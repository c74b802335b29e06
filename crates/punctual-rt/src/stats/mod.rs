//! The statistics of a loop: written by the loop, and read by any thread or process. Neither side waits.
//!
//! Writer and readers share one page of atomic words. Writing costs the loop tens of nanoseconds per cycle, and reading
//! costs it nothing. The page is a sealed memfd, so nothing remains when the process dies, and other processes find it
//! in `/proc/PID/fd` ([`StatsReader::attach`]).
//!
//! This module does not wait; it receives the outcome of each wait ([`crate::Wake`]).

mod attach;
#[cfg(test)]
mod coherence;
mod modes;
mod periods;
mod report;
mod snapshot;
mod writer;

pub use crate::idle::{IdleState, idle_states};
pub use crate::page::{CycleRecord, WORST_KEPT};
pub use attach::task_names;
pub use modes::{Mode, modes};
pub use periods::{PeriodMoments, Rhythm};
pub use report::Report;
pub use snapshot::{Counters, Snapshot, StatsReader};
pub use writer::StatsWriter;

use crate::atomics::Ordering::{Relaxed, Release};
use crate::page::{FLIGHT_LENGTHS, Fixed, LAYOUT_VERSION, MAGIC, NAME_BYTES};
use crate::sys::{PageMemory, boot_and_monotonic, page_bytes};
use crate::{ConfigError, Error, SetupError};
use punctual_hist::Nanos;
use std::ffi::CString;
use std::sync::Arc;

/// Default number of activations in the flight recorder.
pub const FLIGHT_CYCLES: u32 = 1024;
/// An activation with at least this latency after which two or more releases were missed is an outage.
pub const OUTAGE: Nanos = Nanos::from_ms(100);
/// Start of the memory's name, before the task's name.
const MEMORY_NAME: &str = "punctual-rt:";

/// The configuration of a task's statistics.
#[derive(Clone, Debug)]
pub struct StatsConfig {
    /// Name by which other processes find the page: 1 to 32 bytes, without characters that control a terminal (control
    /// characters, changes of direction, separators of lines and paragraphs).
    pub name: String,
    /// The nominal period.
    pub period: Nanos,
    /// The largest acceptable latency. Activations with a larger latency are counted.
    pub budget: Option<Nanos>,
    /// Time from the release by which a body must finish. Later ends are counted.
    pub deadline: Option<Nanos>,
    /// The CPU that the task is bound to, so that readers can look up the idle states of that CPU.
    pub cpu: Option<u32>,
    /// Number of activations in the flight recorder: a power of two from 64 to 65536.
    pub flight_cycles: u32,
    /// Whether events from outside activate the task. The task's releases then only approximate the events.
    pub follows_events: bool,
}

impl StatsConfig {
    /// A task without budget, deadline and CPU, with a flight recorder of [`FLIGHT_CYCLES`].
    pub fn new(name: &str, period: Nanos) -> Self {
        Self {
            name: name.to_owned(),
            period,
            budget: None,
            deadline: None,
            cpu: None,
            flight_cycles: FLIGHT_CYCLES,
            follows_events: false,
        }
    }

    /// Refuses values for which no page can be made.
    ///
    /// # Errors
    /// [`ConfigError::TaskName`] or [`ConfigError::FlightCycles`].
    ///
    /// # Real-time
    /// Only computes.
    pub fn validate(&self) -> Result<(), Error> {
        name_words(&self.name).ok_or(ConfigError::TaskName)?;
        let cycles = self.flight_cycles;
        let fits = cycles.is_power_of_two() && FLIGHT_LENGTHS.contains(&cycles);
        if fits { Ok(()) } else { Err(Error::Config(ConfigError::FlightCycles(cycles))) }
    }
}

/// Creates the statistics of a task as a writing and a reading end.
///
/// After a `fork`, parent and child share this memory, unless [`StatsReader::shared`] is an error. The child must not write
/// to it, and reads the numbers of the parent. A task of the child needs statistics of its own.
pub struct Stats;

impl Stats {
    /// Returns the writing and the reading end. They share 280 KB of zeroed memory that is already resident.
    ///
    /// # Real-time
    /// Allocates and enters the kernel: call before the loop.
    ///
    /// # Kernel
    /// `memfd_create` (Linux 3.17). Without it, or if no file descriptor is left, the page is private memory, which
    /// [`StatsReader::shared`] reports.
    ///
    /// # Errors
    /// [`ConfigError::TaskName`], [`ConfigError::FlightCycles`] or [`SetupError::StatsMemory`].
    pub fn create(config: &StatsConfig) -> Result<(StatsWriter, StatsReader), Error> {
        config.validate()?;
        let name = name_words(&config.name).ok_or(ConfigError::TaskName)?;
        let memory = CString::new(format!("{MEMORY_NAME}{}", config.name)).map_err(|_| ConfigError::TaskName)?;
        let page = Arc::new(PageMemory::create(&memory, config.flight_cycles).map_err(SetupError::StatsMemory)?);
        fill(&page.head().fixed, config, name);
        Ok((StatsWriter::new(Arc::clone(&page), config), StatsReader::new(page)))
    }
}

fn fill(fixed: &Fixed, config: &StatsConfig, name: [u64; NAME_BYTES / 8]) {
    let (boot, mono) = boot_and_monotonic();
    fixed.version.store(LAYOUT_VERSION, Relaxed);
    fixed.bytes.store(page_bytes(config.flight_cycles) as u64, Relaxed);
    fixed.pid.store(std::process::id().into(), Relaxed);
    for (cell, word) in fixed.name.iter().zip(name) {
        cell.store(word, Relaxed);
    }
    fixed.period.store(config.period.as_ns(), Relaxed);
    fixed.budget.store(config.budget.map(Nanos::as_ns));
    fixed.deadline.store(config.deadline.map(Nanos::as_ns));
    fixed.cpu.store(config.cpu.map(u64::from));
    fixed.started.store(mono.as_ns(), Relaxed);
    fixed.started_boot.store(boot, Relaxed);
    fixed.follows_events.store(config.follows_events.into(), Relaxed);
    fixed.magic.store(MAGIC, Release);
}

/// Whether the character controls a terminal instead of being shown: it changes the direction of text, or begins a new
/// line.
fn is_obeyed(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}')
}

/// The bytes of the name as words; `None` if it is empty, too long, or contains characters that control a terminal.
fn name_words(name: &str) -> Option<[u64; NAME_BYTES / 8]> {
    if name.is_empty() || name.len() > NAME_BYTES || name.contains(is_obeyed) {
        return None;
    }
    let mut words = [0; NAME_BYTES / 8];
    for (word, bytes) in words.iter_mut().zip(name.as_bytes().chunks(8)) {
        let mut whole = [0; 8];
        whole.get_mut(..bytes.len())?.copy_from_slice(bytes);
        *word = u64::from_ne_bytes(whole);
    }
    Some(words)
}

/// The name in the words, with characters that control a terminal replaced.
fn name_from(words: [u64; NAME_BYTES / 8]) -> String {
    let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_ne_bytes).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).replace(is_obeyed, "\u{fffd}")
}

#[cfg(test)]
mod tests;
