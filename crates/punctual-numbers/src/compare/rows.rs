//! The rows of percentiles and misses of one group, and Cliff's delta.
//!
//! A percentile is compared by the number of releases beyond a threshold between the percentiles of the two runs: equal
//! machines have equal shares there. So every row is a comparison of event counts, for which `stats::chances` gives
//! odds that allow for moods.

use super::arm::{Arm, float};
use super::excursions::Unusual;
use super::odds::Odds;
use super::series;
use super::{CONFIDENCE, Change, Compared, ComparedNumber, Limits, Mood, Options, RowResult};
use crate::stats::chances;
use crate::stats::float::whole;
use crate::stats::histogram::{self, Histogram, OrderLimits};
use crate::stats::moods::{Events, Moods};
use crate::stats::ratio::Counted;
use punctual_hist::{Counts, Nanos};

/// The percentiles that are compared, in parts per million.
pub(super) const PERCENTILES_PPM: [u32; 5] = [500_000, 990_000, 999_000, 999_900, 999_990];
/// Percentiles up to this one have odds. Farther ones have limits only, because rare events have rows of their own.
const ODDS_PPM: u32 = 999_000;
/// Excursions of the machine are searched in this number of percentiles, from the first on. Cells hold too few values
/// beyond farther ones.
const EXCURSIONS_IN: usize = 2;
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
/// For rare events, the moods that a frequent percentile shows are the starting point: the furthest percentile above the
/// first number with at least the second number of releases beyond it.
const MEDIAN_PPM: u32 = 500_000;
const BEYOND_MIN: f64 = 50.0;
/// Risk on each side of an interval.
const RISK: f64 = (1.0 - CONFIDENCE) / 2.0;

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
    /// The moods that the furthest percentile shows that has enough releases beyond it.
    pub moods: Option<Moods>,
    /// Length of the moods in seconds, the longest that any percentile shows; `None` without moods.
    pub tau: Option<f64>,
    /// The probability that moods are too long for the runs, the largest that any percentile shows.
    pub too_long: f64,
    pub unusual: Unusual,
}

/// One row for each percentile, and one of misses.
pub(super) fn body(first: &Arm, second: &Arm, options: &Options) -> Body {
    let mut all = first.due.clone();
    all.merge(&second.due);
    let histograms = (first.histogram(), second.histogram());
    let edge = |ppm: u32| {
        let share = f64::from(ppm) / 1e6;
        let between = histograms.0.quantile(share).zip(histograms.1.quantile(share)).map(|(a, b)| (a * b).sqrt());
        between.map_or(0, |between| series::edge_at(&all, between, 1.0 - share))
    };
    let edges = PERCENTILES_PPM.map(edge);
    let (of_first, of_second) = (series::beyond(first, &edges), series::beyond(second, &edges));
    let enough = first.slices.len().min(second.slices.len()) >= SLICES_MIN;
    let shortest = first.length.min(second.length);
    let unusual = Unusual::of(of_first.iter().zip(&of_second).take(EXCURSIONS_IN));
    let mut body = Body { rows: Vec::new(), moods: None, tau: None, too_long: 0.0, unusual };
    for (ppm, (a, b)) in PERCENTILES_PPM.iter().zip(of_first.iter().zip(&of_second)) {
        let moods = Moods::of(&[a, b], body.moods.as_ref());
        let beyond = a.of.min(b.of) * (1.0 - f64::from(*ppm) / 1e6);
        let Some(moods) = Some(moods).filter(|_| enough && beyond >= 1.0) else {
            body.rows.push(untold(*ppm, &histograms, shortest, beyond));
            continue;
        };
        if moods.odds >= MOODY && *ppm <= ODDS_PPM {
            body.tau = Some(body.tau.map_or(moods.tau, |tau: f64| tau.max(moods.tau)));
            body.too_long = body.too_long.max(moods.longer_than(Mood::longest(shortest)));
        }
        let odds = body.unusual.odds(a, b, &moods).filter(|_| *ppm <= ODDS_PPM);
        let shown = percentile(*ppm, &histograms, (a, b), &moods, odds);
        body.rows.push(shown.told_by(shortest, options));
        // The median is too far from the tail to show its moods.
        if *ppm > MEDIAN_PPM && beyond >= BEYOND_MIN {
            body.moods = Some(moods);
        }
    }
    let misses = misses(first, second, &body, options);
    body.rows.push(misses);
    body
}

/// The row of a percentile for which too little was measured to give limits.
fn untold(ppm: u32, (a, b): &(Histogram, Histogram), length: Nanos, beyond: f64) -> RowResult {
    let share = f64::from(ppm) / 1e6;
    let row = RowResult::new(ComparedNumber::Percentile { ppm }, None, false);
    // If less than one value lies beyond a percentile, the percentile is the maximum, and maxima are not compared.
    if beyond < 1.0 {
        return RowResult { wants: longer(length, 3.7 / beyond), ..row };
    }
    RowResult { first: a.quantile(share), second: b.quantile(share), ..row }
}

fn percentile(
    ppm: u32,
    histograms: &(Histogram, Histogram),
    (a, b): (&Events, &Events),
    moods: &Moods,
    odds: Option<Odds>,
) -> RowResult {
    let share = f64::from(ppm) / 1e6;
    let what = ComparedNumber::Percentile { ppm };
    let (of_first, of_second) = (moods.effect(a, RISK), moods.effect(b, RISK));
    let limits = |histogram: &Histogram, effect: f64| {
        let limits = histogram.order_limits(share, effect)?;
        let (low, high) = limits.at(RISK);
        Some((limits.seen, low, high))
    };
    let (Some(first), Some(second)) = (limits(&histograms.0, of_first), limits(&histograms.1, of_second)) else {
        return RowResult::new(what, None, false);
    };
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
    let (low, high) = histogram::difference_limits(a, b, 1.0, RISK);
    let times = 1.0 + options.margin;
    let odds =
        Odds { more: histogram::chance_of_larger(a, b, times), less: histogram::chance_of_smaller(a, b, 1.0 / times) };
    (Limits { seen: Some(b.seen - a.seen), low, high }, odds)
}

/// The row of misses. `body` shows the moods.
fn misses(first: &Arm, second: &Arm, body: &Body, options: &Options) -> RowResult {
    let same = first.budget == second.budget;
    let budget = options.budget.or(first.budget).filter(|_| options.budget.is_some() || same);
    // Recordings count misses of their own budget exactly; another budget is compared with whole buckets.
    let counted = same && (options.budget.is_none() || options.budget == first.budget);
    let (a, b) = (series::missed(first, budget, counted), series::missed(second, budget, counted));
    let what = ComparedNumber::Misses { budget };
    if a.of <= 0.0 || b.of <= 0.0 || first.slices.len().min(second.slices.len()) < SLICES_MIN {
        return RowResult::new(what, None, false);
    }
    let moods = Moods::of(&[&a, &b], body.moods.as_ref());
    let odds = body.unusual.odds(&a, &b, &moods);
    of_events(what, (&a, &b), &moods, odds)
}

/// The row of events of two sides, as a ratio of rates.
pub(super) fn of_events(
    what: ComparedNumber,
    (a, b): (&Events, &Events),
    moods: &Moods,
    odds: Option<Odds>,
) -> RowResult {
    let effect = moods.effect(a, RISK).max(moods.effect(b, RISK));
    let limits = chances::ratio_limits(a, b, effect, RISK).map(|(low, high)| Limits {
        seen: (a.count > 0.0).then(|| b.rate() / a.rate()),
        low,
        high,
    });
    let none = a.count + b.count <= 0.0;
    let told = limits.is_some_and(|limits| limits.low >= 1.0 / TOLD_RATIO && limits.high <= TOLD_RATIO);
    RowResult {
        first: Some(a.rate() * 1e6),
        second: Some(b.rate() * 1e6),
        change: limits.map(Change::Ratio),
        design_effect: Some(effect),
        ..RowResult::new(what, odds, told || none)
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
