//! Checks whether the numbers of a run agree with each other. A contradiction becomes a note; only `wrapped` changes
//! numbers.
//!
//! Counts are compared with the stated counts and with the duration. Extremes and mean are compared with the cells.

use super::number::{span, us};
use super::run::{COPIED, ForeignRun, Quantity, Series, Stated, StatedPercentile, Unfit};
use super::wrapped;
use crate::stats::float::float;
use punctual_hist::Nanos;

pub(crate) fn weigh(run: &mut ForeignRun) {
    let mut notes = Vec::new();
    let (format, duration) = (run.format, run.duration);
    if let Some(grain) = run.series.iter().map(|series| series.grain).max().filter(|grain| *grain >= Nanos::from_us(1))
    {
        notes.push(format!("lost: values were rounded down to multiples of {} before they were counted", us(grain)));
    }
    for series in &mut run.series {
        points(series, &mut notes);
        beyond(series, &mut notes);
        stated_count(series, &mut notes);
        extremes(series, &mut notes);
        let repaired = duration.is_some_and(|duration| length(series, duration, &mut notes));
        if !repaired {
            mean(series, &mut notes);
        }
    }
    // If a program lists only values above a threshold, an empty list is a result: nothing exceeded the threshold.
    let is_empty = |series: &Series| {
        series.count().map_or(series.max.is_none(), |count| count == 0)
            && (series.threshold.is_none() || series.stated_count.is_none())
    };
    if run.series.iter().all(is_empty) {
        notes.push(format!("doubted: no value at all is in this file of {}", format.name()));
    }
    run.notes.splice(0..0, notes);
}

/// Checks that the stated percentiles rise from the smallest value to the largest.
fn points(series: &mut Series, notes: &mut Vec<String>) {
    let mut points = series.points.clone();
    if points.is_empty() {
        return;
    }
    let end = |ppm: u32, value: Option<Nanos>| value.map(|value| StatedPercentile { ppm, value });
    points.extend(end(0, series.min).into_iter().chain(end(1_000_000, series.max)));
    points.sort_by_key(|stated| stated.ppm);
    let falls = points.iter().zip(points.iter().skip(1)).find(|(low, high)| high.value < low.value);
    if let Some((low, high)) = falls {
        let percent = |ppm: u32| f64::from(ppm) / 1e4;
        notes.push(format!(
            "doubted: {}: of {} % of the values the largest is {}, and of {} % it is {}: percentiles that fall are none",
            series.label,
            percent(low.ppm),
            us(low.value),
            percent(high.ppm),
            us(high.value)
        ));
        series.unfit = Some(Unfit::Doubted);
    }
}

fn beyond(series: &Series, notes: &mut Vec<String>) {
    if let Some(beyond) = series.beyond {
        notes.push(format!(
            "lost: {}: {} of {} values lie at {} or above, where the histogram ends: a percentile among them is at least that",
            series.label,
            beyond.count,
            series.counted(),
            us(beyond.from)
        ));
    }
}

/// Adds a note that the cells contradict other numbers of the file, and marks the series, since one of them must be
/// wrong.
fn contradicts(series: &mut Series, notes: &mut Vec<String>, what: &str) {
    notes.push(format!("doubted: {}: {what}", series.label));
    series.unfit = series.unfit.or(Some(Unfit::Doubted));
}

fn stated_count(series: &mut Series, notes: &mut Vec<String>) {
    let (Some(stated), counted) = (series.stated_count, series.counted()) else { return };
    if !series.cells.is_empty() && stated != counted {
        if stated < counted {
            series.unfit = Some(Unfit::Doubted);
        }
        notes.push(format!(
            "doubted: {}: the file states {stated} values, and its cells hold {counted}: {} are {}",
            series.label,
            stated.abs_diff(counted),
            if stated > counted { "lost" } else { "too many" }
        ));
    }
}

fn extremes(series: &mut Series, notes: &mut Vec<String>) {
    let (Some(first), Some(last)) = (series.cells.first().copied(), series.cells.last().copied()) else { return };
    if let Some(max) = series.max {
        let (at_least, at_most) = series.rounded(max);
        let beyond = series.beyond.map(|beyond| beyond.from);
        if beyond.is_none() && at_least > last.high {
            let what = format!(
                "the largest value, {}, is in no cell; the last that holds something ends at {}: at least one value is \
                 missing from the histogram",
                us(max),
                us(last.high)
            );
            contradicts(series, notes, &what);
        } else if at_most < last.low || beyond.is_some_and(|from| at_most < from) {
            contradicts(series, notes, &format!("values are counted above the largest that is stated, {}", us(max)));
        }
    }
    // Programs that measure noise state a minimum that is not the minimum of their cells, so it is not checked. oslat,
    // which rounds up, is an exception.
    if let Some(min) = series.min.filter(|_| series.quantity == Quantity::Latency || series.rounded_up) {
        let (at_least, at_most) = series.rounded(min);
        if at_least > first.high || at_most.plus(series.slack(first.low)) < first.low {
            let what = format!(
                "the smallest value, {}, is not in the first cell that holds something, {} to {}",
                us(min),
                us(first.low),
                us(first.high)
            );
            contradicts(series, notes, &what);
        }
    }
}

fn mean(series: &mut Series, notes: &mut Vec<String>) {
    let (Some(mean), Some((low, high))) = (series.mean, series.mean_between()) else { return };
    let (stated, grain) = (float(mean.as_ns()), float(series.grain.as_ns().max(1)));
    let slack = if series.copied { low / COPIED } else { 0.0 };
    if stated + grain + slack < low || stated > high + grain {
        let what = format!(
            "the stated mean, {}, is not possible with these cells, whose values have a mean from {:.3} to {:.3} us",
            us(mean),
            low / 1e3,
            high / 1e3
        );
        contradicts(series, notes, &what);
    }
}

/// Compares the count with the duration. Returns whether cells were changed.
fn length(series: &mut Series, duration: Stated, notes: &mut Vec<String>) -> bool {
    let (Some(period), Some(count)) = (series.period, series.count()) else { return false };
    if series.quantity == Quantity::Noise || period == Nanos::ZERO || duration.length == Nanos::ZERO {
        return false;
    }
    let due = duration.length.whole(period);
    let ran = count.saturating_add(series.skipped.unwrap_or(0));
    // The tolerance is twice the precision of the duration, plus a little for starting and stopping the threads.
    let slack = duration.grain.times(2).whole(period).saturating_add(due / 1_000).saturating_add(2);
    if due.abs_diff(ran) <= slack {
        return false;
    }
    let (repaired, said) = wrapped::examine(series, due, ran, slack);
    if !said.is_empty() {
        // It is only inferred which counter has overrun. That is good enough for percentiles, but not for confidence
        // limits.
        series.unfit = series.unfit.or(Some(Unfit::Doubted));
        notes.extend(said);
        return repaired;
    }
    let lasted = period.times(ran);
    let label = series.label.clone();
    let made =
        format!("{ran} values at {} are {}, and the file says {}", us(period), span(lasted), span(duration.length));
    notes.push(if ran > due {
        series.unfit = Some(Unfit::Doubted);
        format!(
            "doubted: {label}: {made}: it cannot be a run of that length at that period; one of the two is wrong, or \
             several results were added up"
        )
    } else {
        series.unaccounted = due.saturating_sub(ran);
        format!("doubted: {label}: {made}: {} are missing: skipped, lost, or the run ended early", due - ran)
    });
    false
}
