//! Rung L4 of a recording: the levels exceeded once in an hour, a day, a month or a year.
//!
//! The tail law is fitted to block maxima above a threshold, which are exact to the nanosecond. A cluster of late
//! activations within one block counts once. The checks for changes over time come first. The checks that every tail
//! must pass are in `tails`.

use super::tails::{Cut, Tail, conclude, nanos, scale_of};
use super::{Beyond, Drift, Refusal};
use crate::stats::float::float;
use crate::stats::tail::Exceedances;
use crate::stats::{dependence, goodness, ranks, rhythm, trend};
use punctual_hist::{MonoTime, Nanos};
use std::collections::BTreeMap;

/// At most this number of exceedances is fitted: more make the law fit worse without making the limits much narrower.
const EXCEEDANCES_MAX: usize = 500;
/// Fewest exceedances that a tail is fitted to. With fewer, its levels are too uncertain to be reported.
const EXCEEDANCES_MIN: usize = 75;
/// Largest part of all blocks whose maxima may belong to the tail. Farther down, bursts and rare mechanisms mix with
/// the rest.
const SHARE_MAX: f64 = 0.25;
/// A run of fewer blocks than this has no levels: a quarter of them would not hold enough exceedances.
const BLOCKS_MIN: usize = 334;
/// A test of dependence or drift refuses the run if chance alone gives its result with a smaller probability than this.
const BELIEVED: f64 = 0.01;
/// Correlations below this are ignored, however significant they are.
const CORRELATED: f64 = 0.1;
/// Resolution of most other programs, 1 us, in nanoseconds.
const STEP: f64 = 1_000.0;
/// If no law fits and the scale of the tail is below this number of `STEP`s, the refusal blames the steps.
const COARSE: f64 = 50.0;
/// Trends are tested on at most this number of values. Of a longer series, only the largest of each few neighbours is
/// used.
const TREND_MAX: usize = 1_500;

/// Exact maxima of blocks of time of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Maxima {
    pub block: Nanos,
    /// The largest latency of each block, by the number of the block since the epoch. Zero stands for a maximum that is
    /// only known to be no larger than the smallest other one.
    pub list: BTreeMap<u32, Nanos>,
}

impl Maxima {
    /// Number of blocks whose maximum equals the largest of the run.
    pub fn ties(&self) -> u64 {
        let largest = self.list.values().max();
        self.list.values().filter(|max| Some(*max) == largest).count() as u64
    }
}

/// Block maxima in nanoseconds, with the length and the numbers of the blocks.
#[derive(Clone, Debug)]
struct Series {
    seconds: f64,
    indices: Vec<u32>,
    values: Vec<f64>,
}

/// The levels exceeded once in each of `times`, or the reason why they are withheld.
pub fn beyond(maxima: &Maxima, times: &[Nanos]) -> Result<Beyond, Refusal> {
    let series = independent(maxima)?;
    if let Some(drift) = series.drift() {
        return Err(Refusal::Drifts(drift));
    }
    if let Some(rhythm) = series.rhythm() {
        return Err(Refusal::Regular(rhythm));
    }
    if series.exceedances_max() < EXCEEDANCES_MIN {
        return Err(series.too_few());
    }
    let tails = series.tails();
    let cut = Cut { size: series.values.len() as u64, each: secs(series.seconds), is_mixed: true };
    conclude(&tails, &cut, times, |best| series.no_fit(&tails, best))
}

/// The series with neighbouring blocks joined until their maxima no longer depend on each other.
fn independent(maxima: &Maxima) -> Result<Series, Refusal> {
    let mut series = Series::of(maxima);
    let blocks = series.values.len();
    if blocks == 0 {
        return Err(Refusal::NoTimes);
    }
    if blocks < BLOCKS_MIN {
        let more = maxima.block.times((BLOCKS_MIN - blocks) as u64);
        return Err(Refusal::TooFew { blocks: blocks as u64, wanted: BLOCKS_MIN as u64, more });
    }
    loop {
        let Some(correlation) = series.dependence() else { return Ok(series) };
        let joined = series.joined();
        if joined.values.len() < BLOCKS_MIN {
            // A series that drifts also depends on its past. The refusal names the drift, because a longer run would
            // not remove it.
            let dependent = Refusal::Dependent { correlation, block: secs(series.seconds) };
            return Err(series.drift().map_or(dependent, Refusal::Drifts));
        }
        series = joined;
    }
}

impl Series {
    fn of(maxima: &Maxima) -> Self {
        let (indices, values) = maxima.list.iter().map(|(index, max)| (*index, float(max.as_ns()))).unzip();
        Self { seconds: maxima.block.as_secs_f64(), indices, values }
    }

    /// The series with blocks twice as long. A block without its neighbour is left out.
    fn joined(&self) -> Self {
        let (mut indices, mut values) = (Vec::new(), Vec::new());
        let blocks: Vec<(u32, f64)> = self.indices.iter().copied().zip(self.values.iter().copied()).collect();
        for pair in blocks.chunk_by(|a, b| a.0 / 2 == b.0 / 2) {
            if let [a, b] = pair {
                indices.push(a.0 / 2);
                values.push(a.1.max(b.1));
            }
        }
        Self { seconds: self.seconds * 2.0, indices, values }
    }

    /// The strongest correlation of near blocks, if it is significant and not small. Exceedances are tested as well,
    /// because the tail of a series can be correlated where the whole is not.
    fn dependence(&self) -> Option<f64> {
        let lags = 5;
        let strongest = |values: &[f64]| {
            let tested = dependence::ljung_box(values, lags).filter(|tested| tested.odds < BELIEVED)?;
            let correlations = dependence::autocorrelations(values, lags);
            let most = correlations.into_iter().max_by(|a, b| a.abs().total_cmp(&b.abs()))?;
            (tested.odds < BELIEVED && most.abs() > CORRELATED).then_some(most)
        };
        let high = self.threshold(self.exceedances_max());
        let exceeds: Vec<f64> = self.values.iter().map(|x| f64::from(u8::from(*x > high))).collect();
        strongest(&ranks::of(&self.values)).or_else(|| strongest(&exceeds))
    }

    /// Number of blocks whose maximum is known.
    fn known(&self) -> usize {
        self.values.iter().filter(|x| **x > 0.0).count()
    }

    /// The refusal with the additional time until there are enough exceedances at their present rate.
    fn too_few(&self) -> Refusal {
        let (known, wanted) = (self.known() as u64, EXCEEDANCES_MIN as u64 + 1);
        let length = secs(self.seconds).times(self.values.len() as u64);
        let more = length.times(wanted.saturating_sub(known)).divided_by(known.max(1));
        Refusal::TooFew { blocks: known, wanted, more }
    }

    fn exceedances_max(&self) -> usize {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a part"
        )]
        let part = (self.values.len() as f64 * SHARE_MAX) as usize;
        part.min(EXCEEDANCES_MAX).min(self.known().saturating_sub(1))
    }

    /// The value that `k` blocks exceed, if no two are equal.
    fn threshold(&self, k: usize) -> f64 {
        let mut sorted = self.values.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        sorted.get(k).copied().unwrap_or_default()
    }

    fn drift(&self) -> Option<Drift> {
        let step = self.values.len().div_ceil(TREND_MAX).max(1);
        let thinned: Vec<f64> = self.values.chunks(step).map(|part| part.iter().copied().fold(0.0, f64::max)).collect();
        let kendall = trend::kendall(&thinned)?;
        let high = self.threshold(self.exceedances_max());
        let (first, second) = self.values.split_at(self.values.len() / 2);
        let above = |half: &[f64]| half.iter().filter(|x| **x > high).count() as u64;
        let halves = (above(first), above(second));
        let odds = trend::halves(halves.0, first.len() as u64, halves.1, second.len() as u64);
        let trends = kendall.odds < BELIEVED && kendall.statistic.abs() > CORRELATED;
        let differ =
            odds < BELIEVED && halves.0.max(halves.1).saturating_mul(2) > halves.0.min(halves.1).saturating_mul(3);
        let wanders = trend::kpss(&thinned, 8).is_some_and(|kpss| kpss > 0.739)
            && halves.0.max(halves.1).saturating_mul(4) > halves.0.min(halves.1).saturating_mul(5);
        (trends || differ || wanders).then_some(Drift { tau: kendall.statistic, halves })
    }

    /// The rhythm of the blocks with the largest maxima, if they have one.
    fn rhythm(&self) -> Option<rhythm::Rhythm> {
        let high = self.threshold(60.min(self.values.len() / 10));
        let block = secs(self.seconds);
        let at = |(index, _): (&u32, &f64)| MonoTime::from_ns(block.times(u64::from(*index)).as_ns());
        let times: Vec<MonoTime> = self.indices.iter().zip(&self.values).filter(|(_, x)| **x > high).map(at).collect();
        rhythm::rhythm(&times, block, Nanos::ZERO)
    }

    fn tails(&self) -> Vec<Tail> {
        let sizes = std::iter::successors(Some(self.exceedances_max()), |k| Some(k * 4 / 5));
        sizes.take_while(|k| *k >= EXCEEDANCES_MIN).filter_map(|k| self.tail(k)).collect()
    }

    fn tail(&self, k: usize) -> Option<Tail> {
        let threshold = self.threshold(k);
        let above = self.values.iter().map(|x| x - threshold);
        let exceeding = above.clone().filter(|y| *y > 0.0).count();
        let several = -(-(float(exceeding) / float(self.values.len()))).ln_1p();
        let data = Exceedances::of_values(above, several);
        let fit = data.fit()?;
        let probabilities: Vec<f64> = data.values().iter().map(|y| 1.0 - data.survival(&fit.law, *y)).collect();
        let fits = goodness::odds(goodness::distance(&probabilities)?, fit.law.shape);
        Some(Tail { threshold, data, fit, fits, rate: several / self.seconds })
    }

    /// The reason why no law fits: steps of a microsecond where the tail is short, else the odds of the best fit.
    fn no_fit(&self, tails: &[Tail], best: f64) -> Refusal {
        let steps = self.values.iter().all(|ns| ns % STEP < 0.5);
        let scale = tails.first().map_or(f64::INFINITY, |tail| tail.fit.law.scale);
        if steps && scale < COARSE * STEP {
            Refusal::Coarse { width: nanos(STEP), scale: scale_of(scale) }
        } else {
            Refusal::NoFit { odds: best }
        }
    }
}

fn secs(seconds: f64) -> Nanos {
    nanos(seconds * 1e9)
}
