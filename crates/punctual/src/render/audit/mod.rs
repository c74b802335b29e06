//! An audit in the forms people and programs read: a list for the terminal, an essay on one knob, JSON, Markdown,
//! SARIF, `JUnit`; and what differs between two audits.
//!
//! Judges nothing: order and words come from the findings and the catalogue. Evidence comes from a machine nobody
//! vouches for, so each form makes it harmless in its own way.

mod difference;
mod explain;
mod json;
mod junit;
mod list;
mod markdown;
mod sarif;
#[cfg(test)]
mod tests;

pub use difference::{Names, json as difference_json, markdown as difference_markdown, text as difference_text};
pub use explain::essay;
pub use json::{document as json, state as state_word};
pub use junit::document as junit;
pub use list::list;
pub use markdown::document as markdown;
pub use sarif::{Captured, document as sarif};

use super::words;
use punctual_facts::finding::{Evidence, Finding, Severity, State};
use punctual_tuning::knobs::Case;

/// Severities, the worst first.
const WORST_FIRST: [Severity; 4] = [Severity::Fatal, Severity::High, Severity::Medium, Severity::Info];

/// What was audited, and what was found.
#[derive(Clone, Copy)]
pub struct Audit<'a> {
    /// The machine and the need.
    pub case: &'a Case<'a>,
    /// Every knob, judged; worst first.
    pub findings: &'a [Finding],
}

impl<'a> Audit<'a> {
    /// The findings proven bad, of one severity.
    fn bad(&self, severity: Severity) -> impl Iterator<Item = &'a Finding> {
        self.findings.iter().filter(move |f| f.state == State::Bad && f.severity == severity)
    }

    fn cpus(&self) -> String {
        if self.case.rt().is_empty() { "unknown".to_owned() } else { self.case.rt().to_string() }
    }

    /// `periodic work on CPUs 2-3`.
    fn need(&self) -> String {
        format!("{} work on CPUs {}", self.case.need.kind.name(), self.cpus())
    }
}

/// How many findings are of each kind, in the order they are shown.
fn totals(findings: &[Finding]) -> [(&'static str, usize); 8] {
    let count = |is_wanted: &dyn Fn(&Finding) -> bool| findings.iter().filter(|f| is_wanted(f)).count();
    let bad = |severity| count(&|f: &Finding| f.state == State::Bad && f.severity == severity);
    [
        ("fatal", bad(Severity::Fatal)),
        ("high", bad(Severity::High)),
        ("medium", bad(Severity::Medium)),
        ("info", bad(Severity::Info)),
        ("unknown", count(&|f| matches!(f.state, State::Unknown(_)))),
        ("advice", count(&|f| matches!(f.state, State::Advice(_)))),
        ("good", count(&|f| f.state == State::Good)),
        ("not applicable", count(&|f| matches!(f.state, State::NotApplicable(_)))),
    ]
}

/// The totals as a sentence.
fn counted(findings: &[Finding]) -> String {
    let counts = totals(findings).map(|(word, count)| format!("{count} {word}"));
    let (bad, rest) = counts.split_at(WORST_FIRST.len());
    format!("{}; {}", bad.join(", "), rest.join(", "))
}

/// Evidence as `source = value`.
fn shown(evidence: &[Evidence]) -> String {
    let all: Vec<String> = evidence.iter().map(|e| format!("{} = {}", e.source, e.value)).collect();
    all.join(", ")
}

/// What was found, in one piece of text: the evidence, or why there is no verdict.
fn found(finding: &Finding) -> String {
    words::state_because(&finding.state).map_or_else(|| shown(&finding.evidence), str::to_owned)
}
