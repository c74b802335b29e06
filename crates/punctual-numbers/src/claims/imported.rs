//! What a histogram of another program can claim. It has no times: whether its values depend on each other or change over
//! the run nobody knows, so that everything here holds for independent values only, and whoever tells it says so.

use super::NewMaximum;
use super::percentiles::{Worth, percentiles};
use super::tails::{Cut, EXCEEDANCES_MIN, Tail, conclude, scale_of};
use super::{Beyond, Percentile, Refusal, phase};
use crate::foreign::{ForeignRun, Series, Unfit};
use crate::stats::goodness;
use crate::stats::tail::Exceedances;
use punctual_hist::Nanos;

/// With more exceedances than this any histogram is seen to be none of a law.
const EXCEEDANCES_MAX: u64 = 1_000;
/// Fewer cells with something in them tell no shape.
const CELLS_MIN: usize = 8;

/// What can be claimed of one series of an import.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeriesClaims {
    /// How long it was measured, as far as is known and can be relied upon.
    #[serde(rename = "time_ns")]
    pub time: Option<Nanos>,
    /// L2: the probability of a new largest value in the time to come; empty if the length of the measurement is not
    /// known, or missing values may be larger.
    pub next: Vec<NewMaximum>,
    /// L3, from 99 % on, of all that came due: what is missing counts as larger than all. Empty where the cells do not
    /// speak for what was measured.
    pub percentiles: Vec<Percentile>,
    /// L4: the levels beyond what was measured, or the first gate that was closed.
    #[serde(flatten, serialize_with = "super::answered")]
    #[cfg_attr(feature = "schema", schemars(with = "super::Answered<'static>"))]
    pub beyond: Result<Beyond, Refusal>,
}

/// Why the cells of a series do not speak for all that was measured; `None` where they do.
pub fn unfit(series: &Series) -> Option<Refusal> {
    match series.unfit {
        Some(Unfit::Doubted) => Some(Refusal::Doubted),
        Some(Unfit::Censored) => Some(Refusal::Censored),
        None => Some(series.missing()).filter(|missing| *missing > 0).map(|values| Refusal::Missing { values }),
    }
}

impl SeriesClaims {
    /// Of a series of this run; `None` where it has no cells.
    pub fn of(run: &ForeignRun, series: &Series) -> Option<Self> {
        let n = series.counted();
        if n == 0 || series.cells.is_empty() {
            return None;
        }
        let refusal = unfit(series);
        if refusal == Some(Refusal::Doubted) {
            return Some(Self { time: None, next: Vec::new(), percentiles: Vec::new(), beyond: Err(Refusal::Doubted) });
        }
        let missing = series.missing();
        let due = n.saturating_add(missing);
        let counted = series.period.filter(|period| *period > Nanos::ZERO).map(|period| period.times(due));
        let time = counted.or(run.duration.map(|stated| stated.length)).filter(|time| *time > Nanos::ZERO);
        let next = time.filter(|_| missing == 0).map(phase::odds).unwrap_or_default();
        if refusal == Some(Refusal::Censored) {
            return Some(Self { time, next, percentiles: Vec::new(), beyond: Err(Refusal::Censored) });
        }
        let worth = Worth { n: due, spread: Some(1.0), time: time.unwrap_or_default(), longer: None };
        let mut percentiles = percentiles(due, series, |_| worth);
        if missing > 0 {
            // The largest seen is no limit, however long it takes.
            for percentile in &mut percentiles {
                percentile.more = None;
            }
        }
        let beyond = refusal.map_or_else(|| beyond(series, n, time), Err);
        Some(Self { time, next, percentiles, beyond })
    }
}

fn beyond(series: &Series, n: u64, time: Option<Nanos>) -> Result<Beyond, Refusal> {
    let time = time.ok_or(Refusal::NoTimes)?;
    let each = time.divided_by(n);
    let too_few = |known: u64| {
        let wanted = EXCEEDANCES_MIN as u64;
        Refusal::TooFew { blocks: known, wanted, more: each.times(wanted.saturating_sub(known)) }
    };
    if n < EXCEEDANCES_MIN as u64 {
        return Err(too_few(n));
    }
    let tails: Vec<Tail> = thresholds(series).into_iter().filter_map(|first| tail(series, first, time)).collect();
    let Some(lowest) = tails.first() else { return Err(coarse(series)) };
    let width = width_above(series, lowest.threshold);
    if lowest.fit.law.scale < width / 2.0 {
        return Err(Refusal::Coarse { width: super::tails::nanos(width), scale: scale_of(lowest.fit.law.scale) });
    }
    conclude(&tails, &Cut { size: n, each, is_mixed: false }, &phase::TIMES, |odds| Refusal::NoFit { odds })
}

/// The cells a tail may begin with, lowest first: above their lower edge lie enough values and not too many, and of each
/// a quarter more than of the next. None begins above the end of a series, from which on some values are in no cell.
fn thresholds(series: &Series) -> Vec<usize> {
    let mut above = series.beyond.map_or(0, |beyond| beyond.count);
    let (mut found, mut wanted) = (Vec::new(), EXCEEDANCES_MIN as u64);
    for (index, cell) in series.cells.iter().enumerate().rev() {
        above = above.saturating_add(cell.count);
        if above > EXCEEDANCES_MAX && !found.is_empty() {
            break;
        }
        if above >= wanted && series.beyond.is_none_or(|beyond| cell.low <= beyond.from) {
            found.push(index);
            wanted = above.saturating_add(above / 4);
        }
    }
    found.reverse();
    found
}

/// The tail from the lower edge of this cell on; `None` with too few cells, or where no law is better than others.
fn tail(series: &Series, first: usize, time: Nanos) -> Option<Tail> {
    let cells = series.cells.get(first..).filter(|cells| cells.len() >= CELLS_MIN)?;
    let threshold = as_f64(cells.first()?.low);
    let past = |high: Nanos| as_f64(high.plus(Nanos::from_ns(1))) - threshold;
    let mut bins: Vec<(f64, f64, u64)> =
        cells.iter().map(|cell| (as_f64(cell.low) - threshold, past(cell.high), cell.count)).collect();
    if let Some(beyond) = series.beyond {
        bins.push((as_f64(beyond.from) - threshold, f64::INFINITY, beyond.count));
    }
    let data = Exceedances::of_bins(bins.iter().copied(), 0.0);
    let fit = data.fit()?;
    let fits = goodness::odds_of_bins(&bins, &data, &fit.law)?;
    let rate = data.size() / time.as_secs_f64();
    Some(Tail { threshold, data, fit, fits, rate })
}

/// The width of the cell that begins here, in nanoseconds.
fn width_above(series: &Series, threshold: f64) -> f64 {
    let cell = series.cells.iter().find(|cell| as_f64(cell.low) >= threshold);
    cell.map_or(0.0, |cell| as_f64(cell.high.minus(cell.low)) + 1.0)
}

/// Too few cells hold the tail: their width, and the scale of an exponential law whose last 200 values, each rounded down
/// to its cell, have the same mean.
fn coarse(series: &Series) -> Refusal {
    let mut above = 0u64;
    let enough = |cell: &&crate::foreign::Cell| {
        above = above.saturating_add(cell.count);
        above >= EXCEEDANCES_MIN as u64
    };
    let Some(first) = series.cells.iter().rev().find(enough) else { return Refusal::NoFit { odds: 0.0 } };
    let tail = || series.cells.iter().filter(|cell| cell.low >= first.low);
    let (sum, n) = tail().fold((0.0, 0.0), |(sum, n), cell| {
        #[allow(clippy::cast_precision_loss, reason = "counts beyond 2^53 lose nothing that matters")]
        let count = cell.count as f64;
        (sum + as_f64(cell.low.minus(first.low)) * count, n + count)
    });
    let width = first.high.minus(first.low).plus(Nanos::from_ns(1));
    let scale = if sum > 0.0 { as_f64(width) / (as_f64(width) * n / sum).ln_1p() } else { 0.0 };
    Refusal::Coarse { width, scale: scale_of(scale) }
}

#[allow(clippy::cast_precision_loss, reason = "beyond 2^53 ns, 104 days of latency, digits do not matter")]
fn as_f64(time: Nanos) -> f64 {
    time.as_ns() as f64
}
