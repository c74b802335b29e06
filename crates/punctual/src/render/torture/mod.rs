//! What a torture test came to, as text of at most a screen and as JSON.

mod tables;
mod words;

#[cfg(test)]
mod tests;

use super::document::Published;
use super::lang::tr;
use super::sheet::{Sheet, Style, Tone};
use super::units::THIN;
use punctual_linux::torture::{Outcome, Verdict};
use serde::Serialize;

/// Number of corruptions that are told one by one.
const CORRUPTIONS_SHOWN: usize = 3;

/// The outcome of a torture test.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TortureDocument<'a> {
    #[serde(flatten)]
    pub outcome: &'a Outcome,
}

impl Published for TortureDocument<'_> {
    const SCHEMA: &'static str = "punctual/torture/1";
}

fn verdict(verdict: Verdict) -> (Tone, &'static str) {
    match verdict {
        Verdict::Held => (Tone::Good, tr!("HELD:")),
        Verdict::Broken => (Tone::Bad, tr!("BROKEN:")),
        Verdict::Inconclusive => (Tone::Doubt, tr!("INCONCLUSIVE:")),
    }
}

/// The answer in one line, for scripts and CI logs.
pub fn brief(outcome: &Outcome) -> String {
    let line = format!("{} {} {}", verdict(outcome.verdict).1, words::seen(outcome), words::tried(outcome));
    line.replace(THIN, " ")
}

/// The table of the test, what is wrong, and the answer in the last lines.
pub fn text(outcome: &Outcome, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    sheet.heading(&words::title(&outcome.findings));
    tables::rows(&mut sheet, outcome);
    for corruption in words::corruptions(&outcome.findings).iter().take(CORRUPTIONS_SHOWN) {
        sheet.point(2, corruption);
    }
    sheet.gap();
    let (tone, word) = verdict(outcome.verdict);
    sheet.hanging_paragraph(0, 2, tone, word, &words::seen(outcome));
    sheet.answer(tr!("Tried"), &words::tried(outcome));
    for own in words::own_tests(outcome) {
        sheet.answer(tr!("Own"), &own);
    }
    for doubt in &outcome.doubts {
        sheet.answer(tr!("Doubt"), &words::doubt(*doubt, outcome));
    }
    let (why, command) = words::next(outcome);
    match command {
        Some(command) => sheet.answer_next(&why, &command, None),
        None => sheet.answer(tr!("Next"), &why),
    }
    sheet.finish()
}
