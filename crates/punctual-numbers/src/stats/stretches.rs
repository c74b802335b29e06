//! The design effect of a sequence without times: how many of its values are worth one independent value.
//!
//! The sequence is cut into stretches of several lengths, and the variance of counts between stretches is compared
//! (Carlstein 1986). Many short stretches show their variance precisely, but neighbours may lie in one mood of the
//! machine and be alike. Few long stretches hold whole moods.

use super::float::float;
use super::{blocks, normal, ranks};

/// Numbers of stretches that a sequence is cut into, most first.
pub const CUTS: [usize; 4] = [64, 32, 16, 8];
/// For each cut, the factor by which its variance must exceed that of the finest cut to count: the 95 % quantile of
/// chi-squared over its degrees of freedom. Without it, chance would widen every limit.
const TELLING: [f64; 4] = [1.0, 1.45, 1.67, 2.01];
/// One-sided risk at which limits from few stretches are widened by Student's distribution.
const RISK: f64 = 0.025;

/// A cut of a sequence, with the design effect that its stretches show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    pub stretches: usize,
    /// Design effect: the variance of counts of exceedances over that of independent values, 1 or more.
    pub effect: f64,
    /// The design effect enlarged for limits, because few stretches show their variance imprecisely.
    pub worth: f64,
}

/// The cut that gives the widest limits; `None` if no cut is possible. `parts` gives (exceedances, values) of each
/// stretch for a number of stretches, or `None` if the sequence is too short for it.
pub fn widest(parts: impl Fn(usize) -> Option<Vec<(f64, f64)>>) -> Option<Cut> {
    let mut finest: Option<f64> = None;
    let mut found: Option<Cut> = None;
    for (stretches, telling) in CUTS.into_iter().zip(TELLING) {
        let Some(parts) = parts(stretches) else { continue };
        let effect = blocks::clustering(&[&parts], 1.0);
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

/// Number of independent parts of a sequence: fewer than its stretches if neighbouring stretches are alike. Each
/// stretch is (exceedances, values).
///
/// The shares of exceedances are taken for an autoregressive series, whose estimated correlation is corrected for the
/// bias of short series (Kendall 1954).
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

    /// 64 stretches of 1000 values. Each has ten exceedances if `mood` is 0; else `mood` stretches with none and `mood`
    /// stretches with twenty take turns.
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
