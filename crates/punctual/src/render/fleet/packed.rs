//! What `punctual fleet pack` did, in few lines.

use crate::render::lang::{for_people, tr};
use crate::render::sheet::{Sheet, Style, Tone};
use crate::render::units;
use crate::render::words::command::Command;
use std::path::Path;

/// Number of files with an error that are named.
const SHOWN: usize = 5;

/// What was found in the folders, and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedTotals {
    pub recordings: u64,
    pub audits: u64,
    /// Recordings and audits that are in the tables already.
    pub known: u64,
    /// Recordings that a program is writing just now.
    pub written: u64,
    /// Recordings that ended early or are damaged, and are packed up to their last good frame.
    pub halves: u64,
    /// Files of other kinds.
    pub others: u64,
    /// Runs whose machine's clock was wrong.
    pub clocks: u64,
    /// Names that several machines have.
    pub namesakes: Vec<String>,
    /// Files that could not be read, each with the reason.
    pub failures: Vec<String>,
    /// Bytes of the tables that were added.
    pub bytes: u64,
}

pub fn packed(totals: &PackedTotals, pack: &Path, style: Style) -> String {
    for_people(|| told(totals, pack, style))
}

fn told(totals: &PackedTotals, pack: &Path, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    let notes = [
        (totals.known, tr!("packed already")),
        (totals.written, tr!("still being written: pack again when complete")),
        (totals.halves, tr!("ended early or damaged: packed up to the last good frame, with complete = 0")),
        (totals.clocks, tr!("began before 2020 or in the future: that machine's clock was wrong")),
        (totals.others, tr!("of another kind: left alone")),
    ];
    for (count, what) in notes.into_iter().filter(|(count, _)| *count > 0) {
        sheet.point(0, &format!("{}: {what}", units::counted(count, "file")));
    }
    for name in &totals.namesakes {
        sheet.point(0, &tr!("several machines have the name {name}: they are kept apart by their models", name));
    }
    for failure in totals.failures.iter().take(SHOWN) {
        sheet.point(0, &tr!("not packed: {failure}", failure));
    }
    if totals.failures.len() > SHOWN {
        sheet.point(
            0,
            &tr!("and {more} more were not packed", more = units::count((totals.failures.len() - SHOWN) as u64)),
        );
    }
    let (tone, word) =
        if totals.failures.is_empty() { (Tone::Good, tr!("PACKED:")) } else { (Tone::Doubt, tr!("PACKED IN PART:")) };
    let what = tr!(
        "{recordings} and {audits} into {folder} ({bytes} added).",
        recordings = units::counted(totals.recordings, "recording"),
        audits = units::counted(totals.audits, "audit"),
        folder = pack.display(),
        bytes = units::counted(totals.bytes, "byte")
    );
    sheet.hanging_paragraph(0, 2, tone, word, &what);
    let ask = Command::new(["fleet", "ask", &pack.display().to_string(), "worst"]).to_string();
    sheet.answer_next(tr!("Ask which machines are bad:"), &ask, None);
    sheet.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::lang::in_chinese;

    #[test]
    fn a_chinese_user_is_told_in_chinese() {
        let totals = PackedTotals { recordings: 2, ..PackedTotals::default() };
        let said = in_chinese(|| packed(&totals, Path::new("pack"), Style::default()));
        assert!(said.contains("已打包：") && !said.contains("PACKED"), "{said}");
        assert!(packed(&totals, Path::new("pack"), Style::default()).contains("PACKED: 2"));
    }
}
