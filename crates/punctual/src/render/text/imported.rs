//! The result of another program as text for the terminal.
//!
//! The text has no verdict and says nothing about trust, because a foreign file lacks the data for both.

use crate::render::lang::tr;
use crate::render::sheet::{Sheet, Style, table::Table};
use crate::render::{units, words};
use punctual_facts::machine::MachineLine;
use punctual_numbers::foreign::{ForeignRun, Quantity, Series, total};
use std::path::Path;

pub fn imported(run: &ForeignRun, file: &Path, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    head(&mut sheet, run, file);
    numbers(&mut sheet, run);
    claims(&mut sheet, run);
    if !run.notes.is_empty() {
        sheet.heading(tr!("What to know about these numbers"));
        for note in &run.notes {
            sheet.point(2, note);
        }
    }
    if !run.machine.is_empty() {
        sheet.heading(tr!("What the file says about the run"));
        for MachineLine { name, value } in &run.machine {
            sheet.point(2, &format!("{name}: {}", crate::render::clean::shortened(value, 400)));
        }
    }
    sheet.finish()
}

fn head(sheet: &mut Sheet, run: &ForeignRun, file: &Path) {
    sheet.heading(&tr!("{file}, imported as {run}", file = file.display(), run = run.format.name()));
    let length = run.duration.map(|stated| units::duration(stated.length));
    let facts = [
        (tr!("measured by"), run.program.clone()),
        (tr!("called"), run.command.clone()),
        (tr!("started"), run.started.clone()),
        (tr!("length"), length),
    ];
    for (label, text) in facts {
        if let Some(text) = text {
            sheet.entry(2, 11, label, &text);
        }
    }
}

fn numbers(sheet: &mut Sheet, run: &ForeignRun) {
    let noise = run.series.iter().any(|series| series.quantity == Quantity::Noise);
    sheet.heading(if noise { tr!("Noise (in us)") } else { tr!("Latency (in us)") });
    let sum = total(&run.series);
    let all: Vec<&Series> = run.series.iter().chain(&sum).collect();
    let skips = all.iter().any(|series| series.skipped.is_some());
    let mut columns =
        vec![tr!("<of"), tr!(">values"), tr!(">min"), tr!(">mean"), ">p50", ">p99", ">p99.9", ">p99.99", tr!(">max")];
    columns.extend(skips.then_some(tr!(">skipped")));
    let mut table = Table::new(&columns);
    for series in all {
        let skipped = skips.then(|| series.skipped.map_or_else(|| units::ABSENT.to_owned(), units::count));
        table.row(row(series).chain(skipped));
    }
    sheet.table(&table);
    sheet.paragraph(
        2,
        tr!(
            "A percentile is the upper edge of the histogram cell in which it lies; >= means that the file only counts \
            the values above this one, without their size."
        ),
    );
}

fn claims(sheet: &mut Sheet, run: &ForeignRun) {
    let claimed = words::claims::of_import(run);
    if claimed.is_empty() {
        return;
    }
    sheet.heading(tr!("What these numbers can claim"));
    for of in &claimed {
        sheet.paragraph(2, &format!("{}:", of.name));
        for line in &of.lines {
            sheet.point(2, line);
        }
    }
    sheet.paragraph(2, &words::claims::condition_imported());
}

fn row(series: &Series) -> impl Iterator<Item = String> {
    let count = series.count().map_or_else(|| units::ABSENT.to_owned(), units::count);
    [series.label.clone(), count].into_iter().chain(words::claims::points_of_import(series))
}
