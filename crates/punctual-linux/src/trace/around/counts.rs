//! Counters per CPU in files of the kernel: interrupts, softirqs, run delay, idle states, thermal throttling, steal.

use super::root::{Open, Root};
use super::{Opened, Reading};
use punctual_facts::cpu_set::CpuSet;
use punctual_numbers::trace::Counter;
use punctual_numbers::trace::ledger::{Counted, Ledger, Slot};
use punctual_numbers::trace::tables::{CountRow, CountTable, first, lines_of_cpus};
use std::collections::BTreeMap;
use std::io;

/// Index of a field in a CPU's line: stolen ticks in `/proc/stat`, nanoseconds of waiting in `/proc/schedstat`.
const SEVENTH: usize = 7;
/// The kernel has at most 10 idle states (`CPUIDLE_STATE_MAX`).
const MOST_STATES: u32 = 16;
const NS_PER_SECOND: u64 = 1_000_000_000;

pub(super) fn interrupts(root: &Root, cpus: &CpuSet) -> Result<Reading, String> {
    table(root, "/proc/interrupts", cpus, |row| {
        let counter = Counter::Interrupt(row.label(), row.meaning());
        if row.is_device() { Counted::Device(counter) } else { Counted::Plain(counter) }
    })
}

pub(super) fn softirqs(root: &Root, cpus: &CpuSet) -> Result<Reading, String> {
    table(root, "/proc/softirqs", cpus, |row| Counted::Plain(Counter::Softirq(row.label())))
}

fn table(root: &Root, path: &str, cpus: &CpuSet, of_row: fn(&CountRow) -> Counted) -> Result<Reading, String> {
    let file = root.open(path)?;
    let mut table = CountTable::new(cpus);
    let width = cpus.iter().max().map_or(0, |cpu| cpu as usize + 1);
    // The ledger's slot for each row and CPU, and the ledger's counter for each row; `None` until they are first
    // needed.
    let mut slots: Vec<Option<Slot>> = Vec::new();
    let mut counters: Vec<Option<usize>> = Vec::new();
    let mut values = Vec::new();
    Ok(Box::new(move |buffer, ledger| {
        values.clear();
        table.read(file.whole(buffer)?, |row, cpu, count| values.push((row, cpu, count)));
        slots.resize(table.rows().len() * width, None);
        counters.resize(table.rows().len(), None);
        for (row, cpu, count) in &values {
            let known = slots.get_mut(row * width + *cpu as usize);
            let (Some(slot), Some(counter), Some(named)) = (known, counters.get_mut(*row), table.rows().get(*row))
            else {
                continue;
            };
            let counter = *counter.get_or_insert_with(|| ledger.counter(of_row(named)));
            let slot = *slot.get_or_insert_with(|| ledger.slot(*cpu, counter));
            ledger.put(slot, *count);
        }
        Ok(())
    }))
}

/// Time that the hypervisor ran other guests, from `/proc/stat`, with the resolution of a tick.
pub(super) fn steal(root: &Root, cpus: &CpuSet, ledger: &mut Ledger) -> Result<Reading, String> {
    let tick = NS_PER_SECOND / rustix::param::clock_ticks_per_second().max(1);
    lines(root, "/proc/stat", Counter::Steal, tick, cpus, ledger)
}

/// Time that tasks waited for a CPU, from `/proc/schedstat`.
pub(super) fn run_delay(root: &Root, cpus: &CpuSet, ledger: &mut Ledger) -> Result<Reading, String> {
    lines(root, "/proc/schedstat", Counter::RunDelay, 1, cpus, ledger)
}

fn lines(
    root: &Root,
    path: &str,
    counter: Counter,
    unit: u64,
    cpus: &CpuSet,
    ledger: &mut Ledger,
) -> Result<Reading, String> {
    let file = root.open(path)?;
    let slots = slots_of(cpus, Counted::Plain(counter), ledger);
    let cpus = cpus.clone();
    Ok(Box::new(move |buffer, ledger| {
        lines_of_cpus(file.whole(buffer)?, SEVENTH, &cpus, |cpu, value| {
            if let Some(slot) = slots.get(&cpu) {
                ledger.put(*slot, value.saturating_mul(unit));
            }
        });
        Ok(())
    }))
}

pub(super) fn slots_of(cpus: &CpuSet, counted: Counted, ledger: &mut Ledger) -> BTreeMap<u32, Slot> {
    let of_all = ledger.counter(counted);
    cpus.iter().map(|cpu| (cpu, ledger.slot(cpu, of_all))).collect()
}

/// Entries into each idle state of a CPU. Each state has a reading of its own, so that one can fail alone.
pub(super) fn idle_states(root: &Root, cpu: u32, ledger: &mut Ledger) -> Result<Vec<Reading>, String> {
    let mut readings = Vec::new();
    for state in 0..MOST_STATES {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}");
        let name = match root.text(&format!("{folder}/name")) {
            Ok(name) => name,
            Err(e) if state == 0 => return Err(e),
            Err(_) => break,
        };
        let usage = root.open(&format!("{folder}/usage"))?;
        readings.push(sum(vec![usage], cpu, Counter::IdleState(name), ledger));
    }
    Ok(readings)
}

/// How often this CPU and its package were throttled for heat.
pub(super) fn heat(root: &Root, cpu: u32, ledger: &mut Ledger) -> Opened {
    let file = |of| root.open(&format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{of}_throttle_count"));
    // Some CPUs have no counter for the package.
    let files: Vec<Open> = [Ok(file("core")?), file("package")].into_iter().flatten().collect();
    Ok(sum(files, cpu, Counter::Throttled, ledger))
}

fn sum(files: Vec<Open>, cpu: u32, counter: Counter, ledger: &mut Ledger) -> Reading {
    let counter = ledger.counter(Counted::Plain(counter));
    let slot = ledger.slot(cpu, counter);
    Box::new(move |buffer, ledger| {
        let mut sum = 0_u64;
        for file in &files {
            let value = first(file.small(buffer)?).ok_or_else(|| io::Error::other("no number"))?;
            sum = sum.saturating_add(value);
        }
        ledger.put(slot, sum);
        Ok(())
    })
}
