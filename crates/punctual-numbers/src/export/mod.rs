//! A run in the formats of others, so that scripts that plot, gate and collect work unchanged.
//!
//! One module for each format, which alone knows how that one is written. Each takes a [`ForeignRun`], so that a recording and
//! the file of another program are exported alike, and none says more than the run does: what is not known is left out.
//! Must not know where the text goes.

mod cyclictest;
mod fleet;
mod gate;
mod hdr;
mod ours;
mod prometheus;
mod results;
mod rt_tests;
#[cfg(test)]
mod tests;
mod values;

pub use cyclictest::cyclictest;
pub use fleet::{FleetRow, FleetRun, fleet_rows, fleet_run, foreign_fleet_rows, foreign_fleet_run};
pub use gate::{Gate, doubts, gate};
pub use hdr::{hdr, hdr_over_time};
pub use ours::run_of;
pub use prometheus::{BUCKETS_NS, prometheus};
pub use results::{ktap, lava};
pub use rt_tests::rt_tests;
pub use values::{csv, gnuplot};

use crate::foreign::{ForeignRun, Series};
use punctual_hist::Nanos;
use std::fmt;

/// Why a run cannot be written in a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotExported {
    /// No series has a histogram, and the format is one.
    NoHistogram,
    /// The format could not be made, for this reason.
    Failed(String),
}

impl fmt::Display for NotExported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHistogram => {
                write!(f, "there is no histogram in it, and this format is one; junit, ktap and lava need none")
            }
            Self::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for NotExported {}

/// A name for each series, each its own, which `of` makes of a label: where two series have one name, readers take them
/// for one, or give up.
fn names(run: &ForeignRun, of: fn(&str) -> String) -> Vec<String> {
    let mut taken = std::collections::BTreeSet::new();
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

/// Counts in rows of whole microseconds, as cyclictest has them: a cell is counted where it ends, so that nothing becomes
/// earlier than it was. What is from `rows` on is no row.
struct Rows {
    counts: std::collections::BTreeMap<u64, u64>,
    later: u64,
}

impl Rows {
    fn of(series: &Series, rows: u64) -> Self {
        let mut counts = std::collections::BTreeMap::new();
        let mut later = series.beyond.map_or(0, |beyond| beyond.count);
        for cell in &series.cells {
            let row = cell.end(series.max).whole(US);
            let count = if row < rows { counts.entry(row).or_default() } else { &mut later };
            *count = count.saturating_add(cell.count);
        }
        Self { counts, later }
    }
}

/// Most rows that are written: a tenth of a second. What is later is counted as an overflow.
const MOST_ROWS: u64 = 100_000;

/// One row more than the last that holds something.
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

/// Whether the series is known to hold the latest there was: its file says how late that is, or how much is beyond its
/// cells, or nothing speaks against its cells being all.
fn has_end(run: &ForeignRun, series: &Series) -> bool {
    series.beyond.is_some() || series.max.is_some() || doubts(run, series).next().is_none()
}

/// The largest value, where the series is known to hold it.
fn largest(series: &Series, run: &ForeignRun) -> Option<Nanos> {
    series.largest().filter(|_| has_end(run, series))
}

/// What a reader of the copy has to know: what was repaired, doubted or lost.
fn marks(run: &ForeignRun) -> impl Iterator<Item = String> + '_ {
    let marked = |note: &&String| ["repaired:", "doubted:", "lost:"].iter().any(|mark| note.starts_with(mark));
    run.notes.iter().filter(marked).map(|note| one_line(note))
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
