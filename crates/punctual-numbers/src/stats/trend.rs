//! Tests whether values change over a run. Claims from a run that drifts hold for that run only.

#![allow(clippy::cast_precision_loss, reason = "numbers of values, far below 2^53")]

use super::binomial;
use super::dependence::{Tested, two_sided};

/// Kendall's tau of values against their order in time (Mann 1945), with the normal approximation, corrected for ties.
/// `None` with fewer than 10 values or where none differ.
pub fn kendall(values: &[f64]) -> Option<Tested> {
    let n = values.len() as f64;
    if values.len() < 10 {
        return None;
    }
    let mut sorted = values.to_vec();
    let falling = sort_counting(&mut sorted) as f64;
    let ties = sorted.chunk_by(|a, b| a.total_cmp(b).is_eq()).map(|equal| equal.len() as f64);
    let (mut pairs, mut cubic) = (0.0, 0.0);
    for t in ties {
        pairs += t * (t - 1.0) / 2.0;
        cubic += t * (t - 1.0) * (2.0 * t + 5.0);
    }
    let all = n * (n - 1.0) / 2.0;
    let score = all - pairs - 2.0 * falling;
    let variance = (n * (n - 1.0) * (2.0 * n + 5.0) - cubic) / 18.0;
    (variance > 0.0)
        .then(|| Tested { statistic: score / (all * (all - pairs)).sqrt(), odds: two_sided(score / variance.sqrt()) })
}

/// Sorts the values, and counts the pairs of which the earlier value was the larger one.
fn sort_counting(values: &mut [f64]) -> u64 {
    if values.len() < 2 {
        return 0;
    }
    let (left, right) = values.split_at_mut(values.len() / 2);
    let mut falling = sort_counting(left) + sort_counting(right);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let mut rest: &[f64] = left;
    for later in right.iter() {
        let smaller = rest.partition_point(|earlier| earlier.total_cmp(later).is_le());
        let (before, after) = rest.split_at(smaller);
        merged.extend_from_slice(before);
        merged.push(*later);
        falling += after.len() as u64;
        rest = after;
    }
    merged.extend_from_slice(rest);
    values.copy_from_slice(&merged);
    falling
}

/// The KPSS statistic for a constant level (Kwiatkowski and others 1992) with Bartlett weights over `lags`. A constant
/// level gives more than 0.463 with a probability of 5 %, and more than 0.739 with 1 %.
pub fn kpss(values: &[f64], lags: usize) -> Option<f64> {
    let n = values.len() as f64;
    if values.len() < 10 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    let off: Vec<f64> = values.iter().map(|x| x - mean).collect();
    let product = |lag: usize| off.iter().zip(off.iter().skip(lag)).map(|(a, b)| a * b).sum::<f64>();
    let weight = |lag: usize| 1.0 - lag as f64 / (lags as f64 + 1.0);
    let variance = (product(0) + 2.0 * (1..=lags).map(|lag| weight(lag) * product(lag)).sum::<f64>()) / n;
    let (mut partial, mut squares) = (0.0, 0.0);
    for x in &off {
        partial += x;
        squares += partial * partial;
    }
    (variance > 0.0).then(|| squares / (n * n * variance))
}

/// The two-sided binomial probability that two stretches of one rate hold counts that differ at least as much: `first`
/// events in `of_first` trials and `second` in `of_second`.
pub fn halves(first: u64, of_first: u64, second: u64, of_second: u64) -> f64 {
    let (all, trials) = (first.saturating_add(second), of_first.saturating_add(of_second));
    if all == 0 || of_first == 0 || of_second == 0 {
        return 1.0;
    }
    let share = of_first as f64 / trials as f64;
    let tail = binomial::at_least(first, all, share).min(binomial::at_least(second, all, 1.0 - share));
    (2.0 * tail).min(1.0)
}
