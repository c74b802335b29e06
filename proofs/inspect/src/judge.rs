//! Compares the document of an inspection with what was planted.

use crate::run::Plant;
use serde_json::Value;
use std::fmt;

/// Share of the cycles that must be seen, in thousandths.
const SEEN_MIN: u64 = 990;
/// Least number of late cycles in which the planted program must have a part. How often its part is the largest is chance: on a
/// busy machine the hypervisor takes the CPU for longer in most of these cycles, so one is enough.
const BLAMED_MIN: u64 = 10;
/// Least time that the planted program takes from a cycle. It takes 300 us if it is woken in time.
const HOG_LEAST_NS: u64 = 150_000;
const PERIOD_NS: u64 = 1_000_000;
/// Largest difference of the period of a loop that keeps a grid.
const PERIOD_OFF_NS: u64 = 1_000;

pub struct Row {
    pub build: &'static str,
    what: String,
    told: String,
    /// Whether the function of the defect was named; `None` if it could not be.
    pub is_named: Option<bool>,
    /// What was told wrong.
    pub wrong: Option<String>,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, told, is_named, wrong, build: _ } = self;
        let named = match is_named {
            Some(true) => "function named",
            Some(false) => "function not named",
            None => "",
        };
        write!(f, "{what:<36} {told:<34} {named:<18} {}", wrong.as_deref().unwrap_or("right"))
    }
}

pub fn row(plant: &Plant, document: &Value) -> Row {
    let what = format!("{} {} every {}", plant.build, plant.kind.word(), plant.every);
    let thread = thread(document);
    let rows: Vec<&Value> = thread["cycles"]["in_the_way"].as_array().into_iter().flatten().collect();
    let hits: Vec<&&Value> =
        rows.iter().filter(|row| Some(row["intruder"].as_str().unwrap_or("")) == plant.kind.intruder()).collect();
    let count: u64 = hits.iter().filter_map(|row| row["count"].as_u64()).sum();
    let function = plant.kind.function().filter(|_| plant.has_functions);
    let is_named = function.map(|function| hits.iter().any(|row| names(plant, function, row)));
    let told = match (plant.kind.intruder(), plant.kind.culprit()) {
        (Some(kind), _) => format!("{kind} {count}x"),
        (None, Some(_)) => format!("blamed: {}", thread["causes"]["causes"][0]["name"]),
        (None, None) => format!("{} rows", rows.len()),
    };
    Row { build: plant.build, what, told, is_named, wrong: wrong(plant, thread, &rows, count, document) }
}

/// Threads with the highest priority come first, and the loop has the highest of its program. Another program that it started is
/// observed as well.
fn thread(document: &Value) -> &Value {
    let is_its = |thread: &&Value| thread["pid"] == document["program"]["pid"];
    document["threads"].as_array().into_iter().flatten().find(is_its).unwrap_or(&Value::Null)
}

/// The number of the loop's thread; zero, which no thread has, if it was not found.
pub fn tid(document: &Value) -> u64 {
    thread(document)["tid"].as_u64().unwrap_or_default()
}

/// Whether a row is told by this function. Without symbols the address of its place tells that.
fn names(plant: &Plant, function: &str, row: &Value) -> bool {
    let code = &row["code"];
    let known: Vec<_> = plant.stripped.iter().filter(|known| known.name.contains(function)).collect();
    if known.is_empty() {
        return code["symbol"].as_str().is_some_and(|symbol| symbol.contains(function));
    }
    let is_in = |code: &Value| {
        let at = code["offset"].as_u64().filter(|_| code["symbol"].is_null());
        at.is_some_and(|at| known.iter().any(|known| known.code.contains(&at)))
    };
    // Without names, nothing tells the functions of Rust's library from those of the program that called them.
    let holds_library = plant.build.starts_with("Rust");
    is_in(code) || holds_library && row["callers"].as_array().is_some_and(|callers| callers.iter().any(is_in))
}

fn wrong(plant: &Plant, thread: &Value, rows: &[&Value], count: u64, document: &Value) -> Option<String> {
    let (kind, cycles) = (plant.kind, &thread["cycles"]);
    let seen = cycles["count"].as_u64().unwrap_or(0);
    if seen * 1000 < plant.cycles.saturating_sub(2) * SEEN_MIN {
        return Some(format!("{seen} of {} cycles seen, {} records lost", plant.cycles, document["lost"]));
    }
    if thread["pace"][kind.pace()].is_null() {
        return Some(format!("pace {}", thread["pace"]));
    }
    let period = cycles["period_ns"].as_u64().unwrap_or(0);
    if kind.finding() != Some("relative-sleep") && period.abs_diff(PERIOD_NS) > PERIOD_OFF_NS {
        return Some(format!("period {period} ns"));
    }
    let findings: Vec<&str> = thread["findings"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if kind.finding().is_some_and(|finding| !findings.contains(&finding)) {
        return Some(format!("findings {findings:?}"));
    }
    if let Some(culprit) = kind.culprit() {
        return not_blamed(culprit, &thread["causes"]);
    }
    if kind.intruder().is_none() && plant.is_alone {
        return (!rows.is_empty())
            .then(|| format!("false findings: {}", rows.iter().copied().cloned().collect::<Value>()));
    }
    kind.intruder()?;
    if kind.has_lower() && plant.is_alone && !rows.iter().any(|row| row["waker"]["is_lower"] == true) {
        return Some("no thread of lower priority is told".to_owned());
    }
    let expected = plant.cycles / plant.every;
    if kind.is_counted() && count + 2 < expected * SEEN_MIN / 1000 {
        return Some(format!("{count} of {expected} seen"));
    }
    (count == 0).then(|| "not seen".to_owned())
}

/// What is wrong with the causes of late cycles, where this program took the CPU from the loop.
fn not_blamed(culprit: &str, explanation: &Value) -> Option<String> {
    let mut causes = explanation["causes"].as_array().into_iter().flatten();
    let Some(cause) = causes.find(|cause| cause["name"] == culprit && cause["class"] == "higher-priority") else {
        return Some(format!("{culprit} is not blamed: {}", explanation["causes"]));
    };
    let [count, first, worst] = ["count", "first_in", "worst_ns"].map(|name| cause[name].as_u64().unwrap_or(0));
    (count < BLAMED_MIN || first == 0 || worst < HOG_LEAST_NS)
        .then(|| format!("{culprit}: in {count}, first in {first}, at most {worst} ns"))
}
