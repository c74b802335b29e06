//! Percentiles without a model: between which of the sorted values does one lie, at a stated confidence?
//!
//! The number of values below a percentile is binomial, whatever the distribution is, so ranks are exact for any number
//! of values (Wilks 1941). Ranks count from the largest value, which is 1: histograms of any size answer that from
//! their tail.

#![allow(clippy::cast_precision_loss, reason = "numbers of samples beyond 2^53 lose nothing that matters to a bound")]

use super::binomial;

/// The rank from the top of the smallest value that lies at or above the quantile with `1 - above` below it, with
/// `confidence`: an upper limit. `None` where even the largest of `n` does not do.
pub fn upper(n: u64, above: f64, confidence: f64) -> Option<u64> {
    if !sane(above, confidence) {
        return None;
    }
    // The value of rank t lies above the quantile where at least t values do.
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

/// The rank from the top of the largest value that lies at or below the quantile, with `confidence`: a lower limit.
/// `None` where even the smallest of `n` does not do.
pub fn lower(n: u64, above: f64, confidence: f64) -> Option<u64> {
    if !sane(above, confidence) {
        return None;
    }
    // By symmetry: the value of rank j from the bottom lies below the quantile where at least j values do.
    let from_bottom = upper(n, 1.0 - above, confidence)?;
    Some(n - from_bottom + 1)
}

fn sane(above: f64, confidence: f64) -> bool {
    above > 0.0 && above < 1.0 && (0.5..1.0).contains(&confidence)
}

/// How many values it takes, with `misses` and no more of them above a level, to claim at `confidence` that less than
/// a share `above` of all lies above it.
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
