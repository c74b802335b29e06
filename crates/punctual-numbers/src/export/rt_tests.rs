//! Writes the JSON of rt-tests, which `KernelCI`, `OpenShift` and others read. Keys of its wrapper end in a colon.

use super::{NotExported, Rows, US, has_histogram, largest, marks, rows_of};
use crate::foreign::{ForeignRun, Series};
use punctual_facts::machine::MachineLine;
use punctual_hist::Nanos;
use serde_json::{Map, Value, json};

/// Writes a run as JSON of rt-tests. As in the JSON of cyclictest, values above the last row are included in `cycles`
/// but are in no row.
pub fn rt_tests(run: &ForeignRun) -> Result<String, NotExported> {
    has_histogram(run)?;
    let rows = rows_of(run);
    let facts = ["sysname", "nodename", "release", "version", "machine", "realtime"];
    let own = |name: &str, value: &str| match (name, value.parse::<u64>()) {
        ("realtime", Ok(number)) => Value::from(number),
        _ => Value::from(value),
    };
    let info = |name: &str| Some((name.to_owned(), own(name, MachineLine::of(&run.machine, name)?)));
    let sysinfo: Map<String, Value> = facts.into_iter().filter_map(info).collect();
    let threads = run.series.iter().enumerate();
    let threads: Map<String, Value> =
        threads.map(|(index, series)| (index.to_string(), thread(run, series, rows))).collect();
    let mut document = json!({
        "file_version": 1,
        "cmdline:": run.command.as_deref().or(run.program.as_deref()).unwrap_or_default(),
        "rt_test_version:": version(run),
        "start_time": run.started.as_deref().unwrap_or_default(),
        "end_time": "",
        "return_code": 0,
        "sysinfo": sysinfo,
        "num_threads": run.series.len(),
        "resolution_in_ns": 0,
        "thread": threads,
    });
    let notes: Vec<String> = marks(run).collect();
    if let (false, Some(document)) = (notes.is_empty(), document.as_object_mut()) {
        document.insert("notes".to_owned(), Value::from(notes));
    }
    serde_json::to_string_pretty(&document)
        .map(|text| text + "\n")
        .map_err(|error| NotExported::Failed(error.to_string()))
}

/// The version of rt-tests, or the name and version of the other program that measured.
fn version(run: &ForeignRun) -> &str {
    let program = run.program.as_deref().unwrap_or_default();
    program.strip_prefix("rt-tests ").unwrap_or(program)
}

fn thread(run: &ForeignRun, series: &Series, rows: u64) -> Value {
    let rows = Rows::of(series, rows);
    let cycles = rows.counts.values().fold(rows.later, |sum, count| sum.saturating_add(*count));
    let histogram: Map<String, Value> =
        rows.counts.iter().map(|(row, count)| (row.to_string(), Value::from(*count))).collect();
    // The mean is written in microseconds with two decimals.
    let mean = series.mean.map(|mean| mean.as_ns() / 10);
    let mean = mean.and_then(|mean| serde_json::from_str(&format!("{}.{:02}", mean / 100, mean % 100)).ok());
    let us = |length: Option<Nanos>| length.map(|length| Value::from(length.whole(US)));
    let known = [
        ("histogram", Some(Value::from(histogram))),
        ("cycles", Some(Value::from(cycles))),
        ("min", us(series.smallest())),
        ("max", us(largest(series, run))),
        ("avg", mean),
        ("cpu", Some(Value::from(series.cpu.map_or(-1, i64::from)))),
        ("node", Some(Value::from(-1))),
    ];
    known.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}
