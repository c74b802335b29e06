//! The answers to questions about many machines: a table, and the answer in the last lines.

use crate::render::document::{self, Published};
use crate::render::lang::{for_people, tr};
use crate::render::sheet::table::Table;
use crate::render::sheet::{Sheet, Style, Tone};
use crate::render::units;
use crate::render::words::command::Command;
use punctual_numbers::fleet::shared::Shared;
use punctual_numbers::fleet::{Answer, Brought, FleetNewest, GroupRow, MachineRow, Newest};
use punctual_numbers::stats::float::float;
use punctual_numbers::trend::Changed;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// Number of rows of a table that are printed; `--json` and `--csv` hold them all.
const SHOWN: usize = 20;

/// An answer, with the real names of masked machines, if this user may know them.
pub struct Asked<'a> {
    pub answer: &'a Answer,
    pub names: &'a BTreeMap<String, String>,
    pub pack: &'a Path,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::render) struct FleetDocument<'a> {
    /// Path of the folder with the tables.
    tables: String,
    #[serde(flatten)]
    answer: &'a Answer,
}

impl Published for FleetDocument<'_> {
    const SCHEMA: &'static str = "punctual/fleet-answer/1";
}

pub fn json(asked: &Asked<'_>) -> serde_json::Result<String> {
    document::document(&FleetDocument { tables: asked.pack.display().to_string(), answer: asked.answer })
}

/// The rows of the engine as CSV, with the columns in alphabetical order.
pub fn csv(rows: &[Map<String, Value>]) -> String {
    let field = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) if text.contains(['"', ',', '\n', '\r']) => format!("\"{}\"", text.replace('"', "\"\"")),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let head = rows.first().map(|row| row.keys().cloned().collect::<Vec<_>>().join(","));
    let lines = rows.iter().map(|row| row.values().map(field).collect::<Vec<_>>().join(","));
    head.into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

/// The answer for people: a table, and the answer in the last lines. With `brief`, the answer alone, which programs read
/// as well, so it stays English.
pub fn text(asked: &Asked<'_>, brief: bool, style: Style) -> String {
    if brief { answered(asked, true, style) } else { for_people(|| answered(asked, false, style)) }
}

fn answered(asked: &Asked<'_>, brief: bool, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    let (title, table, total) = table(asked);
    if !brief && total > 0 {
        sheet.heading(title);
        sheet.table(&table);
        if total > SHOWN {
            sheet.paragraph(2, &tr!("and {more} more: --json, --csv", more = units::count((total - SHOWN) as u64)));
        }
    }
    if !brief {
        sheet.gap();
    }
    let (tone, lead, rest) = verdict(asked);
    sheet.hanging_paragraph(0, 2, tone, &lead, &rest);
    if let (Some((why, command)), false) = (next(asked), brief) {
        sheet.answer_next(&why, &command, None);
    }
    sheet.finish()
}

impl Asked<'_> {
    fn machine(&self, name: &str) -> String {
        self.names.get(name).map_or_else(|| name.to_owned(), |known| format!("{name} ({known})"))
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn points(low: f64, high: f64) -> String {
    let whole = |share: f64| format!("{:+.0}", share * 100.0);
    tr!("{low} to {high}", low = whole(low), high = whole(high))
}

fn odds(of: f64) -> String {
    if of < 0.001 { "< 0.001".to_owned() } else { format!("{of:.3}") }
}

fn change(ratio: f64) -> String {
    format!("{:+.0} %", (ratio - 1.0) * 100.0)
}

fn percentile(ppm: u32) -> String {
    crate::render::words::compare::percentile(ppm)
}

/// The title, the table of the first rows, and the number of all rows.
fn table(asked: &Asked<'_>) -> (&'static str, Table, usize) {
    match asked.answer {
        Answer::Worst { machines } => (tr!("Machines, the worst first"), worst(asked, machines), machines.len()),
        Answer::Shared { candidates } => {
            (tr!("Bad machines with and without each finding"), shared(candidates), candidates.len())
        }
        Answer::Brought { changes } => {
            (tr!("Changes, and the machines on which misses rose or fell"), brought(changes), changes.len())
        }
        Answer::Changed { differences, .. } => {
            (tr!("What differs from the machine's last good run"), changed(differences), differences.len())
        }
        Answer::Percentiles { groups } => {
            (tr!("Latency in us, over the activations that ran"), percentiles(groups), groups.len())
        }
        Answer::Newest { machines, .. } => (
            tr!("The newest run of each machine, compared with its earlier runs"),
            newest(asked, machines),
            machines.len(),
        ),
    }
}

fn worst(asked: &Asked<'_>, machines: &[MachineRow]) -> Table {
    let mut table =
        Table::new(&[tr!("<machine"), tr!(">runs"), tr!(">due"), tr!(">missed"), tr!(">largest us"), tr!("<need")]);
    for of in machines.iter().take(SHOWN) {
        table.row([
            asked.machine(&of.machine),
            units::count(of.runs),
            units::count(of.due),
            units::count(of.missed),
            units::column_us(of.max),
            if of.bad { tr!("missed") } else { tr!("held") }.to_owned(),
        ]);
    }
    table
}

fn shared(candidates: &[Shared]) -> Table {
    let mut table =
        Table::new(&[tr!("<finding"), tr!(">with"), tr!(">without"), tr!(">lift"), tr!(">points"), tr!(">odds")]);
    for of in candidates.iter().take(SHOWN) {
        table.row([
            of.candidate.clone(),
            tr!("{part} of {whole}", part = of.bad_with, whole = of.machines_with),
            tr!("{part} of {whole}", part = of.bad_without, whole = of.machines_without),
            of.lift.map_or_else(|| "-".to_owned(), |lift| format!("{lift:.1}x")),
            points(of.low, of.high),
            odds(of.odds),
        ]);
    }
    table
}

fn brought(changes: &[Brought]) -> Table {
    let mut table = Table::new(&[
        tr!("<what"),
        tr!("<was"),
        tr!("<became"),
        tr!(">machines"),
        tr!(">worse"),
        tr!(">better"),
        tr!(">odds"),
    ]);
    for of in changes.iter().take(SHOWN) {
        table.row([
            of.item.clone(),
            of.was.clone(),
            of.became.clone(),
            units::count(of.machines),
            units::count(of.worse),
            units::count(of.better),
            odds(of.odds),
        ]);
    }
    table
}

fn changed(differences: &[Changed]) -> Table {
    let mut table = Table::new(&[tr!("<what"), tr!("<was"), tr!("<became")]);
    for of in differences.iter().take(SHOWN) {
        let told = |value: &Option<String>| value.clone().unwrap_or_else(|| tr!("not recorded").to_owned());
        table.row([of.item.clone(), told(&of.was), told(&of.became)]);
    }
    table
}

fn percentiles(groups: &[GroupRow]) -> Table {
    let mut table = Table::new(&[
        tr!("<group"),
        tr!(">activations"),
        ">p50",
        ">p99",
        ">p99.9",
        ">p99.99",
        ">p99.999",
        tr!(">largest"),
    ]);
    for of in groups.iter().take(SHOWN) {
        let values = [of.p50, of.p99, of.p99_9, of.p99_99, of.p99_999, of.max].map(units::column_us);
        table.row([of.group.clone(), units::count(of.activations)].into_iter().chain(values));
    }
    table
}

fn newest(asked: &Asked<'_>, machines: &[Newest]) -> Table {
    let mut table = Table::new(&[
        tr!("<machine"),
        tr!(">earlier runs"),
        tr!("<percentile"),
        tr!(">change"),
        tr!(">limits"),
        tr!(">odds"),
    ]);
    for of in machines.iter().take(SHOWN) {
        let told = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        table.row([
            asked.machine(&of.machine),
            of.before.to_string(),
            told(of.percentile_ppm.map(percentile)),
            told(of.ratio.map(change)),
            told(of.low.zip(of.high).map(|(low, high)| tr!("{low} to {high}", low = change(low), high = change(high)))),
            told(of.odds.map(odds)),
        ]);
    }
    table
}

/// The answer in one sentence: its tone, its first words, and the rest.
fn verdict(asked: &Asked<'_>) -> (Tone, String, String) {
    let bad = |lead: &str, rest: String| (Tone::Bad, lead.to_owned(), rest);
    let percents = |part, whole| percent(of_share(part, whole));
    let good = |lead: &str, rest: &str| (Tone::Good, lead.to_owned(), rest.to_owned());
    match asked.answer {
        Answer::Worst { machines } => match machines.first() {
            None => (Tone::Doubt, tr!("NO RECORDINGS:").to_owned(), tr!("the tables hold no measurement.").to_owned()),
            Some(of) if of.bad => bad(
                tr!("MISSED:"),
                tr!(
                    "{machine} missed {missed} of {due} releases.",
                    machine = asked.machine(&of.machine),
                    missed = units::count(of.missed),
                    due = units::count(of.due)
                ),
            ),
            Some(_) => good(tr!("HELD:"), tr!("no machine misses more releases than are accepted.")),
        },
        Answer::Shared { candidates } => match candidates.first().filter(|first| first.named) {
            Some(first) => bad(
                tr!("SHARED:"),
                tr!(
                    "{finding}: {having} of the machines that have it are bad, {others} of the other machines \
                    (difference {limits} percentage points, 95 % limits for all findings at once).",
                    finding = first.candidate,
                    having = percents(first.bad_with, first.machines_with),
                    others = percents(first.bad_without, first.machines_without),
                    limits = points(first.low, first.high)
                ),
            ),
            None => {
                good(tr!("NOTHING SHARED:"), tr!("no finding stands out among the bad machines by more than chance."))
            }
        },
        Answer::Brought { changes } => match changes.first().filter(|first| first.named) {
            Some(first) => bad(
                tr!("BROUGHT BY:"),
                tr!(
                    "{item} from {was} to {became}: {worse} of {machines} machines are worse since.",
                    item = first.item,
                    was = first.was,
                    became = first.became,
                    worse = first.worse,
                    machines = first.machines
                ),
            ),
            None => good(tr!("NOTHING:"), tr!("no change made more machines worse than chance does.")),
        },
        Answer::Changed { machine, differences } if differences.is_empty() => (
            Tone::Doubt,
            tr!("NOTHING DIFFERS:").to_owned(),
            tr!(
                "{machine} is good now, was never good, or no recorded setting has changed.",
                machine = asked.machine(machine)
            ),
        ),
        Answer::Changed { machine, differences } => bad(
            tr!("CHANGED:"),
            tr!(
                "{differences} on {machine}.",
                differences = units::counted(differences.len() as u64, "difference"),
                machine = asked.machine(machine)
            ),
        ),
        Answer::Percentiles { groups } => (
            Tone::Heading,
            tr!("EXACT:").to_owned(),
            tr!("{groups}, each from its merged histograms.", groups = units::counted(groups.len() as u64, "group")),
        ),
        Answer::Newest { fleet, machines } => newest_verdict(asked, fleet, machines),
    }
}

fn of_share(part: u64, whole: u64) -> f64 {
    float(part) / float(whole.max(1))
}

fn newest_verdict(asked: &Asked<'_>, fleet: &[FleetNewest], machines: &[Newest]) -> (Tone, String, String) {
    let worse: Vec<&Newest> = machines.iter().filter(|of| of.worse).collect();
    let all = fleet.iter().find(|of| of.worse);
    if let Some(of) = all {
        let rest = tr!(
            "over {machines}, {percentile} of the newest runs differs by {change} ({low} to {high}) from that of the \
            runs before.",
            machines = units::counted(of.machines as u64, "machine"),
            percentile = percentile(of.percentile_ppm),
            change = change(of.ratio),
            low = change(of.low),
            high = change(of.high)
        );
        return (Tone::Bad, tr!("WORSE:").to_owned(), rest);
    }
    match worse.first() {
        Some(first) => (
            Tone::Bad,
            tr!("WORSE:").to_owned(),
            tr!(
                "{worse} of {machines}; the most certain is {surest}.",
                worse = worse.len(),
                machines = units::counted(machines.len() as u64, "machine"),
                surest = asked.machine(&first.machine)
            ),
        ),
        None if machines.iter().all(|of| of.odds.is_none()) => {
            (Tone::Doubt, tr!("CANNOT TELL:").to_owned(), tr!("no machine has nine long enough runs.").to_owned())
        }
        None => (
            Tone::Good,
            tr!("NOT WORSE:").to_owned(),
            tr!("no newest run stands out from the runs before it.").to_owned(),
        ),
    }
}

fn next(asked: &Asked<'_>) -> Option<(String, String)> {
    let pack = asked.pack.display().to_string();
    let ask = |question: &str| Command::new(["fleet", "ask", &pack, question]).to_string();
    match asked.answer {
        Answer::Worst { machines } if machines.first().is_some_and(|of| of.bad) => {
            Some((tr!("Ask what the bad machines share:").to_owned(), ask("shared")))
        }
        Answer::Shared { candidates } => {
            let first = candidates.first().filter(|first| first.named)?;
            Some((
                tr!("Read what it does and how to change it:").to_owned(),
                Command::new(["audit", "--explain", &first.candidate]).to_string(),
            ))
        }
        Answer::Newest { machines, .. } if machines.iter().any(|of| of.worse) => {
            Some((tr!("Ask which change made machines worse:").to_owned(), ask("brought")))
        }
        _ => None,
    }
}
