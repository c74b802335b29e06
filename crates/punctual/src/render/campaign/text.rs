//! A campaign as text for a terminal.

use super::{CellResult, Result, told_order};
use crate::render::lang::{for_people, said, tr};
use crate::render::sheet::{Sheet, Style, Tone, table::Table};
use crate::render::units;
use punctual_numbers::report::LatencyRow;
use punctual_optimize::experiment::Experiment;

/// The line that says which cell is being measured.
pub fn step(experiment: &Experiment, cell: usize, repetition: u32) -> String {
    for_people(|| {
        tr!(
            "measurement {number} of {all}, repetition {repetition} of {repetitions}: {cell}",
            number = experiment.made.len() + 1,
            all = experiment.planned(),
            repetition = repetition + 1,
            repetitions = experiment.repetitions,
            cell = experiment.cells.get(cell).map_or("", |cell| cell.name.as_str())
        )
        .to_string()
    })
}

pub fn brief(result: &Result) -> String {
    let certain = result.comparisons.iter().filter(|pair| pair.is_certain).count();
    let refused = result.cells.iter().filter(|cell| cell.refused.is_some()).count();
    format!(
        "campaign: {}, {} refused; {} of {} decided; {}\n",
        units::counted(result.cells.len() as u64, "cell"),
        refused,
        certain,
        units::counted(result.comparisons.len() as u64, "comparison"),
        result.folder
    )
}

/// The numbers of a row of latencies: how many, and the points that a table shows.
pub(super) fn numbers(row: &LatencyRow) -> [String; 6] {
    let of = &row.latency;
    [
        units::count(row.due),
        units::column_us(of.p50),
        units::column_us(of.p99),
        units::column_us(of.p99_9),
        units::column_us(of.max),
        units::count(row.over_budget.saturating_add(row.skipped)),
    ]
}

pub fn text(result: &Result, style: Style) -> String {
    for_people(|| told_whole(result, style))
}

fn told_whole(result: &Result, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    sheet.heading(if result.title.is_empty() { tr!("Campaign") } else { &result.title });
    if !result.about.is_empty() {
        sheet.paragraph(2, &result.about);
    }
    if let Some(why) = &result.gave_up {
        sheet.toned_paragraph(2, Tone::Doubt, tr!("Given up"), &said(why));
    }
    sheet.heading(tr!("Cells: latency in us over all repetitions"));
    let mut table =
        Table::new(&[tr!("<cell"), tr!(">runs"), tr!(">due"), ">p50", ">p99", ">p99.9", tr!(">max"), tr!(">missed")]);
    for cell in &result.cells {
        if let Some(row) = &cell.whole {
            table.row([cell.name.clone(), cell.runs.to_string()].into_iter().chain(numbers(row)));
        }
    }
    sheet.table(&table);
    by_cpu(&mut sheet, result);
    for cell in result.cells.iter().filter(|cell| cell.refused.is_some()) {
        let why = cell.refused.as_deref().unwrap_or_default();
        sheet.toned_paragraph(2, Tone::Doubt, &tr!("{cell}: not measured,", cell = cell.name), &said(why));
    }
    comparisons(&mut sheet, result);
    published(&mut sheet, result);
    how(&mut sheet, result);
    sheet.finish()
}

/// Whether the numbers of single CPUs say more than those of all together.
pub(super) fn is_by_cpu(result: &Result) -> bool {
    result.cells.iter().any(|cell| cell.cpus.len() > 1)
}

fn by_cpu(sheet: &mut Sheet, result: &Result) {
    if !is_by_cpu(result) {
        return;
    }
    sheet.heading(tr!("Cells by CPU"));
    let mut table =
        Table::new(&[tr!("<cell, CPU"), tr!(">due"), ">p50", ">p99", ">p99.9", tr!(">max"), tr!(">missed")]);
    for cell in &result.cells {
        for cpu in &cell.cpus {
            table.row(std::iter::once(format!("{}, {}", cell.name, cpu.cpu)).chain(numbers(&cpu.row)));
        }
    }
    sheet.table(&table);
}

fn comparisons(sheet: &mut Sheet, result: &Result) {
    if result.comparisons.is_empty() {
        return;
    }
    sheet.heading(tr!("Comparisons"));
    for pair in &result.comparisons {
        let question = if pair.question.is_empty() { String::new() } else { format!("{} ", pair.question) };
        sheet.point(
            2,
            &tr!(
                "{question}{second} against {first}: {verdict} ({repetitions})",
                question,
                second = pair.second,
                first = pair.first,
                verdict = said(&pair.verdict),
                repetitions = units::counted(pair.repetitions as u64, "repetition")
            ),
        );
    }
}

fn published(sheet: &mut Sheet, result: &Result) {
    let all: Vec<(&CellResult, &super::PublishedFigure)> =
        result.cells.iter().flat_map(|cell| cell.published.iter().map(move |figure| (cell, figure))).collect();
    if all.is_empty() {
        return;
    }
    sheet.heading(tr!("Compared with published numbers, in us"));
    let mut table =
        Table::new(&[tr!("<cell"), tr!("<machine"), tr!(">CPU"), tr!("<figure"), tr!(">published"), tr!(">here")]);
    for (cell, figure) in all {
        table.row([
            cell.name.clone(),
            figure.of.clone(),
            figure.cpu.map_or_else(|| tr!("all").to_owned(), |cpu| cpu.to_string()),
            figure.what.to_owned(),
            units::column_us(Some(figure.published)),
            units::column_us(figure.here),
        ]);
    }
    sheet.table(&table);
    if !result.source.is_empty() {
        sheet.paragraph(2, &tr!("Published: {source}.", source = result.source.trim_end_matches('.')));
    }
}

fn how(sheet: &mut Sheet, result: &Result) {
    sheet.heading(tr!("How it was measured"));
    sheet.paragraph(2, &told(result));
    let doubts = result.cells.iter().flat_map(|cell| cell.doubts.iter().map(move |doubt| (cell, doubt)));
    for (cell, doubt) in doubts {
        sheet.toned_paragraph(2, Tone::Doubt, &format!("{}:", cell.name), &said(doubt));
    }
    if !result.is_home {
        sheet.toned_paragraph(2, Tone::Doubt, tr!("Restart:"), away());
    }
    sheet.entry(2, 10, tr!("page"), &format!("{}/result.html", result.folder));
}

pub(super) fn away() -> &'static str {
    tr!("the machine runs with a command line of the campaign until its next boot")
}

/// The sentences that say in which order and for how long the cells were measured.
pub(super) fn told(result: &Result) -> String {
    let boots = result.boots.map_or_else(String::new, |boots| {
        tr!(" The machine was rebooted {times} for these measurements.", times = units::counted(boots.into(), "time"))
    });
    let shortened = if result.shortened > 1.0 {
        tr!(
            " All durations were divided by {n}, so the numbers only show that the campaign can run.",
            n = result.shortened
        )
    } else {
        String::new()
    };
    tr!(
        "Each cell was to be measured {times}, {order}.{boots}{shortened}",
        times = units::counted(result.repetitions.into(), "time"),
        order = told_order(super::order_name(result.order), result.seed),
        boots,
        shortened,
    )
}
