//! Compares the rates of events in two runs exactly.
//!
//! Given the number of events in both runs together, the number in the second run is binomial. So the ratio of the two
//! rates has exact limits, whatever the rates are. Events that come in clusters are counted as clusters.

use super::binomial;
use super::float::{float, whole};

/// Events in two runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    pub first: u64,
    pub second: u64,
    /// Number of chances for an event in the first run, such as releases; above 0.
    pub first_exposure: f64,
    /// Number of chances for an event in the second run; above 0.
    pub second_exposure: f64,
}

/// The rate of the second run over that of the first, with limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The observed ratio; `None` if the first run has no event.
    pub seen: Option<f64>,
    pub low: f64,
    /// Upper limit; infinite if the first run has no event.
    pub high: f64,
}

impl Counted {
    fn usable(&self) -> bool {
        let fine = |exposure: f64| exposure.is_finite() && exposure > 0.0;
        fine(self.first_exposure) && fine(self.second_exposure)
    }

    /// The ratio with limits of this two-sided confidence (Clopper and Pearson 1934 on the share of the second); `None`
    /// without any event or exposure.
    pub fn ratio(&self, confidence: f64) -> Option<Ratio> {
        let all = self.first.checked_add(self.second).filter(|all| *all > 0 && self.usable())?;
        let one_sided = f64::midpoint(1.0, confidence);
        let odds = self.first_exposure / self.second_exposure;
        // Both limits are computed from upper bounds, which keep their digits near 0.
        let most = binomial::upper_bound(self.second, all, one_sided)?;
        let least_first = binomial::upper_bound(self.first, all, one_sided)?;
        let high = if self.first == 0 { f64::INFINITY } else { most / (1.0 - most) * odds };
        let low = if self.second == 0 { 0.0 } else { (1.0 - least_first) / least_first * odds };
        let seen = (self.first > 0).then(|| float(self.second) / float(self.first) * odds);
        Some(Ratio { seen, low, high })
    }

    /// Probability that at least the observed number of events falls to the second run, if its rate is `times` the
    /// first's.
    pub fn chance_of_more(&self, times: f64) -> f64 {
        let Some(all) = self.first.checked_add(self.second).filter(|_| self.usable() && times > 0.0) else {
            return 1.0;
        };
        let first_share = self.first_exposure / (self.first_exposure + times * self.second_exposure);
        binomial::chance_of_at_most(self.first, all, first_share)
    }

    /// Probability that at most the observed number of events falls to the second run, if its rate is `times` the
    /// first's.
    pub fn chance_of_fewer(&self, times: f64) -> f64 {
        let turned = Self {
            first: self.second,
            second: self.first,
            first_exposure: self.second_exposure,
            second_exposure: self.first_exposure,
        };
        turned.chance_of_more(1.0 / times)
    }

    /// The same counts with every `effect` events counted as one.
    #[must_use]
    pub fn thinned(&self, effect: f64) -> Self {
        let thin = |n: u64| rounded(float(n) / effect.max(1.0));
        Self { first: thin(self.first), second: thin(self.second), ..*self }
    }
}

fn rounded(n: f64) -> u64 {
    whole(n.round())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn equal(first: u64, second: u64) -> Counted {
        Counted { first, second, first_exposure: 1.0, second_exposure: 1.0 }
    }

    /// Odds by `scipy.stats.binom`, limits by `scipy.stats.beta.ppf`, as the research note gives them.
    #[test]
    fn reference_values() {
        for (first, second, p, low, high) in [
            (10, 0, 0.000_977, 0.0, 0.446),
            (5, 0, 0.031_25, 0.0, 1.09),
            (10, 3, 0.0461, 0.053, 1.17),
            (20, 8, 0.0178, 0.152, 0.948),
            (30, 30, 0.5, 0.582, 1.717),
        ] {
            let counted = equal(first, second);
            let ratio = counted.ratio(0.95).unwrap();
            assert!(
                (ratio.low - low).abs() < 6e-4 && (ratio.high - high).abs() < 6e-3,
                "{first} to {second}: {ratio:?}"
            );
            if first != second {
                assert!((counted.chance_of_fewer(1.0) / p - 1.0).abs() < 4e-3, "{}", counted.chance_of_fewer(1.0));
            }
        }
    }

    #[test]
    fn exposures_and_margins_shift_the_odds() {
        let longer = Counted { second_exposure: 4.0, ..equal(2, 0) };
        // Each of the two events falls to the first run with probability 1/5.
        assert!((longer.chance_of_fewer(1.0) - 0.04).abs() < 1e-12);
        assert!(equal(100, 130).chance_of_more(1.0) < 0.05 && equal(100, 130).chance_of_more(1.2) > 0.2);
        assert_eq!(equal(0, 0).ratio(0.95), None);
        assert_eq!(equal(0, 7).ratio(0.95).unwrap().seen, None);
        assert!(equal(0, 7).ratio(0.95).unwrap().high.is_infinite());
        assert!((equal(0, 0).chance_of_more(1.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn bursts_count_as_one() {
        assert_eq!(equal(150, 0).thinned(50.0).first, 3);
    }

    proptest! {
        #[test]
        fn limits_hold_the_ratio_and_turn_with_it(first in 1u64..2000, second in 1u64..2000, odds in 0.1f64..10.0) {
            let counted = Counted { first_exposure: odds, ..equal(first, second) };
            let ratio = counted.ratio(0.95).unwrap();
            let seen = ratio.seen.unwrap();
            prop_assert!(ratio.low < seen && seen < ratio.high);
            let turned = Counted { second_exposure: odds, ..equal(second, first) }.ratio(0.95).unwrap();
            prop_assert!((turned.low * ratio.high - 1.0).abs() < 1e-6);
            // At a limit of the 95 % interval, the one-sided test has a probability of 2.5 %.
            prop_assert!((counted.chance_of_fewer(ratio.high) - 0.025).abs() < 1e-5);
            prop_assert!((counted.chance_of_more(ratio.low) - 0.025).abs() < 1e-5);
        }
    }
}
