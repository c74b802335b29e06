//! The maxima of blocks of time: whether they moved, and how many reach beyond all of the other recording.
//!
//! Two maxima say next to nothing about two runs; the maxima of many blocks do, if the blocks are independent.

use super::arm::{Arm, float};
use super::rows::Odds;
use super::{Change, Limits, Options, RowResult, What};
use crate::stats::{bootstrap, precedence, ranks};
use punctual_hist::Nanos;

/// Upper limit for the number of blocks of the longer recording.
const BLOCKS_MAX: u64 = 128;
/// With fewer blocks the spread of their maxima is not known well enough for a rank test.
const BLOCKS_FOR_RANKS: usize = 20;
/// With fewer blocks no result can be significant, even if all of them reach beyond the other recording.
const BLOCKS_FOR_BEYOND: usize = 5;
/// Odds below which chance is ruled out.
const RISK: f64 = 0.05;

/// The two rows of the tail; none where there are too few blocks for either.
pub(super) fn rows(first: &Arm, second: &Arm, options: &Options) -> Vec<RowResult> {
    let longer = first.length.max(second.length);
    let mut length = first.longest().max(second.longest()).max(Nanos::from_ns(longer.as_ns() / BLOCKS_MAX));
    loop {
        let (a, b) = (first.maxima(&first.cut(length)), second.maxima(&second.cut(length)));
        if a.len().min(b.len()) < BLOCKS_FOR_BEYOND || length == Nanos::ZERO {
            return Vec::new();
        }
        // While maxima of neighbouring blocks depend on each other, longer blocks are tried.
        if !bootstrap::depends(&a) && !bootstrap::depends(&b) {
            let stolen = (float(first.stolen.as_ns()), float(second.stolen.as_ns()));
            let moved = (a.len().min(b.len()) >= BLOCKS_FOR_RANKS).then(|| moved((&a, &b), stolen, length, options));
            return moved.into_iter().chain([beyond((&a, &b), stolen, options)]).collect();
        }
        length = length.times(2);
    }
}

fn scaled(values: &[f64], times: f64) -> Vec<f64> {
    values.iter().map(|value| value * times).collect()
}

/// Whether the maxima of one are larger. A single short stop makes the maximum of a block. So time that a hypervisor took
/// from the later of the two, in pieces of unknown length, could make the difference if it is at least the sum of all
/// differences.
fn moved((a, b): (&[f64], &[f64]), stolen: (f64, f64), length: Nanos, options: &Options) -> RowResult {
    let times = 1.0 + options.margin;
    let more = ranks::shift_in_time(&scaled(a, times), b).map_or(1.0, |shift| shift.chance_of_larger);
    let less = ranks::shift_in_time(&scaled(a, 1.0 / times), b).map_or(1.0, |shift| shift.chance_of_smaller);
    let by = ranks::hodges_lehmann(a, b);
    let (first, second) = (middle(a), middle(b));
    // The estimate has no limits of its own: it is taken as decided if it is small.
    let told = by.zip(first).is_some_and(|(by, first)| by.abs() <= 2.5 * options.margin.max(0.01) * first);
    let change =
        by.map(|by| Change::Difference(Limits { seen: Some(by), low: f64::NEG_INFINITY, high: f64::INFINITY }));
    let row = RowResult::new(
        What::BlockMaxima { block: length, blocks: (a.len(), b.len()) },
        Some(Odds { more, less }),
        told,
    );
    let (stolen, blocks) = if row.upwards { (stolen.1, b.len()) } else { (stolen.0, a.len()) };
    let stealable = stolen > 0.0 && by.is_some_and(|by| by.abs() * float(blocks as u64) <= stolen);
    RowResult { first, second, change, stealable, ..row }
}

fn middle(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// How many blocks reach beyond all of the other recording. The result must stay significant without the blocks that stolen
/// time could have lifted there, counting the smallest excess first.
fn beyond((a, b): (&[f64], &[f64]), stolen: (f64, f64), options: &Options) -> RowResult {
    let times = 1.0 + options.margin;
    let first = precedence::beyond(a, &scaled(b, times));
    let second = precedence::beyond(b, &scaled(a, times));
    let odds =
        Odds { more: precedence::chance(second, b.len(), a.len()), less: precedence::chance(first, a.len(), b.len()) };
    let could = precedence::chance(a.len(), a.len(), b.len()).max(precedence::chance(b.len(), b.len(), a.len()));
    let what = What::Beyond { first, second, blocks: (a.len(), b.len()) };
    let share = |n: usize, of: usize| Some(float(n as u64) / float(of as u64));
    let row = RowResult::new(what, Some(odds), could < RISK);
    let (stolen, own, others) = if row.upwards { (stolen.1, b, a) } else { (stolen.0, a, b) };
    let left = not_lifted(own, &scaled(others, times), stolen);
    let stealable = stolen > 0.0 && 2.0 * precedence::chance(left, own.len(), others.len()) >= RISK;
    RowResult { first: share(first, a.len()), second: share(second, b.len()), stealable, ..row }
}

/// How many values are beyond all others even if as many as possible were lifted there by the sum `by`.
fn not_lifted(own: &[f64], others: &[f64], by: f64) -> usize {
    let largest = others.iter().copied().fold(0.0, f64::max);
    let mut excess: Vec<f64> = own.iter().map(|value| value - largest).filter(|excess| *excess > 0.0).collect();
    excess.sort_by(f64::total_cmp);
    let together = excess.iter().scan(0.0, |sum, excess| {
        *sum += excess;
        Some(*sum)
    });
    together.filter(|sum| *sum > by).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_stolen_time_would_lift_there_are_not_counted() {
        let own = [1.0, 120.0, 130.0, 150.0, 9_000.0];
        assert_eq!(not_lifted(&own, &[100.0, 3.0], 0.0), 4);
        assert_eq!(not_lifted(&own, &[100.0, 3.0], 49.0), 3);
        assert_eq!(not_lifted(&own, &[100.0, 3.0], 100.0), 1, "20, 30 and 50");
        assert_eq!(not_lifted(&own, &[100.0, 3.0], 9_001.0), 0);
    }

    #[test]
    fn one_far_block_does_not_speak_for_the_others() {
        let (quiet, options) = ([100.0; 12], Options { margin: 0.0, ..Options::default() });
        let mut late = [120.0; 12];
        late[3] = 1e9;
        assert!(!beyond((&quiet, &late), (0.0, 0.0), &options).stealable);
        assert!(!beyond((&quiet, &late), (300.0, 0.0), &options).stealable, "it was stolen from the better one");
        assert!(beyond((&quiet, &late), (0.0, 300.0), &options).stealable);
        assert!(!beyond((&late, &quiet), (40.0, 0.0), &options).stealable, "ten are left");
    }
}
