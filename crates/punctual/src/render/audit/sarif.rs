//! The audit as SARIF: knobs are rules, findings are results. The place of a result is the file of the machine that the
//! finding was read from. For a captured machine it is the line of the capture that holds this file.

use super::{Advice, Audit, found};
use crate::render::sarif::{self, Checked, Level, Place, Region, ResultKind, Rule};
use crate::render::words;
use punctual_facts::finding::{Finding, Severity, State};
use punctual_facts::machine::CMDLINE;
use punctual_tuning::knobs::{self, Knob};
use std::path::Path;

/// The file a captured machine came from.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

/// The audit as SARIF. Only bad findings are included unless `all` is set, because most readers show every result as a
/// fault.
pub fn document(audit: &Audit<'_>, captured: Option<Captured<'_>>, all: bool) -> String {
    let shown: Vec<(&Finding, &Knob)> = audit
        .findings
        .iter()
        .filter(|finding| all || finding.state == State::Bad)
        .filter_map(|finding| knobs::find(&finding.id).map(|knob| (finding, knob)))
        .collect();
    let rules: Vec<Rule> = shown.iter().map(|(finding, knob)| rule(audit, finding, knob)).collect();
    let results: Vec<Checked> = shown.iter().map(|(finding, _)| result(finding, captured)).collect();
    sarif::document(&rules, &results, &audit.case.machine.fingerprint())
}

fn rule(audit: &Audit<'_>, finding: &Finding, knob: &Knob) -> Rule {
    let case = audit.case;
    let advice = Advice::of(knob, case);
    let help = format!(
        "Now: {}\nLasting: {}\nUndo: {}; lasting: {}\nCost: {}\nBlast radius: {}.\nSources: {}",
        knob.fix_here(case),
        advice.persist,
        advice.undo,
        advice.undo_persist.as_deref().unwrap_or("the same"),
        knob.cost,
        words::blast_meaning(knob.blast),
        knob.sources.join("; ")
    );
    Rule {
        id: knob.id.to_owned(),
        short: knob.title.to_owned(),
        full: knob.why.to_owned(),
        help,
        level: level(finding.severity),
        tags: vec!["real-time".to_owned(), knob.family.name().to_owned()],
    }
}

fn level(severity: Severity) -> Level {
    match severity {
        Severity::Fatal | Severity::High => Level::Error,
        Severity::Medium => Level::Warning,
        Severity::Info => Level::Note,
    }
}

fn result(finding: &Finding, captured: Option<Captured<'_>>) -> Checked {
    let kind = match finding.state {
        State::Bad => ResultKind::Fail(level(finding.severity)),
        State::Good => ResultKind::Pass,
        State::Unknown(_) => ResultKind::Open,
        State::Advice(_) => ResultKind::Review,
        State::NotApplicable(_) => ResultKind::NotApplicable,
    };
    let message = match finding.state {
        State::Bad => format!(
            "{} ({}): should be: {}. Found: {}. {}",
            finding.id,
            words::severity(finding.severity),
            finding.title,
            found(finding),
            finding.fix
        ),
        _ => format!("{}: {}. {}", finding.id, finding.title, found(finding)),
    };
    // Code-review tools refuse a result without a file, so without a captured machine the place is the file that was
    // read.
    let file = match captured {
        Some(captured) => Place::File {
            path: captured.path.to_owned(),
            region: Some(Region { line: line(captured.text, finding), columns: None }),
        },
        None => Place::File { path: own_file(finding).into(), region: Some(Region { line: 1, columns: None }) },
    };
    let names = finding.evidence.iter().map(|evidence| Place::Named(evidence.source.clone()));
    Checked { rule: finding.id.clone(), kind, message, places: [file].into_iter().chain(names).collect() }
}

/// The first file of the machine that the finding was read from, or `/proc/cmdline` if no file was read.
fn own_file(finding: &Finding) -> &str {
    let files = finding.evidence.iter().filter_map(|evidence| evidence.source.split([' ', ',']).next());
    files.into_iter().find(|path| path.starts_with('/') && !path.contains('*')).unwrap_or(CMDLINE)
}

/// The line of the capture that holds the first piece of evidence found in it, or 1 if none is found.
fn line(text: &str, finding: &Finding) -> usize {
    let path = |source: &str| source.split(' ').next().unwrap_or_default().to_owned();
    let paths = finding.evidence.iter().map(|evidence| path(&evidence.source)).filter(|path| path.starts_with('/'));
    let is_of = |line: &str, path: &str| line.strip_prefix(path).is_some_and(|rest| rest.starts_with([' ', '/']));
    let mut found = paths.filter_map(|path| text.lines().position(|line| is_of(line, &path)));
    found.next().map_or(1, |number| number + 1)
}
