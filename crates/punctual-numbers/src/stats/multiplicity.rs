//! Who looks at a hundred numbers finds five that differ by chance. Holm (1979): what is left when that is allowed for.

/// The odds of each finding, raised so that the odds of any false one among all of them stay below what they are held
/// against. In the order given; what is no number counts as certain to be chance.
pub fn holm(odds: &[f64]) -> Vec<f64> {
    let clean = |p: f64| if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) };
    let mut order: Vec<(usize, f64)> = odds.iter().map(|p| clean(*p)).enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut adjusted = vec![1.0; odds.len()];
    let mut largest: f64 = 0.0;
    for (place, (index, p)) in order.iter().enumerate() {
        #[allow(clippy::cast_precision_loss, reason = "a number of rows")]
        let left = (odds.len() - place) as f64;
        largest = largest.max((p * left).min(1.0));
        if let Some(slot) = adjusted.get_mut(*index) {
            *slot = largest;
        }
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (got, wanted) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((got - wanted).abs() < 1e-12, "{adjusted:?}");
        }
        assert!(holm(&[]).is_empty());
        assert!(holm(&[f64::NAN, 7.0, -1.0]).iter().all(|p| (0.0..=1.0).contains(p)));
    }

    proptest! {
        #[test]
        fn never_below_the_odds_themselves_and_in_their_order(odds in prop::collection::vec(0.0f64..1.0, 1..40)) {
            let adjusted = holm(&odds);
            for (i, p) in odds.iter().enumerate() {
                prop_assert!(adjusted[i] >= *p && adjusted[i] <= 1.0);
                for (j, q) in odds.iter().enumerate() {
                    prop_assert!(p > q || adjusted[i] <= adjusted[j]);
                }
            }
        }
    }
}
