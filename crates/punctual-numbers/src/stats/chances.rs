//! Compares the numbers of events of two runs of a machine that has moods.

use super::moods::{Events, Moods};
use super::normal;
use statrs::function::beta;

/// Counts up to this are compared by the exact test, larger ones by the normal distribution.
const EXACT_MAX: f64 = 2_000.0;
/// With a larger share of events than this the exact test, which assumes Poisson counts, is not used.
const RARE: f64 = 0.01;

/// Probabilities of a difference between two runs of one machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chances {
    /// Probability that chance gives the second run at least the observed surplus of events.
    pub more: f64,
    /// Probability that chance gives the second run at least the observed shortfall of events.
    pub fewer: f64,
}

impl Chances {
    /// The probabilities for the events of two runs; `None` without releases, without events, or if all releases are
    /// events.
    pub fn of(first: &Events, second: &Events, moods: &Moods) -> Option<Self> {
        let (all, of) = (first.count + second.count, first.of + second.of);
        if first.of <= 0.0 || second.of <= 0.0 || all <= 0.0 || all >= of {
            return None;
        }
        let rate = all / of;
        if rate > RARE || all > EXACT_MAX {
            let difference = second.rate() - first.rate();
            let variance = |a: f64, b: f64| rate * (1.0 - rate) * (a / first.of + b / second.of);
            let more = moods.mean(first, second, |a, b| normal::below(-difference / variance(a, b).sqrt()));
            return Some(Self { more, fewer: 1.0 - more });
        }
        let share = second.of / of;
        Some(Self {
            more: moods.mean(first, second, |a, b| falls(second.count / a.max(b), all / a.max(b), share)),
            fewer: moods.mean(first, second, |a, b| falls(first.count / a.max(b), all / a.max(b), 1.0 - share)),
        })
    }
}

/// Probability that at least `count` of `all` events fall to a run that has this share of the activations (Przyborowski
/// and Wilenski 1940). The counts are numbers of clusters and need not be whole.
fn falls(count: f64, all: f64, share: f64) -> f64 {
    if count <= 0.0 {
        return 1.0;
    }
    beta::beta_reg(count, (all - count).max(0.0) + 1.0, share)
}

/// Limits of the rate of the second run over that of the first, by Clopper and Pearson (1934) on the share of the
/// second. Each `effect` events, the design effect, count as one. The upper limit is infinite if the first run has no
/// events.
pub fn ratio_limits(first: &Events, second: &Events, effect: f64, risk: f64) -> Option<(f64, f64)> {
    let thinned = |count: f64| count / effect;
    let (x, y) = (thinned(first.count), thinned(second.count));
    if first.of <= 0.0 || second.of <= 0.0 || x + y <= 0.0 {
        return None;
    }
    let odds = first.of / second.of;
    let most = |own: f64, other: f64| upper_share(own, other, risk);
    let high = if x > 0.0 { share_to_odds(most(y, x)) * odds } else { f64::INFINITY };
    let low = if y > 0.0 { odds / share_to_odds(most(x, y)) } else { 0.0 };
    // For very many events the error of the incomplete beta function exceeds the width of the interval.
    let seen = if first.count > 0.0 { second.rate() / first.rate() } else { f64::INFINITY };
    Some((low.min(seen), high.max(seen)))
}

/// The upper limit of a run's share of events, if `own` events fell to it and `other` did not.
fn upper_share(own: f64, other: f64, risk: f64) -> f64 {
    if other <= 0.0 {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if beta::beta_reg(own + 1.0, other, middle) < 1.0 - risk { low = middle } else { high = middle }
    }
    high
}

fn share_to_odds(share: f64) -> f64 {
    share / (1.0 - share).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the binomial distribution by hand: at most 3 of 34, and none of 5.
    #[test]
    fn reference_values() {
        let at_most_three = (1.0 + 34.0 + 561.0 + 5_984.0) / 2f64.powi(34);
        assert!((falls(31.0, 34.0, 0.5) / at_most_three - 1.0).abs() < 1e-9);
        assert!((falls(5.0, 5.0, 0.5) - 1.0 / 32.0).abs() < 1e-12);
        // For 20 and 8 events of runs of equal length, scipy gives the limits 0.152 and 0.948 of the ratio.
        let [a, b] = [20.0, 8.0].map(|n| Events::new(&[(n, 1e6)], 1.0));
        let (low, high) = ratio_limits(&a, &b, Moods::of(&[&a, &b], None).effect(&a, 0.025), 0.025).unwrap();
        assert!(low <= 0.16 && high >= 0.94, "{low} {high}");
    }
}
