//! How much counts vary between stretches of several lengths: how many values of a sequence are worth one independent value.
//!
//! Short stretches are many and tell exactly how much they vary, but two of them that lie in one mood of the machine are
//! alike. Long ones are few and hold whole moods. Variance over block lengths (Carlstein 1986) finds the length from which on
//! nothing is gained.

use super::float::float;
use super::{bootstrap, normal, ranks};

/// Numbers of stretches that are looked at, most first.
pub const CUTS: [usize; 4] = [64, 32, 16, 8];
/// How much larger the variance between this few stretches has to be than between the most before it is believed: 95 % of
/// chi-squared by its degrees of freedom. Chance would else widen every limit.
const TELLING: [f64; 4] = [1.0, 1.45, 1.67, 2.01];
/// The confidence at which limits of few stretches are as wide as Student's distribution makes them.
const RISK: f64 = 0.025;

/// The number of stretches to be relied upon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    pub stretches: usize,
    /// The variance of counts of exceedances over that of independent values, 1 or more.
    pub effect: f64,
    /// The same, as wide as limits from this number of stretches have to be.
    pub worth: f64,
}

/// The cut with the widest limits. `parts` tells (exceedances, values) of each stretch of a cut; `None` where there are
/// fewer stretches than the cut wants. `None` if there is no cut at all.
pub fn widest(parts: impl Fn(usize) -> Option<Vec<(f64, f64)>>) -> Option<Cut> {
    let mut finest: Option<f64> = None;
    let mut found: Option<Cut> = None;
    for (stretches, telling) in CUTS.into_iter().zip(TELLING) {
        let Some(parts) = parts(stretches) else { continue };
        let effect = bootstrap::clustering(&[&parts], 1.0);
        let least = *finest.get_or_insert(effect);
        let few = normal::student_quantile_above(RISK, float(stretches) - 1.0) / -normal::quantile(RISK);
        let cut = Cut { stretches, effect, worth: effect * few * few };
        let is_wider = found.is_none_or(|found| cut.worth > found.worth && effect > telling * least);
        if is_wider {
            found = Some(cut);
        }
    }
    found
}

/// How many independent parts a sequence has, as far as stretches of it show: fewer than there are stretches if neighbours are
/// alike. Each part is (exceedances, values).
///
/// The share of each stretch is taken to keep a part of the one before, which short series tell too low (Kendall 1954).
pub fn independent(parts: &[(f64, f64)]) -> f64 {
    let shares: Vec<f64> = parts.iter().map(|(beyond, all)| beyond / all.max(1.0)).collect();
    let n = float(shares.len());
    if shares.is_empty() {
        return 0.0;
    }
    let kept = ((ranks::neighbours(&shares) + 1.0 / n) / (1.0 - 4.0 / n).max(0.2)).clamp(0.0, 0.99);
    n * (1.0 - kept) / (1.0 + kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 64 stretches of 1000 values, exceedances in each: ten, or in turns of `mood` stretches none and twenty.
    fn parts(mood: usize) -> impl Fn(usize) -> Option<Vec<(f64, f64)>> {
        move |stretches| {
            let of = |place: usize| place.checked_div(mood).map_or(10.0, |turn| 20.0 * float(turn % 2));
            let joined = 64 / stretches;
            let one = |at: usize| ((0..joined).map(|i| of(at * joined + i)).sum(), 1_000.0 * float(joined));
            Some((0..stretches).map(one).collect())
        }
    }

    #[test]
    fn moods_make_limits_wider_and_parts_fewer() {
        let even = widest(parts(0)).unwrap();
        assert!((even.effect - 1.0).abs() < 1e-9 && even.stretches == 64 && even.worth < 1.1, "{even:?}");
        let moody = widest(parts(8)).unwrap();
        assert!(moody.effect > 50.0, "80 exceedances come together in each mood: {moody:?}");
        assert_eq!(widest(|_| None), None);
        let [short, long] = [1, 8].map(|mood| independent(&parts(mood)(64).unwrap()));
        assert!(short > 60.0 && long < 10.0, "{short} {long}");
        assert!(independent(&[]) < 1.0);
    }
}
