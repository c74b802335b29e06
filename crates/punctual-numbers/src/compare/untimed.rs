//! The rows of percentiles and misses of files without times, computed from ranks alone. Limits are no finer than the
//! cells.
//!
//! A row whose limits lie wholly beyond the margin is never "no difference shown", even if its odds do not decide.
//!
//! There are no rows for rare events, because clusters need times and two maxima are never compared.

use super::distribution::Distribution;
use super::rows::{PERCENTILES_PPM, TOLD_LEAST, TOLD_MARGINS, by_ranks, is_within, missed_row};
use super::{Change, ComparedNumber, Limits, Options, RowResult, Withheld};

/// The rows of percentiles for a pair that is not compared.
pub(super) fn refused() -> Vec<RowResult> {
    let row = |ppm: &u32| RowResult::new(ComparedNumber::Percentile { ppm: *ppm }, None, false);
    PERCENTILES_PPM.iter().map(|ppm| RowResult { withheld: Some(Withheld::Unfit), ..row(ppm) }).collect()
}

/// One row for each percentile, and one for misses.
pub(super) fn rows(first: &Distribution, second: &Distribution, options: &Options) -> Vec<RowResult> {
    let percentiles = PERCENTILES_PPM.iter().map(|ppm| percentile(*ppm, first, second, options));
    percentiles.chain(misses(first, second, options)).collect()
}

fn percentile(ppm: u32, a: &Distribution, b: &Distribution, options: &Options) -> RowResult {
    let share = f64::from(ppm) / 1e6;
    let what = ComparedNumber::Percentile { ppm };
    let (of_a, of_b) = (a.limits(share), b.limits(share));
    let first = a.told(ppm).or(of_a.as_ref().map(|limits| limits.seen));
    let second = b.told(ppm).or(of_b.as_ref().map(|limits| limits.seen));
    if a.has_few_moods() || b.has_few_moods() {
        return RowResult { first, second, withheld: Some(Withheld::Moods), ..RowResult::new(what, None, false) };
    }
    let (Some(of_a), Some(of_b)) = (of_a, of_b) else {
        let withheld = (a.is_missing(share) || b.is_missing(share)).then_some(Withheld::Unfit);
        return RowResult { first, second, withheld, ..RowResult::new(what, None, false) };
    };
    let (limits, odds) = by_ranks(&of_a, &of_b, options);
    let narrow = is_within(&limits, (TOLD_MARGINS * options.margin).max(TOLD_LEAST) * of_a.seen);
    let told = narrow && !lies_beyond(&limits, options.margin * of_a.seen);
    RowResult { first, second, change: Some(Change::Difference(limits)), ..RowResult::new(what, Some(odds), told) }
}

/// Whether every change within the limits is larger than the margin.
fn lies_beyond(limits: &Limits, margin: f64) -> bool {
    limits.low > margin || limits.high < -margin
}

/// The row of misses, for the requested budget or else for the budget of the recording among the two. `None` if neither
/// a budget nor the number of skipped releases is known.
fn misses(first: &Distribution, second: &Distribution, options: &Options) -> Option<RowResult> {
    let budget = options.budget.or(first.budget).or(second.budget);
    if budget.is_none() && (first.skipped.is_none() || second.skipped.is_none()) {
        return None;
    }
    let row = missed_row(ComparedNumber::Misses { budget }, &first.missed(budget), &second.missed(budget), options);
    if first.has_few_moods() || second.has_few_moods() {
        let withheld = Some(Withheld::Moods);
        return Some(RowResult {
            first: row.first,
            second: row.second,
            withheld,
            ..RowResult::new(row.what, None, false)
        });
    }
    Some(row)
}
