//! Sections that the short and the full text share.

use crate::render::clean::shortened;
use crate::render::lang::{self, said, text, tr};
use crate::render::sheet::{Sheet, Tone, table::Table};
use crate::render::words::next::Wording;
use crate::render::{units, words};
use punctual_facts::finding::{Finding, State};
use punctual_facts::machine::MachineLine;
use punctual_numbers::report::{Answer, LatencyRow, Percentiles, PhaseRow, Report};

const NUMBERS: [&str; 10] = [">CPU", ">due", ">ran", ">skipped", ">min", ">p50", ">p99", ">p99.9", ">p99.99", ">max"];

const EVIDENCE_SHOWN: usize = 3;
const VALUE_SHOWN: usize = 160;

pub fn machine(sheet: &mut Sheet, report: &Report, width: usize) {
    sheet.heading(tr!("Machine"));
    let label_width = report.machine.iter().map(|line| lang::width(text(&line.name))).max().unwrap_or(0).min(20);
    for MachineLine { name, value } in &report.machine {
        let room = width.saturating_sub(label_width + 3).max(20);
        sheet.entry(2, label_width, text(name), &shortened(&said(value), room));
    }
    if report.machine.is_empty() {
        sheet.paragraph(2, tr!("The recording says nothing about the machine."));
    }
}

/// Prints one finding: its state and title, the evidence, its effect, the fix and its cost, and the confidence.
pub fn finding(sheet: &mut Sheet, finding: &Finding) {
    let first = match finding.state {
        State::Bad => words::severity(finding.severity).to_uppercase(),
        _ => words::state(&finding.state).to_uppercase(),
    };
    sheet.toned_paragraph(2, Tone::of(finding), &first, &format!("{} ({})", words::title(finding), finding.id));
    if let Some(because) = finding.state.because() {
        sheet.entry(4, 10, tr!("why"), &said(because));
    }
    for evidence in finding.evidence.iter().take(EVIDENCE_SHOWN) {
        let value = shortened(&evidence.value, VALUE_SHOWN);
        sheet.entry(4, 10, tr!("found"), &format!("{} = {}", said(&evidence.source), said(&value)));
    }
    if finding.evidence.len() > EVIDENCE_SHOWN {
        sheet.entry(4, 10, "", &tr!("and {evidence} more", evidence = finding.evidence.len() - EVIDENCE_SHOWN));
    }
    for (label, text) in [(tr!("effect"), &finding.why), (tr!("fix"), &finding.fix), (tr!("cost"), &finding.cost)] {
        if !text.is_empty() {
            sheet.entry(4, 10, label, &said(text));
        }
    }
    sheet.entry(4, 10, tr!("confidence"), words::confidence(finding.confidence));
}

/// Prints a row for each CPU, a second row for each CPU that skipped releases, and how much these two rows differ.
pub fn latencies(sheet: &mut Sheet, report: &Report) {
    sheet.heading(tr!("Latency of every activation (in us)"));
    sheet.paragraph(2, &format!("{} {}", words::asked(report), words::scenario(report)));
    let mut table = Table::new(&[&NUMBERS[..], &[tr!("<worst moment, load then")]].concat());
    for cpu in &report.cpus {
        let least = cpu.earliest.map(units::early_us);
        both_views(&mut table, &cpu.cpu.to_string(), &cpu.row, least, [words::worst_at(cpu)]);
    }
    if let Some(total) = &report.total {
        both_views(&mut table, tr!("all"), total, report.earliest().map(units::early_us), []);
    }
    sheet.table(&table);
    if report.cpus.is_empty() {
        sheet.paragraph(2, tr!("No CPU was measured."));
    }
    skips(sheet, report);
}

fn skips(sheet: &mut Sheet, report: &Report) {
    let differences: Vec<String> = report.cpus.iter().filter_map(words::skip_difference).collect();
    if differences.is_empty() {
        return;
    }
    sheet.paragraph(
        2,
        tr!("Rows marked \"due\" count every release that came due; a skipped release counts with the time from the \
            release until its thread ran next."),
    );
    for difference in differences {
        sheet.point(2, &difference);
    }
}

/// A table of latencies with a group of rows for each CPU and a row for each load phase.
pub fn phase_table<'a>(report: &Report, rows: impl Iterator<Item = &'a PhaseRow>) -> Table {
    let mut table = Table::new(&NUMBERS);
    let mut titled = None;
    for phase in rows {
        if titled != Some(phase.phase) {
            table.title(&words::phase_title(report, phase));
            titled = Some(phase.phase);
        }
        both_views(&mut table, &phase.cpu.to_string(), &phase.row, None, []);
    }
    table
}

/// Adds a row over the activations that ran and, if releases were skipped, a second one over all releases due. `least` is the
/// smallest latency if it is negative.
fn both_views<const N: usize>(
    table: &mut Table,
    name: &str,
    row: &LatencyRow,
    least: Option<String>,
    rest: [String; N],
) {
    let counts = [name.to_owned(), units::count(row.due), units::count(row.ran), units::count(row.skipped)];
    let [min, others @ ..] = points(&row.latency);
    table.row(counts.into_iter().chain([least.unwrap_or(min)]).chain(others).chain(rest));
    if row.skipped > 0 {
        let counts = [tr!("{name} due", name), String::new(), String::new(), String::new()];
        table.row(counts.into_iter().chain(points(&row.latency_due)));
    }
}

fn points(p: &Percentiles) -> [String; 6] {
    [p.min, p.p50, p.p99, p.p99_9, p.p99_99, p.max].map(units::column_us)
}

pub fn verdict(sheet: &mut Sheet, report: &Report) {
    let words = words::verdict(report);
    let tone = match report.verdict.answer {
        Answer::Held => Tone::Good,
        Answer::NotHeld => Tone::Bad,
        Answer::Inconclusive => Tone::Doubt,
    };
    sheet.heading(tr!("Verdict"));
    sheet.toned_paragraph(2, tone, &format!("{}:", words.word.to_uppercase()), &words.seen);
    for sentence in [words.bound, words.but].into_iter().flatten() {
        sheet.paragraph(2, &sentence);
    }
}

/// Prints whether the numbers can be relied upon, and why not.
pub fn trust(sheet: &mut Sheet, report: &Report) {
    sheet.heading(tr!("Can this run be trusted?"));
    let tone = if report.trust.ok() { Tone::Good } else { Tone::Bad };
    sheet.toned_paragraph(2, tone, &words::trust_answer(&report.trust), "");
    for reason in &report.trust.reasons {
        sheet.point(2, &words::distrust(reason));
    }
    if !report.trust.reasons.is_empty() && !report.trust.remarks.is_empty() {
        sheet.paragraph(2, tr!("Also worth knowing:"));
    }
    for remark in &report.trust.remarks {
        sheet.point(2, &words::distrust(remark));
    }
}

/// Prints all next steps. The first of them is also part of the answer.
pub fn all_next(sheet: &mut Sheet, of: Wording<'_>) {
    sheet.heading(tr!("What next"));
    for step in of.steps() {
        sheet.point(2, &step.why);
        sheet.command(4, &step.command.to_string());
    }
}

pub fn notes(sheet: &mut Sheet, report: &Report) {
    let notes = words::runs::notes(report);
    if notes.is_empty() {
        return;
    }
    sheet.heading(tr!("How it was measured"));
    for note in &notes {
        sheet.point(2, note);
    }
}
