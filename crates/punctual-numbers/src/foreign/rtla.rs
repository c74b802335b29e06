//! Reads the output of `rtla timerlat hist` and `rtla osnoise hist`: one column for each CPU and context.
//!
//! An index is the lower edge of a cell. The width of cells is not in the file. If there are enough indices, it is
//! taken to be their greatest common divisor, and otherwise one unit. Values above the histogram are counted in
//! `over:`. All counters have 32 bits.

use super::lines::LineReader;
use super::number::{self, Unit};
use super::run::{Quantity, Series, Stated};
use super::table::{TOO_LONG, Table};
use super::{Beyond, Cell, ForeignRun, MOST_COLUMNS, Problem};
use crate::scenario::greatest_common_divisor;
use punctual_hist::Nanos;
use std::collections::BTreeMap;

/// Smallest number of rows from which the cell width is inferred. Eight arbitrary indices are all even with a
/// probability of only 1 in 256.
const ROWS_FOR_WIDTH: usize = 8;

#[derive(Default)]
pub(super) struct Reader {
    osnoise: bool,
    unit: Option<Unit>,
    duration: Option<Nanos>,
    heads: Vec<String>,
    table: Table,
    /// Indices of the rows as they are printed; edges of cells are computed from them when the width is known.
    indices: Vec<u64>,
    /// The summary lines below the histogram by their names, with a value for each column; `-` stands for a missing
    /// value.
    summary: BTreeMap<String, Vec<String>>,
    /// Whether the line is in the block for all CPUs together, which only repeats the columns and is skipped.
    in_all: bool,
}

impl LineReader for Reader {
    fn line(&mut self, number: u64, line: &str) -> Result<(), Problem> {
        if let Some(comment) = line.strip_prefix('#') {
            self.comment(comment.trim());
            return Ok(());
        }
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { return Ok(()) };
        match first {
            "Index" => self.head(number, words.map(str::to_owned).collect()),
            "ALL:" => {
                self.in_all = true;
                Ok(())
            }
            "over:" | "count:" | "min:" | "avg:" | "max:" if !self.in_all => {
                self.summary.insert(first.to_owned(), words.take(MOST_COLUMNS).map(str::to_owned).collect());
                Ok(())
            }
            _ if first.bytes().all(|byte| byte.is_ascii_digit()) && !self.heads.is_empty() && !self.in_all => {
                self.row(number, first, words)
            }
            // All other lines are the automatic analysis or closing messages of rtla.
            _ => Ok(()),
        }
    }

    fn finish(&mut self) -> Result<ForeignRun, Problem> {
        if self.heads.is_empty() {
            return Err(Problem::new(
                "there is no heading with the columns (Index, IRQ-000, …): leave --no-header and --no-index out",
            ));
        }
        let unit = self.unit.unwrap_or(Unit::Us);
        let width = self.width();
        let mut notes = Vec::new();
        if !self.summary.contains_key("count:") {
            notes.push(
                "doubted: the lines below the histogram are missing (--no-summary, or the file was cut off)".to_owned(),
            );
        }
        // The first summary line that is missing or lacks columns, if there are any summary lines.
        let is_whole = |name: &&str| self.summary.get(*name).is_some_and(|line| line.len() >= self.heads.len());
        let lines = ["count:", "min:", "avg:", "max:"].into_iter();
        let lacking = lines.filter(|_| !self.summary.is_empty()).find(|name| !is_whole(name));
        notes.extend(lacking.map(|name| {
            format!("doubted: the line `{name}` below the histogram is missing or not whole: the file was cut off")
        }));
        let columns = std::mem::take(&mut self.table).into_columns();
        let series = self.heads.iter().zip(columns).enumerate();
        let series: Vec<Series> =
            series.filter_map(|(index, (head, cells))| self.series(index, head, cells, width, unit)).collect();
        let mut run = ForeignRun {
            program: Some(if self.osnoise { "rtla osnoise" } else { "rtla timerlat" }.to_owned()),
            duration: self.duration.map(|length| Stated { length, grain: Nanos::from_secs(1) }),
            series,
            notes,
            ..ForeignRun::default()
        };
        if lacking.is_some() {
            run.doubt();
        }
        Ok(run)
    }
}

impl Reader {
    fn comment(&mut self, comment: &str) {
        if let Some(what) = comment.strip_prefix("RTLA ") {
            self.osnoise = what.starts_with("osnoise");
        } else if let Some(unit) = comment.strip_prefix("Time unit is ") {
            self.unit = unit.split_whitespace().next().and_then(Unit::named);
        } else if let Some(duration) = comment.strip_prefix("Duration:") {
            self.duration = days_and_clock(duration);
        }
    }

    fn head(&mut self, line: u64, heads: Vec<String>) -> Result<(), Problem> {
        if !self.heads.is_empty() {
            return Err(Problem::at(line, "a second heading: these are two results in one file"));
        }
        if let Some(unknown) = heads.iter().find(|head| column(head).is_none()) {
            return Err(Problem::at(line, format!("`{unknown}` is no column of rtla")));
        }
        self.table.widen(heads.len(), line)?;
        self.heads = heads;
        Ok(())
    }

    fn row<'a>(&mut self, line: u64, index: &str, words: impl Iterator<Item = &'a str>) -> Result<(), Problem> {
        let index = number::count(index).filter(|index| *index < TOO_LONG.as_ns() / 1_000);
        let index = index.ok_or_else(|| Problem::at(line, "no latency is as long as this row says"))?;
        if self.indices.len() > super::MOST_CELLS {
            return Err(Problem::at(line, "more rows than rtla has cells"));
        }
        self.indices.push(index);
        let at = Nanos::from_ns(index);
        self.table.row(line, (at, at), words)
    }

    /// The width of a cell, in units of the file.
    fn width(&self) -> u64 {
        if self.indices.len() < ROWS_FOR_WIDTH {
            return 1;
        }
        self.indices.iter().copied().fold(0, greatest_common_divisor).max(1)
    }

    fn series(&self, index: usize, head: &str, cells: Vec<Cell>, width: u64, unit: Unit) -> Option<Series> {
        let (context, cpu) = column(head)?;
        let word = |name: &str| self.summary.get(name)?.get(index);
        let count = |name: &str| word(name).and_then(|word| number::count(word));
        let time = |name: &str| word(name).and_then(|word| number::length(word, unit));
        let units = Nanos::from_ns(unit.ns());
        let scaled = |cell: Cell| {
            let low = cell.low.times(unit.ns());
            Cell { low, high: low.plus(units.times(width).minus(Nanos::from_ns(1))), count: cell.count }
        };
        let end = units.times(self.indices.last().map_or(0, |last| last.saturating_add(width)));
        let over = count("over:").filter(|over| *over > 0).map(|count| Beyond { from: end, count });
        let label = if context == "CPU" { format!("CPU {cpu}") } else { format!("CPU {cpu} {context}") };
        let counted = cells.iter().fold(0u64, |sum, cell| sum.saturating_add(cell.count));
        Some(Series {
            label,
            cpu: Some(cpu),
            context: (context != "CPU").then(|| context.to_owned()),
            quantity: if self.osnoise { Quantity::Noise } else { Quantity::Latency },
            cells: cells.into_iter().map(scaled).collect(),
            beyond: over,
            min: time("min:"),
            mean: time("avg:"),
            max: time("max:"),
            grain: units,
            stated_count: count("count:").map(|count| with_over(count, counted, over)),
            ..Series::default()
        })
    }
}

/// The number of all values. Some versions include `over:` in `count:` and others do not; if `count:` equals the sum of
/// the cells, it does not include `over:`.
fn with_over(stated: u64, counted: u64, over: Option<Beyond>) -> u64 {
    let over = over.map_or(0, |over| over.count);
    if stated == counted { stated.saturating_add(over) } else { stated }
}

/// Splits a heading such as `IRQ-001` into the context and the CPU.
fn column(head: &str) -> Option<(&str, u32)> {
    let (context, cpu) = head.split_once('-')?;
    ["IRQ", "Thr", "Usr", "CPU"].contains(&context).then_some((context, cpu.parse().ok()?))
}

/// Reads a length such as `0 00:10:00`: days, then hours, minutes and seconds.
fn days_and_clock(text: &str) -> Option<Nanos> {
    let mut words = text.split_whitespace();
    let days = words.next().and_then(number::count)?;
    Some(Nanos::from_secs(days.checked_mul(86_400)?).plus(number::clock(words.next()?)?))
}
