//! `rtla timerlat hist` and `rtla osnoise hist`: one column for each CPU and context.
//!
//! An index is the lower edge of a cell. Its width is not in the file: it is what all indices are multiples of, where
//! there are enough of them for that to be no accident, and else one unit. What is above the histogram stands in `over:`.
//! Columns are counters of 32 bits.

use super::lines::LineReader;
use super::number::{self, Unit};
use super::run::{Quantity, Series, Stated};
use super::table::{TOO_LONG, Table};
use super::{Beyond, Cell, ForeignRun, Format, MOST_COLUMNS, Problem};
use punctual_hist::Nanos;

/// So many rows that are multiples of two by accident are one in 256.
const ROWS_FOR_WIDTH: usize = 8;

#[derive(Default)]
pub(super) struct Reader {
    osnoise: bool,
    unit: Option<Unit>,
    duration: Option<Nanos>,
    heads: Vec<String>,
    table: Table,
    /// Rows as printed; cells are made of them when the width is known.
    indices: Vec<u64>,
    summary: Summary,
    /// The block over all CPUs repeats what the columns say.
    in_all: bool,
}

/// A line below the histogram: a value for each column, `-` where there is none.
#[derive(Default)]
struct Summary {
    over: Vec<Option<u64>>,
    count: Vec<Option<u64>>,
    min: Vec<Option<Nanos>>,
    avg: Vec<Option<Nanos>>,
    max: Vec<Option<Nanos>>,
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
                self.summary.take(first, words, self.unit.unwrap_or(Unit::Us));
                Ok(())
            }
            _ if first.bytes().all(|byte| byte.is_ascii_digit()) && !self.heads.is_empty() && !self.in_all => {
                self.row(number, first, words)
            }
            // What the automatic analysis and the end of the tool say.
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
        if self.summary.count.is_empty() {
            notes.push(
                "doubted: the lines below the histogram are missing (--no-summary, or the file was cut off)".to_owned(),
            );
        }
        let lacking = self.summary.lacking(self.heads.len());
        notes.extend(lacking.map(|name| {
            format!("doubted: the line `{name}` below the histogram is missing or not whole: the file was cut off")
        }));
        let columns = std::mem::take(&mut self.table).into_columns();
        let series = self.heads.iter().zip(columns).enumerate();
        let series: Vec<Series> =
            series.filter_map(|(index, (head, cells))| self.series(index, head, cells, width, unit)).collect();
        let mut run = ForeignRun {
            format: Format::Rtla,
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
        let bad = || Problem::at(line, "a row of the histogram has an index and whole counts");
        let index = number::count(index).ok_or_else(bad)?;
        if index >= TOO_LONG.as_ns() / 1_000 {
            return Err(Problem::at(line, "no latency is as long as this row says"));
        }
        if self.indices.last().is_some_and(|last| *last >= index) {
            return Err(Problem::at(line, "this row is not above the one before; are these two results in one file?"));
        }
        if self.indices.len() > super::MOST_CELLS {
            return Err(Problem::at(line, "more rows than rtla has cells"));
        }
        let counts: Option<Vec<u64>> = words.take(MOST_COLUMNS + 1).map(number::count).collect();
        let (counts, heads) = (counts.ok_or_else(bad)?, self.heads.len());
        if counts.len() != heads {
            let what = format!("{} columns where the heading has {heads}: the file was cut off here", counts.len());
            return Err(Problem::at(line, what));
        }
        let at = Nanos::from_ns(index);
        for (column, count) in counts.into_iter().enumerate() {
            self.table.add(column, Cell { low: at, high: at, count }, line)?;
        }
        self.indices.push(index);
        Ok(())
    }

    /// Of a cell, in units of the file.
    fn width(&self) -> u64 {
        if self.indices.len() < ROWS_FOR_WIDTH {
            return 1;
        }
        self.indices.iter().copied().fold(0, common_divisor).max(1)
    }

    fn series(&self, index: usize, head: &str, cells: Vec<Cell>, width: u64, unit: Unit) -> Option<Series> {
        let (context, cpu) = column(head)?;
        let of = |line: &[Option<Nanos>]| line.get(index).copied().flatten();
        let scaled = |cell: Cell| {
            let low = cell.low.times(unit.ns());
            Cell {
                low,
                high: low.plus(Nanos::from_ns(width.saturating_mul(unit.ns()).saturating_sub(1))),
                count: cell.count,
            }
        };
        let last = self.indices.last().map_or(0, |last| last.saturating_add(width)).saturating_mul(unit.ns());
        let over = self.summary.over.get(index).copied().flatten().filter(|over| *over > 0);
        let over = over.map(|count| Beyond { from: Nanos::from_ns(last), count });
        let label = if context == "CPU" { format!("CPU {cpu}") } else { format!("CPU {cpu} {context}") };
        let counted = cells.iter().fold(0u64, |sum, cell| sum.saturating_add(cell.count));
        Some(Series {
            label,
            cpu: Some(cpu),
            context: (context != "CPU").then(|| context.to_owned()),
            quantity: if self.osnoise { Quantity::Noise } else { Quantity::Latency },
            cells: cells.into_iter().map(scaled).collect(),
            beyond: over,
            min: of(&self.summary.min),
            mean: of(&self.summary.avg),
            max: of(&self.summary.max),
            grain: Nanos::from_ns(unit.ns()),
            stated_count: self.summary.count.get(index).copied().flatten().map(|count| with_over(count, counted, over)),
            ..Series::default()
        })
    }
}

impl Summary {
    /// The first of the lines that has not a value for each column, where there are such lines at all.
    fn lacking(&self, columns: usize) -> Option<&'static str> {
        let lengths = [
            ("count:", self.count.len()),
            ("min:", self.min.len()),
            ("avg:", self.avg.len()),
            ("max:", self.max.len()),
        ];
        let any = !self.over.is_empty() || lengths.iter().any(|(_, length)| *length > 0);
        lengths.into_iter().find(|(_, length)| any && *length < columns).map(|(name, _)| name)
    }

    fn take<'a>(&mut self, name: &str, words: impl Iterator<Item = &'a str>, unit: Unit) {
        let words: Vec<&str> = words.take(MOST_COLUMNS).collect();
        let counts = || words.iter().map(|word| number::count(word)).collect();
        let times = || words.iter().map(|word| number::length(word, unit)).collect();
        match name {
            "over:" => self.over = counts(),
            "count:" => self.count = counts(),
            "min:" => self.min = times(),
            "avg:" => self.avg = times(),
            _ => self.max = times(),
        }
    }
}

/// `count:` leaves out what is over in some versions, and has it in others: whichever agrees with the cells is meant.
fn with_over(stated: u64, counted: u64, over: Option<Beyond>) -> u64 {
    let over = over.map_or(0, |over| over.count);
    if stated == counted { stated.saturating_add(over) } else { stated }
}

/// `IRQ-001`: the context and the CPU.
fn column(head: &str) -> Option<(&str, u32)> {
    let (context, cpu) = head.split_once('-')?;
    ["IRQ", "Thr", "Usr", "CPU"].contains(&context).then_some((context, cpu.parse().ok()?))
}

/// `0 00:10:00`: days, then a clock.
fn days_and_clock(text: &str) -> Option<Nanos> {
    let mut words = text.split_whitespace();
    let days = words.next().and_then(number::count)?;
    Some(Nanos::from_secs(days.checked_mul(86_400)?).plus(number::clock(words.next()?)?))
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}
