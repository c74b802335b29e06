//! The audit as `JUnit` XML: a suite per family, a case per knob. What has no verdict is skipped, and says why.

use super::{Audit, found, shown};
use crate::render::words;
use punctual_facts::finding::{Finding, Severity, State};
use punctual_tuning::knobs::{self, Family};
use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

/// The document. Findings from `least` on count as failures, those from medium on where nothing is said; the others are
/// skipped, so that the document and the exit code say the same.
pub fn document(audit: &Audit<'_>, least: Option<Severity>) -> Result<String, SerializeError> {
    let mut report = Report::new("punctual audit");
    for family in Family::ALL {
        let is_of = |finding: &&Finding| knobs::find(&finding.id).is_some_and(|knob| knob.family == *family);
        let mut suite = TestSuite::new(family.name());
        suite.add_test_cases(audit.findings.iter().filter(is_of).map(|finding| case(finding, *family, least)));
        if suite.tests == 0 {
            continue;
        }
        for (name, value) in audit.case.machine.fingerprint() {
            suite.add_property((name.as_str(), value.as_str()));
        }
        report.add_test_suite(suite);
    }
    crate::render::junit::text(&report)
}

fn case(finding: &Finding, family: Family, least: Option<Severity>) -> TestCase {
    let severity = words::severity(finding.severity);
    let mut case = TestCase::new(finding.id.as_str(), status(finding, least));
    case.set_classname(format!("punctual.{}", family.name()));
    if finding.state != State::Bad {
        case.set_system_out(shown(&finding.evidence));
        return case;
    }
    if let TestCaseStatus::NonSuccess { .. } = case.status {
        case.status.set_type(severity).set_description(format!(
            "found: {}\nwhy: {}\nchange: {}\ncost: {}",
            found(finding),
            finding.why,
            finding.fix,
            finding.cost
        ));
    }
    case
}

fn status(finding: &Finding, least: Option<Severity>) -> TestCaseStatus {
    let skipped = |message: String| {
        let mut status = TestCaseStatus::skipped();
        status.set_message(message);
        status
    };
    let severity = words::severity(finding.severity);
    match &finding.state {
        State::Good => TestCaseStatus::success(),
        State::Bad if finding.severity >= least.unwrap_or(Severity::Medium) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(format!("{severity}: wanted is: {}", finding.title));
            status
        }
        State::Bad => skipped(format!("{severity}, which is no failure here: {}", found(finding))),
        State::Unknown(because) => skipped(format!("unknown: {because}")),
        State::Advice(look) => skipped(format!("advice: {look}")),
        State::NotApplicable(because) => skipped(format!("not applicable: {because}")),
    }
}
