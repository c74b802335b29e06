//! All findings as one JSON document, `punctual/audit/3`.

use super::{Advice, Audit, Totals};
use crate::render::document::Published;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::finding::Finding;
use punctual_facts::machine::MachineFacts;
use punctual_facts::profile::Kind;
use punctual_tuning::knobs;
use serde::Serialize;

/// An audit of one machine: what was judged, and every finding, worst first.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AuditDocument<'a> {
    /// What the audited machine is.
    machine: MachineFacts,
    /// The need that the machine was judged for.
    need: JudgedFor<'a>,
    /// Number of findings of each kind: bad findings are counted by severity, all others by state.
    totals: Totals,
    findings: Vec<Entry<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JudgedFor<'a> {
    profile: Kind,
    /// CPUs of the real-time work; empty if they could not be determined.
    cpus: &'a CpuSet,
}

/// A finding, with the catalogue's advice on its knob.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Entry<'a> {
    #[serde(flatten)]
    finding: &'a Finding,
    #[serde(flatten)]
    advice: Advice,
}

impl Published for AuditDocument<'_> {
    const SCHEMA: &'static str = "punctual/audit/3";
}

impl<'a> AuditDocument<'a> {
    /// Findings of knobs that this program does not know are left out: a recording of a newer program can hold some.
    pub fn of(audit: &Audit<'a>) -> Self {
        let case = audit.case;
        let entry = |finding: &'a Finding| {
            let advice = Advice::of(knobs::find(&finding.id)?, case);
            Some(Entry { finding, advice })
        };
        Self {
            machine: MachineFacts::of(&case.machine.recorded()),
            need: JudgedFor { profile: case.need.kind, cpus: case.rt() },
            totals: Totals::of(audit.findings),
            findings: audit.findings.iter().filter_map(entry).collect(),
        }
    }
}
