//! Writes runs as rows of one Parquet table for a fleet of machines, which `DuckDB`, Arrow and Spark read. All programs
//! that measure share its schema.
//!
//! [`super::table`] encodes the columns; this module names and fills them. Names and meanings of columns stay the same within
//! one version. The file holds the version.

use crate::render::export::table::{Column, Table};
use anyhow::Result;
use punctual_hist::Nanos;
use punctual_numbers::export::{FleetHead, FleetRow};
use punctual_numbers::foreign::Quantity;
use std::rc::Rc;

pub const SCHEMA: &str = "punctual/fleet/1";

/// One row, with the facts that are the same in all rows of its run.
struct Row {
    run: Rc<(String, FleetHead)>,
    row: FleetRow,
}

/// All columns before the histogram.
const COLUMNS: [(&str, Column<Row>); 20] = [
    ("run", Column::Text(|of| Some(of.run.0.clone()))),
    ("machine", Column::Text(|of| of.run.1.machine.clone())),
    ("kernel", Column::Text(|of| of.run.1.kernel.clone())),
    ("program", Column::Text(|of| of.run.1.program.clone())),
    ("format", Column::Text(|of| Some(of.run.1.format.to_owned()))),
    ("started", Column::Moment(|of| of.run.1.started_unix_ns.map(|ns| ns / 1_000))),
    ("series", Column::Text(|of| Some(of.row.series.clone()))),
    ("cpu", Column::Number(|of| of.row.cpu.map(u64::from))),
    ("context", Column::Text(|of| of.row.context.clone())),
    ("quantity", Column::Text(|of| Some(quantity(of.row.quantity).to_owned()))),
    ("phase", Column::Text(|of| of.row.phase.clone())),
    ("start_ns", Column::Number(|of| Some(of.row.start.as_ns()))),
    ("length_ns", Column::Number(|of| of.row.length.map(Nanos::as_ns))),
    ("period_ns", Column::Number(|of| of.row.period.map(Nanos::as_ns))),
    ("budget_ns", Column::Number(|of| of.run.1.budget.map(Nanos::as_ns))),
    ("ran", Column::Number(|of| of.row.ran)),
    ("skipped", Column::Number(|of| of.row.skipped)),
    ("over_budget", Column::Number(|of| of.row.over_budget)),
    ("min_ns", Column::Number(|of| of.row.min.map(Nanos::as_ns))),
    ("max_ns", Column::Number(|of| of.row.max.map(Nanos::as_ns))),
];

const TABLE: Table<Row> = Table {
    schema: SCHEMA,
    columns: &COLUMNS,
    histogram: Some(|of| (&of.row.cells, of.row.beyond)),
    same_edges: false,
};

fn quantity(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Latency => "latency",
        Quantity::Noise => "noise",
    }
}

/// The table of one run, as the bytes of a file. `name` is what the run is called among others.
///
/// # Errors
/// The errors of the `parquet` crate.
pub fn parquet(name: &str, run: &FleetHead, rows: impl Iterator<Item = FleetRow>) -> Result<Vec<u8>> {
    let run = Rc::new((name.to_owned(), run.clone()));
    TABLE.bytes(rows.map(|row| Row { run: Rc::clone(&run), row }))
}

#[cfg(test)]
mod tests;
