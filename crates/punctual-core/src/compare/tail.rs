//! The largest of each block of time: whether they moved, and how many reach beyond all of the other recording.
//!
//! Two maxima say next to nothing of two runs; the maxima of many blocks do, where blocks are independent.

use super::arm::{Arm, float};
use super::rows::Odds;
use super::{Change, Limits, Options, Row, Verdict, What, Withheld};
use crate::stats::{bootstrap, precedence, ranks};
use punctual_hist::Nanos;

/// No more blocks than this of the longer recording.
const BLOCKS_MAX: u64 = 128;
/// Fewer say nothing of how their maxima are spread.
const BLOCKS_FOR_RANKS: usize = 20;
/// Fewer cannot show anything even if all of them are beyond.
const BLOCKS_FOR_BEYOND: usize = 5;
/// Odds that would convince.
const RISK: f64 = 0.05;

/// The two rows of the tail; none where there are too few blocks for either.
pub(super) fn rows(first: &Arm, second: &Arm, options: &Options) -> Vec<Row> {
    let longer = first.length.max(second.length);
    let mut length = first.longest().max(second.longest()).max(Nanos::from_ns(longer.as_ns() / BLOCKS_MAX));
    loop {
        let (a, b) = (first.maxima(&first.cut(length)), second.maxima(&second.cut(length)));
        if a.len().min(b.len()) < BLOCKS_FOR_BEYOND || length == Nanos::ZERO {
            return Vec::new();
        }
        // Neighbours that are alike are not yet independent: longer blocks.
        if !bootstrap::depends(&a) && !bootstrap::depends(&b) {
            let moved = (a.len().min(b.len()) >= BLOCKS_FOR_RANKS).then(|| moved(&a, &b, length, options));
            let stolen = float(first.stolen.max(second.stolen).as_ns());
            let kept = |(row, excess): (Row, f64)| if excess > stolen { row } else { unless_equal(row) };
            return moved.into_iter().chain([beyond(&a, &b, options)]).map(kept).collect();
        }
        length = length.times(2);
    }
}

/// One short stop makes the largest of a block: what a hypervisor took, in pieces that nobody knows, would do. A row that
/// shows no difference says so all the same.
fn unless_equal(row: Row) -> Row {
    if row.odds.is_some_and(|odds| odds < RISK) {
        Row { withheld: Some(Withheld::Stolen), verdict: Verdict::NotEnoughData, ..row }
    } else {
        row
    }
}

fn scaled(values: &[f64], times: f64) -> Vec<f64> {
    values.iter().map(|value| value * times).collect()
}

/// Whether the one's are larger, and by how much in all.
fn moved(a: &[f64], b: &[f64], length: Nanos, options: &Options) -> (Row, f64) {
    let times = 1.0 + options.margin;
    let more = ranks::shift_in_time(&scaled(a, times), b).map_or(1.0, |shift| shift.chance_of_larger);
    let less = ranks::shift_in_time(&scaled(a, 1.0 / times), b).map_or(1.0, |shift| shift.chance_of_smaller);
    let by = ranks::hodges_lehmann(a, b);
    let (first, second) = (middle(a), middle(b));
    // Without limits of its own: told where blocks scatter less than what would matter.
    let told = by.zip(first).is_some_and(|(by, first)| by.abs() <= 2.5 * options.margin.max(0.01) * first);
    let change =
        by.map(|by| Change::Difference(Limits { seen: Some(by), low: f64::NEG_INFINITY, high: f64::INFINITY }));
    let row = Row::new(What::BlockMaxima(length, (a.len(), b.len())), Some(Odds { more, less }), told);
    let excess = by.unwrap_or(0.0).abs() * float(a.len().min(b.len()) as u64);
    (Row { first, second, change, ..row }, excess)
}

fn middle(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// How many reach beyond all of the other, and by how much in all.
fn beyond(a: &[f64], b: &[f64], options: &Options) -> (Row, f64) {
    let times = 1.0 + options.margin;
    let first = precedence::beyond(a, &scaled(b, times));
    let second = precedence::beyond(b, &scaled(a, times));
    let odds =
        Odds { more: precedence::chance(second, b.len(), a.len()), less: precedence::chance(first, a.len(), b.len()) };
    let could = precedence::chance(a.len(), a.len(), b.len()).max(precedence::chance(b.len(), b.len(), a.len()));
    let what = What::Beyond { first, second, blocks: (a.len(), b.len()) };
    let share = |n: usize, of: usize| Some(float(n as u64) / float(of as u64));
    let row = Row::new(what, Some(odds), could < RISK);
    let excess = excess(a, b).max(excess(b, a));
    (Row { first: share(first, a.len()), second: share(second, b.len()), ..row }, excess)
}

fn excess(own: &[f64], others: &[f64]) -> f64 {
    let largest = others.iter().copied().fold(0.0, f64::max);
    own.iter().map(|value| (value - largest).max(0.0)).sum()
}
