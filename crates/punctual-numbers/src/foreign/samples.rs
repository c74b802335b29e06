//! Reads bare numbers, one in each line or in a column of a CSV: instants, periods or latencies.
//!
//! The heading of the column or the user states what the numbers are. `sniff` also recognises instants without a
//! heading, since no other numbers only ascend. The unit comes from the heading, from the user, or from six or nine
//! decimals, which only seconds have. Nothing else is assumed. Memory is one histogram and one block of instants for
//! each CPU, however long the file is.

use super::columns::{KnownColumn, Layout, cpu_number, field, fields, is_skipped};
use super::lines::{LineReader, SNIFFED};
use super::number::{UNITS, Unit, no_number, number, shown};
use super::points::Commas;
use super::run::Stated;
use super::stream::Stream;
use super::{ForeignRun, Format, ImportRemedy, Problem};
use punctual_hist::Nanos;
use std::collections::BTreeMap;

/// Largest number of CPUs, to bound memory: each CPU has a block of instants of half a megabyte.
const MOST_CPUS: usize = 256;

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

impl Samples {
    pub fn new(format: Format, first: &[u8], told: Option<Unit>, period: Option<Nanos>) -> Result<Self, Problem> {
        let mut layout = Layout::of(first);
        let column = column(&layout, format)?;
        let said = column.and_then(|column| column.unit);
        if let (Some(said), Some(told)) = (said, told) {
            if said != told {
                let line = layout.heading_line();
                let what = format!("the heading says {said}, not {told}");
                return Err(Problem { line, ..Problem::new(what).with(ImportRemedy::LeaveUnitOut) });
            }
        }
        let column = column.map_or(0, |column| column.index);
        let unit = told.or(said).or_else(|| seconds(&layout, column));
        let Some(unit) = unit else {
            let what = "nothing says in which unit the numbers are";
            return Err(Problem::new(what).with(ImportRemedy::SayUnit(UNITS)));
        };
        layout.rows = Vec::new();
        let (streams, commas) = (BTreeMap::new(), Commas::default());
        Ok(Self { format, unit, period, layout, column, streams, commas, decimals: 0 })
    }

    /// The precision of the numbers: one unit of the last digit.
    fn grain(&self) -> Nanos {
        let unit = Nanos::from_ns(self.unit.ns());
        unit.divided_by(10u64.pow(self.decimals.min(9))).max(Nanos::from_ns(1))
    }
}

impl LineReader for Samples {
    fn line(&mut self, number: u64, line: &str) -> Result<(), Problem> {
        self.raw_line(number, line.as_bytes())
    }

    fn raw_line(&mut self, line: u64, text: &[u8]) -> Result<(), Problem> {
        let text = text.trim_ascii();
        if is_skipped(text) || self.layout.heading_line() == Some(line) {
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

    fn finish(&mut self) -> Result<ForeignRun, Problem> {
        let mut notes = self.commas.notes()?;
        let grain = self.grain();
        let mut run = ForeignRun::default();
        let streams = std::mem::take(&mut self.streams);
        let mut ends: Option<(i64, i64)> = None;
        for (cpu, mut stream) in streams {
            let Some(series) = stream.series(self.format, cpu, grain, &mut notes)? else { continue };
            run.series.push(series);
            if let Some((first, last)) = stream.ends() {
                ends = Some(ends.map_or((first, last), |(from, to)| (from.min(first), to.max(last))));
            }
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
}

/// The column that holds the numbers of this format; `None` if it is the only one and has no name.
fn column(layout: &Layout, format: Format) -> Result<Option<KnownColumn>, Problem> {
    if layout.is_too_long {
        return Err(Problem::at(1, format!("the first line is longer than {SNIFFED} bytes, and no table of numbers")));
    }
    let line = layout.heading_line().or(layout.rows.first().map(|(line, _)| *line));
    let meant: Vec<_> = layout.known.iter().filter(|column| column.format == format).collect();
    let name = |column: &&KnownColumn| layout.heading.as_ref().and_then(|of| of.names.get(column.index)).cloned();
    match meant.as_slice() {
        [column] => Ok(Some(**column)),
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
            Err(Problem { line, ..Problem::new(what) })
        }
        several => {
            let names: Vec<String> = several.iter().filter_map(name).collect();
            let what = format!("{} columns of {}: `{}`; keep one", several.len(), format.name(), names.join("` and `"));
            Err(Problem { line, ..Problem::new(what) })
        }
    }
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

/// The unit is seconds if every row has six decimals, or every row nine: microseconds or nanoseconds of a second.
fn seconds(layout: &Layout, column: usize) -> Option<Unit> {
    let decimals = |(_, row): &(u64, Vec<u8>)| {
        let value = if layout.separator.is_some() { field(row, layout.separator, column) } else { row };
        number(value, Unit::S).map(|number| number.decimals)
    };
    let mut rows = layout.rows.iter().map(decimals).peekable();
    (rows.peek().is_some() && rows.all(|decimals| matches!(decimals, Some(6 | 9)))).then_some(Unit::S)
}
