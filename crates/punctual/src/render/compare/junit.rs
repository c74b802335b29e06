//! A comparison as `JUnit` XML: a suite per recording, a case per CPU and load. What cannot be told is skipped, and says
//! why.

use crate::render::words::compare as say;
use punctual_numbers::compare::{Against, Comparison, GroupResult, Verdict};
use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

/// The document. Worse is a failure; `unsure_fails` makes one of what cannot be told, too.
pub fn junit(comparison: &Comparison, unsure_fails: bool) -> Result<String, SerializeError> {
    let mut report = Report::new("punctual compare");
    for other in &comparison.others {
        let mut suite = TestSuite::new(other.side.name.as_str());
        suite.add_property(("baseline", comparison.first.name.as_str()));
        suite.add_property(("verdict", say::verdict(other.verdict)));
        if other.refused {
            suite.add_property(("not-comparable", "compared because --anyway was given"));
        }
        for difference in &other.differences {
            suite.add_property((say::matters(difference.matters()), say::difference(difference).as_str()));
        }
        for lacking in &other.lacks {
            suite.add_property(("not known", say::lacking(lacking).as_str()));
        }
        suite.add_test_cases(other.groups.iter().map(|group| case(other, group, unsure_fails)));
        report.add_test_suite(suite);
    }
    crate::render::junit::text(&report)
}

fn case(other: &Against, group: &GroupResult, unsure_fails: bool) -> TestCase {
    let rows = group.rows.iter().map(|row| {
        format!(
            "{}: {} -> {}, change {} ({}), odds {}: {}",
            say::what(&row.what),
            say::number(row, false),
            say::number(row, true),
            say::change(row),
            say::interval(row),
            say::odds(row.odds_of_all),
            say::row_verdict(row)
        )
    });
    let all = say::unfit(group).into_iter().chain(rows).collect::<Vec<_>>().join("\n");
    let mut status = match group.verdict {
        Verdict::Better | Verdict::NoDifferenceShown => TestCaseStatus::success(),
        Verdict::NotEnoughData if !unsure_fails => TestCaseStatus::skipped(),
        Verdict::Worse | Verdict::Mixed | Verdict::NotEnoughData => {
            TestCaseStatus::non_success(NonSuccessKind::Failure)
        }
    };
    if !matches!(group.verdict, Verdict::Better | Verdict::NoDifferenceShown) {
        let anyway = if other.refused { " (not comparable, compared on demand)" } else { "" };
        status.set_message(format!("{}{anyway}", say::verdict(group.verdict)));
    }
    let mut case = TestCase::new(say::result_group(group), status);
    case.set_classname("punctual.compare");
    case.set_system_out(all);
    case
}
