//! The text of a comparison in at most 60 lines, with the answer in the last ones.

use super::text::{numbers, side, tone};
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
    side(&mut sheet, "first", &comparison.first);
    for other in &comparison.others {
        side(&mut sheet, "second", &other.side);
        if comparison.others.len() == 1 {
            differences(&mut sheet, other);
            groups(&mut sheet, other);
        }
        answer(&mut sheet, other, comparison);
    }
    if let Some(path) = html {
        sheet.answer("Page", &path.display().to_string());
    }
    sheet.finish()
}

fn differences(sheet: &mut Sheet, other: &Against) {
    if other.differences.is_empty() {
        return;
    }
    sheet.heading("What differs beside the numbers");
    for difference in other.differences.iter().take(DIFFERENCES_SHOWN) {
        sheet.point(2, &say::difference(difference));
    }
    more(sheet, other.differences.len(), DIFFERENCES_SHOWN, "difference");
}

/// Prints a table for the first group that has the same verdict as the whole comparison, and one line for each other
/// group.
fn groups(sheet: &mut Sheet, other: &Against) {
    let decides = |group: &&GroupResult| group.verdict == other.verdict;
    let Some(first) = other.groups.iter().find(decides).or(other.groups.first()) else { return };
    sheet.heading("Numbers in us, over the releases due");
    numbers(sheet, first);
    let rest: Vec<&GroupResult> = other.groups.iter().filter(|group| !std::ptr::eq(*group, first)).collect();
    if !rest.is_empty() {
        sheet.gap();
    }
    for group in rest.iter().take(GROUPS_SHOWN) {
        sheet.paragraph(2, &group_line(group));
    }
    more(sheet, rest.len(), GROUPS_SHOWN, "group");
}

fn group_line(group: &GroupResult) -> String {
    let verdict = say::based_verdict(group.basis, group.verdict, group.if_independent);
    format!("{}: {verdict}", say::result_group(group))
}

fn more(sheet: &mut Sheet, there: usize, shown: usize, noun: &str) {
    if let Some(more) = there.checked_sub(shown).filter(|more| *more > 0) {
        sheet.paragraph(2, &format!("and {more} more {noun}{}: --full", if more == 1 { "" } else { "s" }));
    }
}

fn answer(sheet: &mut Sheet, other: &Against, comparison: &Comparison) {
    sheet.gap();
    let decided = say::all_decided(other);
    let shown: Vec<&str> = decided.iter().take(DECIDED_SHOWN).map(String::as_str).collect();
    let word = format!("{}:", say::verdict_on(other).to_uppercase());
    let left = decided.len() - shown.len();
    let left = if left > 0 { format!("; and {} more", units::count(left as u64)) } else { String::new() };
    let sides = format!("{} against {}", other.side.name, comparison.first.name);
    let seen = if shown.is_empty() { sides } else { format!("{sides}: {}{left}.", shown.join("; ")) };
    sheet.hanging_paragraph(0, 2, tone(other.verdict), &word, &seen);
    sheet.answer("How sure", &say::sentence(other, comparison));
    if let Some(kernels) = &other.kernels {
        sheet.answer("Kernels", &say::second_kernel(kernels));
    }
    let doubts: Vec<Distrust> = comparison.first.doubts.iter().chain(&other.side.doubts).cloned().collect();
    let trust = if other.refused {
        format!("No: these two mean different things ({}); --anyway was given.", say::not_comparable(other))
    } else if doubts.is_empty() {
        "Yes: nothing speaks against either recording, and both mean the same.".to_owned()
    } else if other.is_doubtful_beside(&comparison.first) {
        "No: what stands beside the files above may have made or hidden the difference.".to_owned()
    } else {
        format!("Yes, although {}.", words::although(&doubts))
    };
    sheet.answer("Trust", &trust);
    let (why, command) = next(other);
    match command {
        Some(command) => sheet.answer_next(&why, &command, None),
        None => sheet.answer("Next", &why),
    }
}

/// The next step in words, and its command if there is one.
fn next(other: &Against) -> (String, Option<String>) {
    let kernels = other.kernels.as_ref().and_then(|kernels| say::kernels_in_turn(kernels, other.design));
    let in_turn = || {
        if let Some((command, takes)) = &kernels {
            let why = format!("Measure both kernels in turn; it takes about {}:", units::duration(*takes));
            return (why, Some(command.clone()));
        }
        let (command, takes) = say::interleave();
        let takes = units::duration(takes);
        let why = format!("Measure in turn, where A and B are what sets up either side; it takes about {takes}:");
        (why, Some(command))
    };
    match other.undecided {
        Some(Undecided::FewRuns { .. }) if kernels.is_some() => return in_turn(),
        Some(Undecided::Moods(_)) => return in_turn(),
        Some(Undecided::FewRuns { .. }) => {
            return ("Measure more runs of both, alternately, and name them all.".to_owned(), None);
        }
        None => {}
    }
    if other.design != Design::Pair {
        return ("Nothing: the sides were held against what differs from run to run.".to_owned(), None);
    }
    if other.if_independent.is_some_and(|verdict| verdict != Compared::NotEnoughData) {
        let why = "Compare recordings, or files that list their values one by one: both show how values depend on each \
                   other. To decide all the same, add --as-if-independent.";
        return (why.to_owned(), None);
    }
    match (other.verdict, other.wants) {
        (Compared::NotEnoughData, Some(wants)) => {
            let wants = say::rounded_up(wants);
            let why = format!("Measure each of both for {}:", units::duration(wants));
            (why, Some(format!("punctual measure --duration {}", length(wants))))
        }
        (Compared::NotEnoughData, None) => in_turn(),
        _ => {
            let (why, command) = in_turn();
            let doubt = "Two recordings do not tell what was changed from what changes by itself between runs.";
            (format!("{doubt} {why}"), command)
        }
    }
}
