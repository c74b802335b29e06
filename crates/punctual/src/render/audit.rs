//! Findings as a terminal shows them, as JSON, and one knob as an essay.
//!
//! Judges nothing: order and words come from the findings and the catalogue.

use anstyle::{AnsiColor, Style};
use punctual_core::audit::lasting;
use punctual_core::finding::{Confidence, Evidence, Finding, Severity, State};
use punctual_core::knobs::{self, Case, Knob};
use punctual_core::profile::Kind;
use serde::Serialize;
use std::io::{self, Write};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const CYAN: Style = AnsiColor::Cyan.on_default();
const GREEN: Style = AnsiColor::Green.on_default();

/// Version of the JSON document.
const SCHEMA: &str = "punctual/audit/1";

/// All findings, grouped, worst first, one line each.
pub fn text(out: &mut dyn Write, case: &Case<'_>, findings: &[Finding]) -> io::Result<()> {
    for (name, value) in case.machine.fingerprint() {
        writeln!(out, "{DIM}{name:<15}{DIM:#} {value}")?;
    }
    let rt = if case.rt.is_empty() { "unknown".to_owned() } else { case.rt.to_string() };
    writeln!(out, "\n{BOLD}For {} work on CPUs {rt}{BOLD:#}: {}", case.need.kind.name(), totals(findings))?;

    let bad = [
        (Severity::Fatal, RED, "FATAL: the need cannot be met while these stand"),
        (Severity::High, RED, "HIGH: tens to hundreds of microseconds, or regular"),
        (Severity::Medium, YELLOW, "MEDIUM: microseconds, or rare"),
        (Severity::Info, CYAN, "INFO: worth knowing"),
    ];
    for (severity, style, heading) in bad {
        group(out, style, heading, findings, |f| f.state == State::Bad && f.severity == severity)?;
    }
    group(out, YELLOW, "UNKNOWN", findings, |f| matches!(f.state, State::Unknown(_)))?;
    group(out, CYAN, "ADVICE: software cannot see these", findings, |f| matches!(f.state, State::Advice(_)))?;
    group(out, GREEN, "GOOD", findings, |f| f.state == State::Good)?;
    group(out, DIM, "NOT APPLICABLE", findings, |f| matches!(f.state, State::NotApplicable(_)))?;
    writeln!(
        out,
        "\n{DIM}punctual audit --explain KNOB: why, what the change costs, how to undo it, where that is known from{DIM:#}"
    )
}

fn totals(findings: &[Finding]) -> String {
    let count = |is_wanted: &dyn Fn(&Finding) -> bool| findings.iter().filter(|f| is_wanted(f)).count();
    let bad = |severity| count(&|f: &Finding| f.state == State::Bad && f.severity == severity);
    format!(
        "{} fatal, {} high, {} medium, {} info; {} unknown, {} advice, {} good, {} not applicable",
        bad(Severity::Fatal),
        bad(Severity::High),
        bad(Severity::Medium),
        bad(Severity::Info),
        count(&|f| matches!(f.state, State::Unknown(_))),
        count(&|f| matches!(f.state, State::Advice(_))),
        count(&|f| f.state == State::Good),
        count(&|f| matches!(f.state, State::NotApplicable(_))),
    )
}

fn group(
    out: &mut dyn Write,
    style: Style,
    heading: &str,
    findings: &[Finding],
    is_wanted: impl Fn(&Finding) -> bool,
) -> io::Result<()> {
    let mut is_first = true;
    for finding in findings.iter().filter(|f| is_wanted(f)) {
        if is_first {
            writeln!(out, "\n{style}{heading}{style:#}")?;
            is_first = false;
        }
        write!(out, "  {BOLD}{:<21}{BOLD:#} ", finding.id)?;
        match &finding.state {
            State::Bad => writeln!(out, "{} {DIM}->{DIM:#} {}", shown(&finding.evidence), finding.fix)?,
            State::Good => writeln!(out, "{}", shown(&finding.evidence))?,
            State::Unknown(because) | State::Advice(because) | State::NotApplicable(because) => {
                writeln!(out, "{because}")?;
            }
        }
    }
    Ok(())
}

fn shown(evidence: &[Evidence]) -> String {
    let all: Vec<String> = evidence.iter().map(|e| format!("{} = {}", e.source, e.value)).collect();
    all.join(", ")
}

/// All about one knob, and what it is here.
pub fn explain(out: &mut dyn Write, case: &Case<'_>, knob: &Knob, findings: &[Finding]) -> io::Result<()> {
    writeln!(out, "{BOLD}{}{BOLD:#}: {} {DIM}({}){DIM:#}\n", knob.id, knob.title, knob.family.name())?;
    if let Some(finding) = findings.iter().find(|finding| finding.id == knob.id) {
        let (word, because) = state(&finding.state);
        let because = because.map(|because| format!(", because {because}")).unwrap_or_default();
        line(out, "here", &format!("{word}{because}"))?;
        for evidence in &finding.evidence {
            line(out, "", &format!("{} = {}", evidence.source, evidence.value))?;
        }
        line(out, "severity", severity(finding.severity))?;
    }
    let by_kind = Kind::ALL.map(|kind| format!("{} for {} work", severity(knob.severity.for_kind(kind)), kind.name()));
    line(out, "in general", &by_kind.join(", "))?;
    line(out, "why", knob.why)?;
    line(out, "now", &case.fill(knob.fix))?;
    line(out, "lasting", &lasting(knob, case))?;
    line(out, "undo", &case.fill(knob.undo))?;
    line(out, "cost", knob.cost)?;
    line(out, "blast radius", knob.blast.name())?;
    line(out, "confidence", confidence(knob.confidence))?;
    knob.sources.iter().enumerate().try_for_each(|(n, source)| line(out, if n == 0 { "sources" } else { "" }, source))
}

fn line(out: &mut dyn Write, name: &str, value: &str) -> io::Result<()> {
    writeln!(out, "  {DIM}{name:<13}{DIM:#} {value}")
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Fatal => "fatal",
        Severity::High => "high",
        Severity::Medium => "medium",
        Severity::Info => "info",
    }
}

fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::High => "high",
        Confidence::Medium => "medium",
        Confidence::Low => "low",
    }
}

fn state(state: &State) -> (&'static str, Option<&str>) {
    match state {
        State::Good => ("good", None),
        State::Bad => ("bad", None),
        State::Unknown(because) => ("unknown", Some(because)),
        State::Advice(because) => ("advice", Some(because)),
        State::NotApplicable(because) => ("not-applicable", Some(because)),
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    machine: Vec<NameValue>,
    need: NeedEntry,
    findings: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct NameValue {
    name: String,
    value: String,
}

#[derive(Serialize)]
struct NeedEntry {
    profile: &'static str,
    cpus: String,
}

#[derive(Serialize)]
struct Entry<'a> {
    id: &'a str,
    title: &'a str,
    family: &'static str,
    severity: &'static str,
    state: &'static str,
    because: Option<&'a str>,
    evidence: Vec<SourceValue<'a>>,
    why: &'a str,
    fix: &'a str,
    persist: String,
    undo: String,
    cost: &'a str,
    blast_radius: &'static str,
    confidence: &'static str,
    sources: &'static [&'static str],
}

#[derive(Serialize)]
struct SourceValue<'a> {
    source: &'a str,
    value: &'a str,
}

/// All findings as one JSON document.
pub fn json(out: &mut dyn Write, case: &Case<'_>, findings: &[Finding]) -> io::Result<()> {
    let machine = case.machine.fingerprint().into_iter().map(|(name, value)| NameValue { name, value }).collect();
    let need = NeedEntry { profile: case.need.kind.name(), cpus: case.rt.to_string() };
    let findings = findings.iter().filter_map(|finding| entry(case, finding)).collect();
    serde_json::to_writer_pretty(&mut *out, &Document { schema: SCHEMA, machine, need, findings })?;
    writeln!(out)
}

/// `None` for a finding of a knob this program does not have, which only a newer recording can hold.
fn entry<'a>(case: &Case<'_>, finding: &'a Finding) -> Option<Entry<'a>> {
    let knob = knobs::find(&finding.id)?;
    let (word, because) = state(&finding.state);
    Some(Entry {
        id: &finding.id,
        title: &finding.title,
        family: knob.family.name(),
        severity: severity(finding.severity),
        state: word,
        because,
        evidence: finding.evidence.iter().map(|e| SourceValue { source: &e.source, value: &e.value }).collect(),
        why: &finding.why,
        fix: &finding.fix,
        persist: lasting(knob, case),
        undo: case.fill(knob.undo),
        cost: &finding.cost,
        blast_radius: knob.blast.name(),
        confidence: confidence(finding.confidence),
        sources: knob.sources,
    })
}
