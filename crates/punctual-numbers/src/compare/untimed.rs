//! Percentiles and misses of heaps: by ranks alone, since nothing says what neighbours in time have in common, and no
//! finer than the cells are.
//!
//! There is no row for the tail: maxima of blocks need to know when, and two maxima are never held against each other.

use super::heap::Heap;
use super::rows::{Odds, PERCENTILES_PPM, TOLD_RATIO, least_told};
use super::{CONFIDENCE, Change, Limits, Options, Row, What, Withheld};
use crate::stats::bootstrap::{self, OrderLimits};
use crate::stats::ratio::Counted;

/// The percentiles, none of which is looked at.
pub(super) fn refused() -> Vec<Row> {
    let refused =
        |ppm: &u32| Row { withheld: Some(Withheld::Unfit), ..Row::new(What::Percentile { ppm: *ppm }, None, false) };
    PERCENTILES_PPM.iter().map(refused).collect()
}

/// One row for each percentile, and one for misses.
pub(super) fn rows(first: &Heap, second: &Heap, options: &Options) -> Vec<Row> {
    let percentiles = PERCENTILES_PPM.iter().map(|ppm| percentile(*ppm, first, second, options));
    percentiles.chain(misses(first, second, options)).collect()
}

fn percentile(ppm: u32, a: &Heap, b: &Heap, options: &Options) -> Row {
    let share = f64::from(ppm) / 1e6;
    let (of_a, of_b) = (a.limits(share), b.limits(share));
    let seen = |limits: &Option<OrderLimits<'_>>| limits.as_ref().map(|limits| limits.seen);
    let (first, second) = (a.told(ppm).or(seen(&of_a)), b.told(ppm).or(seen(&of_b)));
    let (Some(of_a), Some(of_b)) = (of_a, of_b) else {
        let withheld = (a.is_missing(share) || b.is_missing(share)).then_some(Withheld::Unfit);
        return Row { first, second, withheld, ..Row::new(What::Percentile { ppm }, None, false) };
    };
    let times = 1.0 + options.margin;
    let (low, high) = bootstrap::difference_limits(&of_a, &of_b, 1.0, (1.0 - CONFIDENCE) / 2.0);
    let odds = Odds {
        more: bootstrap::chance_of_larger(&of_a, &of_b, times),
        less: bootstrap::chance_of_smaller(&of_a, &of_b, 1.0 / times),
    };
    let told = low.abs().max(high.abs()) <= least_told(of_a.seen, options);
    let limits = Limits { seen: Some(of_b.seen - of_a.seen), low, high };
    Row {
        first,
        second,
        change: Some(Change::Difference(limits)),
        ..Row::new(What::Percentile { ppm }, Some(odds), told)
    }
}

/// By the budget that was asked for, or else that of whichever is a recording; `None` where neither that nor what was
/// skipped is known.
fn misses(first: &Heap, second: &Heap, options: &Options) -> Option<Row> {
    let budget = options.budget.or(first.budget).or(second.budget);
    if budget.is_none() && (first.skipped.is_none() || second.skipped.is_none()) {
        return None;
    }
    let what = What::Misses { budget };
    let (a, b) = (first.missed(budget), second.missed(budget));
    if a.due <= 0.0 || b.due <= 0.0 {
        return Some(Row::new(what, None, false));
    }
    let together = a.together.max(b.together);
    let counted = |first: f64, second: f64| {
        Counted { first: whole(first), second: whole(second), first_exposure: a.due, second_exposure: b.due }
            .thinned(together)
    };
    // What the cells leave open counts against whatever is to be shown.
    let (fewest, most) = (counted(a.most, b.least), counted(a.least, b.most));
    let times = 1.0 + options.margin;
    let odds = Odds { more: fewest.chance_of_more(times), less: most.chance_of_fewer(1.0 / times) };
    let limits = fewest.ratio(CONFIDENCE).zip(most.ratio(CONFIDENCE)).map(|(low, high)| Limits {
        seen: (a.least > 0.0 && a.least >= a.most).then(|| b.most / b.due / (a.least / a.due)),
        low: low.low,
        high: high.high,
    });
    let none = a.most + b.most <= 0.0;
    let told = limits.is_some_and(|limits| limits.low >= 1.0 / TOLD_RATIO && limits.high <= TOLD_RATIO);
    Some(Row {
        first: Some(a.most / a.due * 1e6),
        second: Some(b.most / b.due * 1e6),
        change: limits.map(Change::Ratio),
        ..Row::new(what, (!none).then_some(odds), told || none)
    })
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sums of counts, which `as` saturates")]
fn whole(n: f64) -> u64 {
    n as u64
}
