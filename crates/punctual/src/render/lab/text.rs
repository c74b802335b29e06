//! Kernels side by side as text for a terminal.

use super::{GuestClock, NotMeasured, Shown, words};
use crate::render::lang::{for_people, said, tr};
use crate::render::sheet::{Sheet, Style, Tone, table::Table};
use crate::render::units;
use punctual_hist::Nanos;
use punctual_numbers::kernels::{Cell, KernelRow};
use std::path::Path;

/// The whole text. The answer stands in its last lines.
pub fn text(shown: &Shown<'_>, full: bool, html: Option<&Path>, style: Style) -> String {
    for_people(|| told(shown, full, html, style))
}

fn told(shown: &Shown<'_>, full: bool, html: Option<&Path>, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    if shown.clock == GuestClock::Host {
        sheet.toned_paragraph(0, Tone::Doubt, tr!("No measure:"), words::claims(shown.clock)[0]);
    }
    tables(&mut sheet, shown);
    if full {
        later(&mut sheet, shown);
        numbers(&mut sheet, shown);
    }
    paths(&mut sheet, shown, full);
    missing(&mut sheet, shown);
    answer(&mut sheet, shown);
    if let Some(path) = html {
        sheet.answer(tr!("Page"), &path.display().to_string());
    }
    sheet.finish()
}

/// What was measured, and the percentiles.
pub(super) fn tables(sheet: &mut Sheet, shown: &Shown<'_>) {
    sheet.paragraph(0, &words::measured(shown));
    latencies(sheet, shown);
}

/// One line for scripts.
pub fn brief(shown: &Shown<'_>) -> String {
    let kernel = |row: &KernelRow| {
        let largest = row.cells.iter().filter_map(|cell| cell.row.latency_due.max).max();
        let verdict = words::against(row.against_first);
        let verdict = if verdict.is_empty() { String::new() } else { format!(" ({verdict})") };
        format!("{} {}{verdict}", row.name, largest.map_or_else(|| units::ABSENT.to_owned(), units::latency))
    };
    let mut said: Vec<String> = shown.table.kernels.iter().map(kernel).collect();
    said.extend(shown.not_measured.iter().map(|missing| format!("{} not measured", missing.name)));
    format!("largest latency: {}", said.join(", ")).replace(units::THIN, " ")
}

fn rows(shown: &Shown<'_>, mut table: Table, cells: impl Fn(&KernelRow, &Cell) -> Vec<String>) -> Table {
    for (place, load) in shown.table.loads.iter().enumerate() {
        table.title(&said(load));
        for row in &shown.table.kernels {
            if let Some(cell) = row.cells.get(place) {
                table.row(std::iter::once(format!("  {}", row.name)).chain(cells(row, cell)));
            }
        }
    }
    table
}

fn latencies(sheet: &mut Sheet, shown: &Shown<'_>) {
    sheet.heading(tr!("Latency in us, over the releases due"));
    let columns = [tr!("<load, kernel"), ">p50", ">p99", ">p99.9", tr!(">largest"), tr!("<against the first")];
    let table = rows(shown, Table::new(&columns), |_, cell| {
        let of = cell.row.latency_due;
        let points = [of.p50, of.p99, of.p99_9, of.max].map(units::column_us);
        points.into_iter().chain([words::cell_against(cell.against_first.as_ref())]).collect()
    });
    sheet.table(&table);
}

/// The smallest and the largest of the largest latencies of the runs.
pub fn between(cell: &Cell) -> String {
    let all = || cell.largest.iter().flatten().copied();
    match (all().min(), all().max()) {
        (Some(low), Some(high)) => {
            format!("{}-{}", units::column_us(Some(low)), units::column_us(Some(high)))
        }
        _ => units::ABSENT.to_owned(),
    }
}

fn later(sheet: &mut Sheet, shown: &Shown<'_>) {
    sheet.heading(tr!("Releases per million that were later than"));
    let columns = [tr!("<load, kernel"), tr!(">largest of runs")]
        .map(str::to_owned)
        .into_iter()
        .chain(shown.table.thresholds.iter().map(|level| format!(">{}", units::duration(*level))));
    let table = rows(shown, Table::new(&columns.collect::<Vec<_>>()), |_, cell| {
        std::iter::once(between(cell)).chain(cell.later.iter().map(|n| per_million(*n, cell.row.due))).collect()
    });
    sheet.table(&table);
}

pub fn per_million(part: u64, due: u64) -> String {
    let share = u128::from(part) * 1_000_000 / u128::from(due.max(1));
    units::count(u64::try_from(share).unwrap_or(u64::MAX))
}

fn numbers(sheet: &mut Sheet, shown: &Shown<'_>) {
    use crate::render::words::compare as say;
    for row in &shown.table.kernels {
        for cell in &row.cells {
            let Some(against) = &cell.against_first else { continue };
            sheet.heading(&tr!("{kernel} under {load}, against the first", kernel = row.name, load = said(&cell.load)));
            let mut table =
                Table::new(&[tr!("<number"), tr!(">first"), tr!(">here"), tr!(">change"), tr!(">95 % interval"), "<"]);
            for number in &against.numbers {
                let first = [say::number(number, false), say::number(number, true)];
                let change = [say::change(number), say::interval(number), say::row_verdict(number).to_owned()];
                table.row(std::iter::once(say::what(&number.what)).chain(first).chain(change));
            }
            sheet.table(&table);
        }
    }
}

/// What the latest traced activations spent their time on: of each kernel the latest, or with `full` under each load.
fn paths(sheet: &mut Sheet, shown: &Shown<'_>, full: bool) {
    if shown.table.kernels.iter().flat_map(|row| &row.cells).all(|cell| cell.path.is_none()) {
        return;
    }
    sheet.heading(tr!("Paths of the largest latencies, from a traced run"));
    for row in &shown.table.kernels {
        let mut cells: Vec<&Cell> = row.cells.iter().filter(|cell| cell.path.is_some()).collect();
        if !full {
            cells.sort_by_key(|cell| std::cmp::Reverse(latency(cell)));
            cells.truncate(1);
        }
        for cell in cells {
            let Some(path) = &cell.path else { continue };
            sheet.point(2, &format!("{}, {}: {}", row.name, cell.load, words::cause(path)));
            if full {
                sheet.paragraph(6, &words::parts(path));
            }
        }
    }
}

fn latency(cell: &Cell) -> Nanos {
    cell.path.as_ref().map(|path| path.latency).unwrap_or_default()
}

fn missing(sheet: &mut Sheet, shown: &Shown<'_>) {
    if shown.not_measured.is_empty() && shown.refused.is_empty() {
        return;
    }
    sheet.heading(tr!("Not measured"));
    for missing in &shown.not_measured {
        not_measured(sheet, missing);
    }
    for mode in &shown.refused {
        sheet.toned_paragraph(2, Tone::Doubt, tr!("Not as asked:"), &words::refused(mode));
    }
}

/// A kernel that was not measured, with the last lines that it or its build printed.
pub fn not_measured(sheet: &mut Sheet, missing: &NotMeasured) {
    sheet.toned_paragraph(2, Tone::Bad, &format!("{}:", missing.name), &said(&missing.why));
    for line in &missing.last_lines {
        sheet.command(6, line);
    }
}

fn answer(sheet: &mut Sheet, shown: &Shown<'_>) {
    sheet.gap();
    if let Some((row, cell)) = words::worst(&shown.table.kernels) {
        let largest = cell.row.latency_due.max.map_or_else(|| units::ABSENT.to_owned(), units::latency);
        let said = tr!("{largest}, by {kernel} under {load}", largest, kernel = row.name, load = said(&cell.load));
        sheet.hanging_paragraph(0, 2, Tone::Heading, tr!("LARGEST LATENCY:"), &said);
    }
    for (place, row) in shown.table.kernels.iter().skip(1).enumerate() {
        let label = if place == 0 { tr!("Certain") } else { "" };
        sheet.answer(label, &words::difference(row));
    }
    if shown.clock == GuestClock::Virtual {
        for (place, claim) in words::claims(shown.clock).iter().enumerate() {
            if place == 0 { sheet.answer(tr!("Time"), claim) } else { sheet.answer_more(claim) }
        }
    }
}
