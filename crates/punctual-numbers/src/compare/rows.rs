//! The rows of percentiles and misses of one group, and Cliff's delta.
//!
//! A percentile is compared by the number of releases beyond a threshold between the percentiles of the two runs: equal
//! machines have equal shares there. So every row is a comparison of event counts, for which `stats::longrun` gives
//! odds that allow for moods.

use super::arm::{Arm, Cells, float};
use super::series;
use super::{CONFIDENCE, Change, Compared, ComparedNumber, Limits, Mood, Options, RowResult};
use crate::stats::blocks::{self, Blocks, OrderLimits};
use crate::stats::float::whole;
use crate::stats::longrun::{self, Chances, DesignEffect, Events};
use crate::stats::ratio::Counted;
use punctual_hist::{Counts, Nanos, bucket_index};

/// The percentiles that are compared, in parts per million.
pub(super) const PERCENTILES_PPM: [u32; 5] = [500_000, 990_000, 999_000, 999_900, 999_990];
/// Percentiles up to this one have odds. Farther ones have limits only, because rare events have rows of their own.
const ODDS_PPM: u32 = 999_000;
/// With fewer slices of time than this moods cannot be known, and rows have no odds.
const SLICES_MIN: usize = 6;
/// A percentile of files without times has had enough data if its limits are within this number of margins, or within
/// [`TOLD_LEAST`] of the value if that is more.
pub const TOLD_MARGINS: f64 = 2.5;
pub const TOLD_LEAST: f64 = 0.025;
/// A rate of misses has had enough data if its limits rule out a change by this factor.
const TOLD_RATIO: f64 = 2.0;
/// Smallest margin that is used to judge whether limits are narrow enough.
const MARGIN_LEAST: f64 = 0.01;
/// Moods are reported from this probability on.
const MOODY: f64 = 0.5;
/// For rare events, the design effect of a frequent percentile is the starting point: of the furthest percentile above
/// the first number with at least the second number of releases beyond it.
const MEDIAN_PPM: u32 = 500_000;
const BEYOND_MIN: f64 = 50.0;
/// Risk on each side of an interval.
const RISK: f64 = (1.0 - CONFIDENCE) / 2.0;

/// Probabilities that chance alone makes the second side larger by at least this much, and smaller by at least this
/// much.
pub(super) struct Odds {
    pub more: f64,
    pub less: f64,
}

/// Number of misses of one side, between two bounds.
pub(super) struct Missed {
    /// Misses that are certain.
    pub least: f64,
    /// Misses if every release of unknown latency were one.
    pub most: f64,
    pub due: f64,
    /// Mean number of misses that occur together.
    pub together: f64,
}

impl RowResult {
    /// A row without values. `told` states whether a change that matters would have been seen.
    pub(super) fn new(what: ComparedNumber, odds: Option<Odds>, told: bool) -> Self {
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
            design_effect: None,
            upwards,
            stealable: false,
        }
    }
}

/// The rows of frequent events, and the moods of the machine that they show.
pub(super) struct Body {
    pub rows: Vec<RowResult>,
    /// The design effect of the furthest percentile that has enough releases beyond it.
    pub effect: Option<DesignEffect>,
    /// Length of the moods in seconds, the longest that any percentile shows; `None` without moods.
    pub mood: Option<f64>,
    /// The probability that moods are too long for the runs, the largest that any percentile shows.
    pub too_long: f64,
}

/// One row for each percentile, and one of misses.
pub(super) fn body(first: &Arm, second: &Arm, options: &Options) -> Body {
    let mut all = first.due.clone();
    all.merge(&second.due);
    let cells = Cells::of([first, second]);
    let blocks = (first.whole(&cells), second.whole(&cells));
    let edge = |ppm: u32| {
        let share = f64::from(ppm) / 1e6;
        let between = blocks.0.quantile(share).zip(blocks.1.quantile(share)).map(|(a, b)| (a * b).sqrt());
        between.map_or(0, |between| series::edge_at(&all, between, 1.0 - share))
    };
    let edges = PERCENTILES_PPM.map(edge);
    let (of_first, of_second) = (series::beyond(first, &edges), series::beyond(second, &edges));
    let enough = first.slices.len().min(second.slices.len()) >= SLICES_MIN;
    let shortest = first.length.min(second.length);
    let mut body = Body { rows: Vec::new(), effect: None, mood: None, too_long: 0.0 };
    for (ppm, (a, b)) in PERCENTILES_PPM.iter().zip(of_first.iter().zip(&of_second)) {
        let effect = DesignEffect::of(a, b, body.effect.as_ref());
        let beyond = a.of.min(b.of) * (1.0 - f64::from(*ppm) / 1e6);
        let Some(effect) = Some(effect).filter(|_| enough && beyond >= 1.0) else {
            body.rows.push(untold(*ppm, (&blocks.0, &blocks.1), shortest, beyond));
            continue;
        };
        if effect.moody >= MOODY && *ppm <= ODDS_PPM {
            body.mood = Some(body.mood.map_or(effect.mood, |mood: f64| mood.max(effect.mood)));
            body.too_long = body.too_long.max(effect.longer_than(Mood::longest(shortest)));
        }
        let shown = percentile(*ppm, (&blocks.0, &blocks.1), (a, b), &effect);
        body.rows.push(shown.told_by(shortest, options));
        // The median is too far from the tail to show its moods.
        if *ppm > MEDIAN_PPM && beyond >= BEYOND_MIN {
            body.effect = Some(effect);
        }
    }
    body.rows.push(misses(first, second, body.effect.as_ref(), options));
    body
}

/// The row of a percentile for which too little was measured to give limits.
fn untold(ppm: u32, (a, b): (&Blocks, &Blocks), length: Nanos, beyond: f64) -> RowResult {
    let share = f64::from(ppm) / 1e6;
    let row = RowResult::new(ComparedNumber::Percentile { ppm }, None, false);
    // If less than one value lies beyond a percentile, the percentile is the maximum, and maxima are not compared.
    if beyond < 1.0 {
        return RowResult { wants: longer(length, 3.7 / beyond), ..row };
    }
    RowResult { first: a.quantile(share), second: b.quantile(share), ..row }
}

fn percentile(ppm: u32, blocks: (&Blocks, &Blocks), (a, b): (&Events, &Events), effect: &DesignEffect) -> RowResult {
    let share = f64::from(ppm) / 1e6;
    let what = ComparedNumber::Percentile { ppm };
    let (of_first, of_second) = effect.for_limits(RISK);
    let limits = |blocks: &Blocks, effect: f64| {
        blocks.order_limits(share).map(|limits| {
            let (low, high) = limits.together(effect).at(RISK);
            (limits.seen, low, high)
        })
    };
    let (Some(first), Some(second)) = (limits(blocks.0, of_first), limits(blocks.1, of_second)) else {
        return RowResult::new(what, None, false);
    };
    let odds = Chances::of(a, b, effect).filter(|_| ppm <= ODDS_PPM);
    let odds = odds.map(|chances| Odds { more: chances.more, less: chances.fewer });
    RowResult {
        first: Some(first.0),
        second: Some(second.0),
        change: Some(Change::Difference(difference(first, second))),
        design_effect: Some(of_first.max(of_second)),
        ..RowResult::new(what, odds, false)
    }
}

/// Limits of the difference of two values, each given as (value, lower, upper limit), by Zou and Donner (2008).
fn difference(first: (f64, Option<f64>, Option<f64>), second: (f64, Option<f64>, Option<f64>)) -> Limits {
    let distance = |limit: Option<f64>, seen: f64| limit.map_or(f64::INFINITY, |limit| (limit - seen).abs());
    let seen = second.0 - first.0;
    let down = distance(second.1, second.0).hypot(distance(first.2, first.0));
    let up = distance(second.2, second.0).hypot(distance(first.1, first.0));
    Limits { seen: Some(seen), low: seen - down, high: seen + up }
}

impl RowResult {
    /// The same row, marked as "no difference shown" if its limits are narrow enough. If they are not, it gets the
    /// length that recordings need.
    fn told_by(self, length: Nanos, options: &Options) -> Self {
        let (Some(Change::Difference(limits)), Some(first)) = (self.change, self.first) else { return self };
        let least = options.margin.max(MARGIN_LEAST) * first;
        if is_within(&limits, least) {
            return Self { verdict: Compared::NoDifferenceShown, ..self };
        }
        // Limits narrow with the square root of the length.
        let width = (limits.high - limits.low) / 2.0;
        let factor = if width.is_finite() { (width / least).powi(2).clamp(1.1, 1e6) } else { 4.0 };
        Self { wants: longer(length, factor), ..self }
    }
}

/// Whether limits exclude a change of more than this number of nanoseconds.
pub(super) fn is_within(limits: &Limits, room: f64) -> bool {
    limits.low.abs().max(limits.high.abs()) <= room
}

/// A length multiplied by a factor; `None` above 1e18 ns, about 30 years.
fn longer(length: Nanos, factor: f64) -> Option<Nanos> {
    let wanted = float(length.as_ns()) * factor;
    (wanted.is_finite() && wanted > 0.0 && wanted < 1e18).then(|| Nanos::from_ns(whole(wanted)))
}

/// Limits and odds of the difference of a percentile, by ranks alone.
pub(super) fn by_ranks(a: &OrderLimits<'_>, b: &OrderLimits<'_>, options: &Options) -> (Limits, Odds) {
    let (low, high) = blocks::difference_limits(a, b, 1.0, RISK);
    let times = 1.0 + options.margin;
    let odds = Odds { more: blocks::chance_of_larger(a, b, times), less: blocks::chance_of_smaller(a, b, 1.0 / times) };
    (Limits { seen: Some(b.seen - a.seen), low, high }, odds)
}

/// The row of misses. `body` is the design effect of frequent events, which shows the moods.
fn misses(first: &Arm, second: &Arm, body: Option<&DesignEffect>, options: &Options) -> RowResult {
    let same = first.budget == second.budget;
    let budget = options.budget.or(first.budget).filter(|_| options.budget.is_some() || same);
    // Recordings count misses of their own budget exactly; another budget is compared with whole buckets.
    let counted = same && (options.budget.is_none() || options.budget == first.budget);
    let (a, b) = (series::missed(first, budget, counted), series::missed(second, budget, counted));
    let what = ComparedNumber::Misses { budget };
    if a.of <= 0.0 || b.of <= 0.0 || first.slices.len().min(second.slices.len()) < SLICES_MIN {
        return RowResult::new(what, None, false);
    }
    let effect = DesignEffect::of(&a, &b, body);
    let odds = Chances::of(&a, &b, &effect).map(|chances| Odds { more: chances.more, less: chances.fewer });
    of_events(what, (&a, &b), &effect, odds)
}

/// The row of events of two sides, as a ratio of rates.
pub(super) fn of_events(
    what: ComparedNumber,
    (a, b): (&Events, &Events),
    effect: &DesignEffect,
    odds: Option<Odds>,
) -> RowResult {
    let limits = longrun::ratio_limits(a, b, effect, RISK).map(|(low, high)| Limits {
        seen: (a.count > 0.0).then(|| b.rate() / a.rate()),
        low,
        high,
    });
    let none = a.count + b.count <= 0.0;
    let told = limits.is_some_and(|limits| limits.low >= 1.0 / TOLD_RATIO && limits.high <= TOLD_RATIO);
    let (of_first, of_second) = effect.for_limits(RISK);
    RowResult {
        first: Some(a.rate() * 1e6),
        second: Some(b.rate() * 1e6),
        change: limits.map(Change::Ratio),
        design_effect: Some(of_first.max(of_second)),
        ..RowResult::new(what, odds, told || none)
    }
}

impl Missed {
    /// Adds up blocks of (misses, releases due).
    pub(super) fn of(blocks: &[(f64, f64)], together: f64) -> Self {
        let (missed, due) = blocks.iter().fold((0.0, 0.0), |sum, block| (sum.0 + block.0, sum.1 + block.1));
        Self { least: missed, most: missed, due, together }
    }
}

/// The row of misses of two sides. Releases of unknown latency are counted so that they make a difference harder to
/// show.
pub(super) fn missed_row(what: ComparedNumber, a: &Missed, b: &Missed, options: &Options) -> RowResult {
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

/// For each block of `arm`: (misses, releases due).
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
