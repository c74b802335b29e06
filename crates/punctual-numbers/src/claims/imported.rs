//! What can be claimed from a file of another program.
//!
//! A histogram has no times, so nothing shows whether its values depend on each other or change over the run. Its
//! claims hold for independent values only ([`Assumed`]), and every output says so. A list of values has an order,
//! which shows how much counts vary from stretch to stretch.

use super::NewMaximum;
use super::course::Course;
use super::percentiles::{Worth, percentiles};
use super::tails::{Cut, EXCEEDANCES_MIN, Tail, conclude, scale_of};
use super::{Beyond, CONFIDENCE, Percentile, Refusal, phase};
use crate::foreign::{ForeignRun, Series, Unfit};
use crate::stats::float::float;
use crate::stats::tail::Exceedances;
use crate::stats::{binomial, goodness};
use punctual_hist::Nanos;

/// Above this number of exceedances the test of fit refuses nearly every real histogram.
const EXCEEDANCES_MAX: u64 = 1_000;
/// A tail with fewer filled cells than this does not show the shape of its law.
const CELLS_MIN: usize = 8;
/// Number of trials with which a binomial law stands for Poisson's law.
const TRIALS: u32 = 1_000_000_000;

/// What can be claimed of one series of an import.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeriesClaims {
    /// What all claims assume about the dependence of values on each other.
    #[serde(flatten)]
    pub assumed: Assumed,
    /// Length of the measurement in nanoseconds; `None` if it is not known or cannot be relied upon.
    #[serde(rename = "time_ns")]
    pub time: Option<Nanos>,
    /// L2: the probability of a new largest value in the time to come; empty if the length of the measurement is not
    /// known, or missing values may be larger. If nothing was above a threshold, at most the probability of a value
    /// above it.
    pub next: Vec<NewMaximum>,
    /// How many values were above the threshold of a program that lists only larger values; `None` for all other
    /// programs.
    pub above: Option<Above>,
    /// L3: percentiles from 99 % on, of all values that came due. Missing values count as larger than all others. Empty
    /// if the cells do not stand for everything that was measured.
    pub percentiles: Vec<Percentile>,
    /// L4: the levels beyond what was measured, or the reason why they are withheld.
    #[serde(flatten, serialize_with = "super::answered")]
    #[cfg_attr(feature = "schema", schemars(with = "super::Answered<'static>"))]
    pub beyond: Result<Beyond, Refusal>,
}

/// What the claims of a file without times assume about the dependence of values on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "assumed", rename_all = "kebab-case")]
pub enum Assumed {
    /// Claims hold if all values are independent: a histogram does not say in which order they came.
    Independent,
    /// The file lists its values in the order of measurement. Limits allow for how much counts vary from stretch to
    /// stretch.
    InOrder {
        /// The number of stretches of equal length into which the values were cut.
        stretches: usize,
    },
}

/// Values above a threshold in the time in which the program looked.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Above {
    /// The program lists only what is larger than this, in nanoseconds.
    #[serde(rename = "threshold_ns")]
    pub threshold: Nanos,
    /// The number of values above the threshold.
    pub count: u64,
    /// Time in nanoseconds in which the program looked; `None` if the file does not state it.
    #[serde(rename = "observed_ns")]
    pub observed: Option<Nanos>,
    /// Upper limit of the number of values above the threshold in an hour, at 95 %, if they are independent.
    #[serde(rename = "per_hour_upper_95")]
    pub per_hour_upper: Option<f64>,
}

/// Why the cells of a series do not stand for everything that was measured; `None` if they do.
pub fn unfit(series: &Series) -> Option<Refusal> {
    match series.unfit {
        Some(Unfit::Doubted) => Some(Refusal::Doubted),
        Some(Unfit::Censored) => Some(Refusal::Censored),
        None => Some(series.missing()).filter(|missing| *missing > 0).map(|values| Refusal::Missing { values }),
    }
}

impl SeriesClaims {
    /// The claims of a series of this run; `None` if it has no cells.
    pub fn of(run: &ForeignRun, series: &Series) -> Option<Self> {
        let n = series.counted();
        let none = |beyond: Refusal| Self {
            assumed: Assumed::Independent,
            time: None,
            next: Vec::new(),
            above: None,
            percentiles: Vec::new(),
            beyond: Err(beyond),
        };
        let refusal = unfit(series);
        if refusal == Some(Refusal::Doubted) && n > 0 {
            return Some(none(Refusal::Doubted));
        }
        let missing = series.missing();
        let due = n.saturating_add(missing);
        let counted = series.period.filter(|period| *period > Nanos::ZERO).map(|period| period.times(due));
        let time = series.observed.or(counted).or(run.duration.map(|stated| stated.length));
        let time = time.filter(|time| *time > Nanos::ZERO);
        if refusal == Some(Refusal::Censored) {
            let above = Above::of(series, time);
            let next = time.map(|time| phase::odds(time, 1)).unwrap_or_default();
            let claims = Self { time, next, above, ..none(Refusal::Censored) };
            return (above.is_some() || n > 0).then_some(claims);
        }
        if n == 0 || series.cells.is_empty() {
            return None;
        }
        let assumed = series
            .order
            .as_ref()
            .map_or(Assumed::Independent, |order| Assumed::InOrder { stretches: order.stretches() });
        let course = course(series).unwrap_or_default();
        let told = time.filter(|_| missing == 0 && !course.is_too_long());
        let next = told.map(|time| phase::odds(time, ties(series))).unwrap_or_default();
        let worth = |above: u64| Worth {
            n: due,
            spread: (!course.is_too_long()).then(|| course.effect(above)),
            time: time.unwrap_or_default(),
            longer: None,
        };
        let mut percentiles = percentiles(due, series, worth);
        if missing > 0 {
            // Missing values may be larger than all others, so even a longer run would not make the largest seen value
            // a limit.
            for percentile in &mut percentiles {
                percentile.more = None;
            }
        }
        let beyond = refusal.map_or_else(|| beyond(series, n, time), Err);
        Some(Self { assumed, time, next, above: None, percentiles, beyond })
    }
}

/// Number of values equal to the largest one: the count of the last cell, if the cell is no wider than the resolution of
/// the program and no value lies beyond the histogram. Otherwise nothing shows that values are equal, and the number is 1.
fn ties(series: &Series) -> u64 {
    let last = series.cells.last().filter(|cell| {
        series.beyond.is_none_or(|beyond| beyond.count == 0) && cell.high.minus(cell.low) < series.grain
    });
    last.map_or(1, |last| last.count)
}

/// The moods of a list, from the order of its values; `None` if the file does not keep the order.
fn course(series: &Series) -> Option<Course> {
    let order = series.order.as_ref()?;
    let counted = series.counted();
    let cells = |above: u64| {
        let level = series.value_at_rank(counted.checked_sub(above)?.max(1))?;
        let groups = order.groups(order.stretches(), &[level, Nanos::MAX], series.grain)?;
        let cell = |counts: Vec<f64>| (counts.last().copied().unwrap_or(0.0), counts.iter().sum());
        Some(groups.into_iter().map(cell).collect())
    };
    // Lengths are numbers of values.
    Some(Course::of(counted, Nanos::from_ns(counted), cells))
}

impl Above {
    /// The count above the threshold and its limit; `None` if the file does not state the threshold and the count.
    fn of(series: &Series, observed: Option<Nanos>) -> Option<Self> {
        let threshold = series.threshold?;
        let count = series.stated_count.or(series.count())?;
        // A binomial law of very many trials has the same limit as a Poisson law.
        let most = binomial::upper_bound(count, u64::from(TRIALS), CONFIDENCE).map(|share| share * f64::from(TRIALS));
        let hours = observed.map(|observed| observed.as_secs_f64() / 3_600.0);
        Some(Self { threshold, count, observed, per_hour_upper: most.zip(hours).map(|(most, hours)| most / hours) })
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

/// Indices of the cells that a tail may begin with, lowest cell first. The number of values in such a cell and above is
/// neither too small nor too large, and at least a quarter more than for the next cell of the list. A cell above the
/// end of a series is left out, because the values beyond that end are in no cell.
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

/// The tail from the lower edge of this cell on; `None` if too few cells remain, or if no law can be fitted.
fn tail(series: &Series, first: usize, time: Nanos) -> Option<Tail> {
    let cells = series.cells.get(first..).filter(|cells| cells.len() >= CELLS_MIN)?;
    let threshold = float(cells.first()?.low.as_ns());
    let past = |high: Nanos| float(high.plus(Nanos::from_ns(1)).as_ns()) - threshold;
    let mut bins: Vec<(f64, f64, u64)> =
        cells.iter().map(|cell| (float(cell.low.as_ns()) - threshold, past(cell.high), cell.count)).collect();
    if let Some(beyond) = series.beyond {
        bins.push((float(beyond.from.as_ns()) - threshold, f64::INFINITY, beyond.count));
    }
    let data = Exceedances::of_bins(bins.iter().copied(), 0.0);
    let fit = data.fit()?;
    let fits = goodness::odds_of_bins(&bins, &data, &fit.law)?;
    let rate = data.size() / time.as_secs_f64();
    Some(Tail { threshold, data, fit, fits, rate })
}

/// The width, in nanoseconds, of the first cell from the threshold on.
fn width_above(series: &Series, threshold: f64) -> f64 {
    let cell = series.cells.iter().find(|cell| float(cell.low.as_ns()) >= threshold);
    cell.map_or(0.0, |cell| float(cell.high.minus(cell.low).as_ns()) + 1.0)
}

/// The refusal of a tail in too few cells. Its scale is that of an exponential law whose largest 200 values, each
/// rounded down to its cell, have the same mean.
fn coarse(series: &Series) -> Refusal {
    let mut above = 0u64;
    let enough = |cell: &&crate::foreign::Cell| {
        above = above.saturating_add(cell.count);
        above >= EXCEEDANCES_MIN as u64
    };
    let Some(first) = series.cells.iter().rev().find(enough) else { return Refusal::NoFit { odds: 0.0 } };
    let tail = || series.cells.iter().filter(|cell| cell.low >= first.low);
    let (sum, n) = tail().fold((0.0, 0.0), |(sum, n), cell| {
        let count = float(cell.count);
        (sum + float(cell.low.minus(first.low).as_ns()) * count, n + count)
    });
    let width = first.high.minus(first.low).plus(Nanos::from_ns(1));
    let scale = if sum > 0.0 { float(width.as_ns()) / (float(width.as_ns()) * n / sum).ln_1p() } else { 0.0 };
    Refusal::Coarse { width, scale: scale_of(scale) }
}
