//! Writes a run in the formats of other programs, so that existing scripts that plot, check and collect results work
//! unchanged.
//!
//! Each format has one module, which alone knows its syntax and takes a [`ForeignRun`], so that a recording and the
//! file of another program are exported alike. Unknown numbers are left out. This module must not know where the text
//! goes.

mod cyclictest;
mod family;
mod fleet;
mod gate;
mod hdr;
mod influx;
mod ours;
mod prometheus;
mod protobuf;
mod results;
mod rt_tests;
#[cfg(test)]
mod tests;
mod values;
mod watching;

pub use cyclictest::cyclictest;
pub use family::OPEN_METRICS;
pub use fleet::{FleetHead, FleetRow, fleet_head, fleet_rows, foreign_fleet_head, foreign_fleet_rows};
pub use gate::{Gate, doubts, gate};
pub use hdr::{hdr, hdr_over_time};
pub use influx::influx;
pub use ours::run_of;
pub use prometheus::{BUCKETS_NS, prometheus};
pub use protobuf::PROTOBUF;
pub use results::{ktap, lava};
pub use rt_tests::rt_tests;
pub use values::{csv, gnuplot};
pub use watching::Watching;

use crate::foreign::{ForeignRun, Series};
use punctual_hist::Nanos;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotExported {
    #[error("there is no histogram in it, and this format is one; junit, ktap and lava need none")]
    NoHistogram,
    #[error("{0}")]
    Failed(String),
}

/// A unique name for each series. `of` makes it from the label, and a number is added if an earlier series has the same
/// name, because readers merge or refuse series with equal names.
fn names(run: &ForeignRun, of: fn(&str) -> String) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut own = |series: &Series| {
        let name = of(&series.label);
        let numbered = (2u64..).map(|number| format!("{name}_{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name));
        let free = free.unwrap_or(name);
        taken.insert(free.clone());
        free
    };
    run.series.iter().map(&mut own).collect()
}

const US: Nanos = Nanos::from_us(1);

fn has_histogram(run: &ForeignRun) -> Result<(), NotExported> {
    let any = run.series.iter().any(|series| !series.cells.is_empty());
    if any { Ok(()) } else { Err(NotExported::NoHistogram) }
}

/// Counts in rows of whole microseconds, as cyclictest writes them. A cell is counted in the row of its upper edge, so
/// that no value becomes smaller than it was.
struct Rows {
    counts: BTreeMap<u64, u64>,
    later: u64,
}

impl Rows {
    fn of(series: &Series, rows: u64) -> Self {
        let mut counts = BTreeMap::new();
        let mut later = series.beyond.map_or(0, |beyond| beyond.count);
        for cell in &series.cells {
            let row = cell.end(series.max).whole(US);
            let count = if row < rows { counts.entry(row).or_default() } else { &mut later };
            *count = count.saturating_add(cell.count);
        }
        Self { counts, later }
    }
}

/// Largest number of rows: they reach up to a tenth of a second. Larger values are counted as overflows.
const MOST_ROWS: u64 = 100_000;

/// Number of rows needed for the cells of all series, but at most [`MOST_ROWS`].
fn rows_of(run: &ForeignRun) -> u64 {
    let ends = run.series.iter().filter_map(|series| {
        let end = series.cells.last()?.high.whole(US).saturating_add(1);
        Some(series.beyond.map_or(end, |beyond| end.max(beyond.from.whole(US))))
    });
    ends.max().unwrap_or(0).min(MOST_ROWS)
}

fn floor_us(length: Option<Nanos>) -> u64 {
    length.map_or(0, |length| length.whole(US))
}

/// Whether the upper end of a series is certain: the file states a maximum, or counts values above its histogram, or
/// there is no doubt about the series.
fn has_end(run: &ForeignRun, series: &Series) -> bool {
    series.beyond.is_some() || series.max.is_some() || doubts(run, series).next().is_none()
}

fn largest(series: &Series, run: &ForeignRun) -> Option<Nanos> {
    series.largest().filter(|_| has_end(run, series))
}

/// The notes that belong into the exported text: about numbers that were repaired, are doubtful or were lost.
fn marks(run: &ForeignRun) -> impl Iterator<Item = String> + '_ {
    let marked = |note: &&String| ["repaired:", "doubted:", "lost:"].iter().any(|mark| note.starts_with(mark));
    run.notes.iter().filter(marked).map(|note| one_line(note))
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
