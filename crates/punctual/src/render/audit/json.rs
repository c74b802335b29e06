//! All findings as one JSON document; `schemas/audit-1.schema.json` says what each part means.

use super::{Audit, totals};
use crate::render::words;
use punctual_facts::finding::{Confidence, Evidence, Finding, State};
use punctual_tuning::audit::{lasting, undoing};
use punctual_tuning::knobs::{self, Case};
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the document.
const SCHEMA: &str = "punctual/audit/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    tool_version: &'static str,
    machine: Vec<NameValue>,
    need: Need,
    totals: BTreeMap<String, usize>,
    findings: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct NameValue {
    name: String,
    value: String,
}

#[derive(Serialize)]
struct Need {
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
    undo_persist: Option<String>,
    cost: &'a str,
    blast_radius: &'static str,
    confidence: &'static str,
    sources: &'static [&'static str],
}

/// One piece of evidence.
#[derive(Serialize)]
pub struct SourceValue<'a> {
    source: &'a str,
    value: &'a str,
}

/// The document.
pub fn document(audit: &Audit<'_>) -> Result<String, serde_json::Error> {
    let case = audit.case;
    let machine = case.machine.fingerprint().into_iter().map(|(name, value)| NameValue { name, value }).collect();
    serde_json::to_string_pretty(&Document {
        schema: SCHEMA,
        tool_version: env!("CARGO_PKG_VERSION"),
        machine,
        need: Need { profile: case.need.kind.name(), cpus: case.rt().to_string() },
        totals: totals(audit.findings).into_iter().map(|(word, count)| (word.replace(' ', "_"), count)).collect(),
        findings: audit.findings.iter().filter_map(|finding| entry(case, finding)).collect(),
    })
}

/// `None` for a finding of a knob this program does not have, which only a newer recording can hold.
fn entry<'a>(case: &Case<'_>, finding: &'a Finding) -> Option<Entry<'a>> {
    let knob = knobs::find(&finding.id)?;
    Some(Entry {
        id: &finding.id,
        title: &finding.title,
        family: knob.family.name(),
        severity: words::severity(finding.severity),
        state: state(&finding.state),
        because: words::state_because(&finding.state),
        evidence: evidence(&finding.evidence),
        why: &finding.why,
        fix: &finding.fix,
        persist: lasting(knob, case),
        undo: knob.undo_here(case),
        undo_persist: undoing(knob, case),
        cost: &finding.cost,
        blast_radius: knob.blast.name(),
        confidence: confidence(finding.confidence),
        sources: knob.sources,
    })
}

/// Evidence as the documents hold it.
pub fn evidence(evidence: &[Evidence]) -> Vec<SourceValue<'_>> {
    evidence.iter().map(|e| SourceValue { source: &e.source, value: &e.value }).collect()
}

/// The state, as a word programs compare.
pub fn state(state: &State) -> &'static str {
    match state {
        State::Good => "good",
        State::Bad => "bad",
        State::Unknown(_) => "unknown",
        State::Advice(_) => "advice",
        State::NotApplicable(_) => "not-applicable",
    }
}

fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::High => "high",
        Confidence::Medium => "medium",
        Confidence::Low => "low",
    }
}
