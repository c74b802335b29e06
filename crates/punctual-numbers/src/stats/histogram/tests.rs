//! Tests of percentiles and of how often their limits hold the truth.

use super::*;
use crate::stats::float::float;
use proptest::prelude::*;
use punctual_hist::SplitMix;

/// The histogram of these values, in cells 0.1 wide.
fn histogram(values: &[f64]) -> Histogram {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut from = 0;
    let cells = (0..).map(|at| (f64::from(at) * 0.1, f64::from(at + 1) * 0.1)).map_while(|(low, high)| {
        let to = sorted.partition_point(|value| *value < high);
        let more = from < sorted.len();
        let n = float(to - from);
        from = to;
        more.then_some((low, high, n))
    });
    Histogram::new(cells)
}

fn exponential(seed: u64, n: usize) -> Histogram {
    let mut random = SplitMix::new(seed);
    histogram(&(0..n).map(|_| -10.0 * random.unit().ln()).collect::<Vec<f64>>())
}

#[test]
fn a_quantile_lies_where_its_share_says() {
    let four = histogram(&[0.05, 0.15, 0.25, 0.35]);
    for (share, wanted) in [(0.25, 0.1), (0.5, 0.2), (0.625, 0.25), (1.0, 0.4)] {
        assert!((four.quantile(share).unwrap() - wanted).abs() < 1e-9, "{share}");
    }
    assert_eq!(Histogram::default().quantile(0.5), None);
}

#[test]
fn limits_by_ranks_lie_within_a_rank_of_the_exact_ones() {
    // One-sided 95 % upper limits, counted from the top, computed with scipy for the research note. An exact limit is
    // the first whole rank that is far enough out.
    for (n, share, rank) in [(1e6, 0.999, 948.0), (1e6, 0.9999, 84.0), (1e6, 0.99999, 5.0), (3.6e6, 0.99999, 26.0)] {
        let fewest = beyond_limits(n, 1.0 - share, 0.05).0.unwrap();
        assert!((fewest - rank + 0.5f64).abs() <= 1.01, "{n} {share}: {fewest}");
    }
    // (1 - 1e-6)^n / 2 = 0.05 where n = 2.302584e6.
    assert_eq!(beyond_limits(2.30e6, 1e-6, 0.05).0, None);
    assert!(beyond_limits(2.31e6, 1e-6, 0.05).0.is_some());
    // The exact computation for few samples and the approximation for many give similar limits where one replaces the
    // other.
    let (few, many) = (beyond_limits(3.99e5, 1e-3, 0.025), beyond_limits(4.01e5, 1e-3, 0.025));
    assert!((many.0.unwrap() - few.0.unwrap() - 2.0).abs() < 0.3 && (many.1 - few.1 - 2.0).abs() < 0.3);
}

/// Share of pairs, drawn from one law, for which the interval of the difference holds 0.
fn coverage(pairs: u64, draw: impl Fn(u64) -> Histogram, holds: impl Fn(&Histogram, &Histogram) -> bool) -> f64 {
    let held = (0..pairs).filter(|i| holds(&draw(2 * i + 1), &draw(2 * i + 2))).count();
    float(held) / float(usize::try_from(pairs).unwrap())
}

fn order_holds(share: f64) -> impl Fn(&Histogram, &Histogram) -> bool {
    move |a, b| {
        let (low, high) =
            difference_limits(&a.order_limits(share, 1.0).unwrap(), &b.order_limits(share, 1.0).unwrap(), 1.0, 0.025);
        low <= 0.0 && high >= 0.0
    }
}

/// A small version of the measurement in `tests/compare_figures.rs`, which gives the published figures.
#[test]
fn limits_hold_the_truth_about_as_often_as_they_say() {
    for (what, got) in [
        ("p50", coverage(100, |s| exponential(s, 6_000), order_holds(0.5))),
        ("p99.9", coverage(100, |s| exponential(s, 15_000), order_holds(0.999))),
        ("p99", coverage(100, |s| exponential(s, 5_000), order_holds(0.99))),
    ] {
        assert!((0.88..=1.0).contains(&got), "{what}: {got}");
    }
}

#[test]
fn odds_and_limits_agree() {
    let (a, b) = (exponential(1, 15_000), exponential(9, 15_000));
    let (first, second) = (a.order_limits(0.999, 1.0).unwrap(), b.order_limits(0.999, 1.0).unwrap());
    let risk = chance_of_larger(&first, &second, 0.2);
    assert!(difference_limits(&first, &second, 0.2, risk * 1.01).0 > 0.0 && risk < 0.01, "{risk}");
    assert!(chance_of_smaller(&first, &second, 0.2) > 0.9);
}

#[test]
fn clusters_widen_limits() {
    let values = exponential(4, 20_000);
    let width = |effect: f64| {
        let (low, high) = values.order_limits(0.99, effect).unwrap().at(0.025);
        high.unwrap() - low.unwrap()
    };
    assert!((1.6..2.6).contains(&(width(4.0) / width(1.0))), "{} {}", width(4.0), width(1.0));
}

proptest! {
    #[test]
    fn no_counts_give_anything_but_numbers(
        counts in prop::collection::vec(0u32..4, 0..6), share in -0.5f64..1.5, effect in 0.5f64..9.0
    ) {
        let cells = counts.iter().zip(0u8..).map(|(n, i)| (f64::from(i), f64::from(i) + 1.0, f64::from(*n)));
        let histogram = Histogram::new(cells);
        if let Some(seen) = histogram.quantile(share) {
            prop_assert!((0.0..=6.0).contains(&seen));
        }
        if let Some(limits) = histogram.order_limits(share, effect) {
            let (low, high) = difference_limits(&limits, &limits, 1.1, 0.025);
            prop_assert!(low <= high);
            prop_assert!((0.0..=1.0).contains(&chance_of_larger(&limits, &limits, 1.0)));
        }
    }
}
