//! Limits of percentiles without a model: the ranks of the sorted values between which a percentile lies.
//!
//! The number of values below a percentile is binomial, whatever the distribution is, so these ranks are exact for any
//! number of values (Wilks 1941). Ranks count from the largest value, which has rank 1, so that a histogram is read
//! from its tail.

#![allow(clippy::cast_precision_loss, reason = "numbers of samples beyond 2^53 lose nothing that matters to a bound")]

use super::binomial;

/// The rank, from the top, of an upper limit of the quantile that a share `above` of all values exceeds: the smallest
/// of `n` values that lies at or above the quantile with this confidence. `None` if even the largest value does not.
pub fn upper(n: u64, above: f64, confidence: f64) -> Option<u64> {
    if !sane(above, confidence) {
        return None;
    }
    // The value of rank t lies above the quantile if at least t values lie above it.
    let holds = |t: u64| binomial::at_least(t, n, above) >= confidence;
    if n == 0 || !holds(1) {
        return None;
    }
    let (mut good, mut bad) = (1u64, n.checked_add(1)?);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if holds(middle) { good = middle } else { bad = middle }
    }
    Some(good)
}

/// The rank, from the top, of a lower limit of the same quantile: the largest of `n` values that lies at or below it
/// with this confidence. `None` if even the smallest value does not.
pub fn lower(n: u64, above: f64, confidence: f64) -> Option<u64> {
    if !sane(above, confidence) {
        return None;
    }
    // By symmetry, the value of rank j from the bottom lies below the quantile if at least j values lie below it.
    let from_bottom = upper(n, 1.0 - above, confidence)?;
    Some(n - from_bottom + 1)
}

fn sane(above: f64, confidence: f64) -> bool {
    above > 0.0 && above < 1.0 && (0.5..1.0).contains(&confidence)
}

/// Number of values that must be measured, with only `misses` of them above a level, to claim with `confidence` that
/// less than a share `above` of all values exceeds that level.
pub fn wanted(misses: u64, above: f64, confidence: f64) -> Option<u64> {
    if misses == 0 {
        return binomial::samples_to_claim(above, confidence);
    }
    let enough = |n: u64| binomial::upper_bound(misses, n, confidence).is_some_and(|bound| bound <= above);
    let mut good = binomial::samples_to_claim(above, confidence)?.max(misses);
    let mut bad = good;
    while !enough(good) {
        bad = good;
        good = good.checked_mul(2)?;
    }
    while good - bad > 1 + good / 1_000_000 {
        let middle = bad + (good - bad) / 2;
        if enough(middle) { good = middle } else { bad = middle }
    }
    Some(good)
}
