//! A run as rows of one table, which is the same for every run of a fleet: a row for each CPU and stretch of time, with
//! its histogram.
//!
//! A recording has a row for each slice of its time line, so that weeks are at most a thousand for each CPU; the file of
//! another program has one for each series, since it says no more. Must not know how the table is stored.

use crate::foreign::{Beyond, Cell, ForeignRun, Quantity, Series};
use crate::recording::{CpuTallies, Recording, TimeSlice};
use crate::scenario::LoadPhase;
use punctual_hist::{Nanos, bucket_high, bucket_low};
use std::collections::BTreeMap;

/// What is the same in all rows of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetRun {
    /// The kernel, as far as it is known.
    pub kernel: Option<String>,
    /// The machine: its name where the file says it, else its model.
    pub machine: Option<String>,
    /// Who measured.
    pub program: Option<String>,
    /// The name of the format it was read from.
    pub format: &'static str,
    /// When it began: nanoseconds since 1970.
    pub started_unix_ns: Option<u64>,
    /// Largest latency the user can live with.
    pub budget: Option<Nanos>,
}

/// One CPU, thread or context in one stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetRow {
    /// What the file calls it.
    pub series: String,
    /// The CPU, where it is known.
    pub cpu: Option<u32>,
    /// What of an activation was measured, where a file has several.
    pub context: Option<String>,
    /// What the values are.
    pub quantity: Quantity,
    pub phase: Option<String>,
    /// Begin of the stretch, from the start of the run.
    pub start: Nanos,
    /// Its length, where it is known.
    pub length: Option<Nanos>,
    /// Time between releases.
    pub period: Option<Nanos>,
    /// How many values there are.
    pub ran: Option<u64>,
    /// Releases that passed without running.
    pub skipped: Option<u64>,
    /// Activations that ran later than the budget.
    pub over_budget: Option<u64>,
    /// The smallest value.
    pub min: Option<Nanos>,
    pub max: Option<Nanos>,
    pub cells: Vec<Cell>,
    /// Values beyond its last cell.
    pub beyond: Option<Beyond>,
}

/// What is the same in all rows of a recording.
pub fn fleet_run(recording: &Recording) -> FleetRun {
    let header = &recording.header;
    let fact = |name: &str| header.machine.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    FleetRun {
        kernel: fact("kernel"),
        machine: fact("model"),
        program: Some(format!("punctual {}", header.tool_version)),
        format: "punctual",
        started_unix_ns: Some(header.started_unix_ns),
        budget: header.scenario.budget,
    }
}

/// The rows of a recording, in order of time.
pub fn fleet_rows(recording: &Recording) -> impl Iterator<Item = FleetRow> + '_ {
    rows_of(recording, |_| true)
}

/// The same without what was kept apart from the headline numbers, because it was traced and the rest was not.
pub(super) fn headline_rows(recording: &Recording) -> impl Iterator<Item = FleetRow> + '_ {
    let phases = recording.header.scenario.load_phases.len();
    rows_of(recording, move |phase| !recording.causes.apart(phase, phases))
}

fn rows_of<'a>(recording: &'a Recording, keeps: impl Fn(u16) -> bool + 'a) -> impl Iterator<Item = FleetRow> + 'a {
    let scenario = &recording.header.scenario;
    let periods: BTreeMap<u32, Nanos> = scenario.threads.iter().map(|thread| (thread.cpu, thread.period)).collect();
    let has_budget = scenario.budget.is_some();
    recording.slices.iter().filter(move |slice| keeps(slice.phase)).flat_map(move |slice| {
        let named = scenario.load_phases.get(usize::from(slice.phase)).map(LoadPhase::name);
        let phase = named.unwrap_or_else(|| format!("phase {}", slice.phase));
        let row = |(cpu, of): (&u32, &CpuTallies)| FleetRow {
            phase: Some(phase.clone()),
            period: periods.get(cpu).copied(),
            over_budget: has_budget.then_some(of.over_budget),
            ..of_slice(*cpu, slice, of)
        };
        slice.cpus.iter().map(row).collect::<Vec<_>>()
    })
}

fn of_slice(cpu: u32, slice: &TimeSlice, of: &CpuTallies) -> FleetRow {
    let cell = |(bucket, count)| Cell {
        low: Nanos::from_ns(bucket_low(bucket)),
        high: Nanos::from_ns(bucket_high(bucket)),
        count,
    };
    FleetRow {
        series: format!("CPU {cpu}"),
        cpu: Some(cpu),
        start: slice.start.since_epoch(),
        length: Some(slice.length),
        ran: Some(of.ran.count()),
        skipped: Some(of.skipped.count()),
        min: of.ran.min(),
        max: of.ran.max(),
        cells: of.ran.nonzero().map(cell).collect(),
        ..FleetRow::default()
    }
}

/// What is the same in all rows of the file of another program.
pub fn foreign_fleet_run(run: &ForeignRun) -> FleetRun {
    let fact = |name: &str| run.machine.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    FleetRun {
        kernel: fact("release").or_else(|| fact("kernel")),
        machine: fact("nodename").or_else(|| fact("machine")),
        program: run.program.clone(),
        format: run.format.name(),
        ..FleetRun::default()
    }
}

/// The rows of the file of another program.
pub fn foreign_fleet_rows(run: &ForeignRun) -> impl Iterator<Item = FleetRow> + '_ {
    let length = run.duration.map(|stated| stated.length);
    run.series.iter().map(move |series: &Series| FleetRow {
        series: series.label.clone(),
        cpu: series.cpu,
        context: series.context.clone(),
        quantity: series.quantity,
        length,
        period: series.period,
        ran: series.count(),
        skipped: series.skipped,
        min: series.smallest(),
        max: series.largest(),
        cells: series.cells.clone(),
        beyond: series.beyond,
        ..FleetRow::default()
    })
}
