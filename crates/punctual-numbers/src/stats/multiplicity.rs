//! Corrects the odds of many tests (Holm 1979): of a hundred tests at 5 %, five are expected to succeed by chance.

/// Raises the odds of each test so that comparing all of them with one limit keeps the probability of any false finding
/// below that limit. Each test is given as (odds, weight), and a heavier test gets a larger part of the error. Results
/// are in the order of the tests; NaN counts as odds of 1.
pub fn holm_weighted(odds: &[(f64, f64)]) -> Vec<f64> {
    let clean = |(p, weight): &(f64, f64)| {
        let p = if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) };
        (p / weight, *weight)
    };
    let mut order: Vec<(usize, (f64, f64))> = odds.iter().map(clean).enumerate().collect();
    order.sort_by(|a, b| a.1.0.total_cmp(&b.1.0));
    let mut adjusted = vec![1.0; odds.len()];
    let mut left: f64 = odds.iter().map(|(_, weight)| weight).sum();
    let mut largest: f64 = 0.0;
    for (index, (p, weight)) in order {
        largest = largest.max((p * left).min(1.0));
        left -= weight;
        if let Some(slot) = adjusted.get_mut(index) {
            *slot = largest;
        }
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn holm(odds: &[f64]) -> Vec<f64> {
        holm_weighted(&odds.iter().map(|p| (*p, 1.0)).collect::<Vec<_>>())
    }

    #[test]
    fn by_hand() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (got, wanted) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((got - wanted).abs() < 1e-12, "{adjusted:?}");
        }
        assert!(holm(&[]).is_empty());
        assert!(holm(&[f64::NAN, 7.0, -1.0]).iter().all(|p| (0.0..=1.0).contains(p)));
    }

    /// Computed by hand: 0.02 / 2 is the smallest of the odds over their weights, so 0.02 comes first and becomes
    /// `0.02 * 4 / 2`. Then 0.015 becomes `0.015 * 2`, and 0.5 stays.
    #[test]
    fn what_weighs_more_has_more_of_the_error() {
        let adjusted = holm_weighted(&[(0.015, 1.0), (0.02, 2.0), (0.5, 1.0)]);
        for (got, wanted) in adjusted.iter().zip([0.04, 0.04, 0.5]) {
            assert!((got - wanted).abs() < 1e-12, "{adjusted:?}");
        }
    }

    proptest! {
        #[test]
        fn never_below_the_odds_themselves_and_in_their_order(odds in prop::collection::vec(0.0f64..1.0, 1..40)) {
            let adjusted = holm(&odds);
            for (i, p) in odds.iter().enumerate() {
                prop_assert!(adjusted[i] + 1e-12 >= *p && adjusted[i] <= 1.0);
                for (j, q) in odds.iter().enumerate() {
                    prop_assert!(p > q || adjusted[i] <= adjusted[j]);
                }
            }
        }
    }
}
