//! All findings as one JSON document, `punctual/audit/2`.

use super::{Advice, Audit, Totals};
use crate::render::document::Published;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::finding::Finding;
use punctual_facts::machine::MachineLine;
use punctual_facts::profile::Kind;
use punctual_tuning::knobs;
use serde::Serialize;

/// What stands between this machine and real time, worst first.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AuditDocument<'a> {
    /// Lines that say which machine it is.
    machine: Vec<MachineLine>,
    /// What it was judged for.
    need: JudgedFor<'a>,
    /// How many findings are of each kind: of those that are bad by severity, of all others by state.
    totals: Totals,
    findings: Vec<Entry<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JudgedFor<'a> {
    profile: Kind,
    /// CPUs of the real-time work; empty where nobody knows which CPUs there are.
    cpus: &'a CpuSet,
}

/// A finding, with what the catalogue says of its knob.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Entry<'a> {
    #[serde(flatten)]
    finding: &'a Finding,
    #[serde(flatten)]
    advice: Advice,
}

impl Published for AuditDocument<'_> {
    const SCHEMA: &'static str = "punctual/audit/2";
}

impl<'a> AuditDocument<'a> {
    /// Leaves out findings of knobs that this program does not know: a recording of a newer program can hold some.
    pub fn of(audit: &Audit<'a>) -> Self {
        let case = audit.case;
        let entry = |finding: &'a Finding| {
            let advice = Advice::of(knobs::find(&finding.id)?, case);
            Some(Entry { finding, advice })
        };
        Self {
            machine: case.machine.fingerprint(),
            need: JudgedFor { profile: case.need.kind, cpus: case.rt() },
            totals: Totals::of(audit.findings),
            findings: audit.findings.iter().filter_map(entry).collect(),
        }
    }
}
