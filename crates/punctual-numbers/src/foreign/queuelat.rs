//! Reads the table of queuelat: a histogram, in cells of 100 ns, of the time that each turn of a loop took to copy a
//! block of memory.
//!
//! queuelat leaves out a cell whose count equals that of the next larger cell, and prints `...` instead. So omitted
//! cells have the count of the next printed cell. The first table belongs to the calibration; the last table is the
//! result. The printed mean is computed from upper edges and is not imported.

use super::lines::LineReader;
use super::number;
use super::run::{Beyond, Quantity, Series};
use super::{Cell, ForeignRun, Problem};
use punctual_facts::machine::MachineLine;
use punctual_hist::Nanos;

/// Largest number of rows, which is more than any version of queuelat prints.
const MOST_ROWS: usize = 1 << 16;

#[derive(Default)]
pub(super) struct Reader {
    measures: bool,
    /// Whether cells were left out before the next one.
    left_out: bool,
    cells: Vec<Cell>,
    /// The values above the last cell, once the row that ends the table has been read.
    end: Option<Beyond>,
    summary: bool,
    exceeded: Option<String>,
    facts: Vec<MachineLine>,
}

impl LineReader for Reader {
    fn line(&mut self, number: u64, line: &str) -> Result<(), Problem> {
        let line = line.trim();
        if line.starts_with("default_n=") {
            // All rows before this line belong to the calibration.
            self.measures = true;
            (self.left_out, self.end) = (false, None);
            self.cells.clear();
        }
        if let Some((name, value)) = line.split_once(" = ").filter(|_| !line.starts_with('[')) {
            if self.facts.len() < 100 {
                self.facts.push((name, value).into());
            }
        }
        if line.starts_with("queue length exceeded") {
            self.exceeded = Some(line.chars().take(200).collect());
        }
        self.summary |= line.starts_with("Avg loop processing time:");
        if let Some((edges, count)) = line.strip_prefix('[').and_then(|rest| rest.split_once("] = ")) {
            return self.row(number, edges, count);
        }
        self.left_out |= line == "...";
        Ok(())
    }

    fn finish(&mut self) -> Result<ForeignRun, Problem> {
        if !self.measures {
            let what = "there is no result in it: queuelat was stopped while it still looked for the size of its block \
                        (`default_n=`)";
            return Err(Problem::new(what));
        }
        let Some(end) = self.end else {
            return Err(Problem::new("the table has no end (`[70000 - END]`): the file was cut off"));
        };
        let mut notes = vec![
            "queuelat counts turns of its loop by how long each took, not activations of a timer: its values are noise on \
             top of the time to copy a block"
                .to_owned(),
        ];
        notes.extend(self.exceeded.as_ref().map(|said| format!("queuelat stopped early: {said}")));
        self.cells.retain(|cell| cell.count > 0);
        let series = Series {
            label: "the loop".to_owned(),
            quantity: Quantity::Noise,
            cells: std::mem::take(&mut self.cells),
            beyond: Some(end).filter(|end| end.count > 0),
            grain: Nanos::from_ns(1),
            ..Series::default()
        };
        let (program, machine) = (Some("queuelat".to_owned()), std::mem::take(&mut self.facts));
        let mut run = ForeignRun { program, machine, series: vec![series], notes, ..ForeignRun::default() };
        if !self.summary {
            run.notes.push("doubted: the lines below the table are missing: the file was cut off".to_owned());
            run.doubt();
        }
        Ok(run)
    }
}

impl Reader {
    /// Reads a row such as `[100 - 199] = 3` or the last row, `[70000 - END] = 0`. In the table of the calibration more
    /// text follows the count.
    fn row(&mut self, line: u64, edges: &str, count: &str) -> Result<(), Problem> {
        let bad = || Problem::at(line, "a row of the table has two edges in nanoseconds and a count");
        let (low, high) = edges.split_once(" - ").ok_or_else(bad)?;
        let low = number::count(low).ok_or_else(bad)?;
        let count = count.split_whitespace().next().and_then(number::count).ok_or_else(bad)?;
        let next = self.cells.last().map_or(0, |cell| cell.high.as_ns().saturating_add(1));
        if self.end.is_some() || low < next || low >= 1 << 40 {
            return Err(Problem::at(line, "this row is not above the one before; are these two results in one file?"));
        }
        if std::mem::take(&mut self.left_out) {
            self.fill(line, low, count)?;
        } else if low > next && !self.cells.is_empty() {
            return Err(Problem::at(line, "rows are missing before this one: the file was edited"));
        }
        if high == "END" {
            self.end = Some(Beyond { from: Nanos::from_ns(low), count });
            return Ok(());
        }
        let high = number::count(high).filter(|high| *high >= low && *high < 1 << 40).ok_or_else(bad)?;
        self.keep(line, low, high, count)
    }

    /// Adds the cells that were left out before `low`. Each has the count of the cell that is printed next.
    fn fill(&mut self, line: u64, low: u64, count: u64) -> Result<(), Problem> {
        let (mut from, width) = match self.cells.last() {
            Some(cell) => {
                let width = cell.high.minus(cell.low).as_ns().saturating_add(1);
                (cell.high.as_ns().saturating_add(1), width)
            }
            None => (0, 100),
        };
        while count > 0 && from < low {
            let high = from.saturating_add(width).min(low).saturating_sub(1);
            self.keep(line, from, high, count)?;
            from = high.saturating_add(1);
        }
        Ok(())
    }

    fn keep(&mut self, line: u64, low: u64, high: u64, count: u64) -> Result<(), Problem> {
        if self.cells.len() >= MOST_ROWS {
            return Err(Problem::at(line, "more rows than queuelat prints"));
        }
        self.cells.push(Cell { low: Nanos::from_ns(low), high: Nanos::from_ns(high), count });
        Ok(())
    }
}
