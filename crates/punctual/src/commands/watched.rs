//! What a watch has kept in its store: its history, and one day of it as a recording.

use crate::cli::WhichDay;
use crate::render;
use anyhow::{Context, Result, anyhow};
use punctual_linux::watch::{files, read_segments, read_together};
use punctual_numbers::recording::Recording;
use punctual_numbers::watch::History;
use std::path::{Path, PathBuf};

pub fn history(folder: &Path) -> Result<History> {
    let nothing = || format!("{}: the watch has only just begun: try again in ten seconds", folder.display());
    History::of(read_segments(folder)?).with_context(nothing)
}

/// Size of all segments.
pub fn bytes(folder: &Path) -> u64 {
    files(folder).map_or(0, |files| files.iter().map(|file| file.bytes).sum())
}

/// One day of the watch: the wanted one, or the one with the largest latency. Also the file of the segment in which the
/// largest latency of that day is, which other commands can be given.
pub fn day(folder: &Path, history: &History, wanted: Option<WhichDay>) -> Result<(Recording, PathBuf)> {
    let no_day = |wanted: String| anyhow!(render::watch::no_day(history, &wanted));
    let day = match wanted {
        Some(WhichDay::Number(number)) => history.day(number).ok_or_else(|| no_day(number.to_string()))?,
        Some(WhichDay::From(midnight)) => {
            let found = history.days.iter().find(|day| day.from_unix_ns == midnight);
            found.ok_or_else(|| no_day(render::units::day(midnight)))?
        }
        None => {
            let worst = history.worst().map(|(day, _)| day).or(history.days.last());
            worst.context("the watch has no day yet: try again in ten seconds")?
        }
    };
    // Runs with another period are another measurement, so the segment with the largest latency decides.
    let first = day.worst.first().map(|worst| worst.segment);
    let recording = read_together(folder, &day.segments, first)?;
    let gone = || format!("day {} cannot be read any more: its segments are gone", day.number);
    let listed = files(folder).unwrap_or_default();
    let file = listed.into_iter().find(|file| first.is_none_or(|first| file.number == first));
    let path = file.map_or_else(|| folder.to_owned(), |file| file.path);
    Ok((recording.with_context(gone)?, path))
}
