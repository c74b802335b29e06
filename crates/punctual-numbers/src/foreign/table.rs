//! Collects rows of a histogram with one column for each series, as several programs print them.
//!
//! The number of non-empty cells that are kept is bounded. This module knows no program.

use super::{Cell, MOST_CELLS, MOST_COLUMNS, Problem, number};
use punctual_hist::Nanos;

/// Values of 146 years and more are taken for damaged numbers.
pub(super) const TOO_LONG: Nanos = Nanos::from_ns(1 << 62);

/// Returns the non-empty cells in ascending order, or an error if they cannot be a histogram.
pub(super) fn ascending(mut cells: Vec<Cell>, of: &str) -> Result<Vec<Cell>, Problem> {
    cells.retain(|cell| cell.count > 0);
    cells.sort_by_key(|cell| cell.low);
    if cells.last().is_some_and(|last| last.high >= TOO_LONG) {
        return Err(Problem::new(format!("{of}: no latency is as long as the last row of the histogram says")));
    }
    let mut pairs = cells.iter().zip(cells.iter().skip(1));
    match pairs.find(|(a, b)| a.high >= b.low) {
        Some((a, _)) => Err(Problem::new(format!("{of}: two rows of the histogram are for {} ns", a.low.as_ns()))),
        None => Ok(cells),
    }
}

#[derive(Debug, Default)]
pub(super) struct Table {
    columns: Vec<Vec<Cell>>,
    kept: usize,
    /// The largest value of the last row.
    last: Option<Nanos>,
}

impl Table {
    pub fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    pub fn end(&self) -> Nanos {
        self.last.map_or(Nanos::ZERO, |last| last.plus(Nanos::from_ns(1)))
    }

    /// Widens the table to at least `columns` columns, and refuses more than [`MOST_COLUMNS`].
    pub fn widen(&mut self, columns: usize, line: u64) -> Result<(), Problem> {
        if columns > MOST_COLUMNS {
            let what = format!("{columns} columns; no machine has more than {MOST_COLUMNS}. Is it the right file?");
            return Err(Problem::at(line, what));
        }
        self.columns.resize_with(columns.max(self.columns.len()), Vec::new);
        Ok(())
    }

    /// Reads the counts of a row. If there was no heading, the first row defines the number of columns.
    pub fn counts<'a>(&mut self, line: u64, words: impl Iterator<Item = &'a str>) -> Result<Vec<u64>, Problem> {
        let counts: Option<Vec<u64>> = words.map(number::count).collect();
        let Some(counts) = counts.filter(|counts| !counts.is_empty()) else {
            let what = "a row of the histogram has whole counts; a negative one is a counter that has overrun, and its \
                        value is lost";
            return Err(Problem::at(line, what));
        };
        if self.columns.is_empty() {
            self.widen(counts.len(), line)?;
        }
        let (found, columns) = (counts.len(), self.columns.len());
        if found != columns {
            let what =
                format!("{found} columns where the rows before have {columns}: the file was cut off or edited here");
            return Err(Problem::at(line, what));
        }
        Ok(counts)
    }

    /// Adds a row, whose values must lie above those of the row before: two rows for the same value cannot both be
    /// right.
    pub fn row<'a>(
        &mut self,
        line: u64,
        (low, high): (Nanos, Nanos),
        words: impl Iterator<Item = &'a str>,
    ) -> Result<(), Problem> {
        let counts = self.counts(line, words)?;
        if high >= TOO_LONG {
            return Err(Problem::at(line, "no latency is as long as this row says"));
        }
        if self.last.is_some_and(|last| last >= low) {
            return Err(Problem::at(line, "this row is not above the one before; are these two results in one file?"));
        }
        self.last = Some(high);
        for (cells, count) in self.columns.iter_mut().zip(counts).filter(|(_, count)| *count > 0) {
            self.kept += 1;
            if self.kept > MOST_CELLS {
                return Err(Problem::at(line, format!("more than {MOST_CELLS} cells that hold something")));
            }
            cells.push(Cell { low, high, count });
        }
        Ok(())
    }

    pub fn into_columns(self) -> Vec<Vec<Cell>> {
        self.columns
    }
}
