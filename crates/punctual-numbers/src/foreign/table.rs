//! Rows of a histogram with one column for each series, as several programs print them.
//!
//! Keeps the cells that hold something, in bounds. Knows no program.

use super::{Cell, MOST_CELLS, MOST_COLUMNS, Problem};
use punctual_hist::Nanos;

/// A latency of 146 years is a number that went wrong.
pub(super) const TOO_LONG: Nanos = Nanos::from_ns(1 << 62);

/// Cells in the order of their values; or why they cannot be a histogram.
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

/// Columns of cells.
#[derive(Debug, Default)]
pub(super) struct Table {
    columns: Vec<Vec<Cell>>,
    kept: usize,
}

impl Table {
    /// How many columns there are.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// Sets how many columns there are, or says why there cannot be so many.
    pub fn widen(&mut self, columns: usize, line: u64) -> Result<(), Problem> {
        if columns > MOST_COLUMNS {
            let what = format!("{columns} columns; no machine has more than {MOST_COLUMNS}. Is it the right file?");
            return Err(Problem::at(line, what));
        }
        self.columns.resize_with(columns.max(self.columns.len()), Vec::new);
        Ok(())
    }

    /// Adds a cell. Rows must ascend: two rows for one value cannot both be right.
    pub fn add(&mut self, column: usize, cell: Cell, line: u64) -> Result<(), Problem> {
        if cell.count == 0 {
            return Ok(());
        }
        if cell.high >= TOO_LONG {
            return Err(Problem::at(line, "no latency is as long as this row says"));
        }
        let Some(cells) = self.columns.get_mut(column) else {
            return Err(Problem::at(line, "more columns than the rows before"));
        };
        if cells.last().is_some_and(|last| last.high >= cell.low) {
            let what = "the value of this row is not above that of the row before; are these two results in one file?";
            return Err(Problem::at(line, what));
        }
        self.kept += 1;
        if self.kept > MOST_CELLS {
            return Err(Problem::at(line, format!("more than {MOST_CELLS} cells that hold something")));
        }
        cells.push(cell);
        Ok(())
    }

    /// The columns.
    pub fn into_columns(self) -> Vec<Vec<Cell>> {
        self.columns
    }
}
