//! A kernel held against a baseline: text, one line, and `JUnit` XML.

use super::{NotMeasured, Shown, text, words};
use crate::render::junit::{Case, Document, Status, Suite, Trouble};
use crate::render::lang::{for_people, said, tr};
use crate::render::sheet::{Sheet, Style, Tone};
use crate::render::words::compare as say;
use punctual_facts::machine::MachineLine;
use punctual_numbers::compare::{Compared, RowResult};
use punctual_numbers::kernels::{Cell, KernelRow};
use std::path::Path;

pub fn gate_text(shown: &Shown<'_>, style: Style) -> String {
    for_people(|| told(shown, style))
}

fn told(shown: &Shown<'_>, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    text::tables(&mut sheet, shown);
    sheet.gap();
    let worse: Vec<String> = worse(shown).map(sentence).collect();
    let (tone, word) = if worse.is_empty() { (Tone::Good, tr!("PASSED:")) } else { (Tone::Bad, tr!("WORSE:")) };
    sheet.hanging_paragraph(0, 2, tone, word, &answer(shown));
    for line in &worse {
        sheet.point(2, line);
    }
    sheet.answer(tr!("Time"), words::claims(shown.clock)[0]);
    sheet.finish()
}

/// One line for scripts.
pub fn gate_brief(shown: &Shown<'_>) -> String {
    let word = if worse(shown).next().is_some() { "WORSE" } else { "PASSED" };
    format!("{word}: {}", answer(shown)).replace(crate::render::units::THIN, " ")
}

/// One case for each load. A case that is worse is a failure, with what changed and through which path.
pub fn gate_junit(shown: &Shown<'_>) -> std::io::Result<String> {
    let suites = judged(shown).map(|row| {
        let baseline = shown.table.kernels.first();
        let mut properties = vec![("baseline", baseline.map(|row| row.name.clone()).unwrap_or_default())];
        properties.extend(baseline.and_then(|row| row.release.clone()).map(|release| ("baseline release", release)));
        properties.extend(row.release.clone().map(|release| ("release", release)));
        Suite {
            name: row.name.clone(),
            properties: properties.into_iter().map(MachineLine::from).collect(),
            cases: row.cells.iter().map(case).collect(),
        }
    });
    Document { name: "punctual lab gate", suites: suites.collect() }.text()
}

fn case(cell: &Cell) -> Case {
    let status = match cell.against_first.as_ref().map(|against| against.verdict) {
        Some(Compared::Worse | Compared::Mixed) => {
            Status::Failed(Trouble { message: Some(sentence(cell)), ..Trouble::default() })
        }
        Some(_) => Status::Passed,
        None => Status::Skipped(Some("could not be compared with the baseline".to_owned())),
    };
    Case { name: cell.load.clone(), class: "punctual.lab".to_owned(), status, output: Some(numbers(cell).join("\n")) }
}

/// The kernel that is judged.
fn judged<'a>(shown: &'a Shown<'_>) -> impl Iterator<Item = &'a KernelRow> {
    shown.table.kernels.iter().skip(1)
}

fn worse<'a>(shown: &'a Shown<'_>) -> impl Iterator<Item = &'a Cell> {
    let is_worse = |cell: &&Cell| {
        cell.against_first.as_ref().is_some_and(|a| matches!(a.verdict, Compared::Worse | Compared::Mixed))
    };
    judged(shown).flat_map(|row| &row.cells).filter(is_worse)
}

fn answer(shown: &Shown<'_>) -> String {
    let said: Vec<String> = judged(shown).map(words::difference).collect();
    if said.is_empty() { tr!("nothing was measured").to_owned() } else { said.join(tr!("; ")) }
}

/// What is worse under one load, and the path of the largest latency.
fn sentence(cell: &Cell) -> String {
    let rows = cell.against_first.iter().flat_map(|against| &against.numbers);
    let worse = rows.filter(|row| row.verdict == Compared::Worse);
    let changed: Vec<String> = worse
        .map(|row| format!("{} {} -> {}", say::what(&row.what), say::number(row, false), say::number(row, true)))
        .collect();
    let path = cell.path.as_ref().map(|path| tr!("; path: {cause}", cause = words::cause(path))).unwrap_or_default();
    format!("{}: {} (us){path}", cell.load, changed.join(", "))
}

fn numbers(cell: &Cell) -> Vec<String> {
    let rows = cell.against_first.iter().flat_map(|against| &against.numbers);
    let row = |row: &RowResult| {
        format!(
            "{}: {} -> {}, change {} ({}): {}",
            say::what(&row.what),
            say::number(row, false),
            say::number(row, true),
            say::change(row),
            say::interval(row),
            say::row_verdict(row)
        )
    };
    let path = cell.path.as_ref().map(|path| format!("path of the largest traced latency: {}", words::parts(path)));
    rows.map(row).chain(path).collect()
}

pub fn saved(name: &str, to: &Path) -> String {
    let line = for_people(|| {
        tr!("The baseline {path} contains {name}. To compare a kernel with it:", path = to.display(), name)
    });
    format!("{line}\n\n  punctual lab gate --baseline {} --kernel ./bzImage\n", to.display())
}

/// Why a kernel was not measured, with its last lines.
pub fn missing(missing: &NotMeasured) -> String {
    let first = format!("{}: {}", missing.name, for_people(|| said(&missing.why).into_owned()));
    std::iter::once(first.as_str())
        .chain(missing.last_lines.iter().map(String::as_str))
        .collect::<Vec<_>>()
        .join("\n  ")
}
