//! Reads the text output of cyclictest: histograms of old and new versions, the line of each thread, and the samples of
//! `-v`.
//!
//! Up to rt-tests 2.4 cyclictest prints every row and a line of totals; 2.10 prints only non-empty rows and no totals.
//! A row `b` holds the values from `b` to just below `b + 1`. Values above the last row are only counted, as overflows.
//! Columns are threads in their order. The text states neither their CPUs nor the unit, which is microseconds, or
//! nanoseconds with `-N`. If the smallest latency is a millisecond or more, the user must state the unit.

use super::lines::LineReader;
use super::number::{self, Unit};
use super::run::{Series, Unfit};
use super::sequence::Sequence;
use super::sniff::thread_line;
use super::table::Table;
use super::{Beyond, Cell, ForeignRun, MOST_COLUMNS, Problem};
use punctual_hist::Nanos;
use std::collections::BTreeMap;

/// The comment that states the unit in text that punctual itself wrote in this format.
pub(crate) const IN_MICROSECONDS: &str = "values are microseconds";

#[derive(Default)]
pub(super) struct Reader {
    unit: Option<Unit>,
    table: Table,
    feet: Feet,
    threads: Vec<Thread>,
    samples: Vec<Sequence>,
    notes: Vec<String>,
    command: Option<String>,
    /// Whether the file states its unit, which only files written by punctual do.
    copied: bool,
}

/// The summary lines below a histogram by name (`Min Latencies`), each with one value per thread.
#[derive(Default)]
struct Feet(BTreeMap<String, Vec<u64>>);

impl Feet {
    fn get(&self, name: &str) -> &[u64] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }
}

/// The status line of a thread. Live output repeats it for each thread, and the last line counts.
#[derive(Clone, Debug, Default)]
struct Thread {
    period: Option<Nanos>,
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
        let series = match (!self.table.is_empty(), self.samples.is_empty(), self.threads.is_empty()) {
            (true, _, _) => self.of_histogram(&mut notes)?,
            (false, false, _) => self.of_samples(),
            (false, true, false) => self.of_threads(&mut notes),
            (false, true, true) => {
                return Err(Problem::new("no histogram, no line of a thread and no sample is in it"));
            }
        };
        notes.push(
            "this file of cyclictest contains no CPUs, no period and no duration: threads are numbered in the order of \
            the file, and counts cannot be checked against a duration"
                .to_owned(),
        );
        number::is_in_microseconds(self.unit, series.iter().filter_map(Series::smallest).min(), "cyclictest")?;
        Ok(ForeignRun {
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

    fn grain(&self) -> Nanos {
        Nanos::from_ns(self.unit.unwrap_or(Unit::Us).ns())
    }

    fn comment(&mut self, line: u64, comment: &str) -> Result<(), Problem> {
        if comment == IN_MICROSECONDS {
            self.unit = number::own_unit(line, Unit::Us, self.unit)?;
            self.copied = true;
        }
        let Some((name, rest)) = comment.split_once(':') else { return Ok(()) };
        match name {
            "cmdline" | "Command line" => self.command = Some(rest.trim().to_owned()),
            "Total" | "Min Latencies" | "Avg Latencies" | "Max Latencies" | "Histogram Overflows" => {
                let foot: Option<Vec<u64>> = rest.split_whitespace().map(number::count).collect();
                let bad = || Problem::at(line, format!("`{name}` holds something that is no count"));
                self.feet.0.insert(name.to_owned(), foot.ok_or_else(bad)?);
            }
            _ => {}
        }
        Ok(())
    }

    fn row(&mut self, line: u64, text: &str) -> Result<(), Problem> {
        let mut words = text.split_whitespace();
        let value = words.next().and_then(number::count);
        let value = value.ok_or_else(|| Problem::at(line, "a row of the histogram begins with a whole number"))?;
        let Cell { low, high, .. } = Cell::of_width(value, self.grain(), 0);
        self.table.row(line, (low, high), words)
    }

    /// Reads the status line of a thread: `T: 0 (14087) P:95 I:1000 C:    200 Min:     11 Act:   14 Avg:   13 Max:
    /// 89`
    fn thread(&mut self, line: u64, text: &str) -> Result<(), Problem> {
        let field = |name: &str| -> Option<u64> {
            let rest = text.split_once(name)?.1.trim_start();
            number::count(rest.split(|c: char| !c.is_ascii_digit()).next()?)
        };
        let (Some(index), Some(cycles), Some(max)) = (field("T:"), field(" C:"), field("Max:")) else {
            return Err(Problem::at(line, "the line of a thread lacks its number, C or Max"));
        };
        let index = usize::try_from(index).ok().filter(|index| *index < MOST_COLUMNS);
        let Some(index) = index else { return Err(Problem::at(line, "no machine has a thread of this number")) };
        if self.threads.len() <= index {
            self.threads.resize(index + 1, Thread::default());
        }
        if let Some(thread) = self.threads.get_mut(index) {
            *thread = Thread {
                period: field(" I:").map(Nanos::from_us),
                cycles,
                min: field("Min:").unwrap_or_default(),
                avg: field("Avg:").unwrap_or_default(),
                max,
            };
        }
        Ok(())
    }

    /// Reads `       0:      47:      19`: thread, cycle, value. Lines that do not consist of three numbers are other
    /// output and are skipped.
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
        // The number of threads is limited to bound memory: each thread has a histogram of 30 KB.
        let index = usize::try_from(thread).ok().filter(|index| *index < 1024);
        let Some(index) = index else { return Err(Problem::at(line, "samples of more than 1024 threads")) };
        if self.samples.len() <= index {
            self.samples.resize_with(index + 1, Sequence::default);
        }
        if let Some(values) = self.samples.get_mut(index) {
            values.record(value);
        }
        Ok(())
    }

    fn of_histogram(&mut self, notes: &mut Vec<String>) -> Result<Vec<Series>, Problem> {
        let feet = std::mem::take(&mut self.feet);
        let end = self.table.end();
        let mut columns = std::mem::take(&mut self.table).into_columns();
        let (min, max) = (feet.get("Min Latencies").len(), feet.get("Max Latencies").len());
        // With -H, the last column is the sum of the others, and the line of minima has one value less than there are
        // columns.
        let has_sum = columns.len() > 1
            && (min + 1 == columns.len() || min == 0 && columns.len() > 2 && is_sum_of_others(&columns));
        if has_sum {
            columns.pop();
        }
        if min == 0 || max == 0 {
            notes.push(
                "doubted: the lines below the histogram are missing: the file was cut off, and may lack rows and \
                 everything that was later than the last of them"
                    .to_owned(),
            );
        } else if min != columns.len() {
            let threads = columns.len();
            let what =
                format!("the histogram has {threads} threads and the line of minima {min}: parts of different results");
            return Err(Problem::new(what));
        }
        if (1..columns.len()).contains(&max) {
            notes.push("doubted: the line of maxima lacks threads: the file was cut off".to_owned());
        }
        if feet.get("Histogram Overflows").is_empty() {
            notes.push("doubted: no line says how many values were later than the last row".to_owned());
        }
        let was_cut = min == 0 || max < columns.len() || feet.get("Histogram Overflows").is_empty();
        let unfit = was_cut.then_some(Unfit::Doubted);
        let threads = columns.into_iter().enumerate();
        Ok(threads.map(|(index, cells)| Series { unfit, ..self.column(&feet, end, index, cells) }).collect())
    }

    /// Makes the series of one column. The histogram reaches up to `end` at least. If empty rows are left out, it may
    /// reach further.
    fn column(&self, feet: &Feet, end: Nanos, index: usize, cells: Vec<Cell>) -> Series {
        let grain = self.grain();
        let foot = |name: &str| feet.get(name).get(index).copied();
        let overflows = foot("Histogram Overflows").filter(|count| *count > 0);
        // For a thread that never woke, cyclictest prints the initial values of minimum and maximum, which mean
        // nothing.
        let empty = cells.is_empty() && overflows.is_none();
        let time = |name: &str| foot(name).filter(|_| !empty).map(|value| grain.times(value));
        Series {
            label: format!("thread {index}"),
            beyond: overflows.map(|count| Beyond { from: end, count }),
            min: time("Min Latencies"),
            mean: time("Avg Latencies"),
            max: time("Max Latencies"),
            grain,
            copied: self.copied,
            stated_count: foot("Total").map(|in_rows| in_rows.saturating_add(overflows.unwrap_or(0))),
            cells,
            ..Series::default()
        }
    }

    fn of_samples(&mut self) -> Vec<Series> {
        let threads = std::mem::take(&mut self.samples).into_iter().enumerate();
        let grain = self.grain();
        let series = threads.filter(|(_, values)| !values.counts.is_empty()).map(|(index, values)| {
            let period = self.threads.get(index).and_then(|thread| thread.period);
            Series { period, ..Series::of_sequence(format!("thread {index}"), &values, grain) }
        });
        series.collect()
    }

    fn of_threads(&self, notes: &mut Vec<String>) -> Vec<Series> {
        notes.push("there is no histogram in it: percentiles are not known (run cyclictest with -h)".to_owned());
        let grain = self.grain();
        let one = |(index, thread): (usize, &Thread)| {
            // For a thread that has not woken yet, cyclictest prints the initial values of minimum and maximum, which
            // mean nothing.
            let time = |value: u64| (thread.cycles > 0).then(|| grain.times(value));
            Series {
                label: format!("thread {index}"),
                period: thread.period,
                min: time(thread.min),
                mean: time(thread.avg),
                max: time(thread.max),
                grain,
                stated_count: Some(thread.cycles),
                ..Series::default()
            }
        };
        self.threads.iter().enumerate().map(one).collect()
    }
}

/// Whether a line is only the beginning of a sample: one or two of its three numbers.
fn is_torn(text: &str) -> bool {
    let mut parts = text.split(':').map(str::trim);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (first, second) = (parts.next().is_some_and(is_number), parts.next());
    first && second.is_some_and(|cycle| cycle.is_empty() || is_number(cycle)) && parts.next().is_none()
}

fn is_sum_of_others(columns: &[Vec<Cell>]) -> bool {
    let Some((last, others)) = columns.split_last() else { return false };
    let mut sums = BTreeMap::new();
    for cell in others.iter().flatten() {
        let sum: &mut u64 = sums.entry(cell.low).or_default();
        *sum = sum.saturating_add(cell.count);
    }
    !last.is_empty() && last.iter().map(|cell| (cell.low, cell.count)).eq(sums)
}
