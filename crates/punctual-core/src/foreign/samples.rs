//! Bare numbers, one in each line or in a column of a CSV: instants, periods or latencies.
//!
//! What the numbers are is said by the heading of the column, or by whoever imports; instants are recognised, too, since
//! nothing else only ascends. The unit is said by the heading, by whoever imports, or by six or nine decimals, which are
//! written of seconds only. Nothing is assumed beyond that. Memory is a histogram and one block of instants for each CPU,
//! however long the file.

use super::columns::{Layout, cpu_number, field, fields, is_skipped};
use super::grid::{Grid, LEAST};
use super::import::Options;
use super::number::{Number, Unit, number};
use super::points::repaired;
use super::run::{Quantity, Series, Stated};
use super::{Format, Problem, Run, SNIFFED};
use punctual_hist::{Counts, Nanos};
use std::collections::BTreeMap;

/// Each has a block of instants of half a megabyte.
const MOST_CPUS: usize = 256;

/// What the first bytes of a file of numbers tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bare {
    /// The heading says what they are.
    Named(Format),
    /// The heading names several things.
    Several(Vec<Format>),
    /// They only ascend.
    Rising,
    /// Numbers.
    Numbers,
    /// Numbers, but for one line.
    Broken(Problem),
    /// Something else.
    No,
}

pub(super) fn bare(first: &[u8]) -> Bare {
    let layout = Layout::of(first);
    let mut named: Vec<Format> = layout.known.iter().map(|(_, format, _)| *format).collect();
    named.dedup();
    match named.as_slice() {
        [] => {}
        [format] => return Bare::Named(*format),
        _ => return Bare::Several(named),
    }
    if layout.columns != 1 || layout.heading.is_some() || layout.rows.is_empty() {
        return Bare::No;
    }
    let mut values = Vec::with_capacity(layout.rows.len());
    for (line, row) in &layout.rows {
        match number(row, Unit::Us) {
            Some(number) => values.push(number.ns),
            None if values.is_empty() => return Bare::No,
            None => return Bare::Broken(no_number(*line, row)),
        }
    }
    let rises = values.len() > 2 && values.windows(2).all(|pair| matches!(pair, [a, b] if a < b));
    if rises { Bare::Rising } else { Bare::Numbers }
}

/// Takes lines.
pub(super) struct Samples {
    format: Format,
    unit: Unit,
    period: Option<Nanos>,
    layout: Layout,
    column: usize,
    streams: BTreeMap<Option<u32>, Stream>,
    commas: Commas,
    decimals: u32,
}

/// The numbers of one CPU, or of all where no column says which.
struct Stream {
    counts: Counts,
    grid: Grid,
    /// The instant of the last line.
    at: Option<i64>,
    first: i64,
    count: u64,
    negative: u64,
}

/// Numbers with a comma.
#[derive(Default)]
struct Commas {
    count: u64,
    /// One that can only be a decimal point was seen.
    is_point: bool,
    first: Option<(u64, String)>,
}

impl Samples {
    pub fn new(format: Format, first: &[u8], options: Options) -> Result<Self, Problem> {
        let mut layout = Layout::of(first);
        let column = column(&layout, format)?;
        let said = column.and_then(|(_, unit)| unit);
        if let (Some(said), Some(told)) = (said, options.unit) {
            if said != told {
                let line = layout.heading.as_ref().map(|(line, _)| *line);
                return Err(Problem {
                    line,
                    what: format!("the heading says {said}, and --unit {told}: leave it out"),
                });
            }
        }
        let column = column.map_or(0, |(index, _)| index);
        let unit = options.unit.or(said).or_else(|| seconds(&layout, column));
        let Some(unit) = unit else {
            return Err(Problem::new("nothing says in which unit the numbers are: say it with --unit ns, us, ms or s"));
        };
        layout.rows = Vec::new();
        let (streams, commas) = (BTreeMap::new(), Commas::default());
        Ok(Self { format, unit, period: options.period, layout, column, streams, commas, decimals: 0 })
    }

    pub fn line(&mut self, line: u64, text: &[u8]) -> Result<(), Problem> {
        let text = text.trim_ascii();
        if is_skipped(text) || self.layout.heading.as_ref().is_some_and(|(heading, _)| *heading == line) {
            return Ok(());
        }
        let Layout { separator, columns, cpu, .. } = self.layout;
        if separator.is_some() {
            let found = fields(text, separator, false).count();
            if found != columns {
                return Err(uneven(line, separator, columns, found));
            }
        }
        let value = if separator.is_some() { field(text, separator, self.column) } else { text };
        let number = number(value, self.unit).ok_or_else(|| no_number(line, value))?;
        let cpu = cpu.map(|at| field(text, separator, at));
        let cpu = cpu.map(|cpu| cpu_number(cpu).ok_or_else(|| no_cpu(line, cpu))).transpose()?;
        if self.streams.len() >= MOST_CPUS && !self.streams.contains_key(&cpu) {
            return Err(Problem::at(line, format!("more than {MOST_CPUS} CPUs: import them in several files")));
        }
        if number.comma {
            self.commas.take(line, value);
        }
        self.decimals = self.decimals.max(number.decimals);
        let period = self.period;
        self.streams.entry(cpu).or_insert_with(|| Stream::new(period)).take(self.format, line, number)
    }

    pub fn finish(mut self) -> Result<Run, Problem> {
        let mut notes = self.commas.notes()?;
        let grain = self.grain();
        let mut run = Run { format: self.format, ..Run::default() };
        let streams = std::mem::take(&mut self.streams);
        let mut ends: Option<(i64, i64)> = None;
        for (cpu, mut stream) in streams {
            let label = cpu.map(|cpu| format!("CPU {cpu}"));
            let said = label.as_ref().map(|label| format!("{label}: ")).unwrap_or_default();
            let series = if self.format == Format::Latencies {
                if stream.negative > 0 {
                    notes.push(format!("lost: {said}{}", negative(stream.negative)));
                }
                Series::of_rounded(label.unwrap_or("the samples".to_owned()), &stream.counts, grain)
            } else {
                let (first, last) = (stream.first, stream.at.unwrap_or(0));
                if !stream.grid.finish() {
                    let few = format!("{said}{} numbers; it takes {LEAST} to fit a grid", stream.count);
                    if cpu.is_none() {
                        return Err(Problem::new(few));
                    }
                    notes.push(format!("lost: {few}"));
                    continue;
                }
                ends = Some(ends.map_or((first, last), |(from, until)| (from.min(first), until.max(last))));
                let period = grid_notes(&stream.grid, &said, &mut notes)?;
                let rounded =
                    Series::of_rounded(label.unwrap_or("the activations".to_owned()), &stream.grid.counts, grain);
                Series { period: Some(period), skipped: Some(stream.grid.skipped), ..rounded }
            };
            run.series.push(Series { cpu, quantity: Quantity::Lateness, ..series });
        }
        if run.series.is_empty() {
            return Err(Problem::new("there are no numbers in it, or too few of each CPU"));
        }
        let period = run.series.iter().filter_map(|series| series.period).max();
        run.duration = ends.zip(period).map(|((first, last), grain)| {
            let length = u64::try_from(last.saturating_sub(first)).unwrap_or(0);
            Stated { length: Nanos::from_ns(length), grain }
        });
        run.notes = notes;
        Ok(run)
    }

    /// One unit of the last digit.
    fn grain(&self) -> Nanos {
        let unit = Nanos::from_ns(self.unit.ns());
        unit.divided_by(10u64.pow(self.decimals.min(9))).max(Nanos::from_ns(1))
    }
}

impl Stream {
    fn new(period: Option<Nanos>) -> Self {
        Self { counts: Counts::new(), grid: Grid::new(period), at: None, first: 0, count: 0, negative: 0 }
    }

    fn take(&mut self, format: Format, line: u64, number: Number) -> Result<(), Problem> {
        self.count = self.count.saturating_add(1);
        match format {
            Format::Latencies => {
                match u64::try_from(number.ns) {
                    Ok(ns) => self.counts.record(Nanos::from_ns(ns)),
                    Err(_) => self.negative = self.negative.saturating_add(1),
                }
                Ok(())
            }
            Format::Periods => {
                let next = self.at.unwrap_or(0).checked_add(number.ns).filter(|_| number.ns > 0);
                let next = next
                    .ok_or_else(|| Problem::at(line, "a period that is not above zero, or a sum beyond 292 years"))?;
                if self.at.is_none() {
                    self.grid.push(0);
                }
                self.instant(line, next)
            }
            _ => self.instant(line, number.ns),
        }
    }

    fn instant(&mut self, line: u64, at: i64) -> Result<(), Problem> {
        match self.at {
            Some(last) if at < last => {
                return Err(Problem::at(
                    line,
                    "this instant is before the one above: the clock was set, or the counter has overrun",
                ));
            }
            None => self.first = at,
            Some(_) => {}
        }
        self.at = Some(at);
        self.grid.push(at);
        Ok(())
    }
}

impl Commas {
    fn take(&mut self, line: u64, field: &[u8]) {
        self.count = self.count.saturating_add(1);
        let digits = field.strip_prefix(b"-").or(field.strip_prefix(b"+")).unwrap_or(field);
        let whole = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        // Thousands come in three digits, after one to three of which the first is no zero.
        self.is_point |= digits.len() != whole + 4 || !(1..=3).contains(&whole) || digits.starts_with(b"0");
        self.first.get_or_insert_with(|| (line, shown(field)));
    }

    /// What was read as the decimal point; refuses where thousands may be meant.
    fn notes(&self) -> Result<Vec<String>, Problem> {
        let Some((line, first)) = &self.first else { return Ok(Vec::new()) };
        if !self.is_point {
            let what = format!(
                "`{first}` has a comma with three digits after it, as every number with a comma here: a decimal point, or \
                 thousands? Write decimals with a point, and thousands without a comma"
            );
            return Err(Problem::at(*line, what));
        }
        Ok(vec![repaired(self.count)])
    }
}

/// The column that holds what is wanted, and its unit.
fn column(layout: &Layout, format: Format) -> Result<Option<(usize, Option<Unit>)>, Problem> {
    if layout.is_too_long {
        return Err(Problem::at(1, format!("the first line is longer than {SNIFFED} bytes, and no table of numbers")));
    }
    let line = layout.heading.as_ref().map(|(line, _)| *line).or(layout.rows.first().map(|(line, _)| *line));
    let meant: Vec<_> = layout.known.iter().filter(|(_, known, _)| *known == format).collect();
    let name = |index: usize| layout.heading.as_ref().and_then(|(_, names)| names.get(index)).cloned();
    match meant.as_slice() {
        [(index, _, unit)] => Ok(Some((*index, *unit))),
        [] if layout.columns == 1 => Ok(None),
        [] => {
            let what = format!(
                "{} columns, and no heading that says which has the {}: name it as in `{}`; a decimal point is no comma \
                 where nothing else separates",
                layout.columns,
                format.name(),
                match format {
                    Format::Timestamps => "timestamp_us",
                    Format::Periods => "period_us",
                    _ => "latency_us",
                }
            );
            Err(Problem { line, what })
        }
        several => {
            let names: Vec<String> = several.iter().filter_map(|(index, ..)| name(*index)).collect();
            let what = format!("{} columns of {}: `{}`; keep one", several.len(), format.name(), names.join("` and `"));
            Err(Problem { line, what })
        }
    }
}

/// What is said of latencies below zero.
fn negative(count: u64) -> String {
    match count {
        1 => "1 latency is negative, woken before the release, and in no cell".to_owned(),
        _ => format!("{count} latencies are negative, woken before the release, and in no cell"),
    }
}

fn shown(field: &[u8]) -> String {
    String::from_utf8_lossy(field).chars().take(40).collect()
}

fn no_number(line: u64, field: &[u8]) -> Problem {
    Problem::at(line, format!("`{}` is no number that can be a time", shown(field)))
}

fn no_cpu(line: u64, field: &[u8]) -> Problem {
    Problem::at(line, format!("`{}` is no number of a CPU, as the rows before have", shown(field)))
}

fn uneven(line: u64, separator: Option<u8>, columns: usize, found: usize) -> Problem {
    let separator = match separator {
        Some(b'\t') => "tab".to_owned(),
        Some(b' ') => "blank".to_owned(),
        other => other.map(char::from).map(String::from).unwrap_or_default(),
    };
    let what = format!(
        "{found} columns where the lines before have {columns}, separated by {separator}: if it is the decimal point, too, \
         separate columns by a tab or `;`"
    );
    Problem::at(line, what)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and far below 2^53")]
fn grid_notes(grid: &Grid, of: &str, notes: &mut Vec<String>) -> Result<Nanos, Problem> {
    let (shortest, longest) = grid.periods();
    let period = f64::midpoint(shortest, longest);
    if !(1.0..1e18).contains(&period) {
        return Err(Problem::new(format!("{of}the instants have no period")));
    }
    notes.push(format!(
        "{of}a grid was fitted: a period of {:.3} us ({:.3} to {:.3} us in {} blocks). Lateness is the distance to the \
         grid, from the earliest activation of each block of 65536 on: what all have in common, and a slow drift of the \
         clocks, are not in it",
        period / 1e3,
        shortest / 1e3,
        longest / 1e3,
        grid.blocks
    ));
    if grid.surplus > 0 {
        notes.push(format!(
            "doubted: {of}{} instants share a release with another: the period may be a multiple of what was fitted, or \
             something else was recorded among the activations",
            grid.surplus
        ));
    }
    if grid.skipped > 0 {
        notes.push(format!(
            "doubted: {of}{} of {} releases have no instant, at most {} of them in a row: skipped, or not recorded; they \
             are in no cell",
            grid.skipped,
            grid.skipped.saturating_add(grid.counts.count()),
            grid.longest_gap
        ));
    }
    Ok(Nanos::from_ns(period.round() as u64))
}

/// Six or nine decimals in every row are microseconds or nanoseconds of seconds.
fn seconds(layout: &Layout, column: usize) -> Option<Unit> {
    let decimals = |(_, row): &(u64, Vec<u8>)| {
        let value = if layout.separator.is_some() { field(row, layout.separator, column) } else { row };
        number(value, Unit::S).map(|number| number.decimals)
    };
    let mut rows = layout.rows.iter().map(decimals).peekable();
    (rows.peek().is_some() && rows.all(|decimals| matches!(decimals, Some(6 | 9)))).then_some(Unit::S)
}
