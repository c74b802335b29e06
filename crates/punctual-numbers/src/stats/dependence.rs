//! Whether what comes next depends on what came before.
//!
//! Best asked of ranks, because a few spikes would rule everything else.

#![allow(clippy::cast_precision_loss, reason = "numbers of values, far below 2^53")]

use statrs::function::erf::erfc;
use statrs::function::gamma::gamma_ur;

/// A statistic and the odds of one at least so far out where nothing depends on anything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tested {
    pub statistic: f64,
    pub odds: f64,
}

/// Autocorrelations at lags 1 to `lags`; empty where the values do not differ.
pub fn autocorrelations(values: &[f64], lags: usize) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let off: Vec<f64> = values.iter().map(|x| x - mean).collect();
    let variance: f64 = off.iter().map(|x| x * x).sum();
    if variance <= 0.0 || !variance.is_finite() {
        return Vec::new();
    }
    let product = |lag: usize| off.iter().zip(off.iter().skip(lag)).map(|(a, b)| a * b).sum::<f64>() / variance;
    (1..=lags.min(values.len().saturating_sub(1))).map(product).collect()
}

/// How many times as large the variance of a mean is as with independent values: 1 or more. Bartlett's weights on lags up
/// to the square root of how many there are, each corrected for what estimating the mean takes from it.
pub fn inflation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let lags = values.len().isqrt();
    let weighed = autocorrelations(values, lags).into_iter().zip(1u32..);
    let sum: f64 = weighed.map(|(r, lag)| (1.0 - f64::from(lag) / (lags as f64 + 1.0)) * (r + 1.0 / n)).sum();
    (1.0 + 2.0 * sum).max(1.0)
}

/// Ljung and Box's test (1978) of the first `lags` autocorrelations, which holds for few values, too. `None` with fewer
/// than five values for each lag.
pub fn ljung_box(values: &[f64], lags: usize) -> Option<Tested> {
    let n = values.len() as f64;
    let correlations = autocorrelations(values, lags);
    if lags == 0 || correlations.len() < lags || values.len() < lags.saturating_mul(5) {
        return None;
    }
    let terms = correlations.iter().zip(1u32..).map(|(r, lag)| r * r / (n - f64::from(lag)));
    let statistic = n * (n + 2.0) * terms.sum::<f64>();
    Some(Tested { statistic, odds: upper_chi(statistic, lags as f64) })
}

/// Wald and Wolfowitz' test of the runs above and below the median. The statistic is how many standard deviations
/// there are too many. `None` with fewer than 10 values on either side.
pub fn runs(values: &[f64]) -> Option<Tested> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |index: usize| sorted.get(index).copied();
    let middle = f64::midpoint(at(sorted.len().checked_sub(1)? / 2)?, at(sorted.len() / 2)?);
    let sides: Vec<bool> = values.iter().filter(|x| x.total_cmp(&middle).is_ne()).map(|x| *x > middle).collect();
    let above = sides.iter().filter(|above| **above).count() as f64;
    let below = sides.len() as f64 - above;
    if above < 10.0 || below < 10.0 {
        return None;
    }
    let runs = sides.chunk_by(|a, b| a == b).count() as f64;
    let (n, twice) = (above + below, 2.0 * above * below);
    let (expected, variance) = (twice / n + 1.0, twice * (twice - n) / (n * n * (n - 1.0)));
    let statistic = (runs - expected) / variance.sqrt();
    Some(Tested { statistic, odds: two_sided(statistic) })
}

/// The odds of a normal deviate at least so far from 0.
pub(super) fn two_sided(z: f64) -> f64 {
    erfc(z.abs() / std::f64::consts::SQRT_2).clamp(0.0, 1.0)
}

/// The odds of a chi-squared value above `x`.
fn upper_chi(x: f64, freedom: f64) -> f64 {
    if x <= 0.0 { 1.0 } else { gamma_ur(freedom / 2.0, x / 2.0) }
}
