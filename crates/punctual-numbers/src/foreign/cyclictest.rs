//! The text of cyclictest: the histogram of both dialects, the line of each thread, and each sample of `-v`.
//!
//! Up to rt-tests 2.4 every row is printed, and a line of totals; 2.10 prints rows that hold something, and no totals.
//! A row `b` holds the values from `b` to just below `b + 1`. What is later than the last row is counted and not kept.
//! Columns are threads in their order; which CPU each had is not in the text, and neither is the unit: microseconds, or
//! nanoseconds with `-N`. Where the smallest latency is a millisecond and more, whoever imports is asked.

use super::lines::LineReader;
use super::number::{self, Unit};
use super::run::Series;
use super::sniff::thread_line;
use super::table::Table;
use super::{Beyond, Cell, ForeignRun, Format, MOST_COLUMNS, Problem};
use punctual_hist::{Counts, Nanos};

/// What our own text says of its rows.
pub(crate) const IN_MICROSECONDS: &str = "values are microseconds";

#[derive(Default)]
pub(super) struct Reader {
    unit: Option<Unit>,
    table: Table,
    rows: u64,
    last_row: u64,
    feet: Feet,
    threads: Vec<Thread>,
    samples: Vec<Counts>,
    notes: Vec<String>,
    command: Option<String>,
}

/// The lines below a histogram, each with a value for each thread.
#[derive(Default)]
struct Feet {
    total: Vec<u64>,
    min: Vec<u64>,
    avg: Vec<u64>,
    max: Vec<u64>,
    overflows: Vec<u64>,
}

/// What the line of a thread says; live output has many for each, and the last counts.
#[derive(Clone, Debug, Default)]
struct Thread {
    interval_us: Option<u64>,
    cycles: u64,
    min: u64,
    avg: u64,
    max: u64,
}

impl LineReader for Reader {
    fn line(&mut self, number: u64, line: &str) -> Result<(), Problem> {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with("policy:") {
            return Ok(());
        }
        if let Some(comment) = line.strip_prefix('#') {
            return self.comment(number, comment.trim());
        }
        if thread_line(line) || line.trim_start().starts_with("T:") {
            return self.thread(number, line);
        }
        if line.bytes().next().is_some_and(|first| first.is_ascii_digit()) && !line.contains(':') {
            return self.row(number, line);
        }
        self.sample(number, line)
    }

    fn finish(&mut self) -> Result<ForeignRun, Problem> {
        let mut notes = std::mem::take(&mut self.notes);
        let series = match (self.rows > 0, self.samples.is_empty(), self.threads.is_empty()) {
            (true, _, _) => self.of_histogram(&mut notes)?,
            (false, false, _) => self.of_samples(),
            (false, true, false) => self.of_threads(&mut notes),
            (false, true, true) => {
                return Err(Problem::new("no histogram, no line of a thread and no sample is in it"));
            }
        };
        notes.push(
            "cyclictest keeps no CPU, no period and no length in this file: threads are in their order, and counts cannot \
             be held against a duration"
                .to_owned(),
        );
        number::is_in_microseconds(self.unit, series.iter().filter_map(Series::smallest).min(), "cyclictest")?;
        Ok(ForeignRun {
            format: Format::Cyclictest,
            program: Some("cyclictest".to_owned()),
            command: self.command.take(),
            series,
            notes,
            ..ForeignRun::default()
        })
    }
}

impl Reader {
    pub fn new(unit: Option<Unit>) -> Result<Self, Problem> {
        number::refuse_coarse(unit, "cyclictest")?;
        Ok(Self { unit, ..Self::default() })
    }

    /// One of what the numbers count.
    fn grain(&self) -> Nanos {
        Nanos::from_ns(self.unit.unwrap_or(Unit::Us).ns())
    }

    fn comment(&mut self, line: u64, comment: &str) -> Result<(), Problem> {
        if comment == IN_MICROSECONDS {
            self.unit = number::own_unit(line, Unit::Us, self.unit)?;
        }
        let Some((name, rest)) = comment.split_once(':') else { return Ok(()) };
        let foot = match name {
            "Total" => &mut self.feet.total,
            "Min Latencies" => &mut self.feet.min,
            "Avg Latencies" => &mut self.feet.avg,
            "Max Latencies" => &mut self.feet.max,
            "Histogram Overflows" => &mut self.feet.overflows,
            "cmdline" | "Command line" => {
                self.command = Some(rest.trim().to_owned());
                return Ok(());
            }
            _ => return Ok(()),
        };
        let bad = || Problem::at(line, format!("`{name}` holds something that is no count"));
        *foot = rest.split_whitespace().map(|word| number::count(word).ok_or_else(bad)).collect::<Result<_, _>>()?;
        if foot.len() > MOST_COLUMNS {
            return Err(Problem::at(line, format!("{} columns, more than any machine has", foot.len())));
        }
        Ok(())
    }

    fn row(&mut self, line: u64, text: &str) -> Result<(), Problem> {
        let mut words = text.split_whitespace();
        let value = words.next().and_then(number::count);
        let Some(value) = value else {
            return Err(Problem::at(line, "a row of the histogram begins with a whole number"));
        };
        let counts: Option<Vec<u64>> = words.map(number::count).collect();
        let Some(counts) = counts.filter(|counts| !counts.is_empty()) else {
            let what = "a row of the histogram has whole counts; a negative one is a counter that has overrun, and its \
                        value is lost";
            return Err(Problem::at(line, what));
        };
        if self.rows == 0 {
            self.table.widen(counts.len(), line)?;
        } else if counts.len() != self.table.width() {
            let what = format!(
                "{} columns where the rows before have {}: the file was cut off or edited here",
                counts.len(),
                self.table.width()
            );
            return Err(Problem::at(line, what));
        }
        if self.rows > 0 && value <= self.last_row {
            return Err(Problem::at(line, "this row is not above the one before; are these two results in one file?"));
        }
        let grain = self.grain();
        for (column, count) in counts.into_iter().enumerate() {
            self.table.add(column, Cell::of_width(value, grain, count), line)?;
        }
        (self.rows, self.last_row) = (self.rows + 1, value);
        Ok(())
    }

    /// `T: 0 (14087) P:95 I:1000 C:    200 Min:     11 Act:   14 Avg:   13 Max:      89`
    fn thread(&mut self, line: u64, text: &str) -> Result<(), Problem> {
        let field = |name: &str| -> Option<u64> {
            let rest = text.split_once(name)?.1.trim_start();
            number::count(rest.split(|c: char| !c.is_ascii_digit()).next()?)
        };
        let (Some(index), Some(cycles), Some(max)) = (field("T:"), field(" C:"), field("Max:")) else {
            return Err(Problem::at(line, "the line of a thread lacks its number, C or Max"));
        };
        let index = usize::try_from(index).ok().filter(|index| *index < MOST_COLUMNS);
        let Some(index) = index else { return Err(Problem::at(line, "no machine has so many threads")) };
        if self.threads.len() <= index {
            self.threads.resize(index + 1, Thread::default());
        }
        if let Some(thread) = self.threads.get_mut(index) {
            *thread = Thread {
                interval_us: field(" I:"),
                cycles,
                min: field("Min:").unwrap_or_default(),
                avg: field("Avg:").unwrap_or_default(),
                max,
            };
        }
        Ok(())
    }

    /// `       0:      47:      19`: thread, cycle, value. Anything else that is no number is text of the program.
    fn sample(&mut self, line: u64, text: &str) -> Result<(), Problem> {
        let mut parts = text.split(':').map(str::trim);
        let (Some(thread), Some(cycle), Some(value), None) = (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return if is_torn(text) { Err(Problem::at(line, "a part of a sample")) } else { Ok(()) };
        };
        let (Some(thread), Some(_)) = (number::count(thread), number::count(cycle)) else { return Ok(()) };
        let Some(value) = number::length(value, self.unit.unwrap_or(Unit::Us)) else {
            return Err(Problem::at(line, format!("`{value}` is no latency")));
        };
        // Each is 30 KB.
        let index = usize::try_from(thread).ok().filter(|index| *index < 1024);
        let Some(index) = index else { return Err(Problem::at(line, "samples of more than 1024 threads")) };
        if self.samples.len() <= index {
            self.samples.resize_with(index + 1, Counts::new);
        }
        if let Some(counts) = self.samples.get_mut(index) {
            counts.record(value);
        }
        Ok(())
    }

    fn of_histogram(&mut self, notes: &mut Vec<String>) -> Result<Vec<Series>, Problem> {
        let feet = std::mem::take(&mut self.feet);
        let mut columns = std::mem::take(&mut self.table).into_columns();
        // With -H, the last column is the sum of the others, and Min has a value less.
        let has_sum = columns.len() > 1
            && (feet.min.len() + 1 == columns.len()
                || feet.min.is_empty() && columns.len() > 2 && is_sum_of_others(&columns));
        if has_sum {
            columns.pop();
        }
        if feet.min.is_empty() || feet.max.is_empty() {
            notes.push(
                "doubted: the lines below the histogram are missing: the file was cut off, and may lack rows and \
                 everything that was later than the last of them"
                    .to_owned(),
            );
        } else if feet.min.len() != columns.len() {
            return Err(Problem::new(format!(
                "the histogram has {} threads and the line of minima {}: parts of different results",
                columns.len(),
                feet.min.len()
            )));
        }
        if (1..columns.len()).contains(&feet.max.len()) {
            notes.push("doubted: the line of maxima lacks threads: the file was cut off".to_owned());
        }
        if feet.overflows.is_empty() {
            notes.push("doubted: no line says how many values were later than the last row".to_owned());
        }
        let threads = columns.into_iter().enumerate();
        Ok(threads.map(|(index, cells)| self.column(&feet, index, cells)).collect())
    }

    fn column(&self, feet: &Feet, index: usize, cells: Vec<Cell>) -> Series {
        let grain = self.grain();
        let us = |foot: &[u64]| foot.get(index).copied().map(|value| grain.times(value));
        let overflows = feet.overflows.get(index).copied().filter(|count| *count > 0);
        // A histogram with every row ends at its size. One with gaps ends there or above.
        let end = grain.times(self.last_row.saturating_add(1));
        let empty = cells.is_empty() && overflows.is_none();
        Series {
            label: format!("thread {index}"),
            beyond: overflows.map(|count| Beyond { from: end, count }),
            // A thread that never woke prints the starting values of its extremes.
            min: us(&feet.min).filter(|_| !empty),
            mean: us(&feet.avg).filter(|_| !empty),
            max: us(&feet.max).filter(|_| !empty),
            grain,
            stated_count: feet.total.get(index).copied().map(|in_rows| in_rows.saturating_add(overflows.unwrap_or(0))),
            cells,
            ..Series::default()
        }
    }

    fn of_samples(&mut self) -> Vec<Series> {
        let threads = std::mem::take(&mut self.samples).into_iter().enumerate();
        let grain = self.grain();
        let series = threads.filter(|(_, counts)| !counts.is_empty()).map(|(index, counts)| {
            let period = self.threads.get(index).and_then(|thread| thread.interval_us).map(Nanos::from_us);
            Series { period, ..Series::of_rounded(format!("thread {index}"), &counts, grain) }
        });
        series.collect()
    }

    fn of_threads(&self, notes: &mut Vec<String>) -> Vec<Series> {
        notes.push("there is no histogram in it: percentiles are not known (run cyclictest with -h)".to_owned());
        let grain = self.grain();
        let one = |(index, thread): (usize, &Thread)| Series {
            label: format!("thread {index}"),
            period: thread.interval_us.map(Nanos::from_us),
            // One that has not woken yet prints the starting values.
            min: (thread.cycles > 0).then(|| grain.times(thread.min)),
            mean: (thread.cycles > 0).then(|| grain.times(thread.avg)),
            max: (thread.cycles > 0).then(|| grain.times(thread.max)),
            grain,
            stated_count: Some(thread.cycles),
            ..Series::default()
        };
        self.threads.iter().enumerate().map(one).collect()
    }
}

/// Fewer than the three numbers of a sample, and nothing else.
fn is_torn(text: &str) -> bool {
    let mut parts = text.split(':').map(str::trim);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (first, second) = (parts.next().is_some_and(is_number), parts.next());
    first && second.is_some_and(|cycle| cycle.is_empty() || is_number(cycle)) && parts.next().is_none()
}

fn is_sum_of_others(columns: &[Vec<Cell>]) -> bool {
    let Some((last, others)) = columns.split_last() else { return false };
    let mut sums = std::collections::BTreeMap::new();
    for cell in others.iter().flatten() {
        let sum: &mut u64 = sums.entry(cell.low).or_default();
        *sum = sum.saturating_add(cell.count);
    }
    !last.is_empty() && last.iter().map(|cell| (cell.low, cell.count)).eq(sums)
}
