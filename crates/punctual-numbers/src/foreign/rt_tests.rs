//! Reads the JSON of rt-tests: of cyclictest, cyclicdeadline and oslat, and of pmqtest, ptsematest, svsematest and
//! sigwaittest.
//!
//! The last four measure from a sender to the receiver that it wakes, and write a summary of each pair without a
//! histogram. Keys of the wrapper end in a colon. Some versions do not escape the command line, so that a quotation
//! mark in it makes the file invalid JSON: that line is repaired. No field counts the values above the histogram: their
//! number is `cycles` minus the sum of the histogram. Units are microseconds, or nanoseconds with `resolution_in_ns`.
//! Rows of oslat are named by their upper edges.

use super::command::{self, CyclictestOptions};
use super::number::{self, Unit};
use super::run::{Quantity, Stated};
use super::table::ascending;
use super::{Beyond, Cell, ForeignRun, MOST_CELLS, MOST_COLUMNS, Problem, Series};
use punctual_facts::machine::MachineLine;
use punctual_hist::Nanos;
use serde_json::{Map, Value};

pub(super) fn read(bytes: &[u8]) -> Result<ForeignRun, Problem> {
    let (document, repaired) = parse(bytes)?;
    let text = |names: [&str; 2]| {
        names.into_iter().find_map(|name| document.get(name)).and_then(Value::as_str).map(str::to_owned)
    };
    let command = text(["cmdline:", "cmdline"]);
    let Some(threads) = document.get("thread").and_then(Value::as_object) else {
        return Err(Problem::new("there is no `thread` in it: this test of rt-tests measures no latency"));
    };
    if threads.len() > MOST_COLUMNS {
        return Err(Problem::new(format!("{} threads, more than any machine has", threads.len())));
    }
    let asked = command.as_deref().map(command::asked).unwrap_or_default();
    let in_ns = document.get("resolution_in_ns").and_then(Value::as_u64) == Some(1);
    let mut run = ForeignRun {
        program: text(["rt_test_version:", "rt_test_version"]).map(|version| format!("rt-tests {version}")),
        started: text(["start_time", "start_time:"]),
        machine: machine(&document),
        ..ForeignRun::default()
    };
    let is_copy = run.program.as_deref().is_some_and(|program| program.starts_with("rt-tests punctual"));
    for (index, thread) in in_order(threads)? {
        let thread = Thread { index, body: thread, asked, in_ns };
        let series = thread.series(&mut run.notes)?;
        run.series.push(Series { copied: is_copy, ..series });
        if let Some(length) = thread.duration() {
            run.duration = Some(Stated { length, grain: Nanos::from_ms(1) });
        }
    }
    if run.series.iter().any(|series| series.context.as_deref() == Some(super::pairs::CONTEXT)) {
        run.notes.push(super::pairs::SUMMARY_ONLY.to_owned());
    }
    run.duration = run.duration.or(asked.duration.map(|length| Stated { length, grain: Nanos::from_secs(1) }));
    run.notes.extend(repaired);
    run.notes.extend(command.is_none().then(|| "the file does not say how the test was called".to_owned()));
    run.command = command;
    Ok(run)
}

pub(super) fn machine(document: &Map<String, Value>) -> Vec<MachineLine> {
    let Some(info) = document.get("sysinfo").and_then(Value::as_object) else { return Vec::new() };
    let of = |(name, value): (&String, &Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (name.as_str(), value).into()
    };
    info.iter().map(of).collect()
}

struct Thread<'a> {
    index: u64,
    body: &'a Value,
    asked: CyclictestOptions,
    in_ns: bool,
}

impl Thread<'_> {
    fn series(&self, notes: &mut Vec<String>) -> Result<Series, Problem> {
        let label = format!("thread {}", self.index);
        if let Some(receiver) = self.body.get("receiver") {
            return Ok(self.pair(receiver));
        }
        let oslat = self.body.get("freq").is_some();
        let (unit, width) = if self.in_ns { (Unit::Ns, Nanos::from_ns(1)) } else { (Unit::Us, Nanos::from_us(1)) };
        // Even if rows are finer than a microsecond, oslat names them in microseconds, but then states the extremes in
        // nanoseconds.
        let fine = self.fine_width().filter(|_| oslat);
        let point = |name: &str| {
            let value = self.body.get(name)?;
            number::length(&value.to_string(), if fine.is_some() && name != "avg" { Unit::Ns } else { unit })
        };
        let width = fine.unwrap_or(width);
        let cells = self.cells(width, oslat)?;
        let stated_count = self.body.get("cycles").and_then(Value::as_u64);
        let mut series = Series {
            cpu: self.body.get("cpu").and_then(Value::as_u64).and_then(|cpu| u32::try_from(cpu).ok()),
            quantity: if oslat { Quantity::Noise } else { Quantity::Latency },
            period: if oslat { None } else { self.asked.period(self.index) },
            min: point("min"),
            // The mean of oslat is computed from the upper edges of its rows, so it is not imported.
            mean: point("avg").filter(|_| !oslat),
            max: point("max"),
            grain: if fine.is_some() { Nanos::from_ns(1) } else { width },
            rounded_up: oslat,
            stated_count,
            cells,
            label,
            ..Series::default()
        };
        if oslat {
            last_of_oslat(&mut series);
        } else {
            self.overflows(&mut series, width, notes);
        }
        Ok(series)
    }

    /// The series of a pair. No period is set, because the pair's interval is a pause after each wake-up and no grid of
    /// releases.
    fn pair(&self, receiver: &Value) -> Series {
        let point = |name: &str| number::length(&receiver.get(name)?.to_string(), Unit::Us);
        let count = self.body.get("sender").and_then(|sender| sender.get("samples")).and_then(Value::as_u64);
        let cpu = receiver.get("cpu").and_then(Value::as_u64).and_then(|cpu| u32::try_from(cpu).ok());
        let measured = (point("min"), point("avg"), point("max"));
        super::pairs::summary(format!("pair {}", self.index), cpu, count, measured)
    }

    /// The width of the rows, if their names have decimals.
    fn fine_width(&self) -> Option<Nanos> {
        let histogram = self.body.get("histogram")?.as_object()?;
        let fine = histogram.keys().filter(|key| key.contains('.'));
        let mut edges = fine.map(|key| number::length(key, Unit::Us)).collect::<Option<Vec<Nanos>>>()?;
        edges.sort_unstable();
        let step =
            edges.iter().zip(edges.iter().skip(1)).map(|(a, b)| b.minus(*a)).filter(|step| *step > Nanos::ZERO).min();
        step.or(edges.first().copied().filter(|edge| *edge > Nanos::ZERO))
    }

    fn cells(&self, width: Nanos, oslat: bool) -> Result<Vec<Cell>, Problem> {
        let Some(histogram) = self.body.get("histogram").and_then(Value::as_object) else { return Ok(Vec::new()) };
        if histogram.len() > MOST_CELLS {
            return Err(Problem::new(format!("the histogram has {} rows", histogram.len())));
        }
        let unit = if self.in_ns { Unit::Ns } else { Unit::Us };
        cells_of(histogram, &format!("thread {}", self.index), |key, count| {
            let edge = number::length(key, unit)?;
            let low = if oslat { edge.minus(width) } else { edge };
            Some(Cell { low, high: low.plus(width.minus(Nanos::from_ns(1))), count })
        })
    }

    fn overflows(&self, series: &mut Series, width: Nanos, notes: &mut Vec<String>) {
        let counted = series.counted();
        let Some(beyond) = series.stated_count.and_then(|cycles| cycles.checked_sub(counted)) else { return };
        if series.cells.is_empty() || beyond == 0 {
            return;
        }
        let last = series.cells.last().map_or(Nanos::ZERO, |cell| cell.high.plus(Nanos::from_ns(1)));
        let from = self.asked.rows.map_or(last, |rows| width.times(rows).max(last));
        // The missing values were either above the last row or lost. If the maximum is below the end of the rows, they
        // were lost.
        if series.max.is_some_and(|max| max < from) {
            notes.push(format!(
                "doubted: {}: {beyond} of {} cycles are in no row, and none can be later than the last row, since the \
                 maximum is not: they are lost",
                series.label,
                series.stated_count.unwrap_or_default()
            ));
            return;
        }
        series.beyond = Some(Beyond { from, count: beyond });
    }

    fn duration(&self) -> Option<Nanos> {
        number::length(&self.body.get("duration")?.to_string(), Unit::S)
    }
}

/// Moves the last row of oslat to `beyond` if the maximum is above it: that row counts everything from its lower edge
/// on.
fn last_of_oslat(series: &mut Series) {
    let end = series.cells.last().map(|cell| cell.high.plus(Nanos::from_ns(1)));
    if series.max.is_some_and(|max| end.is_some_and(|end| max > end)) {
        series.open_last();
    }
}

/// The cells of an object whose keys are rows and whose values are counts.
pub(super) fn cells_of(
    histogram: &Map<String, Value>,
    of: &str,
    cell: impl Fn(&str, u64) -> Option<Cell>,
) -> Result<Vec<Cell>, Problem> {
    let wrong = |key: &str| Problem::new(format!("{of}, histogram: `{key}` is no row with a count"));
    let one =
        |(key, count): (&String, &Value)| count.as_u64().and_then(|count| cell(key, count)).ok_or_else(|| wrong(key));
    ascending(histogram.iter().map(one).collect::<Result<_, _>>()?, of)
}

/// Parses the document. The second value is a note if it had to be repaired.
fn parse(bytes: &[u8]) -> Result<(Map<String, Value>, Option<String>), Problem> {
    match serde_json::from_slice(bytes) {
        Ok(document) => Ok((document, None)),
        Err(error) => {
            let text = String::from_utf8_lossy(bytes);
            let (text, line) = escaped(&text).ok_or_else(|| of_json(&error))?;
            let document = serde_json::from_str(&text).map_err(|_| of_json(&error))?;
            let note = "the command line has quotation marks that were not escaped, so that the file is no valid JSON";
            Ok((document, Some(format!("repaired: line {line}: {note}"))))
        }
    }
}

pub(super) fn of_json(error: &serde_json::Error) -> Problem {
    let what = match error.classify() {
        serde_json::error::Category::Eof => "the file ends before its JSON does: it was cut off".to_owned(),
        _ => format!("not valid JSON: {error}"),
    };
    Problem { line: u64::try_from(error.line()).ok().filter(|line| *line > 0), ..Problem::new(what) }
}

/// The text with quotation marks and backslashes inside the command line escaped, and the number of the line with the
/// command line.
fn escaped(text: &str) -> Option<(String, usize)> {
    let mut repaired = None;
    let lines: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(index, line)| match inside_of_command(line) {
            Some((start, inside, end)) if repaired.is_none() => {
                repaired = Some(index + 1);
                format!("{start}{}{end}", inside.replace('\\', "\\\\").replace('"', "\\\""))
            }
            _ => line.to_owned(),
        })
        .collect();
    repaired.map(|line| (lines.join("\n"), line))
}

fn inside_of_command(line: &str) -> Option<(&str, &str, &str)> {
    let key = line.find("\"cmdline")?;
    let colon = line.get(key + 8..)?.find("\": \"")? + key + 8 + 4;
    let end = line.rfind('"').filter(|end| *end >= colon)?;
    Some((line.get(..colon)?, line.get(colon..end)?, line.get(end..)?))
}

/// The threads of a document by their numbers, which are its keys.
pub(super) fn in_order(threads: &Map<String, Value>) -> Result<Vec<(u64, &Value)>, Problem> {
    let mut indexed = Vec::new();
    for (name, thread) in threads {
        let index = number::count(name).ok_or_else(|| Problem::new(format!("thread `{name}` is no number")))?;
        indexed.push((index, thread));
    }
    indexed.sort_by_key(|(index, _)| *index);
    Ok(indexed)
}
