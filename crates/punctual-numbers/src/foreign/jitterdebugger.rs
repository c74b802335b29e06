//! Reads `results.json` of jitterdebugger.
//!
//! The keys below `cpu` are threads in their order, not CPUs. Values above the histogram are included in `count` and in
//! the extremes, but are in no cell. `resolution_in_ns` shows the unit of the cells.

use super::number::{self, Unit};
use super::rt_tests::{cells_of, in_order, machine, of_json};
use super::{Beyond, Cell, ForeignRun, MOST_COLUMNS, Problem, Series};
use punctual_hist::Nanos;
use serde_json::{Map, Value};

pub(super) fn read(bytes: &[u8]) -> Result<ForeignRun, Problem> {
    let document: Map<String, Value> = serde_json::from_slice(bytes).map_err(|error| of_json(&error))?;
    let resolution = document.get("sysinfo").and_then(|info| info.get("resolution_in_ns"));
    let unit = match resolution.and_then(Value::as_u64) {
        Some(1) => Unit::Ns,
        Some(1_000) | None => Unit::Us,
        Some(other) => return Err(Problem::new(format!("`resolution_in_ns` is {other}, where 1 and 1000 are known"))),
    };
    let threads = document.get("cpu").and_then(Value::as_object);
    let threads = threads.ok_or_else(|| Problem::new("there is no `cpu` in it"))?;
    if threads.len() > MOST_COLUMNS {
        return Err(Problem::new(format!("{} threads, more than any machine has", threads.len())));
    }
    let mut run = ForeignRun {
        program: Some("jitterdebugger".to_owned()),
        machine: machine(&document),
        notes: vec![
            "jitterdebugger numbers its threads, not the CPUs they ran on, and keeps neither period nor length"
                .to_owned(),
        ],
        ..ForeignRun::default()
    };
    for (index, thread) in in_order(threads)? {
        run.series.push(series(index, thread, unit)?);
    }
    Ok(run)
}

fn series(index: u64, thread: &Value, unit: Unit) -> Result<Series, Problem> {
    let label = format!("thread {index}");
    let width = Nanos::from_ns(unit.ns());
    let cell = |key: &str, count| Some(Cell::of_width(number::count(key)?, width, count));
    let cells = match thread.get("histogram").and_then(Value::as_object) {
        Some(histogram) => cells_of(histogram, &label, cell)?,
        None => Vec::new(),
    };
    let point = |name: &str| number::length(&thread.get(name)?.to_string(), unit);
    let stated_count = thread.get("count").and_then(Value::as_u64);
    let held = cells.iter().fold(0u64, |sum, cell| sum.saturating_add(cell.count));
    let last = cells.last().map_or(Nanos::ZERO, |cell| cell.high.plus(Nanos::from_ns(1)));
    let max = point("max");
    let rest = stated_count.and_then(|stated| stated.checked_sub(held)).filter(|rest| *rest > 0);
    let later = rest.filter(|_| max.is_some_and(|max| max >= last));
    let beyond = later.map(|count| Beyond { from: last, count });
    let mean = point("avg");
    Ok(Series { label, cells, beyond, min: point("min"), mean, max, grain: width, stated_count, ..Series::default() })
}
