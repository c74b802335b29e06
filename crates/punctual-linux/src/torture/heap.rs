//! Allocation in real-time threads while another process takes memory away: how long it takes, whether it faults, and
//! whether locked memory stays where it is.

use super::doubt::Doubt;
use super::seat::{Kind, Place, Seat, on_all};
use super::{Control, Order, TortureError};
use crate::load::{LoadError, RunningLoad, pages_scanned};
use crate::privilege;
use crate::sys::pages::Pages;
use crate::sys::usage::Usage;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::cpus::Cpus;
use punctual_hist::{Counts, Nanos, SplitMix};
use punctual_numbers::report::Percentiles;
use punctual_rt::setup::SetupStep;
use punctual_rt::{Memory, Require, Setup, now};
use std::time::Duration;

const LOAD: &str = "reclaim";
/// Number of blocks that a thread holds, and powers of two between which their sizes lie.
const BLOCKS: usize = 64;
const SMALLEST: usize = 5;
const LARGEST: usize = 16;
/// Heap that is made ready before the loop: all blocks at their largest size, and as much for the allocator's own use.
const HEAP_BYTES: usize = 2 * (BLOCKS << LARGEST);
const STACK_BYTES: usize = 32 * 1024;
/// Memory that is looked at during the run, in pages.
const WATCHED: usize = 1024;
/// How often that is done, in allocations.
const WATCH_EVERY: u64 = 256;
const PERIOD: Duration = Duration::from_micros(500);
/// The load is told to end by itself this long after the test.
const LOAD_GRACE: Nanos = Nanos::from_secs(60);

/// What became of allocations.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Heap {
    /// Whether all memory of the process was locked.
    pub locked: bool,
    /// Why memory was not locked, as a sentence; null if it was.
    pub lock_refused: Option<String>,
    /// Memory that the load touched meanwhile, again and again, in MiB; null if it did not report.
    pub touched_mib: Option<u64>,
    /// Pages that the kernel looked at for some to take back; 0 if memory was never short, null if it does not tell.
    pub pages_scanned: Option<u64>,
    /// Why the load failed; null if it did not.
    pub load_failure: Option<String>,
    /// A row for each CPU.
    pub rows: Vec<HeapRow>,
}

/// Allocations of one thread.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeapRow {
    pub cpu: u32,
    /// The scheduling of the thread.
    pub kind: Kind,
    /// Number of blocks that were allocated, written to and freed.
    pub allocations: u64,
    /// Page faults that needed no device.
    pub minor_faults: u64,
    /// Page faults that waited for a device.
    pub major_faults: u64,
    /// Largest number of pages of locked memory that were not in memory, at any look.
    pub pages_gone: usize,
    /// Time to free a block, to allocate another one and to write to each of its pages.
    #[serde(rename = "allocation_ns")]
    pub allocation: Percentiles,
}

impl Heap {
    /// Locked memory that was taken away is a broken promise. Faults in memory that is not locked are none.
    pub(super) fn is_broken(&self) -> bool {
        self.locked && self.rows.iter().any(|row| row.pages_gone > 0 || row.major_faults > 0)
    }

    pub(super) fn doubts(&self, doubts: &mut Vec<Doubt>) {
        if !self.locked {
            doubts.push(Doubt::NotLocked);
        }
        // A load that touched memory and then ended badly did press.
        if self.load_failure.is_some() && self.touched_mib.unwrap_or(0) == 0 {
            doubts.push(Doubt::NoPressure);
        }
        if self.rows.is_empty() || self.rows.iter().any(|row| row.allocations == 0) {
            doubts.push(Doubt::NothingTried);
        }
    }
}

pub(super) fn run(order: &Order, place: &Place, cpus: &Cpus, control: &Control<'_>) -> Result<Heap, TortureError> {
    let seats = place.foremost(1, order.priority);
    // The load begins before memory is locked, because a process that is forked afterwards undoes that.
    let limit = order.length.plus(LOAD_GRACE);
    let load = match order.launcher.start(LOAD, &spare(place, cpus), &order.load_dir, limit, control.interrupted) {
        Ok(load) => Some(load),
        // The user ended the test before it began: its rows stay empty, as those of every test that is ended so early.
        Err(LoadError::Interrupted { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let scanned = pages_scanned();
    let done = on_all(&seats, control, |seat| allocate(seat, control));
    let scanned = pages_scanned().zip(scanned).map(|(after, before)| after.saturating_sub(before));
    let stopped = load.map(RunningLoad::stop);
    let done = done?;
    let locked = done.iter().all(|(_, locked)| *locked);
    Ok(Heap {
        locked,
        lock_refused: (!locked).then(privilege::explain_memory_lock),
        touched_mib: stopped.as_ref().and_then(|load| load.operations),
        pages_scanned: scanned,
        load_failure: stopped.and_then(|load| load.failure),
        rows: done.into_iter().map(|(row, _)| row).collect(),
    })
}

/// The CPUs without real-time threads or, if there are none, all of them.
fn spare(place: &Place, cpus: &Cpus) -> CpuSet {
    let usable = cpus.online.intersection(&cpus.allowed);
    let spare = usable.difference(&place.real_time);
    if spare.is_empty() { usable } else { spare }
}

/// Returns what was seen, and whether memory was locked.
fn allocate(seat: &Seat, control: &Control<'_>) -> Result<(HeapRow, bool), TortureError> {
    let memory = Memory::Lock { stack_bytes: STACK_BYTES, heap_bytes: HEAP_BYTES };
    let setup = Setup::new().cpus(&[seat.cpu]).policy(seat.policy()).memory(memory).require(Require::BestEffort);
    let prepared = setup.apply().map_err(|source| TortureError::Setup { cpu: seat.cpu, source })?;
    let locked = !prepared.refusals().iter().any(|refusal| refusal.what == SetupStep::MemoryLock);
    let watched = Pages::map(WATCHED).map_err(seat.failed("map memory"))?;
    watched.touch();
    let mut blocks: Vec<Vec<u8>> = (0..BLOCKS).map(|_| Vec::new()).collect();
    let mut random = SplitMix::new(seat.cpu.into());
    let mut times = Counts::new();
    let (mut allocations, mut pages_gone) = (0_u64, 0);
    let before = Usage::of_this_thread();
    // To lock memory can take seconds where memory is short, and the time of the test is that of the allocations.
    let until = now().plus(control.length);
    while control.goes_on_until(until) {
        let size = (1 << (SMALLEST + random.below(LARGEST - SMALLEST))) + random.below(1 << SMALLEST);
        let block = &mut blocks[random.below(BLOCKS)];
        let start = now();
        replace(block, size);
        times.record(now().since(start));
        allocations += 1;
        if allocations % WATCH_EVERY == 0 {
            let resident = watched.resident().map_err(seat.failed("ask which pages are in memory"))?;
            pages_gone = pages_gone.max(watched.count() - resident);
        }
        std::thread::sleep(PERIOD);
    }
    let Usage { minor_faults, major_faults, .. } = Usage::of_this_thread().since(before);
    let allocation = Percentiles::of(&times);
    let (cpu, kind) = (seat.cpu, seat.kind);
    Ok((HeapRow { cpu, kind, allocations, minor_faults, major_faults, pages_gone, allocation }, locked))
}

/// Frees a block, allocates another one of `size` bytes, and writes to each of its pages.
fn replace(block: &mut Vec<u8>, size: usize) {
    *block = Vec::new();
    let mut next = Vec::with_capacity(size);
    next.resize(size, 1);
    *block = std::hint::black_box(next);
}
