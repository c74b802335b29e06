//! Writes cells as plain columns: for gnuplot, and as CSV for spreadsheets and data frames.

use super::{NotExported, has_histogram, marks};
use crate::foreign::{Cell, ForeignRun};
use punctual_hist::Nanos;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// One line for each cell: `label,cpu,context,low_ns,high_ns,count`. Both edges belong to the cell. The line of values
/// above the histogram has no upper edge.
pub fn csv(run: &ForeignRun) -> Result<String, NotExported> {
    has_histogram(run)?;
    let mut text = "label,cpu,context,low_ns,high_ns,count\n".to_owned();
    for series in &run.series {
        let cpu = series.cpu.map_or_else(String::new, |cpu| cpu.to_string());
        let start =
            format!("{},{cpu},{}", quoted(&series.label), quoted(series.context.as_deref().unwrap_or_default()));
        for Cell { low, high, count } in &series.cells {
            let _ = writeln!(text, "{start},{},{},{count}", low.as_ns(), high.as_ns());
        }
        if let Some(beyond) = series.beyond {
            let _ = writeln!(text, "{start},{},,{}", beyond.from.as_ns(), beyond.count);
        }
    }
    Ok(text)
}

fn quoted(field: &str) -> String {
    if field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// Columns separated by blanks: the upper edge of a cell in microseconds, then a count for each series. Every cell of
/// any series makes a row; a series without that cell has the count 0.
pub fn gnuplot(run: &ForeignRun) -> Result<String, NotExported> {
    has_histogram(run)?;
    let mut rows: BTreeMap<(Nanos, Nanos), Vec<u64>> = BTreeMap::new();
    for (column, series) in run.series.iter().enumerate() {
        for cell in &series.cells {
            let row = rows.entry((cell.high, cell.low)).or_insert_with(|| vec![0; run.series.len()]);
            if let Some(count) = row.get_mut(column) {
                *count = cell.count;
            }
        }
    }
    let names: Vec<String> = run.series.iter().map(|series| name(&series.label)).collect();
    let mut text = format!("# up_to_us {}\n", names.join(" "));
    for note in marks(run) {
        let _ = writeln!(text, "# note: {note}");
    }
    for ((high, _), counts) in rows {
        // The cell's largest value belongs to the cell, so the edge to the next cell is one nanosecond above it.
        let edge = high.as_ns().saturating_add(1);
        let counts: Vec<String> = counts.iter().map(u64::to_string).collect();
        let _ = writeln!(text, "{}.{:03} {}", edge / 1_000, edge % 1_000, counts.join(" "));
    }
    for series in run.series.iter().filter(|series| series.beyond.is_some()) {
        let (count, from) = series.beyond.map_or((0, 0), |beyond| (beyond.count, beyond.from.as_ns() / 1_000));
        let _ = writeln!(text, "# {}: {count} more from {from} us on", name(&series.label));
    }
    Ok(text)
}

/// The label with its blanks replaced, because blanks separate columns.
fn name(label: &str) -> String {
    label.chars().map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c }).collect()
}
