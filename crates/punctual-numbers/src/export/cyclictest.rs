//! Writes the text of `cyclictest -h` as old versions did, which every script reads: all rows, tabs between columns,
//! and a line of totals.
//!
//! Scripts take lines that do not begin with `#`, split them at blanks, and find columns by their numbers. Columns are
//! CPUs in ascending order. If all rows together would be too long, only non-empty rows are written, as newer versions
//! of cyclictest do.

use super::{MOST_ROWS, NotExported, Rows, floor_us, has_end, has_histogram, largest, marks, one_line, rows_of};
use crate::foreign::{ForeignRun, IN_MICROSECONDS, Series};
use punctual_hist::Nanos;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Largest number of counts (rows times columns) with which empty rows are written as well: about 30 MB of text.
const MOST_CELLS: u64 = 1 << 22;

/// Writes a run as the text of `cyclictest -h`. Values above the last row are counted as overflows; the cycles in which
/// they occurred are not known.
pub fn cyclictest(run: &ForeignRun) -> Result<String, NotExported> {
    has_histogram(run)?;
    let rows = rows_of(run);
    let columns: Vec<Rows> = run.series.iter().map(|series| Rows::of(series, rows)).collect();
    let mut text = String::new();
    if let Some(program) = &run.program {
        line(&mut text, &format!("# measured by {}", one_line(program)));
    }
    if rows == MOST_ROWS {
        line(&mut text, &format!("# values from {rows} us on are overflows"));
    }
    marks(run).for_each(|note| line(&mut text, &format!("# note: {note}")));
    line(&mut text, &format!("# {IN_MICROSECONDS}"));
    line(&mut text, "# Histogram");
    let cells = rows.saturating_mul(columns.len() as u64);
    let shown: BTreeSet<u64> = if cells <= MOST_CELLS {
        (0..rows).collect()
    } else {
        columns.iter().flat_map(|column| column.counts.keys().copied()).collect()
    };
    for row in shown {
        let counts: Vec<String> =
            columns.iter().map(|column| format!("{:06}", column.counts.get(&row).copied().unwrap_or(0))).collect();
        line(&mut text, &format!("{row:06} {}", counts.join("\t")));
    }
    let totals =
        columns.iter().map(|column| column.counts.values().fold(0u64, |sum, count| sum.saturating_add(*count)));
    foot(&mut text, "Total", totals, 9);
    foot(&mut text, "Min Latencies", run.series.iter().map(|series| floor_us(series.smallest())), 5);
    // The line of means is left out if the mean of any series is unknown, because it must have a number for each.
    if let Some(means) = known(run, |series, _| series.mean) {
        foot(&mut text, "Avg Latencies", means.into_iter().map(|mean| floor_us(Some(mean))), 5);
    }
    if let Some(maxima) = known(run, largest) {
        foot(&mut text, "Max Latencies", maxima.into_iter().map(|max| floor_us(Some(max))), 5);
    }
    if run.series.iter().all(|series| has_end(run, series)) {
        foot(&mut text, "Histogram Overflows", columns.iter().map(|column| column.later), 5);
    }
    line(&mut text, "# Histogram Overflow at cycle number:");
    (0..columns.len()).for_each(|thread| line(&mut text, &format!("# Thread {thread}:")));
    Ok(text)
}

/// The time that `of` finds for each series; `None` if it is unknown for any series that has values.
fn known(run: &ForeignRun, of: fn(&Series, &ForeignRun) -> Option<Nanos>) -> Option<Vec<Nanos>> {
    let one = |series: &Series| if series.counted() == 0 { Some(Nanos::ZERO) } else { of(series, run) };
    run.series.iter().map(one).collect()
}

fn foot(text: &mut String, name: &str, values: impl Iterator<Item = u64>, digits: usize) {
    let values: Vec<String> = values.map(|value| format!("{value:0digits$}")).collect();
    line(text, &format!("# {name}: {}", values.join(" ")));
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}
