//! A series of runs as text, one line, JSON, CSV and a page.

mod html;

pub use html::html;

use super::document::{self, Published};
use super::sheet::table::Table;
use super::sheet::{Sheet, Style, Tone};
use super::units;
use super::words::command::Command;
use super::words::compare::percentile;
use punctual_numbers::trend::{Changed, Moved, Trend, Verdict, WATCHED_PPM};
use serde::Serialize;
use std::path::Path;

/// Number of changed settings that are named for one shift.
const CHANGED_SHOWN: usize = 6;
/// Number of recordings on each side of the command that compares them.
const COMPARED: usize = 8;

/// A series, and what was left out of it.
pub struct Told<'a> {
    pub trend: &'a Trend,
    /// Files that are not part of the series, each with the reason.
    pub left_out: &'a [String],
    pub page: Option<&'a Path>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::render) struct TrendDocument<'a> {
    #[serde(flatten)]
    trend: &'a Trend,
    /// Files that are not part of the series, each with the reason.
    left_out: &'a [String],
}

impl Published for TrendDocument<'_> {
    const SCHEMA: &'static str = "punctual/trend/1";
}

pub fn json(told: &Told<'_>) -> serde_json::Result<String> {
    document::document(&TrendDocument { trend: told.trend, left_out: told.left_out })
}

/// One line for each run: time in seconds since 1970, name, percentiles and the largest latency in nanoseconds, misses.
/// Apache Otava takes `time` for the column of times, `run` for an attribute, and every other one for a metric.
pub fn csv(trend: &Trend) -> String {
    let names = WATCHED_PPM.map(|ppm| format!("{}_ns", percentile(ppm).replace('.', "_")));
    let mut lines = vec![format!("time,run,{},max_ns,due,missed", names.join(","))];
    for run in &trend.runs {
        let told =
            |value: Option<punctual_hist::Nanos>| value.map_or_else(String::new, |value| value.as_ns().to_string());
        let values = WATCHED_PPM.map(|ppm| told(run.at(ppm))).join(",");
        let name = format!("\"{}\"", run.name.replace('"', "\"\""));
        let started = run.started_unix_ns / 1_000_000_000;
        lines.push(format!("{started},{name},{values},{},{},{}", told(run.max), run.due, run.missed));
    }
    lines.join("\n")
}

fn change(ratio: f64) -> String {
    format!("{:+.0} %", (ratio - 1.0) * 100.0)
}

fn moved(of: &Moved) -> String {
    format!(
        "{} {} to {} ({}, 95 % limits {} to {})",
        percentile(of.percentile_ppm),
        units::latency(of.before),
        units::latency(of.after),
        change(of.ratio),
        change(of.low),
        change(of.high)
    )
}

fn setting(of: &Changed) -> String {
    let told = |value: &Option<String>| value.clone().unwrap_or_else(|| "not recorded".to_owned());
    format!("{}: {} became {}", of.item, told(&of.was), told(&of.became))
}

/// The verdict: its tone, its word, and a sentence.
fn verdict(trend: &Trend) -> (Tone, &'static str, String) {
    let runs = units::counted(trend.runs.len() as u64, "run");
    let (tone, word) = match trend.verdict {
        Verdict::Worse => (Tone::Bad, "WORSE:"),
        Verdict::Better => (Tone::Good, "BETTER:"),
        Verdict::Steady => (Tone::Good, "STEADY:"),
        Verdict::TooFew => (Tone::Doubt, "TOO FEW RUNS:"),
    };
    let what = match (trend.verdict, trend.drifts.last(), trend.shifts.last()) {
        (Verdict::TooFew, _, _) => {
            format!("{runs}; a shift shows from {} runs on.", punctual_numbers::trend::RUNS_MIN)
        }
        (_, Some(drift), _) => {
            format!("{} over the last {} of {runs}.", moved(&drift.moved), drift.to + 1 - drift.from)
        }
        (_, None, Some(shift)) => {
            let largest = shift.moved.first().map(moved).unwrap_or_default();
            format!("{largest} since {} (run {} of {runs}).", shift.run, shift.at + 1)
        }
        (_, None, None) => format!("no shift and no drift in {runs}."),
    };
    (tone, word, what)
}

pub fn brief(trend: &Trend) -> String {
    let (_, word, what) = verdict(trend);
    format!("{word} {what}").replace(units::THIN, " ")
}

pub fn text(told: &Told<'_>, style: Style) -> String {
    let trend = told.trend;
    let mut sheet = Sheet::new(style);
    shifts(&mut sheet, trend);
    if !told.left_out.is_empty() {
        sheet.heading("Left out");
        for why in told.left_out.iter().take(5) {
            sheet.point(2, why);
        }
        if let Some(more) = told.left_out.len().checked_sub(5).filter(|more| *more > 0) {
            sheet.paragraph(2, &format!("and {more} more: --json"));
        }
    }
    sheet.gap();
    let (tone, word, what) = verdict(trend);
    sheet.hanging_paragraph(0, 2, tone, word, &what);
    if let Some(shift) = trend.shifts.last() {
        let told = match shift.changed.as_slice() {
            [] => "nothing that is recorded changed with it".to_owned(),
            changed => changed.iter().take(CHANGED_SHOWN).map(setting).collect::<Vec<_>>().join("; "),
        };
        let more = shift.changed.len().saturating_sub(CHANGED_SHOWN);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        sheet.answer("Changed", &format!("{told}{more}."));
    }
    if trend.verdict != Verdict::TooFew {
        sheet.answer("How sure", &how_sure(trend));
    }
    if let Some(page) = told.page {
        sheet.answer("Page", &page.display().to_string());
    }
    if let Some(command) = compare(trend) {
        sheet.answer_next("Compare the runs before and after:", &command, None);
    }
    sheet.finish()
}

fn shifts(sheet: &mut Sheet, trend: &Trend) {
    if trend.shifts.is_empty() {
        return;
    }
    sheet.heading("Shifts");
    let mut table = Table::new(&["<since run", "<percentile", ">before us", ">after us", ">change", ">found after"]);
    for shift in &trend.shifts {
        for of in &shift.moved {
            table.row([
                format!("{} {}", shift.at + 1, shift.run),
                percentile(of.percentile_ppm),
                units::column_us(Some(of.before)),
                units::column_us(Some(of.after)),
                change(of.ratio),
                units::counted(shift.found_after as u64, "run"),
            ]);
        }
    }
    sheet.table(&table);
}

fn how_sure(trend: &Trend) -> String {
    let accepted = trend.options.false_alarms_per_1000;
    let sight = trend.smallest_seen.map_or_else(String::new, |part| {
        format!(" The next three runs would show a shift of {:.0} %.", (part * 100.0).max(trend.options.margin * 100.0))
    });
    let resemblance = trend.resemblance.filter(|of| *of >= 0.2).map_or_else(String::new, |of| {
        format!(" Neighbouring runs resemble each other ({of:.1}), which is allowed for.")
    });
    format!(
        "runs are held against how much runs differ; {accepted} in 1000 runs may raise a false alarm.{resemblance}{sight}"
    )
}

/// The command that compares the runs before and after the last shift.
fn compare(trend: &Trend) -> Option<String> {
    let shift = trend.shifts.last()?;
    let before = trend.runs.get(shift.at.saturating_sub(COMPARED)..shift.at)?;
    let after = trend.runs.get(shift.at..trend.runs.len().min(shift.at + COMPARED))?;
    let names = |runs: &[punctual_numbers::trend::Run]| runs.iter().map(|run| run.name.clone()).collect::<Vec<_>>();
    let words = ["compare".to_owned(), "--a".to_owned()].into_iter().chain(names(before));
    Some(Command::new(words.chain(["--b".to_owned()]).chain(names(after))).to_string())
}
