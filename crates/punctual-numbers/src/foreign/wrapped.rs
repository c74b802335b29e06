//! Finds a 32-bit counter that has overrun: by the duration, and the cell by the mean.
//!
//! If a histogram lacks 2^32 values, the stated mean shows which cell may have lost them: adding them to any other cell
//! would contradict the mean. If several cells are possible, the highest is repaired, so that no percentile is
//! understated, and the notes state the percentiles for each possible cell.

use super::number::{span, us};
use super::run::{Cell, Series, Unfit};
use crate::stats::float::float;
use punctual_hist::Nanos;

const OVERRUN: u64 = 1 << 32;
/// Percentiles that the notes state: (name, parts per million).
const TOLD: [(&str, u32); 5] =
    [("p50", 500_000), ("p90", 900_000), ("p99", 990_000), ("p99.9", 999_000), ("p99.99", 999_900)];

/// Returns whether cells were repaired, and notes. There are no notes if overruns of 32 bits do not explain the number
/// of missing values.
pub(super) fn examine(series: &mut Series, due: u64, ran: u64, slack: u64) -> (bool, Vec<String>) {
    let Some(missing) = due.checked_sub(ran) else { return (false, Vec::new()) };
    let times = missing.saturating_add(OVERRUN / 2) / OVERRUN;
    let rest = missing.abs_diff(times.saturating_mul(OVERRUN));
    // In a very long run the slack may exceed 1 % of 2^32 values, and then an overrun cannot be recognised reliably.
    if times == 0 || rest > slack || slack > OVERRUN / 100 || series.cells.is_empty() {
        return (false, Vec::new());
    }
    let period = series.period.unwrap_or_default();
    let found = format!(
        "doubted: {}: the cells hold {ran} values, and the stated duration makes {due}: {missing} are missing, which is \
         {times} overrun{} of a 32-bit counter ({OVERRUN} = 2^32) and {rest} values, {} of the run",
        series.label,
        if times == 1 { "" } else { "s" },
        span(period.times(rest))
    );
    if times > 1 {
        series.unfit = Some(Unfit::Doubted);
        let said =
            "how the overruns are spread over the cells cannot be told: no percentile of this file can be relied upon";
        return (false, vec![found, format!("doubted: {}: {said}", series.label)]);
    }
    let candidates: Vec<usize> = (0..series.cells.len()).filter(|index| possible(series, *index)).collect();
    let Some(chosen) = candidates.last().copied() else {
        series.unfit = Some(Unfit::Doubted);
        let said = "the stated mean fits none of the cells: nothing was repaired";
        return (false, vec![found, format!("doubted: {}: {said}", series.label)]);
    };
    let which = which(series, &candidates);
    let follows = consequences(series, &candidates);
    *series = with_overrun(series, chosen);
    (true, vec![found, which, follows])
}

/// Whether the stated mean is possible if 2^32 values are added to this cell.
fn possible(series: &Series, index: usize) -> bool {
    let grain = float(series.grain.as_ns().max(1));
    match (series.mean.map(Nanos::as_ns), with_overrun(series, index).mean_between()) {
        (Some(mean), Some((low, high))) => float(mean) + grain >= low && float(mean) <= high + grain,
        _ => true,
    }
}

fn with_overrun(series: &Series, index: usize) -> Series {
    let mut whole = series.clone();
    if let Some(cell) = whole.cells.get_mut(index) {
        cell.count = cell.count.saturating_add(OVERRUN);
    }
    whole
}

fn which(series: &Series, candidates: &[usize]) -> String {
    let of = |index: &usize| series.cells.get(*index).map(name).unwrap_or_default();
    let names: Vec<String> = candidates.iter().map(of).collect();
    let Some(mean) = series.mean else {
        return format!("doubted: {}: no mean is stated, so that any cell can be it", series.label);
    };
    let excluded = series.cells.len().saturating_sub(candidates.len());
    let mean = us(mean);
    match names.as_slice() {
        [only] => format!("{}: by the stated mean of {mean} it was the counter of {only}", series.label),
        _ => format!(
            "doubted: {}: it was the counter of {}; the stated mean of {mean} leaves that open, and excludes the other \
             {excluded} cells",
            series.label,
            names.join(" or ")
        ),
    }
}

fn name(cell: &Cell) -> String {
    let above = cell.high.plus(Nanos::from_ns(1));
    format!("{} to {}", us(cell.low).trim_end_matches(" us"), us(above))
}

/// A note with the percentiles after a repair of each candidate, and without a repair.
fn consequences(series: &Series, candidates: &[usize]) -> String {
    let repaired: Vec<Series> = candidates.iter().map(|index| with_overrun(series, *index)).collect();
    let at = |series: &Series, ppm: u32| series.percentile_ppm(ppm).map_or("unknown".to_owned(), us);
    let (mut alike, mut open) = (Vec::new(), Vec::new());
    for (point, ppm) in TOLD {
        let values: Vec<String> = repaired.iter().map(|one| at(one, ppm)).collect();
        let unrepaired = at(series, ppm);
        if values.iter().all(|value| Some(value) == values.first()) {
            let value = values.first().cloned().unwrap_or_default();
            alike.push(format!("{point} at most {value} (unrepaired {unrepaired})"));
        } else {
            open.push(format!("{point} at most {} (unrepaired {unrepaired})", values.join(" or ")));
        }
    }
    let chosen = candidates.last().and_then(|index| series.cells.get(*index)).map(name).unwrap_or_default();
    let open = if open.is_empty() { String::new() } else { format!("; which it was decides {}", open.join(", ")) };
    let share = float(series.counted().saturating_add(OVERRUN)) / float(series.counted().max(1));
    format!(
        "repaired: {}: 2^32 values were added to the highest possible cell, {chosen}, so that no percentile is \
         understated. The same whichever it was: {}{open}. Without the repair every share of the tail would be {share:.2} \
         times too large",
        series.label,
        alike.join(", ")
    )
}
