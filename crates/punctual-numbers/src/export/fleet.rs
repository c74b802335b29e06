//! Turns a run into rows of a table that has the same columns for every run of a fleet. A row is one CPU in one stretch
//! of time, with its histogram.
//!
//! A recording has a row for each CPU and slice of its time line, so that weeks make at most a thousand rows for each
//! CPU. The file of another program has one row for each series. This module must not know how the table is stored.

use crate::foreign::{Beyond, Cell, ForeignRun, Quantity, Series};
use crate::recording::{CpuTallies, Recording, TimeSlice};
use crate::scenario::LoadPhase;
use punctual_facts::machine::MachineLine;
use punctual_hist::Nanos;
use std::collections::BTreeMap;

/// The columns that are the same in all rows of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetHead {
    pub kernel: Option<String>,
    /// The name of the machine if the file states it, else its model.
    pub machine: Option<String>,
    pub program: Option<String>,
    pub format: &'static str,
    pub started_unix_ns: Option<u64>,
    pub budget: Option<Nanos>,
}

/// The values of one CPU, thread or context in one stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetRow {
    pub series: String,
    pub cpu: Option<u32>,
    pub context: Option<String>,
    pub quantity: Quantity,
    pub phase: Option<String>,
    /// Time from the start of the run to the beginning of the stretch.
    pub start: Nanos,
    pub length: Option<Nanos>,
    pub period: Option<Nanos>,
    pub ran: Option<u64>,
    pub skipped: Option<u64>,
    pub over_budget: Option<u64>,
    pub min: Option<Nanos>,
    pub max: Option<Nanos>,
    pub cells: Vec<Cell>,
    pub beyond: Option<Beyond>,
}

pub fn fleet_head(recording: &Recording) -> FleetHead {
    let header = &recording.header;
    let fact = |name: &str| MachineLine::of(&header.machine, name).map(str::to_owned);
    FleetHead {
        kernel: fact("kernel"),
        machine: fact("model"),
        program: Some(format!("punctual {}", header.tool_version)),
        format: "punctual",
        started_unix_ns: Some(header.started_unix_ns),
        budget: header.scenario.budget,
    }
}

pub fn fleet_rows(recording: &Recording) -> impl Iterator<Item = FleetRow> + '_ {
    rows_of(recording, |_| true)
}

/// Like [`fleet_rows`], but without traced load phases, if there are untraced ones for the headline numbers.
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
    FleetRow {
        series: format!("CPU {cpu}"),
        cpu: Some(cpu),
        start: slice.start.since_epoch(),
        length: Some(slice.length),
        ran: Some(of.ran.count()),
        skipped: Some(of.skipped.count()),
        min: of.ran.min(),
        max: of.ran.max(),
        cells: of.ran.nonzero().map(Cell::of_bucket).collect(),
        ..FleetRow::default()
    }
}

pub fn foreign_fleet_head(run: &ForeignRun) -> FleetHead {
    let fact = |name: &str| MachineLine::of(&run.machine, name).map(str::to_owned);
    FleetHead {
        kernel: fact("release").or_else(|| fact("kernel")),
        machine: fact("nodename").or_else(|| fact("machine")),
        program: run.program.clone(),
        format: run.format.name(),
        ..FleetHead::default()
    }
}

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
