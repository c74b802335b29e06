//! The whole comparison as text for a terminal, as `--full` prints it.

use super::told;
use crate::render::lang::tr;
use crate::render::sheet::{Sheet, Style, Tone, table::Table};
use crate::render::units;
use crate::render::words::{self, compare as say};
use punctual_numbers::compare::{Against, Compared, Comparison, GroupResult, Matters, Origin, Side};
use std::path::Path;

/// Number of differences listed that matter little or somewhat; those that matter more are all listed.
const DIFFERENCES_TOLD: usize = 20;
/// Number of better or worse rows that are listed.
const DECIDED_TOLD: usize = 12;
const CAUSES_TOLD: usize = 8;

pub fn text(comparison: &Comparison, html: Option<&Path>, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    side(&mut sheet, tr!("first"), &comparison.first);
    for other in &comparison.others {
        against(&mut sheet, other, comparison);
    }
    sheet.heading(tr!("How to read it"));
    for caution in say::cautions(comparison) {
        sheet.point(2, &caution);
    }
    if let Some(path) = html {
        sheet.gap();
        sheet.entry(2, 9, tr!("page"), &path.display().to_string());
    }
    sheet.finish()
}

pub(super) fn side(sheet: &mut Sheet, label: &str, side: &Side) {
    let started = say::started(&side.origin).map_or_else(String::new, |started| format!(", {started}"));
    let measured = side
        .measured
        .map_or_else(String::new, |length| tr!(", measured for {length}", length = units::duration(length)));
    let by = match &side.origin {
        Origin::Punctual { .. } => String::new(),
        Origin::Imported { .. } => tr!(", by {origin}", origin = say::program(&side.origin)),
    };
    let more = side.runs.len().saturating_sub(1);
    let more = if more > 0 {
        tr!(" and {other_runs}", other_runs = units::counted(more as u64, "other run"))
    } else {
        String::new()
    };
    sheet.entry(2, 7, label, &format!("{}{more}{started}{measured}{by}", side.name));
    for doubt in &side.doubts {
        sheet.toned_paragraph(10, Tone::Doubt, tr!("not to be trusted:"), &words::distrust(doubt));
    }
    for note in say::notes(&side.origin) {
        sheet.toned_paragraph(10, Tone::Quiet, tr!("note:"), note);
    }
}

pub(super) fn tone(verdict: Compared) -> Tone {
    match verdict {
        Compared::Better => Tone::Good,
        Compared::Worse | Compared::Mixed => Tone::Bad,
        Compared::NoDifferenceShown => Tone::Heading,
        Compared::NotEnoughData => Tone::Doubt,
    }
}

fn against(sheet: &mut Sheet, other: &Against, comparison: &Comparison) {
    sheet.gap();
    side(sheet, tr!("second"), &other.side);
    sheet.heading(tr!("Verdict"));
    let word = format!("{}.", say::verdict_on(other).to_uppercase());
    sheet.toned_paragraph(2, tone(other.verdict), &word, &say::sentence(other, comparison));
    if other.refused {
        let why = tr!("{other}; compared nevertheless, because of --anyway.", other = say::not_comparable(other));
        sheet.toned_paragraph(2, Tone::Doubt, tr!("Not comparable:"), &why);
    }
    let (groups, left) = told(other);
    let decided = say::all_decided(other);
    for sentence in decided.iter().take(DECIDED_TOLD) {
        sheet.point(2, sentence);
    }
    if let Some(more) = decided.len().checked_sub(DECIDED_TOLD).filter(|more| *more > 0) {
        sheet.paragraph(2, &tr!("and {more} more, in the tables", more = units::count(more as u64)));
    }
    if let Some(kernels) = &other.kernels {
        sheet.heading(tr!("What the second kernel changes"));
        sheet.paragraph(2, &say::second_kernel(kernels));
        kernels.gains.iter().for_each(|gain| sheet.point(2, &say::gained(gain)));
    }
    differences(sheet, other);
    sheet.heading(tr!("Numbers (us, over the releases due)"));
    for group in groups {
        numbers(sheet, group);
    }
    if left > 0 {
        sheet.paragraph(
            2,
            &tr!(
                "and {groups} more; all are in the JSON document (--json)",
                groups = units::counted(left as u64, "group")
            ),
        );
    }
    sheet.gap();
    sheet.paragraph(2, &say::skipped(&comparison.first.origin, &other.side.origin));
    let mut rows = other.groups.iter().flat_map(|group| &group.rows);
    if let Some(budget) = rows.find_map(|row| say::budget(&row.what)) {
        sheet.paragraph(2, &budget);
    }
    causes(sheet, other);
}

fn differences(sheet: &mut Sheet, other: &Against) {
    sheet.heading(tr!("What differs besides the numbers"));
    if other.differences.is_empty() && other.left_out.is_empty() {
        sheet.paragraph(2, tr!("Nothing that is recorded."));
    }
    for (place, difference) in other.differences.iter().enumerate() {
        let matters = difference.matters();
        if place >= DIFFERENCES_TOLD && matters >= Matters::Some {
            let more = units::count((other.differences.len() - place) as u64);
            sheet.paragraph(2, &tr!("and {more} more (--json has all)", more));
            break;
        }
        let tone = if matters <= Matters::Much { Tone::Doubt } else { Tone::Quiet };
        sheet.hanging_paragraph(2, 4, tone, &format!("{}:", say::matters(matters)), &say::difference(difference));
    }
    if let Some(left) = say::left_out(&other.left_out) {
        sheet.hanging_paragraph(2, 4, Tone::Quiet, tr!("not compared:"), &left);
    }
    for lacking in &other.lacks {
        sheet.hanging_paragraph(2, 4, Tone::Quiet, tr!("not known:"), &say::lacking(lacking));
    }
}

pub(super) fn numbers(sheet: &mut Sheet, group: &GroupResult) {
    sheet.gap();
    sheet.toned_paragraph(
        2,
        Tone::Heading,
        &format!("{}:", say::result_group(group)),
        &format!("{} ({})", say::based_verdict(group.basis, group.verdict, group.if_independent), say::due(group)),
    );
    for why in say::unfit(group) {
        sheet.toned_paragraph(4, Tone::Doubt, tr!("unfit:"), &why);
    }
    let mut table = Table::new(&[
        "<",
        tr!(">first"),
        tr!(">second"),
        tr!(">change"),
        tr!(">95 % interval"),
        tr!(">odds"),
        tr!("<difference"),
    ]);
    for row in &group.rows {
        table.row([
            say::what(&row.what),
            say::number(row, false),
            say::number(row, true),
            say::change(row),
            say::interval(row),
            say::odds(row.odds_of_all),
            say::row_verdict(row).to_owned(),
        ]);
    }
    sheet.table(&table);
    if let Some(delta) = group.delta {
        sheet.paragraph(4, &tr!("Effect: {delta}.", delta = say::effect(delta)));
    }
}

fn causes(sheet: &mut Sheet, other: &Against) {
    let Some(causes) = &other.causes else { return };
    sheet.heading(tr!("Causes of latency (for information: no verdict rests on them)"));
    if causes.is_empty() {
        sheet.paragraph(2, tr!("No cause appeared, disappeared, doubled or halved."));
    }
    for change in causes.iter().take(CAUSES_TOLD) {
        sheet.point(2, &say::cause(change));
    }
}
