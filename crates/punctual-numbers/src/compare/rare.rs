//! Compares rare events, such as those that happen once a minute: their number and their size.
//!
//! Percentiles say little about ten events an hour. So events beyond thresholds are counted, and an exact test
//! (Przyborowski and Wilenski 1940) that allows for clusters and moods compares the counts of the two recordings. The
//! thresholds follow from both recordings together: see `series`.

use super::arm::{Arm, float};
use super::odds::Odds;
use super::rows::{self, Body};
use super::series;
use super::{Change, ComparedNumber, Limits, RowResult};
use crate::stats::float::whole;
use crate::stats::moods::{Events, Moods};
use crate::stats::ranks;
use punctual_hist::{Counts, Nanos, bucket_low};

/// Sizes of clusters are compared if both recordings have at least this number of clusters.
const PEAKS_MIN: usize = 4;

/// The rows of rare events. `body` shows the moods.
pub(super) fn rows(first: &Arm, second: &Arm, body: &Body) -> Vec<RowResult> {
    let mut all: Counts = first.due.clone();
    all.merge(&second.due);
    let edges = series::rare_edges(&all);
    let (of_first, of_second) = (series::beyond(first, &edges), series::beyond(second, &edges));
    let mut rows: Vec<RowResult> = Vec::new();
    let (mut sized, mut lowest) = (None, usize::MAX);
    for ((edge, a), b) in edges.iter().zip(&of_first).zip(&of_second) {
        let moods = Moods::of(&[a, b], body.moods.as_ref());
        let row = rows::of_events(what(*edge, a, b), (a, b), &moods, body.unusual.odds(a, b, &moods));
        let stealable = is_stealable((first, a), (second, b), *edge, row.upwards);
        rows.push(RowResult { stealable, ..row });
        if *edge < lowest {
            // Moods make neighbouring sizes alike, and few clusters cannot show it. So the odds are raised if moods are
            // likely.
            let least = (moods.odds * 0.5).max(body.unusual.least());
            (sized, lowest) = (sizes(first, second, *edge, least), *edge);
        }
    }
    rows.extend(sized);
    rows
}

fn what(edge: usize, a: &Events, b: &Events) -> ComparedNumber {
    ComparedNumber::Rare { threshold: Nanos::from_ns(bucket_low(edge)), first: whole(a.count), second: whole(b.count) }
}

/// Whether time that the hypervisor took explains the larger number of events beyond a threshold. A stop of the whole
/// machine makes one event and takes at least as long as the threshold.
fn is_stealable((first, a): (&Arm, &Events), (second, b): (&Arm, &Events), edge: usize, upwards: bool) -> bool {
    let (stolen, own, other) = if upwards { (second.stolen, b, a) } else { (first.stolen, a, b) };
    let more = own.count - other.count * own.of / other.of.max(1.0);
    let stolen = float(stolen.as_ns());
    stolen > 0.0 && more * float(bucket_low(edge)) <= stolen
}

/// The row of the sizes of clusters beyond a threshold, compared by their ranks. Its odds are at least `least`.
fn sizes(first: &Arm, second: &Arm, edge: usize, least: f64) -> Option<RowResult> {
    let (a, b) = (series::peaks(first, edge), series::peaks(second, edge));
    if a.len().min(b.len()) < PEAKS_MIN {
        return None;
    }
    let shift = ranks::shift_in_time(&a, &b)?;
    let by = ranks::hodges_lehmann(&a, &b)?;
    let (seen_a, seen_b) = (middle(&a)?, middle(&b)?);
    let what = ComparedNumber::RareSizes { threshold: Nanos::from_ns(bucket_low(edge)), clusters: (a.len(), b.len()) };
    let odds = Odds { more: shift.chance_of_larger, less: shift.chance_of_smaller };
    let change = Limits { seen: Some(by), low: f64::NEG_INFINITY, high: f64::INFINITY };
    let row = RowResult::new(what, Some(odds), false);
    let stolen = float(if row.upwards { second.stolen } else { first.stolen }.as_ns());
    let clusters = if row.upwards { b.len() } else { a.len() };
    Some(RowResult {
        first: Some(seen_a),
        second: Some(seen_b),
        change: Some(Change::Difference(change)),
        stealable: stolen > 0.0 && by.abs() * float(clusters as u64) <= stolen,
        odds: row.odds.map(|odds| odds.max(least)),
        ..row
    })
}

fn middle(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}
