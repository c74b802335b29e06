//! Percentiles, misses and the size of the effect of one group.

use super::arm::{Arm, Cells, float};
use super::{CONFIDENCE, Change, Compared, Limits, Options, RowResult, What};
use crate::stats::bootstrap::{self, Blocks, OrderLimits};
use crate::stats::ratio::Counted;
use punctual_hist::{Counts, Nanos, bucket_index};

/// The percentiles that are compared, in parts per million.
pub(super) const PERCENTILES_PPM: [u32; 5] = [500_000, 990_000, 999_000, 999_900, 999_990];
/// Percentiles up to this one are compared by resampling blocks. Beyond it, limits made that way hold the truth in 62 of
/// 100 cases instead of 95, and ranks are used.
const BOOTSTRAP_PPM: u32 = 990_000;
/// Resampling also needs this number of samples beyond the percentile.
const BEYOND_MIN: f64 = 100.0;
/// A percentile has had enough data if its limits are within this number of margins, or within [`TOLD_LEAST`] of the value
/// if that is more.
pub const TOLD_MARGINS: f64 = 2.5;
pub const TOLD_LEAST: f64 = 0.025;
/// A rate of misses has had enough data if its limits rule out a change by this factor.
const TOLD_RATIO: f64 = 2.0;

/// Probabilities that chance alone makes the second larger, and smaller, by more than the margin.
pub(super) struct Odds {
    pub more: f64,
    pub less: f64,
}

/// Misses of one side.
pub(super) struct Missed {
    /// Misses that are certain.
    pub least: f64,
    /// Misses if all that is not known were missed.
    pub most: f64,
    pub due: f64,
    /// Mean number of misses that come together.
    pub together: f64,
}

impl RowResult {
    /// A row without values. `told` is whether a change that matters would have been seen.
    pub(super) fn new(what: What, odds: Option<Odds>, told: bool) -> Self {
        let upwards = odds.as_ref().is_some_and(|odds| odds.more < odds.less);
        // Two-sided: the direction of the change was not known beforehand.
        let odds = odds.map(|odds| (2.0 * odds.more.min(odds.less)).min(1.0));
        let verdict = if told { Compared::NoDifferenceShown } else { Compared::NotEnoughData };
        Self {
            what,
            first: None,
            second: None,
            change: None,
            odds,
            odds_of_all: None,
            verdict,
            withheld: None,
            wants: None,
            upwards,
            stealable: false,
        }
    }
}

/// One row for each percentile, and one of misses.
pub(super) fn body(first: &Arm, second: &Arm, options: &Options) -> Vec<RowResult> {
    let cells = Cells::of([first, second]);
    let (a, b) = (first.histograms(&cells), second.histograms(&cells));
    let shortest = if first.length < second.length { first.length } else { second.length };
    let percentiles = PERCENTILES_PPM.iter().map(|ppm| percentile(*ppm, (&a, &b), shortest, options));
    percentiles.chain([misses(first, second, a.body().max(b.body()), options)]).collect()
}

fn percentile(ppm: u32, (a, b): (&Blocks, &Blocks), length: Nanos, options: &Options) -> RowResult {
    let share = f64::from(ppm) / 1e6;
    let beyond = a.samples().min(b.samples()) * (1.0 - share);
    let what = What::Percentile { ppm };
    // With less than one value beyond it, a percentile is the maximum by another name.
    if beyond < 1.0 {
        return RowResult { wants: longer(length, 3.7 / beyond), ..RowResult::new(what, None, false) };
    }
    let (Some(seen_a), Some(seen_b)) = (a.quantile(share), b.quantile(share)) else {
        return RowResult::new(what, None, false);
    };
    let resampled = ppm <= BOOTSTRAP_PPM && beyond >= BEYOND_MIN;
    let enough = a.len().min(b.len()) >= bootstrap::BLOCKS_MIN;
    let found = if resampled {
        by_resampling(a, b, share, options)
    } else {
        let limits = || a.order_limits(share).zip(b.order_limits(share));
        enough.then(limits).flatten().map(|(a, b)| by_ranks(&a, &b, options))
    };
    let shown = |row: RowResult| RowResult { first: Some(seen_a), second: Some(seen_b), ..row };
    let Some((limits, odds)) = found else { return shown(RowResult::new(what, None, false)) };
    let (told, least) = is_told(&limits, seen_a, options);
    // Limits narrow with the square root of the length. Where there are none yet, twice the 3.7 samples beyond the
    // percentile that give the first ones are asked for.
    let width = (limits.high - limits.low) / 2.0;
    let factor = if width.is_finite() { (width / least).powi(2).max(1.1) } else { 2.0 * 3.7 / beyond.min(3.7) };
    let row = RowResult::new(what, Some(odds), told);
    shown(RowResult {
        change: Some(Change::Difference(limits)),
        wants: if told { None } else { longer(length, factor) },
        ..row
    })
}

/// Whether the limits of a percentile leave no room for a change that matters, and how much room that is.
pub(super) fn is_told(limits: &Limits, first: f64, options: &Options) -> (bool, f64) {
    let least = TOLD_LEAST.max(TOLD_MARGINS * options.margin) * first;
    (limits.low.abs().max(limits.high.abs()) <= least, least)
}

/// A length multiplied by a factor; `None` above 1e18 ns, about 30 years.
fn longer(length: Nanos, factor: f64) -> Option<Nanos> {
    let wanted = float(length.as_ns()) * factor;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be within the range")]
    (wanted.is_finite() && wanted > 0.0 && wanted < 1e18).then(|| Nanos::from_ns(wanted as u64))
}

fn by_resampling(a: &Blocks, b: &Blocks, share: f64, options: &Options) -> Option<(Limits, Odds)> {
    let (a, b) = (a.spread(share, options.resamples)?, b.spread(share, options.resamples)?);
    let times = 1.0 + options.margin;
    let contrast = b.against(&a, 1.0);
    let (low, high) = contrast.limits(CONFIDENCE);
    let odds = Odds {
        more: b.against(&a, times).chance_of_above_zero(),
        less: b.against(&a, 1.0 / times).chance_of_below_zero(),
    };
    Some((Limits { seen: Some(contrast.seen), low, high }, odds))
}

/// Limits and odds of a percentile by ranks alone.
pub(super) fn by_ranks(a: &OrderLimits<'_>, b: &OrderLimits<'_>, options: &Options) -> (Limits, Odds) {
    let times = 1.0 + options.margin;
    let (low, high) = bootstrap::difference_limits(a, b, 1.0, (1.0 - CONFIDENCE) / 2.0);
    let odds =
        Odds { more: bootstrap::chance_of_larger(a, b, times), less: bootstrap::chance_of_smaller(a, b, 1.0 / times) };
    (Limits { seen: Some(b.seen - a.seen), low, high }, odds)
}

/// The row of misses; `body` is what neighbouring blocks have in common.
fn misses(first: &Arm, second: &Arm, body: f64, options: &Options) -> RowResult {
    let same = first.budget == second.budget;
    let budget = options.budget.or(first.budget).filter(|_| options.budget.is_some() || same);
    // What the recordings counted themselves is exact; another budget is counted in whole buckets.
    let counted = same && (options.budget.is_none() || options.budget == first.budget);
    let (a, b) = (missed(first, budget, counted), missed(second, budget, counted));
    let together = bootstrap::clustering(&[&a, &b], body);
    missed_row(What::Misses { budget }, &Missed::of(&a, together), &Missed::of(&b, together), options)
}

impl Missed {
    /// Of the misses and releases due in each block.
    pub(super) fn of(blocks: &[(f64, f64)], together: f64) -> Self {
        let (missed, due) = blocks.iter().fold((0.0, 0.0), |sum, block| (sum.0 + block.0, sum.1 + block.1));
        Self { least: missed, most: missed, due, together }
    }
}

/// The row of misses of two sides. What is not known counts against whatever is to be shown.
pub(super) fn missed_row(what: What, a: &Missed, b: &Missed, options: &Options) -> RowResult {
    if a.due <= 0.0 || b.due <= 0.0 {
        return RowResult::new(what, None, false);
    }
    let counted = |first: f64, second: f64| {
        Counted { first: whole(first), second: whole(second), first_exposure: a.due, second_exposure: b.due }
            .thinned(a.together.max(b.together))
    };
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
    RowResult {
        first: Some(a.most / a.due * 1e6),
        second: Some(b.most / b.due * 1e6),
        change: limits.map(Change::Ratio),
        ..RowResult::new(what, (!none).then_some(odds), told || none)
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sums of counts, which `as` saturates")]
fn whole(n: f64) -> u64 {
    n as u64
}

/// Of each block: (misses, releases due).
pub(super) fn missed(arm: &Arm, budget: Option<Nanos>, counted: bool) -> Vec<(f64, f64)> {
    let limit = budget.map(|budget| bucket_index(budget.as_ns()));
    let of = |block: &super::arm::Block| {
        let (mut missed, mut due) = (0.0, 0.0);
        for slice in arm.of_block(block) {
            let cpu = &slice.cpu;
            let over = cpu.ran.nonzero().filter(|(bucket, _)| limit.is_some_and(|limit| *bucket > limit));
            let over = if counted { cpu.over_budget } else { over.fold(0u64, |sum, (_, n)| sum.saturating_add(n)) };
            let skipped = float(cpu.skipped.count());
            missed += float(over) + skipped;
            due += skipped + cpu.ran.nonzero().map(|(_, n)| float(n)).sum::<f64>();
        }
        (missed, due)
    };
    arm.blocks().iter().map(of).collect()
}

/// Cliff's delta of two histograms. Values in one bucket count as equal.
pub(super) fn delta(first: &Counts, second: &Counts) -> Option<f64> {
    let pairs = float(first.count()) * float(second.count());
    if pairs <= 0.0 {
        return None;
    }
    let mut below = 0.0;
    let mut wins = 0.0;
    let mut firsts = first.nonzero().peekable();
    for (bucket, n) in second.nonzero() {
        while let Some((_, more)) = firsts.next_if(|(other, _)| *other < bucket) {
            below += float(more);
        }
        let equal = firsts.peek().filter(|(other, _)| *other == bucket).map_or(0.0, |(_, n)| float(*n));
        wins += float(n) * (below + equal / 2.0);
    }
    Some((2.0 * wins / pairs - 1.0).clamp(-1.0, 1.0))
}
