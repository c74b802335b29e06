//! What a watch says while it runs, and the history of its store as text and as JSON.

#[cfg(test)]
mod tests;
mod words;

pub use words::{begun, ended, installed, no_day, said, uninstalled, unit};

use super::clean::shortened;
use super::document::Published;
use super::lang::{self, tr};
use super::sheet::{Sheet, Style, table::Table};
use super::units::{self, THIN, counted};
use super::words::command::Command;
use punctual_numbers::watch::{Day, History};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::Path;

/// Days that the table without `--full` has: the last ones, and the ones with the largest latencies.
const LAST_DAYS: usize = 10;
const WORST_DAYS: usize = 5;
/// Times without watching that are told one by one, the longest.
const GAPS_SHOWN: usize = 4;
/// Width of the last column, so that the table fits on a terminal of 80 columns.
const CAUSE_WIDTH: usize = 24;
/// What the watch said about itself that is repeated, the last.
const NOTES_SHOWN: usize = 3;

/// The document of `punctual report FOLDER --json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WatchDocument<'a> {
    /// The folder of the store.
    pub store: String,
    /// Size of all segments.
    pub bytes: u64,
    #[serde(flatten)]
    pub history: &'a History,
}

impl Published for WatchDocument<'_> {
    const SCHEMA: &'static str = "punctual/watch/1";
}

/// The answer in one line, for scripts and CI logs.
pub fn brief(history: &History, folder: &Path) -> String {
    let line = format!("{} {} {}", words::verdict(history).1, words::worst(history), words::watched(history));
    format!("{} ({})", line, folder.display()).replace(THIN, " ")
}

/// The days, the gaps, and the answer in the last lines.
pub fn text(history: &History, folder: &Path, bytes: u64, full: bool, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    sheet.heading(&tr!("Watch in {folder}", folder = folder.display()));
    sheet.paragraph(2, &words::span(history));
    sheet.paragraph(2, &words::what(history));
    sheet.gap();
    let shown = days_shown(history, full);
    sheet.table(&days(history, &shown));
    if let Some(left_out) = history.days.len().checked_sub(shown.len()).filter(|n| *n > 0) {
        sheet.paragraph(
            2,
            &tr!("{days} with smaller latencies left out; --full lists all.", days = counted(left_out as u64, "day")),
        );
    }
    gaps(&mut sheet, history, full);
    if !history.notes.is_empty() {
        sheet.heading(tr!("Notes"));
        let from = if full { 0 } else { history.notes.len().saturating_sub(NOTES_SHOWN) };
        history.notes.iter().skip(from).for_each(|note| sheet.point(2, &lang::said(note)));
    }
    answer(&mut sheet, history, folder, bytes);
    sheet.finish()
}

fn answer(sheet: &mut Sheet, history: &History, folder: &Path, bytes: u64) {
    sheet.gap();
    let (tone, word) = words::verdict(history);
    sheet.hanging_paragraph(0, 2, tone, word, &words::worst(history));
    sheet.answer(tr!("Seen"), &words::watched(history));
    sheet.answer(tr!("Trust"), &words::trust(history));
    let name = folder.display().to_string();
    sheet.answer(tr!("Store"), &tr!("{size} in {name}", size = units::size(bytes), name));
    if let Some((day, worst)) = history.worst() {
        let explain = Command::new(["explain", &name, "--day", &day.number.to_string()]);
        let why = if worst.causes.is_empty() { tr!("look at that day") } else { tr!("see what made it late") };
        sheet.answer_next(why, &explain.to_string(), None);
    }
}

/// The days of the table: all, or the last and the worst ones.
fn days_shown(history: &History, full: bool) -> Vec<&Day> {
    if full || history.days.len() <= LAST_DAYS + WORST_DAYS {
        return history.days.iter().collect();
    }
    let mut by_latency: Vec<&Day> = history.days.iter().collect();
    by_latency.sort_by_key(|day| Reverse(day.max()));
    let worst = by_latency.iter().take(WORST_DAYS).map(|day| day.number);
    let last = history.days.iter().rev().take(LAST_DAYS).map(|day| day.number);
    let shown: BTreeSet<u64> = worst.chain(last).collect();
    history.days.iter().filter(|day| shown.contains(&day.number)).collect()
}

fn days(history: &History, shown: &[&Day]) -> Table {
    let over = history.budget_ns.map(|_| tr!(">over"));
    let first = [tr!(">day"), tr!("<date"), tr!(">watched")].into_iter().chain(over);
    let columns: Vec<&str> = first.chain([">p99.9 us", ">max us", tr!("<the largest, because of")]).collect();
    let mut table = Table::new(&columns);
    for day in shown {
        let mut row = vec![day.number.to_string(), units::day(day.from_unix_ns), units::duration(day.watched_ns)];
        row.extend(over.map(|_| units::count(day.over_budget())));
        row.extend([units::column_us(day.p999()), units::column_us(day.max())]);
        row.push(shortened(&words::cause_of(day), CAUSE_WIDTH));
        table.row(row);
    }
    table
}

fn gaps(sheet: &mut Sheet, history: &History, full: bool) {
    if history.gaps.is_empty() {
        return;
    }
    sheet.heading(tr!("Not watched"));
    for line in words::gaps_by_reason(history) {
        sheet.point(2, &line);
    }
    let mut told: Vec<_> = history.gaps.iter().filter(|gap| words::is_worth_telling(gap)).collect();
    told.sort_by_key(|gap| Reverse(gap.length_ns));
    let most = if full { usize::MAX } else { GAPS_SHOWN };
    let mut told: Vec<_> = told.into_iter().take(most).collect();
    told.sort_by_key(|gap| gap.from_unix_ns);
    for gap in told {
        sheet.paragraph(4, &words::gap(gap));
    }
}
