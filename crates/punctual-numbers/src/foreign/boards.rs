//! Tables of boards as vendors print them, put into JSON: for each board a list by core of `total`, `min`, `avg` and `max`
//! in microseconds, and a `source` that quotes the command.
//!
//! A table has no histogram. The only check possible is whether its totals fit the length of the run.

use super::command;
use super::rt_tests::of_json;
use super::run::Stated;
use super::{ForeignRun, MOST_COLUMNS, Problem, Series};
use punctual_hist::Nanos;
use serde_json::{Map, Value};

pub(super) fn read(bytes: &[u8]) -> Result<ForeignRun, Problem> {
    let document: Map<String, Value> = serde_json::from_slice(bytes).map_err(|error| of_json(&error))?;
    let source = document.get("source").and_then(Value::as_str).unwrap_or_default();
    let quoted = quoted(source);
    let asked = quoted.as_deref().map(command::asked).unwrap_or_default();
    let mut run = ForeignRun {
        program: quoted.is_some().then(|| "cyclictest".to_owned()),
        machine: vec![("source", source).into()],
        duration: asked.duration.map(|length| Stated { length, grain: Nanos::from_secs(1) }),
        notes: vec!["there is no histogram in it: percentiles are not known".to_owned()],
        command: quoted,
        ..ForeignRun::default()
    };
    for (board, table) in &document {
        let Some(table) = table.as_object() else { continue };
        let total = column(board, table, "total")?;
        let (min, avg, max) =
            (column(board, table, "min")?, column(board, table, "avg")?, column(board, table, "max")?);
        if [&min, &avg, &max].iter().any(|column| column.len() != total.len()) {
            return Err(Problem::new(format!("{board}: total, min, avg and max are not for the same number of cores")));
        }
        if total.len() > MOST_COLUMNS {
            return Err(Problem::new(format!("{board}: {} cores, more than any machine has", total.len())));
        }
        for (core, total) in total.iter().enumerate() {
            let us = |column: &[u64]| column.get(core).copied().map(Nanos::from_us);
            run.series.push(Series {
                label: format!("{board} CPU {core}"),
                cpu: u32::try_from(core).ok(),
                period: asked.period(core as u64),
                min: us(&min),
                mean: us(&avg),
                max: us(&max),
                grain: Nanos::from_us(1),
                stated_count: Some(*total),
                ..Series::default()
            });
        }
    }
    if run.series.is_empty() {
        return Err(Problem::new("no table of a board is in it"));
    }
    Ok(run)
}

fn column(board: &str, table: &Map<String, Value>, name: &str) -> Result<Vec<u64>, Problem> {
    let values = table.get(name).and_then(Value::as_array);
    let values = values.ok_or_else(|| Problem::new(format!("{board}: there is no list `{name}`")))?;
    let bad = || Problem::new(format!("{board}: `{name}` holds something that is no whole number"));
    values.iter().map(|value| value.as_u64().ok_or_else(bad)).collect()
}

/// The command line `cyclictest OPTIONS`, with the options that `source` states in brackets behind that word.
fn quoted(source: &str) -> Option<String> {
    let (_, after) = source.split_once("cyclictest")?;
    let inside = after.split_once('(').map_or(after, |(_, inside)| inside);
    let options = inside.split_once(')').map_or(inside, |(inside, _)| inside);
    Some(format!("cyclictest {}", options.trim()))
}
