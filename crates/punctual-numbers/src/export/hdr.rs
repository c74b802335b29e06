//! A log of `HdrHistogram`, version 2: a line for each series and stretch of time, named by a tag; values are nanoseconds,
//! to three digits.
//!
//! A recording has a line for each CPU in each slice of its time line, so that viewers show the run over time, and the sum
//! of all lines is the whole run. The file of another program has one for each series. Buckets of `HdrHistogram` are finer
//! than ours, so that a cell of ours, at its upper edge, comes back as one bucket.

mod packed;

use super::fleet::{FleetRow, foreign_fleet_rows, headline_rows};
use super::{NotExported, has_histogram, marks, names};
use crate::foreign::{ForeignRun, IN_NANOSECONDS};
use crate::recording::Recording;
use core::time::Duration;
use packed::Packed;
use punctual_hist::Nanos;
use std::fmt::Write;

/// Earlier start times come from a wall clock that was never set, and are not written. Near 1970 readers could take the
/// time of an interval as relative to the start of the log.
const CLOCK_IS_SET: Nanos = Nanos::from_secs(2 * 366 * 86_400);

pub fn hdr(run: &ForeignRun) -> Result<String, NotExported> {
    has_histogram(run)?;
    log(None, run, foreign_fleet_rows(run).zip(names(run, tag)))
}

/// The log of a recording over time; `run` has its notes. If there are several load phases, a CPU has a tag for each. Phases
/// that are kept apart from the headline numbers are left out.
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
    // Readers multiply the third number of a line, the largest value, by this.
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

/// The largest value of the last bucket that holds something, and all of them as text.
fn histogram(row: &FleetRow) -> Result<(u64, String), &'static str> {
    // Of the values beyond the last cell only the number is known, and sometimes the largest value.
    let beyond = row.beyond.map(|beyond| (row.max.unwrap_or(beyond.from), beyond.count));
    let values = || row.cells.iter().map(|cell| (cell.end(row.max), cell.count)).chain(beyond);
    let highest = values().map(|(value, _)| value).chain(row.cells.last().map(|cell| cell.high)).chain(row.max).max();
    // The highest value is rounded up to 2^n - 1, so that an HdrHistogram log that was imported is exported unchanged.
    let highest = u64::MAX >> highest.map_or(2, Nanos::as_ns).max(2).leading_zeros();
    let mut packed = Packed::default();
    for (value, count) in values() {
        packed.add(value.as_ns(), count);
    }
    Ok((packed.largest(), packed.text(highest)?))
}

/// A tag ends at a comma, and a blank ends the line for some readers.
fn tag(label: &str) -> String {
    label.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests;
