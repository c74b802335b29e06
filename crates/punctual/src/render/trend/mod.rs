//! A series of runs as text, one line, JSON, CSV and a page.

mod html;
#[cfg(test)]
mod tests;

pub use html::html;

use super::document::{self, Published};
use super::lang::{for_people, said, tr};
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
    tr!(
        "{percentile} from {before} to {after} ({change}, 95 % limits {low} to {high})",
        percentile = percentile(of.percentile_ppm),
        before = units::latency(of.before),
        after = units::latency(of.after),
        change = change(of.ratio),
        low = change(of.low),
        high = change(of.high),
    )
}

fn setting(of: &Changed) -> String {
    let told = |value: &Option<String>| value.clone().unwrap_or_else(|| tr!("not recorded").to_owned());
    tr!("{item}: {was} became {became}", item = of.item, was = told(&of.was), became = told(&of.became))
}

/// The verdict: its tone, its word, and a sentence.
fn verdict(trend: &Trend) -> (Tone, &'static str, String) {
    let runs = units::counted(trend.runs.len() as u64, "run");
    let (tone, word) = match trend.verdict {
        Verdict::Worse => (Tone::Bad, tr!("WORSE:")),
        Verdict::Better => (Tone::Good, tr!("BETTER:")),
        Verdict::Steady => (Tone::Good, tr!("STEADY:")),
        Verdict::TooFew => (Tone::Doubt, tr!("TOO FEW RUNS:")),
    };
    let what = match (trend.verdict, trend.drifts.last(), trend.shifts.last()) {
        (Verdict::TooFew, _, _) => {
            tr!("{runs}; at least {least} are needed to show a shift.", runs, least = punctual_numbers::trend::RUNS_MIN)
        }
        (_, Some(drift), _) => {
            let last = drift.to + 1 - drift.from;
            tr!("{moved} over the last {last} of {runs}.", moved = moved(&drift.moved), last, runs)
        }
        (_, None, Some(shift)) => {
            let largest = shift.moved.first().map(moved).unwrap_or_default();
            tr!("{largest} since {run} (run {at} of {runs}).", largest, run = shift.run, at = shift.at + 1, runs)
        }
        (_, None, None) => tr!("no shift and no drift in {runs}.", runs),
    };
    (tone, word, what)
}

pub fn brief(trend: &Trend) -> String {
    let (_, word, what) = verdict(trend);
    format!("{word} {what}").replace(units::THIN, " ")
}

pub fn text(told: &Told<'_>, style: Style) -> String {
    for_people(|| in_words(told, style))
}

fn in_words(told: &Told<'_>, style: Style) -> String {
    let trend = told.trend;
    let mut sheet = Sheet::new(style);
    shifts(&mut sheet, trend);
    if !told.left_out.is_empty() {
        sheet.heading(tr!("Left out"));
        for why in told.left_out.iter().take(5) {
            sheet.point(2, &said(why));
        }
        if let Some(more) = told.left_out.len().checked_sub(5).filter(|more| *more > 0) {
            sheet.paragraph(2, &tr!("and {more} more: --json", more));
        }
    }
    sheet.gap();
    let (tone, word, what) = verdict(trend);
    sheet.hanging_paragraph(0, 2, tone, word, &what);
    if let Some(shift) = trend.shifts.last() {
        let told = match shift.changed.as_slice() {
            [] => tr!("no recorded setting changed with the shift").to_owned(),
            changed => changed.iter().take(CHANGED_SHOWN).map(setting).collect::<Vec<_>>().join("; "),
        };
        let more = shift.changed.len().saturating_sub(CHANGED_SHOWN);
        let more = if more > 0 { tr!("; and {more} more", more) } else { String::new() };
        sheet.answer(tr!("Changed"), &format!("{told}{more}."));
    }
    if trend.verdict != Verdict::TooFew {
        sheet.answer(tr!("How sure"), &how_sure(trend));
    }
    if let Some(page) = told.page {
        sheet.answer(tr!("Page"), &page.display().to_string());
    }
    if let Some(command) = compare(trend) {
        sheet.answer_next(tr!("Compare the runs before and after:"), &command, None);
    }
    sheet.finish()
}

fn shifts(sheet: &mut Sheet, trend: &Trend) {
    if trend.shifts.is_empty() {
        return;
    }
    sheet.heading(tr!("Shifts"));
    let mut table = Table::new(&[
        tr!("<since run"),
        tr!("<percentile"),
        tr!(">before us"),
        tr!(">after us"),
        tr!(">change"),
        tr!(">seen after"),
    ]);
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
        let part = format!("{:.0}", (part * 100.0).max(trend.options.margin * 100.0));
        tr!(" A shift of {part} % or more would show in the next three runs.", part)
    });
    let resemblance = trend.resemblance.filter(|of| *of >= 0.2).map_or_else(String::new, |of| {
        tr!(" Neighbouring runs are correlated ({of}), which is taken into account.", of = format!("{of:.1}"))
    });
    tr!(
        "shifts are judged by how much runs differ; {accepted} in 1000 runs may raise a false \
        alarm.{resemblance}{sight}",
        accepted,
        resemblance,
        sight,
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
