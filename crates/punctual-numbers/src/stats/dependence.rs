//! Tests whether values of a series depend on the values before them.
//!
//! Callers pass ranks, because a few spikes among plain values would dominate every correlation.

#![allow(clippy::cast_precision_loss, reason = "numbers of values, far below 2^53")]

use statrs::function::erf::erfc;
use statrs::function::gamma::gamma_ur;

/// A test statistic, and the probability of one at least as extreme if values are independent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tested {
    pub statistic: f64,
    pub odds: f64,
}

/// Autocorrelations at lags 1 to `lags`; empty if all values are equal.
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

/// Variance of the mean of a series over that of the same number of independent values: 1 or more. The sum runs over
/// autocorrelations with Bartlett's weights, up to a lag of the square root of the length. Each autocorrelation is
/// raised by 1/n, because subtracting the estimated mean lowers it by 1/n.
pub fn inflation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let lags = values.len().isqrt();
    let weighed = autocorrelations(values, lags).into_iter().zip(1u32..);
    let sum: f64 = weighed.map(|(r, lag)| (1.0 - f64::from(lag) / (lags as f64 + 1.0)) * (r + 1.0 / n)).sum();
    (1.0 + 2.0 * sum).max(1.0)
}

/// Ljung and Box's test (1978) that the first `lags` autocorrelations are 0; it is also valid for short series. `None`
/// with fewer than five values per lag.
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

/// The probability of a standard normal deviate at least as far from 0 as `z`.
pub(super) fn two_sided(z: f64) -> f64 {
    erfc(z.abs() / std::f64::consts::SQRT_2).clamp(0.0, 1.0)
}

/// The probability of a chi-squared value above `x`.
fn upper_chi(x: f64, freedom: f64) -> f64 {
    if x <= 0.0 { 1.0 } else { gamma_ur(freedom / 2.0, x / 2.0) }
}
