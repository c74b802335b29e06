//! Writes a log of `HdrHistogram`, version 2: a line for each series and stretch of time, named by a tag. Values are
//! nanoseconds, with a precision of three digits.
//!
//! A recording has a line for each CPU in each slice of its time line, so that viewers show the run over time, and the
//! sum of all lines is the whole run. The file of another program has one line for each series. Buckets of
//! `HdrHistogram` are finer than ours, so each of our cells, written at its upper edge, is read back as one bucket.

mod packed;

use super::fleet::{FleetRow, foreign_fleet_rows, headline_rows};
use super::{NotExported, has_histogram, marks, names};
use crate::foreign::{ForeignRun, IN_NANOSECONDS};
use crate::recording::Recording;
use core::time::Duration;
use packed::Packed;
use punctual_hist::Nanos;
use std::fmt::Write;

/// Start times before 1972 come from a wall clock that was never set, and are not written. If the start were near 1970,
/// readers could not distinguish absolute times from times relative to it.
const CLOCK_IS_SET: Nanos = Nanos::from_secs(2 * 366 * 86_400);

pub fn hdr(run: &ForeignRun) -> Result<String, NotExported> {
    has_histogram(run)?;
    log(None, run, foreign_fleet_rows(run).zip(names(run, tag)))
}

/// The log of a recording over time; `run` is the same recording as a run, whose notes are written. If there are
/// several load phases, a CPU has a tag for each. Traced phases that are kept apart from the headline numbers are left
/// out.
pub fn hdr_over_time(recording: &Recording, run: &ForeignRun) -> Result<String, NotExported> {
    if recording.cpus.values().all(|cpu| cpu.ran.is_empty()) {
        return Err(NotExported::NoHistogram);
    }
    let started = Nanos::from_ns(recording.header.started_unix_ns);
    let first = headline_rows(recording).next().and_then(|row| row.phase);
    let one_phase = headline_rows(recording).all(|row| row.phase == first);
    let tagged = |row: FleetRow| {
        let phase = row.phase.as_deref().filter(|_| !one_phase);
        let tag = phase.map_or_else(|| tag(&row.series), |phase| tag(&format!("{} {phase}", row.series)));
        (row, tag)
    };
    log(Some(started).filter(|started| *started > CLOCK_IS_SET), run, headline_rows(recording).map(tagged))
}

fn log(
    started: Option<Nanos>,
    run: &ForeignRun,
    rows: impl Iterator<Item = (FleetRow, String)>,
) -> Result<String, NotExported> {
    let mut log = format!("#{IN_NANOSECONDS}, Interval_Max microseconds\n");
    // Writing to a String cannot fail.
    if let Some(started) = started {
        let ms = started.whole(Nanos::from_ms(1));
        let _ = writeln!(log, "#[StartTime: {}.{:03} (seconds since epoch)]", ms / 1_000, ms % 1_000);
    }
    for note in marks(run) {
        let _ = writeln!(log, "#note: {note}");
    }
    // Readers multiply the third number of a line, the largest value, by this divisor, so it is written in
    // microseconds.
    log.push_str("#[MaxValueDivisor: 1000.000]\n");
    let seconds = |length: Nanos| Duration::from_nanos(length.as_ns()).as_secs_f64();
    for (row, tag) in rows {
        let (start, length) = (seconds(row.start), seconds(row.length.unwrap_or_default()));
        let (largest, histogram) = histogram(&row)
            .map_err(|error| NotExported::Failed(format!("the HdrHistogram log could not be made: {error}")))?;
        let (us, ns) = (largest / 1_000, largest % 1_000);
        let _ = writeln!(log, "Tag={tag},{start:.3},{length:.3},{us}.{ns:03},{histogram}");
    }
    Ok(log)
}

/// The upper edge of the last non-empty bucket, and the packed histogram as text.
fn histogram(row: &FleetRow) -> Result<(u64, String), &'static str> {
    // Values above the last cell are written as the largest value if it is known, else as the smallest value they can
    // have.
    let beyond = row.beyond.map(|beyond| (row.max.unwrap_or(beyond.from), beyond.count));
    let values = || row.cells.iter().map(|cell| (cell.end(row.max), cell.count)).chain(beyond);
    let highest = values().map(|(value, _)| value).chain(row.cells.last().map(|cell| cell.high)).chain(row.max).max();
    // `highest` is rounded up to 2^n - 1, so that an HdrHistogram log that was imported is exported unchanged.
    let highest = u64::MAX >> highest.map_or(2, Nanos::as_ns).max(2).leading_zeros();
    let mut packed = Packed::default();
    for (value, count) in values() {
        packed.add(value.as_ns(), count);
    }
    Ok((packed.largest(), packed.text(highest)?))
}

/// Makes a tag of a label. A comma would end the tag, and for some readers a blank would end the line.
fn tag(label: &str) -> String {
    label.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests;
