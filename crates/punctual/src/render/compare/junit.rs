//! A comparison as `JUnit` XML: one suite for each recording, one case for each CPU and load. An undecided case is
//! skipped, and its message holds the reason.

use crate::render::junit::{Case, Document, Status, Suite, Trouble};
use crate::render::words::compare as say;
use punctual_facts::machine::MachineLine;
use punctual_numbers::compare::{Against, Compared, Comparison, GroupResult};

/// The comparison as `JUnit` XML. A case that became worse is a failure; with `unsure_fails`, an undecided case is one
/// too.
pub fn junit(comparison: &Comparison, unsure_fails: bool) -> std::io::Result<String> {
    let suites = comparison.others.iter().map(|other| {
        let mut properties = vec![
            ("baseline", comparison.first.name.clone()),
            ("verdict", say::based_verdict(other.basis, other.verdict, other.if_independent)),
        ];
        if other.refused {
            properties.push(("not-comparable", "compared because --anyway was given".to_owned()));
        }
        properties.extend(other.differences.iter().map(|one| (say::matters(one.matters()), say::difference(one))));
        properties.extend(other.lacks.iter().map(|lacking| ("not known", say::lacking(lacking))));
        Suite {
            name: other.side.name.clone(),
            properties: properties.into_iter().map(MachineLine::from).collect(),
            cases: other.groups.iter().map(|group| case(other, group, unsure_fails)).collect(),
        }
    });
    Document { name: "punctual compare", suites: suites.collect() }.text()
}

fn case(other: &Against, group: &GroupResult, unsure_fails: bool) -> Case {
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
    let anyway = if other.refused { " (not comparable, compared on demand)" } else { "" };
    let verdict = say::based_verdict(group.basis, group.verdict, group.if_independent);
    let message = Some(format!("{verdict}{anyway}"));
    let status = match group.verdict {
        Compared::Better | Compared::NoDifferenceShown => Status::Passed,
        Compared::NotEnoughData if !unsure_fails => Status::Skipped(message),
        Compared::Worse | Compared::Mixed | Compared::NotEnoughData => {
            Status::Failed(Trouble { message, ..Trouble::default() })
        }
    };
    Case { name: say::result_group(group), class: "punctual.compare".to_owned(), status, output: Some(all) }
}
