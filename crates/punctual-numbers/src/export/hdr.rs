//! A log of `HdrHistogram`, version 2: a line for each series and stretch of time, named by a tag; values are nanoseconds,
//! to three digits.
//!
//! A recording has a line for each CPU in each slice of its time line, so that viewers show the run over time, and the sum
//! of all lines is the whole run; the file of another program has one for each series. How a histogram is packed is the
//! business of the `hdrhistogram` crate. Its buckets are finer than ours, so that a cell of ours, at its upper edge, comes
//! back as one bucket.

use super::fleet::{FleetRow, foreign_fleet_rows, headline_rows};
use super::{NotExported, has_histogram, marks, names};
use crate::foreign::{ForeignRun, IN_NANOSECONDS};
use crate::recording::Recording;
use core::time::Duration;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use punctual_hist::Nanos;

const DIGITS: u8 = 3;
/// Readers take an interval for one since the start where it is more than a year before it. A clock that says less was
/// never set.
const CLOCK_IS_SET: Nanos = Nanos::from_secs(2 * 366 * 86_400);

/// The log of a run that does not say when anything was.
pub fn hdr(run: &ForeignRun) -> Result<String, NotExported> {
    has_histogram(run)?;
    log(None, run, foreign_fleet_rows(run).zip(names(run, tag)))
}

/// The log of a recording, whose run tells what is to be known of it. Where it has several load phases, a CPU has a tag for each. What is kept apart from the headline
/// numbers is not in it.
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

/// Intervals in order of time, the first of which begins when the run did.
fn log(
    started: Option<Nanos>,
    run: &ForeignRun,
    rows: impl Iterator<Item = (FleetRow, String)>,
) -> Result<String, NotExported> {
    let mut packed = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let failed = |what: &str| NotExported::Failed(format!("the HdrHistogram log could not be made: {what}"));
    let mut builder = IntervalLogWriterBuilder::new();
    builder.with_max_value_divisor(1_000.0).add_comment(&format!("{IN_NANOSECONDS}, Interval_Max microseconds"));
    if let Some(started) = started {
        let ms = started.whole(Nanos::from_ms(1));
        builder.add_comment(&format!("[StartTime: {}.{:03} (seconds since epoch)]", ms / 1_000, ms % 1_000));
    }
    for note in marks(run) {
        builder.add_comment(&format!("note: {note}"));
    }
    let mut log = builder.begin_log_with(&mut packed, &mut serializer).map_err(|error| failed(&error.to_string()))?;
    let seconds = |length: Nanos| Duration::from_nanos(length.as_ns());
    for (row, tag) in rows {
        let tag = Tag::new(&tag).ok_or_else(|| failed("a tag"))?;
        let histogram = histogram(&row).map_err(|what| failed(&what))?;
        log.write_histogram(&histogram, seconds(row.start), seconds(row.length.unwrap_or_default()), Some(tag))
            .map_err(|error| failed(&format!("{error:?}")))?;
    }
    String::from_utf8(packed).map_err(|error| failed(&error.to_string()))
}

fn histogram(row: &FleetRow) -> Result<Histogram<u64>, String> {
    // Of values beyond the last cell nothing is known but their number, and the largest at best.
    let beyond = row.beyond.map(|beyond| (row.max.unwrap_or(beyond.from), beyond.count));
    let values = || row.cells.iter().map(|cell| (cell.end(row.max), cell.count)).chain(beyond);
    let highest = values().map(|(value, _)| value).chain(row.cells.last().map(|cell| cell.high)).chain(row.max).max();
    // Up to the end of its octave, so that a log that was read is written as it was.
    let highest = u64::MAX >> highest.map_or(2, Nanos::as_ns).max(2).leading_zeros();
    let mut histogram = Histogram::new_with_max(highest, DIGITS).map_err(|error| error.to_string())?;
    for (value, count) in values() {
        histogram.record_n(value.as_ns(), count).map_err(|error| error.to_string())?;
    }
    Ok(histogram)
}

/// A tag ends at a comma, and a blank ends the line for some readers.
fn tag(label: &str) -> String {
    label.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests;
