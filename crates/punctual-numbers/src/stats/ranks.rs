//! Tests by ranks whether one sample tends to be larger than another, so that no single value decides.
//!
//! The test is Mann and Whitney's (1947): exact for small samples without ties, else normal. Hodges and Lehmann (1963)
//! estimate by how much. For series whose neighbours depend on each other, the variance is the long-run variance of
//! placements; Brunner and Munzel (2000) use placements for independent values.

use super::float::float;
use super::{dependence, normal};
use statrs::statistics::Statistics;

/// Largest product of the two sample sizes for which the exact distribution is computed.
const EXACT_MAX: usize = 2_500;

/// How a second sample is shifted against a first one, by ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Probability that the second sample is larger by at least as much as observed, if both samples follow one law.
    pub chance_of_larger: f64,
    /// Probability that the second sample is smaller by at least as much as observed, if both samples follow one law.
    pub chance_of_smaller: f64,
    /// Cliff's delta (1993): how much more often the second is the larger of a pair than the smaller, -1 to 1.
    pub delta: f64,
}

/// Compares two samples of independent values; `None` if one is empty. NaN is ordered as by `f64::total_cmp`.
pub fn shift(first: &[f64], second: &[f64]) -> Option<Shift> {
    let pairs = float(first.len()) * float(second.len());
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let ranked = midranks(first.iter().chain(second));
    let second_ranks: f64 = ranked.ranks.iter().skip(first.len()).sum();
    let wins = second_ranks - float(second.len()) * float(second.len() + 1) / 2.0;
    let delta = 2.0 * wins / pairs - 1.0;
    if ranked.tie_term <= 0.0 && first.len() * second.len() <= EXACT_MAX {
        let distribution = wins_distribution(first.len(), second.len());
        // Without ties the number of wins is whole.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 2500")]
        let wins = wins.round().max(0.0) as usize;
        let chance_of_larger = distribution.iter().skip(wins).sum();
        let chance_of_smaller = distribution.iter().take(wins + 1).sum();
        return Some(Shift { chance_of_larger, chance_of_smaller, delta });
    }
    let n = float(first.len() + second.len());
    let variance = pairs / 12.0 * (n + 1.0 - ranked.tie_term / (n * (n - 1.0)));
    let z = |beyond: f64| if variance > 0.0 { beyond / variance.sqrt() } else { 0.0 };
    // Continuity correction: the number of wins is whole.
    let over = wins - pairs / 2.0;
    let chance_of_larger = if variance > 0.0 { normal::below(-z(over - 0.5)) } else { 1.0 };
    let chance_of_smaller = if variance > 0.0 { normal::below(z(over + 0.5)) } else { 1.0 };
    Some(Shift { chance_of_larger, chance_of_smaller, delta })
}

/// Compares two series whose values may depend on the values before them. The odds are computed for the number of
/// independent values that the series are worth, and are never smaller than those of [`shift`]. If the samples do not
/// overlap, placements do not vary and `shift` decides.
pub fn shift_in_time(first: &[f64], second: &[f64]) -> Option<Shift> {
    let shift = shift(first, second)?;
    if first.len() < 4 || second.len() < 4 {
        return Some(shift);
    }
    // (variance of the mean placement, number of independent values the series is worth)
    let worth = |of: &[f64], among: &[f64]| {
        let placed = placements(of, among);
        let worth = float(of.len()) / dependence::inflation(&placed);
        ((&placed).variance() / worth, worth)
    };
    let ((of_first, worth_first), (of_second, worth_second)) = (worth(first, second), worth(second, first));
    let together = of_first + of_second;
    if together <= 0.0 {
        return Some(shift);
    }
    // Degrees of freedom by Welch and Satterthwaite.
    let each = |variance: f64, worth: f64| variance.powi(2) / (worth - 1.0).max(1.0);
    let freedom = together.powi(2) / (each(of_first, worth_first) + each(of_second, worth_second));
    let t = shift.delta / 2.0 / together.sqrt();
    Some(Shift {
        chance_of_larger: shift.chance_of_larger.max(normal::student_above(t, freedom)),
        chance_of_smaller: shift.chance_of_smaller.max(normal::student_above(-t, freedom)),
        delta: shift.delta,
    })
}

/// For each value of `of`, the share of the values of `among` that are smaller. Equal values count half.
fn placements(of: &[f64], among: &[f64]) -> Vec<f64> {
    let together = midranks(of.iter().chain(among)).ranks;
    let alone = self::of(of);
    together.iter().zip(&alone).map(|(together, alone)| (together - alone) / float(among.len())).collect()
}

/// The ranks of the values, from 1. Equal values all get the mean of their ranks.
pub fn of(values: &[f64]) -> Vec<f64> {
    midranks(values.iter()).ranks
}

struct Ranked {
    ranks: Vec<f64>,
    /// Sum of t^3 - t over all groups of t equal values, by which ties lower the variance.
    tie_term: f64,
}

fn midranks<'a>(values: impl Iterator<Item = &'a f64>) -> Ranked {
    let values: Vec<f64> = values.copied().collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    let value = |i: &usize| values.get(*i).copied().unwrap_or(f64::NAN);
    order.sort_by(|a, b| value(a).total_cmp(&value(b)));
    let (mut ranks, mut tie_term, mut from) = (vec![0.0; values.len()], 0.0, 0);
    for group in order.chunk_by(|a, b| value(a).total_cmp(&value(b)).is_eq()) {
        let size = float(group.len());
        let middle = float(from) + f64::midpoint(size, 1.0);
        for place in group {
            if let Some(rank) = ranks.get_mut(*place) {
                *rank = middle;
            }
        }
        tie_term += size.powi(3) - size;
        from += group.len();
    }
    Ranked { ranks, tie_term }
}

/// The probability of each number of wins, 0 to `n * m`, if both samples have one law. A win is a pair whose value of
/// the second sample is larger. Only positive terms are added, so that the smallest probabilities keep their digits.
fn wins_distribution(n: usize, m: usize) -> Vec<f64> {
    let size = n * m + 1;
    // ways[j][k]: number of orders of j values of the second sample and the values of the first so far that have k
    // wins.
    let mut ways = vec![vec![0.0; size]; m + 1];
    for row in &mut ways {
        if let Some(none) = row.first_mut() {
            *none = 1.0;
        }
    }
    for _ in 0..n {
        let mut fewer: Vec<f64> = Vec::new();
        for (j, row) in ways.iter_mut().enumerate() {
            // The smallest of all values belongs to the first sample and adds j wins, or to the second and adds none.
            let mut now = vec![0.0; size];
            for (k, slot) in now.iter_mut().enumerate() {
                let without = k.checked_sub(j).and_then(|k| row.get(k)).copied().unwrap_or(0.0);
                *slot = without + fewer.get(k).copied().unwrap_or(0.0);
            }
            row.clone_from(&now);
            fewer = now;
        }
    }
    let last = ways.pop().unwrap_or_default();
    let all: f64 = last.iter().sum();
    last.iter().map(|n| n / all).collect()
}

/// By how much the second sample is larger: the median of all pairwise differences. `None` if a sample is empty.
pub fn hodges_lehmann(first: &[f64], second: &[f64]) -> Option<f64> {
    let mut differences: Vec<f64> = second.iter().flat_map(|b| first.iter().map(move |a| b - a)).collect();
    let middle = differences.len() / 2;
    if differences.is_empty() {
        return None;
    }
    differences.sort_by(f64::total_cmp);
    let upper = differences.get(middle).copied()?;
    let lower = if differences.len() % 2 == 0 { differences.get(middle - 1).copied()? } else { upper };
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use punctual_hist::SplitMix;

    /// Two exponential samples for which scipy computed the reference values below.
    fn samples() -> (Vec<f64>, Vec<f64>) {
        let draw = |seed, n: usize, scale: f64| {
            let mut random = SplitMix::new(seed);
            (0..n).map(|_| 10.0 - scale * (1.0 - random.unit()).ln()).collect::<Vec<f64>>()
        };
        (draw(1001, 2000, 5.0), draw(1002, 1500, 4.0))
    }

    fn block_maxima(values: &[f64]) -> Vec<f64> {
        values.chunks(100).map(|block| block.iter().copied().fold(f64::MIN, f64::max)).collect()
    }

    #[test]
    fn reference_values() {
        let (x, y) = samples();
        assert!((x.iter().sum::<f64>() - 30_372.157_958_353).abs() < 1e-6, "the sample is that of the reference");
        let shift_of_all = shift(&x, &y).unwrap();
        assert!((shift_of_all.delta + 0.146_224_666_7).abs() < 1e-9);
        assert!((2.0 * shift_of_all.chance_of_smaller / 1.226_68e-13 - 1.0).abs() < 1e-2);
        let blocks = shift(&block_maxima(&x), &block_maxima(&y)).unwrap();
        // scipy: U = 267 of 300, exact, one-sided.
        assert!((blocks.delta - (1.0 - 2.0 * 267.0 / 300.0)).abs() < 1e-12);
        assert!((blocks.chance_of_smaller / 1.493e-5 - 1.0).abs() < 1e-4, "{}", blocks.chance_of_smaller);
    }

    #[test]
    fn the_smallest_odds_there_are() {
        // All values of the second sample are above all of the first, which has a probability of 1 / C(2k, k).
        for (k, wanted) in [(3, 0.05), (4, 1.0 / 70.0), (5, 1.0 / 252.0), (6, 1.0 / 924.0)] {
            let first: Vec<f64> = (0..k).map(f64::from).collect();
            let second: Vec<f64> = (k..2 * k).map(f64::from).collect();
            assert!((shift(&first, &second).unwrap().chance_of_larger - wanted).abs() < 1e-12);
        }
    }

    #[test]
    fn equal_values_say_nothing() {
        let same = shift(&[1.0; 30], &[1.0; 30]).unwrap();
        assert!((same.chance_of_larger - 1.0).abs() < 1e-12 && same.delta.abs() < 1e-12);
        assert_eq!(shift(&[], &[1.0]), None);
        assert_eq!(hodges_lehmann(&[], &[1.0]), None);
    }

    #[test]
    fn a_shift_is_found_and_measured() {
        let first: Vec<f64> = (0..21).map(f64::from).collect();
        let second: Vec<f64> = first.iter().map(|v| v + 7.0).collect();
        assert_eq!(hodges_lehmann(&first, &second), Some(7.0));
    }

    #[test]
    fn series_that_wander_are_worth_fewer_values() {
        let mut random = SplitMix::new(7);
        let mut told = [0, 0];
        for _ in 0..400 {
            let mut wander = || {
                let mut level = 0.0;
                let mut next = || {
                    level = 0.6 * level + random.unit() - 0.5;
                    level
                };
                (0..60).map(|_| next()).collect::<Vec<f64>>()
            };
            let (first, second) = (wander(), wander());
            let odds = |shift: Shift| shift.chance_of_larger.min(shift.chance_of_smaller) < 0.025;
            let [one, other] = &mut told;
            *one += u32::from(odds(shift(&first, &second).unwrap()));
            *other += u32::from(odds(shift_in_time(&first, &second).unwrap()));
        }
        // Both series of each of 400 pairs come from one process, so 5 % of the pairs would be right. A test that
        // ignores dependence finds a difference in a third of them.
        assert!(told[0] > 80 && told[1] < 40, "{told:?}");
    }

    #[test]
    fn of_independent_values_time_says_nothing() {
        let (x, y) = samples();
        let (first, second) = (&x[..500], &y[..500]);
        let (plain, in_time) = (shift(first, second).unwrap(), shift_in_time(first, second).unwrap());
        assert!(in_time.chance_of_smaller >= plain.chance_of_smaller);
        assert!(
            (in_time.chance_of_smaller.ln() / plain.chance_of_smaller.ln() - 1.0).abs() < 0.25,
            "{in_time:?} {plain:?}"
        );
        assert_eq!(shift_in_time(&[1.0; 9], &[1.0; 9]), shift(&[1.0; 9], &[1.0; 9]));
        assert_eq!(shift_in_time(&[], &[1.0]), None);
    }

    proptest! {
        #[test]
        fn exact_and_approximate_agree(n in 20usize..40, m in 20usize..40, seed in 0u64..1000, by in -0.4f64..0.4) {
            let mut random = SplitMix::new(seed);
            let first: Vec<f64> = (0..n).map(|_| random.unit()).collect();
            let second: Vec<f64> = (0..m).map(|_| random.unit() + by).collect();
            let exact = shift(&first, &second).unwrap();
            let wins = f64::midpoint(exact.delta, 1.0) * float(n * m);
            let sd = (float(n * m) * float(n + m + 1) / 12.0).sqrt();
            let about = normal::below((wins + 0.5 - float(n * m) / 2.0) / sd);
            prop_assert!((exact.chance_of_smaller - about).abs() < 0.01);
            prop_assert!((exact.chance_of_smaller + exact.chance_of_larger) > 1.0);
        }

        #[test]
        fn nothing_panics(first in prop::collection::vec(any::<f64>(), 0..30), second in prop::collection::vec(any::<f64>(), 0..30)) {
            if let Some(shift) = shift(&first, &second) {
                prop_assert!((0.0..=1.0001).contains(&shift.chance_of_larger) && shift.delta.abs() <= 1.0);
            }
            if let Some(shift) = shift_in_time(&first, &second) {
                prop_assert!((0.0..=1.0001).contains(&shift.chance_of_larger));
                prop_assert!((0.0..=1.0001).contains(&shift.chance_of_smaller));
            }
            let _ = hodges_lehmann(&first, &second);
        }
    }
}
