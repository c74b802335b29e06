//! Converts a recording to a [`ForeignRun`], with everything that other formats can hold.

use crate::foreign::{Cell, ForeignRun, Format, Series, Stated};
use crate::recording::{CpuTotals, Recording};
use punctual_facts::machine::{Arch, Flavour, MachineLine};
use punctual_hist::{Counts, Nanos};
use std::collections::BTreeMap;

/// The run of a recording, with one series for each CPU: the latencies of activations that ran.
pub fn run_of(recording: &Recording) -> ForeignRun {
    let header = &recording.header;
    let periods = header.scenario.threads.iter().map(|thread| (thread.cpu, thread.period));
    let periods: BTreeMap<u32, Nanos> = periods.collect();
    let budget = header.scenario.budget;
    let one = |(cpu, totals): (&u32, &CpuTotals)| {
        let label = format!("CPU {cpu}");
        Series {
            period: periods.get(cpu).copied(),
            skipped: Some(totals.skipped.count()),
            waits: waits(&totals.skipped),
            over_budget: budget.map(|budget| (budget, totals.over_budget)),
            grain: Nanos::from_ns(1),
            ..Series::of_counts(label, Some(*cpu), &totals.ran)
        }
    };
    ForeignRun {
        format: Format::Punctual,
        program: Some(format!("punctual {}", header.tool_version)),
        duration: Some(Stated { length: recording.covered, grain: Nanos::from_secs(1) }),
        machine: header.machine.iter().cloned().chain(system(&header.machine)).collect(),
        series: recording.cpus.iter().map(one).collect(),
        notes: recording.cpus.iter().filter_map(skips).collect(),
        ..ForeignRun::default()
    }
}

/// Waiting times of skipped releases, as cells. The last cell ends at the longest wait.
fn waits(skipped: &Counts) -> Vec<Cell> {
    let mut cells = Series::of_counts(String::new(), None, skipped).cells;
    if let (Some(last), Some(max)) = (cells.last_mut(), skipped.max()) {
        last.high = last.high.min(max);
    }
    cells
}

/// A note about skipped releases, which have no place in a histogram of activations that ran.
fn skips((cpu, totals): (&u32, &CpuTotals)) -> Option<String> {
    let skipped = totals.skipped.count();
    let due = skipped.saturating_add(totals.ran.count());
    let gap = totals.longest_gap.as_ns() / 1_000;
    (skipped > 0).then(|| {
        format!(
            "lost: CPU {cpu}: {skipped} of {due} releases were skipped; a histogram holds what ran, and percentiles \
             leave them out (longest time between two wake-ups: {gap} us)"
        )
    })
}

/// Splits the machine's fact `kernel`, such as `6.18.44, stock (PREEMPT_DYNAMIC), x86-64`, into lines that are named
/// like the fields of `uname`.
fn system(machine: &[MachineLine]) -> Vec<MachineLine> {
    let Some(kernel) = MachineLine::of(machine, "kernel") else { return Vec::new() };
    let parts: Vec<&str> = kernel.split(", ").collect();
    let mut known = vec![("sysname", "Linux".to_owned())];
    // The number of a kernel release begins with a digit; any other text means that it could not be read.
    let release = parts.first().filter(|release| release.starts_with(|c: char| c.is_ascii_digit()));
    known.extend(release.map(|release| ("release", (*release).to_owned())));
    let is_one_of = |known: &[&str]| parts.iter().any(|part| known.contains(part));
    if is_one_of(&[Flavour::Rt.name()]) {
        known.push(("realtime", "1".to_owned()));
    } else if is_one_of(&[Flavour::Stock.name(), Flavour::Dynamic.name()]) {
        known.push(("realtime", "0".to_owned()));
    }
    let uname = [(Arch::X86.name(), "x86_64"), (Arch::Arm64.name(), "aarch64"), (Arch::Riscv64.name(), "riscv64")];
    known.extend(uname.iter().filter(|(name, _)| is_one_of(&[name])).map(|(_, own)| ("machine", (*own).to_owned())));
    known.into_iter().map(MachineLine::from).collect()
}
