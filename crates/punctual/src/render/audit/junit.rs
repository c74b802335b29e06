//! The audit as `JUnit` XML: one suite for each family of knobs, one case for each knob. A knob without a verdict is a
//! skipped case, which holds the reason.

use super::{Audit, found, shown};
use crate::render::junit::{Case, Document, Status, Suite, Trouble};
use crate::render::words;
use punctual_facts::finding::{Finding, Severity, State};
use punctual_tuning::knobs::{self, Family};

/// The audit as `JUnit` XML. A bad finding is a failure if its severity is at least `least` (medium if `least` is
/// `None`). Cases of all other findings are skipped, so that the document agrees with the exit code.
pub fn document(audit: &Audit<'_>, least: Option<Severity>) -> std::io::Result<String> {
    let suites = Family::ALL.iter().map(|family| {
        let is_of = |finding: &&Finding| knobs::find(&finding.id).is_some_and(|knob| knob.family == *family);
        let cases = audit.findings.iter().filter(is_of).map(|finding| case(finding, *family, least)).collect();
        Suite { name: family.name().to_owned(), properties: audit.case.machine.fingerprint(), cases }
    });
    let suites = suites.filter(|suite| !suite.cases.is_empty()).collect();
    Document { name: "punctual audit", suites }.text()
}

fn case(finding: &Finding, family: Family, least: Option<Severity>) -> Case {
    Case {
        name: finding.id.clone(),
        class: format!("punctual.{}", family.name()),
        status: status(finding, least),
        output: (finding.state != State::Bad).then(|| shown(&finding.evidence)),
    }
}

fn status(finding: &Finding, least: Option<Severity>) -> Status {
    let skipped = |message: String| Status::Skipped(Some(message));
    let severity = words::severity(finding.severity);
    match &finding.state {
        State::Good => Status::Passed,
        State::Bad if finding.severity >= least.unwrap_or(Severity::Medium) => Status::Failed(Trouble {
            message: Some(format!("{severity}: should be: {}", finding.title)),
            kind: Some(severity.to_owned()),
            text: Some(format!(
                "found: {}\nwhy: {}\nchange: {}\ncost: {}",
                found(finding),
                finding.why,
                finding.fix,
                finding.cost
            )),
        }),
        State::Bad => skipped(format!("{severity}, which is no failure here: {}", found(finding))),
        State::Unknown(why) => skipped(format!("unknown: {}", why.because)),
        State::Advice(look) => skipped(format!("advice: {look}")),
        State::NotApplicable(because) => skipped(format!("not applicable: {because}")),
    }
}
