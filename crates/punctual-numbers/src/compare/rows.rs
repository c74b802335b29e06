//! Percentiles, misses and the size of the effect of one group.

use super::arm::{Arm, Cells, float};
use super::{CONFIDENCE, Change, Limits, Options, Row, Verdict, What};
use crate::stats::bootstrap::{self, Blocks};
use crate::stats::ratio::Counted;
use punctual_hist::{Counts, Nanos, bucket_index};

/// What is looked at, in parts per million.
pub(super) const PERCENTILES_PPM: [u32; 5] = [500_000, 990_000, 999_000, 999_900, 999_990];
/// Up to here blocks are drawn anew; beyond, such limits hold the truth in 62 of 100 cases instead of 95.
const BOOTSTRAP_PPM: u32 = 990_000;
/// And only with so many samples beyond.
const BEYOND_MIN: f64 = 100.0;
/// A percentile is told where its limits leave no room for a change of so many margins, but of a fortieth at least.
const TOLD_MARGINS: f64 = 2.5;
const TOLD_LEAST: f64 = 0.025;
/// Rates of misses are told where a factor of two is left no room.
pub(super) const TOLD_RATIO: f64 = 2.0;

/// What a test says in both directions: odds of so much more and of so much less by chance, beyond the margin.
pub(super) struct Odds {
    pub more: f64,
    pub less: f64,
}

impl Row {
    /// A row whose odds are known; `told` is whether a change that matters would have been seen.
    pub(super) fn new(what: What, odds: Option<Odds>, told: bool) -> Self {
        let upwards = odds.as_ref().is_some_and(|odds| odds.more < odds.less);
        // Nobody said beforehand which way to look.
        let odds = odds.map(|odds| (2.0 * odds.more.min(odds.less)).min(1.0));
        let verdict = if told { Verdict::NoDifferenceShown } else { Verdict::NotEnoughData };
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
pub(super) fn body(first: &Arm, second: &Arm, options: &Options) -> Vec<Row> {
    let cells = Cells::of([first, second]);
    let (a, b) = (first.histograms(&cells), second.histograms(&cells));
    let shortest = if first.length < second.length { first.length } else { second.length };
    let percentiles = PERCENTILES_PPM.iter().map(|ppm| percentile(*ppm, (&a, &b), shortest, options));
    percentiles.chain([misses(first, second, a.body().max(b.body()), options)]).collect()
}

fn percentile(ppm: u32, (a, b): (&Blocks, &Blocks), length: Nanos, options: &Options) -> Row {
    let share = f64::from(ppm) / 1e6;
    let beyond = a.samples().min(b.samples()) * (1.0 - share);
    let what = What::Percentile { ppm };
    // A percentile of fewer values than its share needs is the maximum by another name.
    if beyond < 1.0 {
        return Row { wants: longer(length, 3.7 / beyond), ..Row::new(what, None, false) };
    }
    let (Some(seen_a), Some(seen_b)) = (a.quantile(share), b.quantile(share)) else {
        return Row::new(what, None, false);
    };
    let resampled = ppm <= BOOTSTRAP_PPM && beyond >= BEYOND_MIN;
    let found = if resampled { by_resampling(a, b, share, options) } else { by_ranks(a, b, share, options) };
    let shown = |row: Row| Row { first: Some(seen_a), second: Some(seen_b), ..row };
    let Some((limits, odds)) = found else { return shown(Row::new(what, None, false)) };
    let room = limits.low.abs().max(limits.high.abs());
    let least = least_told(seen_a, options);
    let told = room <= least;
    // Limits narrow with the square root of the length; where there are none yet, so many beyond give the first.
    let width = (limits.high - limits.low) / 2.0;
    let factor = if width.is_finite() { (width / least).powi(2).max(1.1) } else { 2.0 * 3.7 / beyond.min(3.7) };
    let row = Row::new(what, Some(odds), told);
    shown(Row {
        change: Some(Change::Difference(limits)),
        wants: if told { None } else { longer(length, factor) },
        ..row
    })
}

/// What is told has limits that leave no more room than this.
pub(super) fn least_told(first: f64, options: &Options) -> f64 {
    TOLD_LEAST.max(TOLD_MARGINS * options.margin) * first
}

/// So many times as long; nothing where that is beyond reason.
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

fn by_ranks(a: &Blocks, b: &Blocks, share: f64, options: &Options) -> Option<(Limits, Odds)> {
    if a.len() < bootstrap::BLOCKS_MIN || b.len() < bootstrap::BLOCKS_MIN {
        return None;
    }
    let (a, b) = (a.order_limits(share)?, b.order_limits(share)?);
    let times = 1.0 + options.margin;
    let (low, high) = bootstrap::difference_limits(&a, &b, 1.0, (1.0 - CONFIDENCE) / 2.0);
    let odds = Odds {
        more: bootstrap::chance_of_larger(&a, &b, times),
        less: bootstrap::chance_of_smaller(&a, &b, 1.0 / times),
    };
    Some((Limits { seen: Some(b.seen - a.seen), low, high }, odds))
}

/// The row of misses; `body` is what neighbouring blocks have in common.
fn misses(first: &Arm, second: &Arm, body: f64, options: &Options) -> Row {
    let same = first.budget == second.budget;
    let budget = options.budget.or(first.budget).filter(|_| options.budget.is_some() || same);
    // What the recordings counted themselves is exact; another budget is counted in whole buckets.
    let counted = same && (options.budget.is_none() || options.budget == first.budget);
    let (a, b) = (missed(first, budget, counted), missed(second, budget, counted));
    let sum = |blocks: &[(f64, f64)]| blocks.iter().fold((0.0, 0.0), |s, block| (s.0 + block.0, s.1 + block.1));
    let ((missed_a, due_a), (missed_b, due_b)) = (sum(&a), sum(&b));
    let what = What::Misses { budget };
    if due_a <= 0.0 || due_b <= 0.0 {
        return Row::new(what, None, false);
    }
    let together = bootstrap::clustering(&[&a, &b], body);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sums of counts, which `as` saturates")]
    let (first_n, second_n) = (missed_a as u64, missed_b as u64);
    let counts = Counted { first: first_n, second: second_n, first_exposure: due_a, second_exposure: due_b };
    let counts = counts.thinned(together);
    let times = 1.0 + options.margin;
    let odds = Odds { more: counts.chance_of_more(times), less: counts.chance_of_fewer(1.0 / times) };
    let limits = counts.ratio(CONFIDENCE).map(|ratio| Limits {
        seen: (missed_a > 0.0).then(|| missed_b / due_b / (missed_a / due_a)),
        low: ratio.low,
        high: ratio.high,
    });
    let none = missed_a + missed_b <= 0.0;
    let told = limits.is_some_and(|limits| limits.low >= 1.0 / TOLD_RATIO && limits.high <= TOLD_RATIO);
    Row {
        first: Some(missed_a / due_a * 1e6),
        second: Some(missed_b / due_b * 1e6),
        change: limits.map(Change::Ratio),
        ..Row::new(what, (!none).then_some(odds), told || none)
    }
}

/// By block: (misses, releases due).
pub(super) fn missed(arm: &Arm, budget: Option<Nanos>, counted: bool) -> Vec<(f64, f64)> {
    let limit = budget.map(|budget| bucket_index(budget.as_ns()));
    let of = |block: &super::arm::Block| {
        let (mut missed, mut due) = (0.0, 0.0);
        for stretch in arm.of_block(block) {
            let cpu = &stretch.cpu;
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

/// Cliff's delta of two histograms: what lies in one bucket is equal.
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
