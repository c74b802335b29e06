//! The gates (checks) that every tail must pass, whether it comes from blocks of a run or from cells of a histogram.
//!
//! Cheap and certain gates come first. Their limits were chosen by the simulations in `tests/coverage`. This module
//! must not know where exceedances come from.

use super::{Beyond, Level, Refusal, TooFar};
use crate::stats::float::{float, whole};
use crate::stats::goodness;
use crate::stats::tail::{Estimate, Exceedances, Fit, SHAPES};
use punctual_hist::Nanos;

/// A tail of a histogram with fewer exceedances than this is too uncertain to be reported.
pub(super) const EXCEEDANCES_MIN: usize = 200;
/// A level is not reported if it is reached only once in more clusters than this: it is too far from the data.
const FAR: f64 = 1e4;
/// A gap among the largest values separates them from the others if its probability by chance is below this.
const BELIEVED_OF_MANY: f64 = 1e-3;
/// A law fits if the probability of a fit at least as bad, for data that follow it, is not below this.
const FITS: f64 = 0.02;
/// Factor on how far the profile likelihood may drop inside an interval. Textbook intervals of 95 % from 200 to 500
/// exceedances cover 93.5 %; with this factor they cover 95 %.
const WIDER: f64 = 1.12;
/// Largest accepted shape of a tail, and largest accepted width of the shape's interval. Latencies have no heavier
/// tails.
const SHAPE_MAX: f64 = 0.5;
const SHAPE_WIDTH_MAX: f64 = 0.6;
/// Largest accepted relative difference between the levels from different thresholds.
const DIFFERENT_MAX: f64 = 0.3;

pub(super) struct Tail {
    /// Where the tail begins, in nanoseconds.
    pub(super) threshold: f64,
    pub(super) data: Exceedances,
    pub(super) fit: Fit,
    /// Probability of a fit at least this bad if the data follow the fitted law.
    pub(super) fits: f64,
    /// Number of clusters above the threshold per second.
    pub(super) rate: f64,
}

/// The blocks or values that the tails were cut from.
pub(super) struct Cut {
    /// Number of blocks or values.
    pub(super) size: u64,
    /// Length of one block, or mean time between two values.
    pub(super) each: Nanos,
    /// Whether the thresholds span a wide range. Intervals then combine the intervals from the lowest and from the
    /// highest threshold.
    pub(super) is_mixed: bool,
}

/// The levels exceeded once in each of `times`, or the reason why they are withheld. `tails` have rising thresholds.
/// The lowest threshold is used from which on every higher one fits as well. If none fits, `no_fit` turns the odds of
/// the best fit into the reason.
pub(super) fn conclude(
    tails: &[Tail],
    cut: &Cut,
    times: &[Nanos],
    no_fit: impl FnOnce(f64) -> Refusal,
) -> Result<Beyond, Refusal> {
    let best = tails.iter().map(|tail| tail.fits).fold(0.0, f64::max);
    let good = tails.iter().rev().take_while(|tail| tail.fits >= FITS).count();
    let accepted = tails.get(tails.len() - good..).unwrap_or_default();
    let Some(tail) = accepted.first() else { return Err(no_fit(best)) };
    let shape = tail.data.shape(&tail.fit);
    let edge = shape.value <= SHAPES.0 + 1e-3 || shape.value > SHAPE_MAX;
    if edge || shape.high - shape.low > SHAPE_WIDTH_MAX {
        return Err(Refusal::Shape { shape: shape.value, low: shape.low, high: shape.high });
    }
    if let Some((how_many, from)) = tail.apart() {
        return Err(Refusal::Apart { count: how_many, from: nanos(from) });
    }
    let farthest = times.iter().filter(|time| tail.clusters_in(**time) <= FAR).max();
    let different = farthest.map_or(0.0, |time| different(accepted, *time));
    if different > DIFFERENT_MAX {
        return Err(Refusal::Unstable { part: different });
    }
    let highest = accepted.last().filter(|_| cut.is_mixed && good > 1);
    Ok(answer(tail, highest, cut, shape, times))
}

/// The range of the levels that the tails give for this time, as a part of the level of the first tail.
fn different(tails: &[Tail], time: Nanos) -> f64 {
    let level = |tail: &Tail| tail.threshold + tail.fit.law.level(tail.clusters_in(time));
    let levels: Vec<f64> = tails.iter().map(level).collect();
    let (low, high) = levels.iter().fold((f64::INFINITY, 0.0f64), |(low, high), x| (low.min(*x), high.max(*x)));
    levels.first().map_or(0.0, |chosen| (high - low) / chosen)
}

/// The level for each of `times`, from the fit `tail`. If `highest`, the fit above the highest threshold, is given, each
/// interval is widened to contain the interval of that fit: only that fit shows a rare mechanism that makes the
/// largest values.
fn answer(tail: &Tail, highest: Option<&Tail>, cut: &Cut, shape: Estimate, times: &[Nanos]) -> Beyond {
    let run = cut.each.as_secs_f64() * float(cut.size);
    let (mut levels, mut too_far) = (Vec::new(), Vec::new());
    for time in times {
        let clusters = tail.clusters_in(*time);
        if clusters > FAR {
            too_far.push(TooFar { once_in: *time, run_wanted: nanos(run * clusters / FAR * 1e9) });
        } else if let Some(estimate) = tail.data.level(&tail.fit, clusters, WIDER) {
            let level = tail.level(*time, &estimate);
            let other = highest.and_then(|highest| highest.level_in(*time));
            levels.push(other.map_or(level, |other| level.and(&other)));
        }
    }
    Beyond {
        threshold: nanos(tail.threshold),
        exceedances: nanos(tail.data.size()).as_ns(),
        blocks: cut.size,
        block: cut.each,
        shape,
        fits: tail.fits,
        levels,
        too_far,
    }
}

impl Level {
    /// The same level with an interval that also holds the interval of `other`.
    fn and(self, other: &Self) -> Self {
        let high = self.high.and_then(|high| other.high.map(|other| high.max(other)));
        Self { low: self.low.min(other.low), high, ..self }
    }
}

impl Tail {
    fn clusters_in(&self, time: Nanos) -> f64 {
        time.as_secs_f64() * self.rate
    }

    fn level_in(&self, once_in: Nanos) -> Option<Level> {
        let estimate = self.data.level(&self.fit, self.clusters_in(once_in), WIDER)?;
        Some(self.level(once_in, &estimate))
    }

    fn level(&self, once_in: Nanos, estimate: &Estimate) -> Level {
        let at = |y: f64| nanos(self.threshold + y);
        Level {
            once_in,
            value: at(estimate.value),
            low: at(estimate.low),
            high: estimate.high.is_finite().then(|| at(estimate.high)),
        }
    }

    /// The largest values if they do not follow the law of the others: their number, and the smallest of them.
    fn apart(&self) -> Option<(u64, f64)> {
        if let Some(strangers) = goodness::strangers(&self.data) {
            return self.data.largest(strangers).map(|y| (strangers as u64, self.threshold + y));
        }
        let values = self.data.values();
        let upper: Vec<f64> =
            values.iter().rev().take(values.len() / 5).map(|y| self.data.survival(&self.fit.law, *y).ln()).collect();
        (goodness::odds_of_gap(&upper) < BELIEVED_OF_MANY).then(|| {
            let gap = upper.windows(2).zip(1u32..).map(|(pair, i)| (f64::from(i) * (pair[1] - pair[0]), i));
            let widest = gap.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(1, |(_, i)| i);
            let from = self.data.largest(usize::try_from(widest).unwrap_or(1));
            (u64::from(widest), self.threshold + from.unwrap_or_default())
        })
    }
}

pub(super) fn nanos(ns: f64) -> Nanos {
    Nanos::from_ns(whole(ns.round()))
}

/// The scale in nanoseconds; `None` if it rounds to 0.
pub(super) fn scale_of(ns: f64) -> Option<Nanos> {
    Some(nanos(ns)).filter(|scale| *scale > Nanos::ZERO)
}
