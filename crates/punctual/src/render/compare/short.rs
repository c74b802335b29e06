//! The text of a comparison in at most 60 lines, with the answer in the last ones.

use super::text::{numbers, side, tone};
use crate::render::lang::tr;
use crate::render::sheet::{Sheet, Style};
use crate::render::units;
use crate::render::words::{self, command::length, compare as say};
use punctual_numbers::compare::{Against, Compared, Comparison, Design, GroupResult, Undecided};
use punctual_numbers::report::Distrust;
use std::path::Path;

/// Number of differences between the recordings (machine, settings, scenario) that are listed.
const DIFFERENCES_SHOWN: usize = 4;
/// Number of groups that get one line each, below the group that has a table.
const GROUPS_SHOWN: usize = 4;
/// Number of better or worse rows that the answer names.
const DECIDED_SHOWN: usize = 3;

/// The whole text. Tables of numbers are shown only if a single recording is compared with the first.
pub fn short(comparison: &Comparison, html: Option<&Path>, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    side(&mut sheet, tr!("first"), &comparison.first);
    for other in &comparison.others {
        side(&mut sheet, tr!("second"), &other.side);
        if comparison.others.len() == 1 {
            differences(&mut sheet, other);
            groups(&mut sheet, other);
        }
        answer(&mut sheet, other, comparison);
    }
    if let Some(path) = html {
        sheet.answer(tr!("Page"), &path.display().to_string());
    }
    sheet.finish()
}

fn differences(sheet: &mut Sheet, other: &Against) {
    if other.differences.is_empty() {
        return;
    }
    sheet.heading(tr!("What differs besides the numbers"));
    for difference in other.differences.iter().take(DIFFERENCES_SHOWN) {
        sheet.point(2, &say::difference(difference));
    }
    if let Some(left) = left(other.differences.len(), DIFFERENCES_SHOWN) {
        more(sheet, &units::counted(left, "more difference"));
    }
}

/// Prints a table for the first group that has the same verdict as the whole comparison, and one line for each other
/// group.
fn groups(sheet: &mut Sheet, other: &Against) {
    let decides = |group: &&GroupResult| group.verdict == other.verdict;
    let Some(first) = other.groups.iter().find(decides).or(other.groups.first()) else { return };
    sheet.heading(tr!("Numbers in us, over the releases due"));
    numbers(sheet, first);
    let rest: Vec<&GroupResult> = other.groups.iter().filter(|group| !std::ptr::eq(*group, first)).collect();
    if !rest.is_empty() {
        sheet.gap();
    }
    for group in rest.iter().take(GROUPS_SHOWN) {
        sheet.paragraph(2, &group_line(group));
    }
    if let Some(left) = left(rest.len(), GROUPS_SHOWN) {
        more(sheet, &units::counted(left, "more group"));
    }
}

fn group_line(group: &GroupResult) -> String {
    let verdict = say::based_verdict(group.basis, group.verdict, group.if_independent);
    format!("{}: {verdict}", say::result_group(group))
}

/// How many are not shown, if any.
fn left(there: usize, shown: usize) -> Option<u64> {
    there.checked_sub(shown).filter(|left| *left > 0).map(|left| left as u64)
}

fn more(sheet: &mut Sheet, more: &str) {
    sheet.paragraph(2, &tr!("and {more}: --full", more));
}

fn answer(sheet: &mut Sheet, other: &Against, comparison: &Comparison) {
    sheet.gap();
    let decided = say::all_decided(other);
    let shown: Vec<&str> = decided.iter().take(DECIDED_SHOWN).map(String::as_str).collect();
    let word = format!("{}:", say::verdict_on(other).to_uppercase());
    let left = decided.len() - shown.len();
    let left = if left > 0 { tr!("; and {left} more", left = units::count(left as u64)) } else { String::new() };
    let sides = tr!("{side} against {first}", side = other.side.name, first = comparison.first.name);
    let seen = if shown.is_empty() { sides } else { format!("{sides}: {}{left}.", shown.join("; ")) };
    sheet.hanging_paragraph(0, 2, tone(other.verdict), &word, &seen);
    sheet.answer(tr!("How sure"), &say::sentence(other, comparison));
    if let Some(kernels) = &other.kernels {
        sheet.answer(tr!("Kernels"), &say::second_kernel(kernels));
    }
    let doubts: Vec<Distrust> = comparison.first.doubts.iter().chain(&other.side.doubts).cloned().collect();
    let trust = if other.refused {
        tr!(
            "No: the numbers of these two recordings have different meanings ({other}); they are compared because of \
            --anyway.",
            other = say::not_comparable(other)
        )
    } else if doubts.is_empty() {
        tr!("Yes: nothing speaks against either recording, and their numbers have the same meaning.").to_owned()
    } else if other.is_doubtful_beside(&comparison.first) {
        tr!("No: the disturbances listed above with the files may have caused or hidden the difference.").to_owned()
    } else {
        tr!("Yes, although {doubts}.", doubts = words::although(&doubts))
    };
    sheet.answer(tr!("Trust"), &trust);
    let (why, command) = next(other);
    match command {
        Some(command) => sheet.answer_next(&why, &command, None),
        None => sheet.answer(tr!("Next"), &why),
    }
}

/// The next step in words, and its command if there is one.
fn next(other: &Against) -> (String, Option<String>) {
    let kernels = other.kernels.as_ref().and_then(|kernels| say::kernels_in_turn(kernels, other.design));
    let in_turn = || {
        if let Some((command, takes)) = &kernels {
            let why = tr!("Measure both kernels in turn; it takes about {takes}:", takes = units::duration(*takes));
            return (why, Some(command.clone()));
        }
        let (command, takes) = say::interleave();
        let takes = units::duration(takes);
        let why = tr!(
            "Measure in turn, where A and B are the commands that set up each side; it takes about {takes}:",
            takes
        );
        (why, Some(command))
    };
    match other.undecided {
        Some(Undecided::FewRuns { .. }) if kernels.is_some() => return in_turn(),
        Some(Undecided::Moods(_)) => return in_turn(),
        Some(Undecided::FewRuns { .. }) => {
            return (
                tr!("Measure more runs of both sides, alternately, and pass all recordings to punctual compare.")
                    .to_owned(),
                None,
            );
        }
        None => {}
    }
    if other.design != Design::Pair {
        return (
            tr!(
                "Nothing more to measure: with several runs of each side, their difference was already judged against \
                how much runs of the same side differ."
            )
            .to_owned(),
            None,
        );
    }
    if other.if_independent.is_some_and(|verdict| verdict != Compared::NotEnoughData) {
        let why =
            tr!("Compare recordings, or files that list their values one by one: both show how values depend on each \
                   other. To get a verdict nevertheless, add --as-if-independent.");
        return (why.to_owned(), None);
    }
    match (other.verdict, other.wants) {
        (Compared::NotEnoughData, Some(wants)) => {
            let wants = say::rounded_up(wants);
            let why = tr!("Measure each of the two sides for {wants}:", wants = units::duration(wants));
            (why, Some(format!("punctual measure --duration {}", length(wants))))
        }
        (Compared::NotEnoughData, None) => in_turn(),
        _ => {
            let (why, command) = in_turn();
            let doubt = tr!("Two recordings cannot distinguish your change from changes that happen by themselves \
                between runs.");
            (format!("{doubt} {why}"), command)
        }
    }
}
