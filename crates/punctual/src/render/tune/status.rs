//! The status of each setting that a transaction asked for: its configured, booted and effective values side by side.

use super::NAMES;
use crate::render::lang::{said, tr};
use crate::render::sheet::{Sheet, Style, Tone};
use punctual_tuning::plan::{Standing, StatusRow};
use serde::Serialize;

/// Number of settings named on a line that stands for several. JSON names all.
const MOST_NAMED: usize = 4;

/// The status of every setting that a transaction asked for and that was not reverted.
#[derive(Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Status {
    /// Sentences about the transactions, the journal and the boot entry.
    pub sentences: Vec<Sentence>,
    /// One row for each of these settings.
    pub rows: Vec<StatusRow>,
}

/// A sentence, and whether it reports a good state.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sentence {
    pub is_good: bool,
    pub text: String,
}

impl Sentence {
    pub fn good(text: impl Into<String>) -> Self {
        Self { is_good: true, text: text.into() }
    }

    pub fn doubt(text: impl Into<String>) -> Self {
        Self { is_good: false, text: text.into() }
    }
}

/// The text for a terminal: rows that need action come first.
pub fn status(Status { sentences, rows }: &Status, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    for Sentence { is_good, text } in sentences {
        let (tone, mark) = if *is_good { (Tone::Good, tr!("ok")) } else { (Tone::Doubt, "!!") };
        sheet.toned_paragraph(0, tone, mark, &said(text));
    }
    let mut sorted: Vec<&StatusRow> = rows.iter().collect();
    sorted.sort_by(|a, b| b.standing.cmp(&a.standing));
    let is_alike = |a: &&StatusRow, b: &&StatusRow| {
        (&a.id, &a.standing, &a.configured, &a.booted, &a.effective)
            == (&b.id, &b.standing, &b.configured, &b.booted, &b.effective)
    };
    for alike in sorted.chunk_by(is_alike) {
        sheet.gap();
        one(&mut sheet, alike);
    }
    if !rows.is_empty() {
        sheet.gap();
        sheet.paragraph(0, &totals(rows));
    }
    sheet.finish()
}

/// Writes rows of several settings that differ only in the setting's name as one.
fn one(sheet: &mut Sheet, alike: &[&StatusRow]) {
    let [row, rest @ ..] = alike else { return };
    let tone = match row.standing {
        Standing::InForce => Tone::Good,
        Standing::Gone => Tone::Quiet,
        Standing::WaitsForInterrupt | Standing::WaitsForBoot | Standing::Unknown(_) => Tone::Doubt,
        Standing::Drifted | Standing::NotHonoured(_) => Tone::Bad,
    };
    let because = row.standing.because().map(|why| format!(": {}", said(why))).unwrap_or_default();
    let named: Vec<_> = alike.iter().take(MOST_NAMED).map(|row| said(&row.what)).collect();
    let more = (rest.len() + 1).saturating_sub(MOST_NAMED);
    let more = if more == 0 { String::new() } else { tr!(" and {more} more", more) };
    sheet.toned_paragraph(
        0,
        tone,
        &said(row.standing.name()),
        &format!("{} {}{more}{because}", row.id, named.join(", ")),
    );
    for (name, text) in
        [(tr!("configured"), &row.configured), (tr!("booted"), &row.booted), (tr!("effective"), &row.effective)]
    {
        if let Some(text) = text {
            sheet.entry(2, NAMES, name, &said(text));
        }
    }
}

fn totals(rows: &[StatusRow]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    let mut sorted: Vec<&StatusRow> = rows.iter().collect();
    sorted.sort_by(|a, b| a.standing.cmp(&b.standing));
    for row in sorted {
        match counts.last_mut() {
            Some((name, count)) if *name == row.standing.name() => *count += 1,
            _ => counts.push((row.standing.name(), 1)),
        }
    }
    let told: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {}", said(name))).collect();
    format!("{}.", told.join(", "))
}
