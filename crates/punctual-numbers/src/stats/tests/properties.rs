//! Properties that hold for any input: nothing panics, limits are in order, and finite values never give NaN.

use super::super::{binomial, clusters, dependence, goodness, modes, order, rhythm, tail::Exceedances, trend};
use crate::stats::float::{float, whole};
use proptest::prelude::*;
use punctual_hist::{MonoTime, Nanos};

/// Lists of ordinary latencies and of extreme, negative, infinite and NaN values.
fn values() -> impl Strategy<Value = Vec<f64>> {
    let odd = prop_oneof![
        8 => 0.0..100.0f64,
        1 => Just(0.0), 1 => Just(5.0), 1 => Just(f64::MAX), 1 => Just(f64::MIN_POSITIVE),
        1 => Just(f64::NAN), 1 => Just(f64::INFINITY), 1 => Just(-3.0),
    ];
    prop::collection::vec(odd, 0..80)
}

fn number(x: f64) -> Result<(), TestCaseError> {
    prop_assert!(x.is_finite(), "{x}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_fit_is_numbers_or_none(values in values(), several in 0.0..5.0f64, times in 0.0..1e9f64) {
        let data = Exceedances::of_values(values, several);
        if let Some(fit) = data.fit() {
            number(fit.law.scale)?;
            number(fit.law.shape)?;
            number(fit.ln_likelihood)?;
            if let Some(level) = data.level(&fit, times, 1.0) {
                number(level.value)?;
                prop_assert!(level.low <= level.value && level.value <= level.high, "{level:?}");
            }
            let shape = data.shape(&fit);
            prop_assert!(shape.low <= shape.value + 1e-6 && shape.value <= shape.high + 1e-6, "{shape:?}");
        }
    }

    #[test]
    fn tests_are_odds_or_none(values in values(), lags in 0usize..20) {
        let sane: Vec<f64> = values.iter().copied().filter(|x| x.is_finite() && x.abs() < 1e100).collect();
        for tested in [dependence::ljung_box(&sane, lags), trend::kendall(&sane)].into_iter().flatten() {
            prop_assert!((0.0..=1.0).contains(&tested.odds), "{tested:?}");
            number(tested.statistic)?;
        }
        // Values that are not finite may give results that are not finite, but must not panic.
        let _ = (dependence::ljung_box(&values, lags), trend::kendall(&values), trend::kpss(&values, lags));
        prop_assert!((0.0..=1.0).contains(&goodness::odds(sane.first().copied().unwrap_or(1.0), sane.last().copied().unwrap_or(0.0))));
    }

    #[test]
    fn binomial_tails_fall(n in 1u64..1_000_000_000_000, part in 0.0..1.0f64, p in 1e-12..1.0f64) {
        let k = whole((float(n)) * p * (0.99 + 0.02 * part));
        let (here, next) = (binomial::at_least(k, n, p), binomial::at_least(k.saturating_add(1), n, p));
        prop_assert!((0.0..=1.0).contains(&here) && next <= here + 1e-9, "{here} {next}");
    }

    #[test]
    fn limits_of_percentiles_enclose_them(n in 1u64..1_000_000_000_000, above in 1e-9..0.999f64) {
        let (upper, lower) = (order::upper(n, above, 0.95), order::lower(n, above, 0.95));
        if let (Some(upper), Some(lower)) = (upper, lower) {
            prop_assert!(1 <= upper && upper <= lower && lower <= n, "{upper} {lower} of {n}");
        }
        if let Some(rank) = upper {
            prop_assert!(binomial::at_least(rank, n, above) >= 0.95);
            prop_assert!(binomial::at_least(rank + 1, n, above) < 0.95);
        }
    }

    #[test]
    fn clusters_are_no_more_than_exceedances(exceeded in any::<u64>(), blocks in any::<u64>(), above in any::<u64>(), n in any::<u64>()) {
        if let Some(index) = clusters::by_blocks(exceeded, blocks, above, n) {
            prop_assert!(index > 0.0 && index <= 1.0, "{index}");
        }
    }

    #[test]
    fn hills_hold_everything(bins in prop::collection::vec(0u64..1000, 0..60)) {
        prop_assert_eq!(modes::modes(&bins).iter().map(|m| m.size).sum::<u64>(), bins.iter().sum::<u64>());
    }

    #[test]
    fn any_times_have_a_rhythm_or_none(times in prop::collection::vec(any::<u64>(), 0..60), grid in any::<u64>()) {
        let times: Vec<MonoTime> = times.into_iter().map(MonoTime::from_ns).collect();
        if let Some(rhythm) = rhythm::rhythm(&times, Nanos::from_ns(grid), Nanos::from_ms(4)) {
            number(rhythm.chance)?;
        }
    }
}
