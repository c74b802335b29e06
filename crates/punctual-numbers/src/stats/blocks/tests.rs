//! Tests of quantiles of blocks and of how often their limits hold the truth.

use super::*;
use proptest::prelude::*;
use punctual_hist::SplitMix;

/// Blocks of these values, in cells 0.1 wide.
fn blocks(runs: &[Vec<f64>]) -> Blocks {
    let largest = runs.iter().flatten().copied().fold(0.0, f64::max);
    let mut cells: Vec<(f64, f64)> = Vec::new();
    while cells.last().is_none_or(|(_, high)| *high <= largest) {
        let low = cells.last().map_or(0.0, |(_, high)| *high);
        cells.push((low, low + 0.1));
    }
    let counted = |run: &Vec<f64>| {
        let mut counts = vec![0.0; cells.len()];
        for value in run {
            counts[cells.partition_point(|(_, high)| high <= value)] += 1.0;
        }
        counts
    };
    let counts: Vec<Vec<f64>> = runs.iter().map(counted).collect();
    Blocks::new(cells, &counts)
}

fn exponential(seed: u64, blocks_n: usize, each: usize) -> Blocks {
    let mut random = SplitMix::new(seed);
    let runs: Vec<Vec<f64>> = (0..blocks_n).map(|_| (0..each).map(|_| -10.0 * random.unit().ln()).collect()).collect();
    blocks(&runs)
}

#[test]
fn a_quantile_lies_where_its_share_says() {
    let blocks = blocks(&[vec![0.05, 0.15], vec![0.25, 0.35]]);
    for (share, wanted) in [(0.25, 0.1), (0.5, 0.2), (0.625, 0.25), (1.0, 0.4)] {
        assert!((blocks.quantile(share).unwrap() - wanted).abs() < 1e-9, "{share}");
    }
    assert_eq!(Blocks::default().quantile(0.5), None);
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
fn coverage(pairs: u64, draw: impl Fn(u64) -> Blocks, holds: impl Fn(&Blocks, &Blocks) -> bool) -> f64 {
    let held = (0..pairs).filter(|i| holds(&draw(2 * i + 1), &draw(2 * i + 2))).count();
    float(held) / float(usize::try_from(pairs).unwrap())
}

fn order_holds(share: f64) -> impl Fn(&Blocks, &Blocks) -> bool {
    move |a, b| {
        let (low, high) =
            difference_limits(&a.order_limits(share).unwrap(), &b.order_limits(share).unwrap(), 1.0, 0.025);
        low <= 0.0 && high >= 0.0
    }
}

/// A small version of the measurement in `tests/compare_figures.rs`, which gives the published figures.
#[test]
fn limits_hold_the_truth_about_as_often_as_they_say() {
    for (what, got) in [
        ("p50", coverage(100, |s| exponential(s, 30, 200), order_holds(0.5))),
        ("p99.9", coverage(100, |s| exponential(s, 30, 500), order_holds(0.999))),
        ("p99, ten blocks", coverage(100, |s| exponential(s, 10, 500), order_holds(0.99))),
    ] {
        assert!((0.88..=1.0).contains(&got), "{what}: {got}");
    }
}

#[test]
fn odds_and_limits_agree() {
    let (a, b) = (exponential(1, 30, 500), exponential(9, 30, 500));
    let (first, second) = (a.order_limits(0.999).unwrap(), b.order_limits(0.999).unwrap());
    let risk = chance_of_larger(&first, &second, 0.2);
    assert!(difference_limits(&first, &second, 0.2, risk * 1.01).0 > 0.0 && risk < 0.01, "{risk}");
    assert!(chance_of_smaller(&first, &second, 0.2) > 0.9);
}

#[test]
fn clusters_widen_limits_by_ranks() {
    // Every tenth block holds a burst of 50 late values.
    let mut random = SplitMix::new(3);
    let runs: Vec<Vec<f64>> = (0..40)
        .map(|i| (0..500).map(|j| if i % 10 == 0 && j < 50 { 90.0 + random.unit() } else { random.unit() }).collect())
        .collect();
    let burst = blocks(&runs);
    assert!(burst.order_limits(0.99).unwrap().clusters < 1_000.0);
    assert!(exponential(4, 40, 500).order_limits(0.99).unwrap().clusters > 10_000.0);
}

#[test]
fn a_drift_widens_everything() {
    let ramp: Vec<f64> = (0..30).map(f64::from).collect();
    assert!(inflation(&ramp) > 3.0 && depends(&ramp));
    let mut random = SplitMix::new(8);
    let noise: Vec<f64> = (0..30).map(|_| random.unit()).collect();
    assert!(inflation(&noise) < 1.5 && !depends(&noise) && (inflation(&[]) - 1.0).abs() < 1e-12 && !depends(&[]));
}

proptest! {
    #[test]
    fn no_counts_give_anything_but_numbers(
        counts in prop::collection::vec(prop::collection::vec(0u32..4, 0..6), 0..12), share in -0.5f64..1.5
    ) {
        let cells = (0..6).map(|i| (f64::from(i), f64::from(i + 1))).collect();
        let counts: Vec<Vec<f64>> = counts.iter().map(|row| row.iter().copied().map(f64::from).collect()).collect();
        let blocks = Blocks::new(cells, &counts);
        if let Some(seen) = blocks.quantile(share) {
            prop_assert!((0.0..=6.0).contains(&seen));
        }
        if let Some(limits) = blocks.order_limits(share) {
            let (low, high) = difference_limits(&limits, &limits, 1.1, 0.025);
            prop_assert!(low <= high);
            prop_assert!((0.0..=1.0).contains(&chance_of_larger(&limits, &limits, 1.0)));
        }
    }
}
