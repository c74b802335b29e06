//! A slow change, which is no shift between two runs: Kendall's test over the runs since the last shift.

use super::{Drift, Moved, Options, Run, WATCHED_PPM, logs};
use crate::stats::dependence::inflation;
use crate::stats::float::{float, whole};
use crate::stats::{normal, trend};
use punctual_hist::Nanos;

/// Least number of runs that can show a drift.
const RUNS_MIN: usize = 12;
/// Largest odds of a drift that is told.
const ODDS_MAX: f64 = 0.001;

/// The drift since run `start` of the percentile that drifted most, if any did.
pub(super) fn of(runs: &[Run], start: usize, options: &Options) -> Option<Drift> {
    let since = runs.get(start..).filter(|runs| runs.len() >= RUNS_MIN)?;
    let one = |ppm: u32| {
        let values = logs(since, ppm)?;
        let line = Line::of(&values);
        // Values about the line that resemble each other are worth fewer.
        let effect = inflation(&line.left(&values)).max(1.0);
        let z = -normal::quantile(trend::kendall(&values)?.odds / 2.0);
        let odds = 2.0 * normal::below(-z / effect.sqrt());
        let by = line.slope * (float(values.len()) - 1.0);
        (odds <= ODDS_MAX / float(WATCHED_PPM.len()) && by.abs() >= options.margin.ln_1p()).then(|| {
            let level = |log: f64| Nanos::from_ns(whole(log.exp()));
            let away = 2.0 * line.error * effect.sqrt() * (float(values.len()) - 1.0);
            Moved {
                percentile_ppm: ppm,
                before: level(line.start),
                after: level(line.start + by),
                ratio: by.exp(),
                low: (by - away).exp(),
                high: (by + away).exp(),
            }
        })
    };
    let most = |a: &Moved, b: &Moved| a.ratio.ln().abs().total_cmp(&b.ratio.ln().abs());
    let moved = WATCHED_PPM.into_iter().filter_map(one).max_by(most)?;
    Some(Drift { from: start, to: runs.len() - 1, worse: moved.ratio > 1.0, moved })
}

/// The line of least squares through values at 0, 1, 2 and so on.
struct Line {
    start: f64,
    slope: f64,
    /// Standard error of the slope, as if values about the line were independent.
    error: f64,
}

impl Line {
    fn of(values: &[f64]) -> Self {
        let n = float(values.len());
        let (middle, mean) = ((n - 1.0) / 2.0, values.iter().sum::<f64>() / n);
        let at = |index: usize| float(index) - middle;
        let squares: f64 = (0..values.len()).map(|index| at(index).powi(2)).sum();
        let slope = values.iter().enumerate().map(|(index, value)| at(index) * (value - mean)).sum::<f64>() / squares;
        let line = Self { start: mean - slope * middle, slope, error: 0.0 };
        let rest: f64 = line.left(values).iter().map(|rest| rest * rest).sum();
        Self { error: (rest / (n - 2.0) / squares).sqrt(), ..line }
    }

    fn left(&self, values: &[f64]) -> Vec<f64> {
        values.iter().enumerate().map(|(index, value)| value - self.start - self.slope * float(index)).collect()
    }
}
