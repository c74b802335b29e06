//! An audit in all its output formats: a list for the terminal, a text on one knob, JSON, Markdown, SARIF and `JUnit`;
//! and the difference between two audits.
//!
//! Nothing is judged here: the order and the words come from the findings and the catalogue. The evidence comes from a
//! machine that is not trusted, so each format escapes it in its own way.

mod difference;
mod explain;
mod json;
mod junit;
mod list;
mod markdown;
mod sarif;
#[cfg(test)]
mod tests;

pub use difference::{DifferenceDocument, Names, markdown as difference_markdown, text as difference_text};
pub use explain::essay;
pub use json::AuditDocument;
pub use junit::document as junit;
pub use list::list;
pub use markdown::document as markdown;
pub use sarif::{Captured, document as sarif};

use crate::render::lang::{said, tr};
use crate::render::words;
use punctual_facts::finding::{Evidence, Finding, Severity, State};
use punctual_tuning::audit::{lasting, undoing};
use punctual_tuning::knobs::{Blast, Case, Family, Knob};
use serde::Serialize;
use std::fmt;

const WORST_FIRST: [Severity; 4] = [Severity::Fatal, Severity::High, Severity::Medium, Severity::Info];

#[derive(Clone, Copy)]
pub struct Audit<'a> {
    /// The machine and the need.
    pub case: &'a Case<'a>,
    /// The finding of every knob, worst first.
    pub findings: &'a [Finding],
}

impl<'a> Audit<'a> {
    fn bad(&self, severity: Severity) -> impl Iterator<Item = &'a Finding> {
        self.findings.iter().filter(move |f| f.state == State::Bad && f.severity == severity)
    }

    /// The kind of work and its CPUs: `periodic work on CPUs 2-3`.
    fn need(&self) -> String {
        let cpus = if self.case.rt().is_empty() { tr!("unknown CPUs").to_owned() } else { words::cpus(self.case.rt()) };
        tr!("{kind} work on {cpus}", kind = said(self.case.need.kind.name()), cpus)
    }
}

/// Number of findings of each kind.
#[derive(Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Totals {
    fatal: usize,
    high: usize,
    medium: usize,
    info: usize,
    unknown: usize,
    advice: usize,
    good: usize,
    not_applicable: usize,
}

impl Totals {
    fn of(findings: &[Finding]) -> Self {
        let mut totals = Self::default();
        for finding in findings {
            *match (&finding.state, finding.severity) {
                (State::Bad, Severity::Fatal) => &mut totals.fatal,
                (State::Bad, Severity::High) => &mut totals.high,
                (State::Bad, Severity::Medium) => &mut totals.medium,
                (State::Bad, Severity::Info) => &mut totals.info,
                (State::Unknown(_), _) => &mut totals.unknown,
                (State::Advice(_), _) => &mut totals.advice,
                (State::Good, _) => &mut totals.good,
                (State::NotApplicable(_), _) => &mut totals.not_applicable,
            } += 1;
        }
        totals
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fatal, high, medium, info, unknown, advice, good, not_applicable } = self;
        f.write_str(&tr!("{fatal} fatal, {high} high, {medium} medium, {info} info; ", fatal, high, medium, info))?;
        f.write_str(&tr!(
            "{unknown} unknown, {advice} advice, {good} good, {not_applicable} not applicable",
            unknown,
            advice,
            good,
            not_applicable
        ))
    }
}

/// The catalogue's advice on a knob, with the values of one machine filled in.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Advice {
    family: Family,
    /// How to make the change survive a reboot.
    persist: String,
    /// How to undo the change at once.
    undo: String,
    /// How to undo `persist`; `None` if `undo` does that as well.
    undo_persist: Option<String>,
    blast_radius: Blast,
    /// Sources of the catalogue's statements about the knob.
    sources: &'static [&'static str],
}

impl Advice {
    fn of(knob: &Knob, case: &Case<'_>) -> Self {
        Self {
            family: knob.family,
            persist: lasting(knob, case),
            undo: knob.undo_here(case),
            undo_persist: undoing(knob, case),
            blast_radius: knob.blast,
            sources: knob.sources,
        }
    }
}

fn shown(evidence: &[Evidence]) -> String {
    let all: Vec<String> = evidence.iter().map(|e| format!("{} = {}", said(&e.source), said(&e.value))).collect();
    all.join(", ")
}

/// The finding in one text: its evidence or, if there is no plain verdict, the reason.
fn found(finding: &Finding) -> String {
    finding.state.because().map_or_else(|| shown(&finding.evidence), |because| said(because).into_owned())
}
