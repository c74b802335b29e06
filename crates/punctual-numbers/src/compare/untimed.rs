//! The rows of percentiles and misses of files without times, computed from ranks alone. Limits are no finer than the
//! cells.
//!
//! A row whose limits lie wholly beyond the margin is never "no difference shown", even if its odds do not decide.
//!
//! There are no rows for rare events, because clusters need times and two maxima are never compared.

use super::distribution::Distribution;
use super::excursions::Unusual;
use super::odds::Odds;
use super::rows::{PERCENTILES_PPM, TOLD_LEAST, TOLD_MARGINS, by_ranks, is_within, missed_row};
use super::{Change, ComparedNumber, Limits, Options, RowResult, Withheld};
use crate::stats::moods::{Events, Moods};

/// Percentiles for which both files are searched for moods. Moods show in frequent values.
const BODY: [f64; 3] = [0.5, 0.9, 0.99];
/// Files decide nothing if, with at least the second probability, a mood lasts longer than this part of the shorter
/// file.
const LONGEST: (f64, f64) = (0.25, 0.2);

/// What two files with order show of the moods of their machine.
#[derive(Debug, Default)]
struct Shown {
    /// Whether the files saw too few moods to be compared. Others may differ because they met other moods.
    too_few: bool,
    unusual: Unusual,
}

impl Shown {
    fn of(first: &Distribution, second: &Distribution) -> Self {
        let pairs: Vec<(Events, Events)> = BODY.iter().filter_map(|share| events(*share, first, second)).collect();
        let too_long =
            |(a, b): &(Events, Events)| Moods::of(&[a, b], None).longer_than(a.of.min(b.of) * LONGEST.0) > LONGEST.1;
        Self { too_few: pairs.iter().any(too_long), unusual: Unusual::of(pairs.iter().map(|(a, b)| (a, b))) }
    }

    /// The odds of the files, raised to what the moods allow.
    fn odds(&self, odds: Odds, share: f64, first: &Distribution, second: &Distribution) -> Odds {
        let events = events(share, first, second);
        let least = events.and_then(|(a, b)| self.unusual.odds(&a, &b, &Moods::of(&[&a, &b], None)));
        least.map_or(odds, |least| odds.at_least(least.more, least.less))
    }
}

/// The values of both files beyond a level between their percentiles; `None` if a file has no order.
fn events(share: f64, first: &Distribution, second: &Distribution) -> Option<(Events, Events)> {
    let level = (first.limits(share)?.seen * second.limits(share)?.seen).sqrt();
    first.beyond(level).zip(second.beyond(level))
}

/// The rows of percentiles for a pair that is not compared.
pub(super) fn refused() -> Vec<RowResult> {
    let row = |ppm: &u32| RowResult::new(ComparedNumber::Percentile { ppm: *ppm }, None, false);
    PERCENTILES_PPM.iter().map(|ppm| RowResult { withheld: Some(Withheld::Unfit), ..row(ppm) }).collect()
}

/// One row for each percentile, and one for misses.
pub(super) fn rows(first: &Distribution, second: &Distribution, options: &Options) -> Vec<RowResult> {
    let shown = Shown::of(first, second);
    let percentiles = PERCENTILES_PPM.iter().map(|ppm| percentile(*ppm, (first, second), &shown, options));
    percentiles.chain(misses((first, second), &shown, options)).collect()
}

fn percentile(ppm: u32, (a, b): (&Distribution, &Distribution), shown: &Shown, options: &Options) -> RowResult {
    let share = f64::from(ppm) / 1e6;
    let what = ComparedNumber::Percentile { ppm };
    let (of_a, of_b) = (a.limits(share), b.limits(share));
    let first = a.told(ppm).or(of_a.as_ref().map(|limits| limits.seen));
    let second = b.told(ppm).or(of_b.as_ref().map(|limits| limits.seen));
    if shown.too_few {
        return RowResult { first, second, withheld: Some(Withheld::Moods), ..RowResult::new(what, None, false) };
    }
    let (Some(of_a), Some(of_b)) = (of_a, of_b) else {
        let withheld = (a.is_missing(share) || b.is_missing(share)).then_some(Withheld::Unfit);
        return RowResult { first, second, withheld, ..RowResult::new(what, None, false) };
    };
    let (limits, odds) = by_ranks(&of_a, &of_b, options);
    let odds = shown.odds(odds, share, a, b);
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
fn misses((first, second): (&Distribution, &Distribution), shown: &Shown, options: &Options) -> Option<RowResult> {
    let budget = options.budget.or(first.budget).or(second.budget);
    if budget.is_none() && (first.skipped.is_none() || second.skipped.is_none()) {
        return None;
    }
    let row = missed_row(ComparedNumber::Misses { budget }, &first.missed(budget), &second.missed(budget), options);
    if shown.too_few {
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
