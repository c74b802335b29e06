//! Files of equal machines whose values depend on each other, which a list shows by its order and a histogram does not.

use super::*;
use crate::claims::{Assumed, SeriesClaims};
use crate::foreign::Sequence;
use crate::stats::float::whole;

/// A law of latencies in microseconds, one each millisecond.
#[derive(Clone, Copy, Debug)]
enum Law {
    Independent,
    /// For a fifth of the time latencies are twice as large, in bursts with this mean number of values.
    Bursts(f64),
    /// The logarithm of the latency is an autoregressive series with this correlation of neighbours.
    Autoregressive(f64),
    /// The latency follows a sine with an amplitude of a fifth and a period of this number of values.
    Slow(f64),
}

/// A normal deviate by Box and Muller (1958).
fn normal(random: &mut SplitMix) -> f64 {
    (-2.0 * random.unit().max(1e-300).ln()).sqrt() * (std::f64::consts::TAU * random.unit()).cos()
}

fn values(law: Law, n: u32, seed: u64) -> Vec<f64> {
    let mut random = SplitMix::new(seed ^ 0x5eed);
    let mut late = random.unit() < 0.2;
    let mut kept = normal(&mut random);
    let phase = random.unit();
    let next = |place: u32| {
        let base = 5.0 - 5.0 * random.unit().max(1e-300).ln();
        match law {
            Law::Independent => base,
            Law::Bursts(length) => {
                let leave = if late { 1.0 / length } else { 0.25 / length };
                late ^= random.unit() < leave;
                if late { 2.0 * base } else { base }
            }
            Law::Autoregressive(share) => {
                kept = share * kept + (1.0 - share * share).sqrt() * normal(&mut random);
                20.0 * (0.3 * kept).exp()
            }
            Law::Slow(period) => {
                base * (1.0 + 0.2 * (std::f64::consts::TAU * (f64::from(place) / period + phase)).sin())
            }
        }
    };
    (0..n).map(next).collect()
}

/// The import of a list of these values in microseconds.
fn list(values: &[f64]) -> ForeignRun {
    let mut sequence = Sequence::default();
    for value in values {
        sequence.record(Nanos::from_ns(whole(value * 1e3)));
    }
    run(vec![Series::of_sequence("the samples".to_owned(), &sequence, Nanos::from_ns(1))])
}

/// Number of comparisons, of `pairs`, that find a difference. The second list of each pair is multiplied by `times`.
fn decided(law: Law, n: u32, pairs: u64, times: f64) -> usize {
    let plain = super::super::super::tests::options();
    let told = |pair: &u64| {
        let first = list(&values(law, n, 2 * pair));
        let second: Vec<f64> = values(law, n, 2 * pair + 1).iter().map(|value| value * times).collect();
        let verdict = held(&first, &list(&second), plain).unwrap().verdict();
        matches!(verdict, Compared::Better | Compared::Worse | Compared::Mixed)
    };
    (0..pairs).filter(told).count()
}

/// Of 24 equal pairs of each law, at most one is found to differ. Real differences are found if moods are short.
#[test]
fn equal_lists_in_order_are_not_told_apart_whatever_their_moods() {
    // Bursts of a minute are left out: a list of 100 s often holds a single mood and cannot show that there are others.
    for law in [Law::Bursts(1e3), Law::Bursts(1e4), Law::Autoregressive(0.9999), Law::Slow(1.2e5)] {
        let false_decisions = decided(law, 100_000, 24, 1.0);
        assert!(false_decisions <= 1, "{law:?}: {false_decisions} of 24");
    }
    assert_eq!(decided(Law::Independent, 100_000, 6, 1.3), 6);
}

#[test]
#[ignore = "minutes: cargo test --release -p punctual-numbers --lib dependence -- --ignored --nocapture"]
fn long_lists_in_order_are_not_told_apart_whatever_their_moods() {
    for law in [Law::Bursts(1e3), Law::Bursts(1e4), Law::Bursts(6e4), Law::Autoregressive(0.9999), Law::Slow(1.2e5)] {
        let (wrong, found) = (decided(law, 600_000, 100, 1.0), decided(law, 600_000, 100, 1.3));
        println!("{law:?}: of 100 equal pairs {wrong} told apart, of 100 that differ by 30 % {found}");
        assert!(wrong <= 5, "{law:?}: {wrong} of 100");
    }
}

/// Two histograms of one machine with bursts of 10 s differ as if their values were independent, so the verdict is
/// withheld.
#[test]
fn a_histogram_decides_nothing_unless_independence_is_granted() {
    let plain = super::super::super::tests::options();
    let granted = Options { as_if_independent: true, ..plain };
    let histogram = |seed: u64| {
        let series = list(&values(Law::Bursts(1e4), 100_000, seed)).series.remove(0);
        run(vec![Series { order: None, ..series }])
    };
    let mut as_if = 0;
    for pair in 0..20 {
        let (a, b) = (histogram(2 * pair), histogram(2 * pair + 1));
        let comparison = held(&a, &b, plain).unwrap();
        let other = &comparison.others[0];
        assert_eq!((other.basis, other.verdict), (Basis::Independent, Compared::NotEnoughData));
        let decided = held(&a, &b, granted).unwrap();
        assert_eq!((decided.others[0].if_independent, other.if_independent), (None, Some(decided.verdict())));
        assert_eq!(other.groups[0].if_independent, Some(decided.others[0].groups[0].verdict));
        as_if += usize::from(matches!(decided.verdict(), Compared::Better | Compared::Worse | Compared::Mixed));
    }
    assert!(as_if > 4, "as if independent, {as_if} of 20 equal pairs are told apart: that is why nothing is decided");
}

/// Limits of a list with bursts allow for the variation between its parts. Limits of its histogram assume independence.
#[test]
fn claims_of_a_list_are_as_wide_as_its_parts_differ() {
    let ordered = list(&values(Law::Bursts(1e3), 200_000, 7));
    let bare = run(vec![Series { order: None, ..ordered.series[0].clone() }]);
    let claims = |run: &ForeignRun| SeriesClaims::of(run, &run.series[0]).unwrap();
    let (ordered, bare) = (claims(&ordered), claims(&bare));
    assert!(matches!(ordered.assumed, Assumed::InOrder { stretches: 64.. }), "{:?}", ordered.assumed);
    assert_eq!(bare.assumed, Assumed::Independent);
    let width = |claims: &SeriesClaims| {
        let p99 = claims.percentiles[0];
        p99.high.unwrap().minus(p99.low.unwrap()).as_ns()
    };
    assert!(width(&ordered) > 3 * width(&bare), "{} {}", width(&ordered), width(&bare));
}

/// Limits in cells of 1 us whose lower end lies just beyond the margin must not show "no difference".
#[test]
fn limits_beyond_the_margin_never_show_no_difference() {
    let mut open = 0;
    for pair in 0..16 {
        let (a, b) = (one(50.0, 2 * pair + 100), one(61.0, 2 * pair + 101));
        let comparison = held(&a, &b, options()).unwrap();
        for row in &comparison.others[0].groups[0].rows {
            let (Some(Change::Difference(limits)), Some(first)) = (row.change, row.first) else { continue };
            let beyond = limits.low > 0.1 * first || limits.high < -0.1 * first;
            assert!(!beyond || row.verdict != Compared::NoDifferenceShown, "{row:?}");
            open += usize::from(beyond && row.verdict == Compared::NotEnoughData);
        }
    }
    assert!(open > 0, "the case occurs");
}
