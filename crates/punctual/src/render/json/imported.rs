//! What another program measured, for programs: one document, `punctual/import/1`, described by
//! `schemas/import-1.schema.json`.
//!
//! Members that mean what they mean in `punctual/check/1` have the same names. There is no verdict and no word about trust:
//! a foreign file says nothing of either.

use super::{PointsOut, claims};
use punctual_hist::Nanos;
use punctual_numbers::claims::SeriesClaims;
use punctual_numbers::foreign::{Cell, ForeignRun, Quantity, Series, total};
use serde::Serialize;
use std::path::Path;

/// Name and version of the document.
pub const SCHEMA: &str = "punctual/import/1";

/// The document, indented, with a line break at its end.
pub fn imported(run: &ForeignRun, file: &Path) -> String {
    let text = serde_json::to_string_pretty(&Document::of(run, file));
    text.unwrap_or_else(|error| format!("{{\"schema\": \"{SCHEMA}\", \"error\": {:?}}}", error.to_string())) + "\n"
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    tool_version: &'static str,
    format: &'static str,
    program: Option<&'a str>,
    command: Option<&'a str>,
    started: Option<&'a str>,
    duration_ns: Option<u64>,
    machine: Vec<Named<'a>>,
    cpus: Vec<SeriesOut>,
    total: Option<SeriesOut>,
    notes: &'a [String],
    file: String,
}

#[derive(Serialize)]
struct Named<'a> {
    name: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
struct SeriesOut {
    label: String,
    cpu: Option<u32>,
    context: Option<String>,
    quantity: &'static str,
    period_ns: Option<u64>,
    ran: Option<u64>,
    stated_count: Option<u64>,
    skipped: Option<u64>,
    beyond: Option<BeyondOut>,
    grain_ns: u64,
    latency_ns: PointsOut,
    claims: Option<claims::SeriesClaimsOut>,
    cells: Vec<CellOut>,
}

#[derive(Serialize)]
struct BeyondOut {
    from_ns: u64,
    count: u64,
}

#[derive(Serialize)]
struct CellOut {
    low_ns: u64,
    high_ns: u64,
    count: u64,
}

impl<'a> Document<'a> {
    fn of(run: &'a ForeignRun, file: &Path) -> Self {
        Self {
            schema: SCHEMA,
            tool_version: env!("CARGO_PKG_VERSION"),
            format: run.format.name(),
            program: run.program.as_deref(),
            command: run.command.as_deref(),
            started: run.started.as_deref(),
            duration_ns: run.duration.map(|stated| stated.length.as_ns()),
            machine: run.machine.iter().map(|(name, value)| Named { name, value }).collect(),
            cpus: run.series.iter().map(|series| SeriesOut::of(run, series)).collect(),
            total: total(&run.series).as_ref().map(|series| SeriesOut::of(run, series)),
            notes: &run.notes,
            file: file.display().to_string(),
        }
    }
}

impl SeriesOut {
    fn of(run: &ForeignRun, series: &Series) -> Self {
        Self {
            label: series.label.clone(),
            cpu: series.cpu,
            context: series.context.clone(),
            quantity: match series.quantity {
                Quantity::Lateness => "lateness",
                Quantity::Noise => "noise",
            },
            period_ns: series.period.map(Nanos::as_ns),
            ran: series.count(),
            stated_count: series.stated_count,
            skipped: series.skipped,
            beyond: series.beyond.map(|beyond| BeyondOut { from_ns: beyond.from.as_ns(), count: beyond.count }),
            grain_ns: series.grain.as_ns(),
            latency_ns: points(series),
            claims: SeriesClaims::of(run, series).as_ref().map(claims::of_series),
            cells: series.cells.iter().map(cell).collect(),
        }
    }
}

fn points(series: &Series) -> PointsOut {
    let at = |ppm: u32| series.percentile_ppm(ppm).map(Nanos::as_ns);
    PointsOut {
        min: series.smallest().map(Nanos::as_ns),
        mean: series.mean.map(Nanos::as_ns),
        p50: at(500_000),
        p99: at(990_000),
        p99_9: at(999_000),
        p99_99: at(999_900),
        max: series.largest().map(Nanos::as_ns),
    }
}

fn cell(cell: &Cell) -> CellOut {
    CellOut { low_ns: cell.low.as_ns(), high_ns: cell.high.as_ns(), count: cell.count }
}
