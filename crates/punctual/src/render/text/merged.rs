//! The text that `punctual merge` prints: the runs of the new recording, and what could not be kept.

use crate::render::lang::tr;
use crate::render::sheet::{Sheet, Style};
use crate::render::{units, words};
use punctual_hist::WORST_K;
use punctual_numbers::recording::Recording;
use punctual_numbers::report::Report;
use std::path::{Path, PathBuf};

/// Largest number of late activations that a recording holds individually.
const LATE_MAX: usize = 1 << 20;

pub fn merged(whole: &Recording, parts: &[Recording], from: &[PathBuf], to: (&Path, u64), style: Style) -> String {
    let mut sheet = Sheet::new(style);
    let report = Report::of(whole);
    sheet.heading(&tr!("Merged {recordings}", recordings = units::counted(parts.len() as u64, "recording")));
    let due: u64 = report.cpus.iter().fold(0, |sum, cpu| sum.saturating_add(cpu.row.due));
    let measured = units::duration(whole.covered);
    sheet.paragraph(
        2,
        &tr!("{measured} measured in all, {releases} due.", measured, releases = units::counted(due, "release")),
    );
    for note in words::runs::notes(&report) {
        sheet.point(2, &note);
    }
    for (part, path) in parts.iter().zip(from) {
        if let Some(cut) = &part.cut_off {
            let reason = &cut.reason;
            sheet.point(
                2,
                &tr!("{path}: {reason}; it is included up to its last good frame", path = path.display(), reason),
            );
        }
    }
    if whole.worst.values().any(|list| list.len() >= WORST_K) {
        sheet.point(
            2,
            &tr!(
                "only the {WORST_K} activations with the largest latency of each CPU are listed individually",
                WORST_K
            ),
        );
    }
    if whole.causes.late.len() >= LATE_MAX {
        sheet.point(
            2,
            &tr!(
                "only the first {most} late activations are listed individually",
                most = units::count(LATE_MAX as u64)
            ),
        );
    }
    let (path, bytes) = to;
    sheet.heading(tr!("Files"));
    sheet.entry(2, 9, tr!("recording"), &format!("{} ({})", path.display(), units::counted(bytes, "byte")));
    sheet.finish()
}
