//! What a torture test came to, as text of at most a screen and as JSON.

mod tables;
mod words;

#[cfg(test)]
mod tests;

use super::document::Published;
use super::sheet::{Sheet, Style, Tone};
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

/// The table of the test, what is wrong, and the answer in the last lines.
pub fn text(outcome: &Outcome, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    sheet.heading(&words::title(&outcome.findings));
    tables::rows(&mut sheet, outcome);
    for corruption in words::corruptions(&outcome.findings).iter().take(CORRUPTIONS_SHOWN) {
        sheet.point(2, corruption);
    }
    sheet.gap();
    let (tone, word) = match outcome.verdict {
        Verdict::Held => (Tone::Good, "HELD:"),
        Verdict::Broken => (Tone::Bad, "BROKEN:"),
        Verdict::Inconclusive => (Tone::Doubt, "INCONCLUSIVE:"),
    };
    sheet.hanging_paragraph(0, 2, tone, word, &words::seen(outcome));
    sheet.answer("Tried", &words::tried(outcome));
    for own in words::own_tests(outcome) {
        sheet.answer("Own", &own);
    }
    for doubt in &outcome.doubts {
        sheet.answer("Doubt", &words::doubt(*doubt, outcome));
    }
    let (why, command) = words::next(outcome);
    match command {
        Some(command) => sheet.answer_next(&why, &command, None),
        None => sheet.answer("Next", &why),
    }
    sheet.finish()
}
