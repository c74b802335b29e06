//! The default text of `check`, `measure` and `report`: at most 60 lines at 80 columns, of which the last 24 hold the
//! answer.
//!
//! A check prints [`opening`] before it measures and [`results`] when it has measured.

use crate::render::clean::shortened;
use crate::render::lang::{for_people, said, tr, width};
use crate::render::sheet::{Sheet, Style, Tone, table::Table};
use crate::render::words::answer;
use crate::render::words::command::Command;
use crate::render::words::next::{Reader, Wording};
use crate::render::{units, words};
use punctual_facts::finding::{Finding, State};
use punctual_facts::machine::MachineLine;
use punctual_facts::profile::Need;
use punctual_hist::Nanos;
use punctual_numbers::explain::Explanation;
use punctual_numbers::report::{Answer, PhaseRow, Report, most_important};
use punctual_numbers::scenario::Scenario;
use std::cmp::Reverse;
use std::path::Path;

const FINDINGS_SHOWN: usize = 5;
/// Largest number of rows of the latency table. If there are more, each load phase gets one row only, for the CPU with
/// the largest latency.
const ROWS_SHOWN: usize = 8;
const CAUSES_SHOWN: usize = 3;
const NOTES_SHOWN: usize = 2;
/// Names of the machine's facts that are shown, in this order. The full text shows all facts.
const MACHINE_SHOWN: [&str; 4] = ["model", "kernel", "cpus", "virtualisation"];
/// Width of the labels at the left of the opening's lines, in columns.
const LABEL: usize = 8;

/// The data of the text that `check` prints before it measures: the machine, the need, and the worst findings.
pub struct Opening<'a> {
    pub machine: &'a [MachineLine],
    pub need: &'a Need,
    /// Name of the profile that states the need; `None` if the user named none.
    pub profile: Option<&'a str>,
    /// The project file that the user named.
    pub config: Option<&'a Path>,
    /// Findings of the audit; `None` without an audit.
    pub findings: Option<&'a [Finding]>,
}

/// The text above the numbers: the machine, the need, and the worst findings.
pub fn opening(of: &Opening<'_>, style: Style) -> String {
    for_people(|| opened(of, style))
}

fn opened(of: &Opening<'_>, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    let room = style.width.max(40) - LABEL - 1;
    let lines = MACHINE_SHOWN.iter().filter_map(|name| MachineLine::of(of.machine, name));
    for (at, line) in lines.enumerate() {
        sheet.toned_entry(
            0,
            LABEL,
            Tone::Heading,
            if at == 0 { tr!("Machine") } else { "" },
            &shortened(&said(line), room),
        );
    }
    let profile = of.profile.map_or_else(String::new, |name| tr!(" (profile {name})", name));
    sheet.toned_entry(0, LABEL, Tone::Heading, tr!("Need"), &format!("{}{profile}", need(of.need)));
    if let Some(findings) = of.findings {
        in_the_way(&mut sheet, findings, of, style.width.max(40));
    }
    sheet.finish()
}

fn need(need: &Need) -> String {
    let period = need.period.map(|period| tr!("{period} period", period = units::period(period)));
    let budget = need.budget.map_or_else(
        || tr!("no latency budget").to_owned(),
        |b| tr!("{budget} latency budget", budget = units::latency(b)),
    );
    let cpus = (!need.cpus.is_empty()).then(|| words::cpus(&need.cpus));
    period.into_iter().chain([budget]).chain(cpus).collect::<Vec<_>>().join(tr!(", "))
}

fn in_the_way(sheet: &mut Sheet, findings: &[Finding], of: &Opening<'_>, columns: usize) {
    // The order must not depend on the causes: a check prints this list before it knows them, and a report repeats it.
    let bad = most_important(findings, &[]);
    let number = |is_one: fn(&State) -> bool| findings.iter().filter(|finding| is_one(&finding.state)).count();
    let good = number(|state| *state == State::Good);
    let unknown = number(|state| matches!(state, State::Unknown(_)));
    let heading =
        tr!("What stands in the way: {bad} bad, {unknown} unknown, {good} good", bad = bad.len(), unknown, good);
    sheet.heading(&heading);
    let ids = bad.iter().take(FINDINGS_SHOWN).map(|finding| width(&finding.id)).max().unwrap_or(0);
    let mut table = Table::new(&["<", "<", "<"]);
    for finding in bad.iter().take(FINDINGS_SHOWN) {
        let wanted = shortened(&words::title(finding), columns.saturating_sub(ids + 14));
        table.row([words::severity(finding.severity).to_owned(), finding.id.clone(), wanted]);
    }
    sheet.table(&table);
    let all = words::command::audit(of.need, of.profile, of.config).to_string();
    match bad.len().saturating_sub(FINDINGS_SHOWN) {
        0 => sheet.command(2, &tr!("All findings: {all}", all)),
        more => sheet.command(2, &tr!("{more} more: {all}", more, all)),
    }
}

/// A sentence that says how long the measurement will take, with its load phases.
pub fn ahead(scenario: &Scenario, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    sheet.gap();
    sheet.paragraph(0, &for_people(|| words::scenario_ahead(scenario)));
    sheet.finish()
}

/// The text below the opening: the numbers, the causes of latency, and the answer.
pub fn results(report: &Report, reader: &Reader, paths: [Option<&Path>; 2], style: Style) -> String {
    for_people(|| {
        let mut sheet = Sheet::new(style);
        notes(&mut sheet, report, paths[0]);
        latencies(&mut sheet, report);
        if let Some(causes) = &report.causes {
            who(&mut sheet, report, causes, style.width.max(40));
        }
        answer(&mut sheet, report, reader, paths);
        sheet.finish()
    })
}

/// Opening and results in one text, for a recording that is shown again.
pub fn short(report: &Report, reader: &Reader, paths: [Option<&Path>; 2], style: Style) -> String {
    let opening = opening(
        &Opening {
            machine: &report.machine,
            need: &answer::need(report),
            profile: None,
            config: None,
            findings: (!report.findings.is_empty()).then_some(&report.findings),
        },
        style,
    );
    format!("{opening}\n{}", results(report, reader, paths, style))
}

fn notes(sheet: &mut Sheet, report: &Report, recording: Option<&Path>) {
    let notes = words::runs::notes(report);
    for note in notes.iter().take(NOTES_SHOWN) {
        sheet.point(0, note);
    }
    if let Some(more) = notes.len().checked_sub(NOTES_SHOWN).filter(|more| *more > 0) {
        let all = Command::on_file(["report", "--full"], recording);
        sheet.point(0, &tr!("and {notes}: {all}", notes = units::counted(more as u64, "more note"), all));
    }
}

/// Prints a row for each load phase and CPU, over all releases due. Phases that were traced for causes alone are left
/// out.
fn latencies(sheet: &mut Sheet, report: &Report) {
    let all: Vec<&PhaseRow> =
        report.phases.iter().filter(|row| !report.traced_apart() || !report.traced(row.phase)).collect();
    let mut rows = all.clone();
    if rows.len() > ROWS_SHOWN {
        rows.sort_by_key(|row| (row.phase, Reverse(row.row.latency_due.max)));
        rows.dedup_by_key(|row| row.phase);
        rows.sort_by_key(|row| Reverse(row.row.latency_due.max));
        rows.truncate(ROWS_SHOWN);
        rows.sort_by_key(|row| row.phase);
    }
    sheet.heading(tr!("Latency in us, of every release due"));
    let columns =
        [tr!("<load"), tr!(">CPU"), tr!(">releases"), tr!(">missed"), ">p50", ">p99", ">p99.9", tr!(">max"), "<"];
    let mut table = Table::new(&columns);
    let mut phase = None;
    for row in &rows {
        let numbers = &row.row;
        let name = if phase == Some(row.phase) { String::new() } else { words::short_phase_name(&row.name) };
        phase = Some(row.phase);
        let points =
            [numbers.latency_due.p50, numbers.latency_due.p99, numbers.latency_due.p99_9, numbers.latency_due.max];
        let missed = numbers.skipped.saturating_add(numbers.over_budget);
        let over = report.need.budget.is_some_and(|budget| numbers.latency_due.max > Some(budget));
        table.row(
            [name, row.cpu.to_string(), units::count(numbers.due), units::count(missed)]
                .into_iter()
                .chain(points.map(units::column_us))
                .chain([if over { tr!("over").to_owned() } else { String::new() }]),
        );
    }
    if rows.is_empty() {
        return sheet.paragraph(2, tr!("No CPU was measured."));
    }
    sheet.table(&table);
    let left = all.len() - rows.len();
    if left > 0 {
        sheet.paragraph(
            2,
            &tr!("{rows} with smaller maxima: punctual report --full", rows = units::counted(left as u64, "more row")),
        );
    }
}

fn who(sheet: &mut Sheet, report: &Report, causes: &Explanation, width: usize) {
    if causes.causes.is_empty() {
        return;
    }
    let apart = if report.traced_apart() { tr!(" (from a separate pass with tracing)") } else { "" };
    sheet.heading(&tr!("Causes of the largest latencies{apart}", apart));
    let mut table = Table::new(&[tr!(">share"), tr!("<cause"), tr!(">at most"), tr!("<knob")]);
    for ranked in causes.causes.iter().take(CAUSES_SHOWN) {
        let knob = words::causes::knobs(ranked, report).first().map_or("", |knob| knob.id);
        let (share, worst) = if ranked.total == Nanos::ZERO {
            (units::ABSENT.to_owned(), units::ABSENT.to_owned())
        } else {
            (units::portion(ranked.share), units::latency(ranked.worst))
        };
        table.row([
            share,
            shortened(&words::causes::cause(&ranked.cause), width.saturating_sub(44).max(20)),
            worst,
            knob.to_owned(),
        ]);
    }
    sheet.table(&table);
}

/// Prints the answer, which are the last lines. They can be understood without anything above them.
pub fn answer(sheet: &mut Sheet, report: &Report, reader: &Reader, [recording, page]: [Option<&Path>; 2]) {
    let tone = match report.verdict.answer {
        Answer::Held => Tone::Good,
        Answer::NotHeld => Tone::Bad,
        Answer::Inconclusive => Tone::Doubt,
    };
    sheet.gap();
    sheet.hanging_paragraph(
        0,
        2,
        tone,
        &tr!("{word}:", word = answer::word(&report.verdict)),
        &answer::by_how_much(report),
    );
    sheet.answer(tr!("How sure"), &answer::how_sure(report));
    let trust = answer::trust(report, recording);
    let trust = trust.into_iter().reduce(|before, sentence| tr!("{before} {sentence}", before, sentence));
    sheet.answer(tr!("Trust"), &trust.unwrap_or_default());
    let next = Wording { report, reader, recording }.steps().into_iter().next();
    if let Some(cause) = answer::top_cause(report) {
        let is_outside = report.traced_apart() && report.verdict.missed == 0;
        let place = if is_outside {
            tr!("From a traced pass, which does not count for the verdict, because tracing adds latency. ")
        } else {
            ""
        };
        sheet.answer(tr!("Causes"), &format!("{place}{cause}"));
    } else if report.verdict.missed > 0 {
        sheet.answer(tr!("Causes"), &answer::no_cause(report));
    }
    if let Some(next) = next {
        sheet.answer_next(&next.why, &next.command.to_string(), next.then.map(|then| then.to_string()));
    }
    let files: Vec<String> = [recording, page].into_iter().flatten().map(|path| path.display().to_string()).collect();
    for (at, file) in files.iter().enumerate() {
        sheet.answer(if at == 0 { tr!("Files") } else { "" }, file);
    }
}
