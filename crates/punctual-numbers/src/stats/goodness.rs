//! Whether a fitted tail is one: goodness of fit, and whether the largest values belong to the rest.

use super::tail::{Exceedances, Law};
use statrs::function::gamma::gamma_ur;

/// How many of the largest are held against the others.
const LARGEST: usize = 10;
/// A law is still likely enough where its likelihood, the logarithm taken twice, is this much below the best: one
/// standard deviation.
const LIKELY: f64 = 1.0;

/// Critical values of A^2 for a Pareto law with both parameters fitted: (shape, values at 10 %, 5 % and 1 %).
/// Simulated, 200 exceedances, 3000 repetitions; Choulakian and Stephens (2001) give the same within the error of that.
const CRITICAL: [(f64, [f64; 3]); 7] = [
    (-0.3, [0.878, 1.085, 1.608]),
    (-0.1, [0.804, 0.991, 1.450]),
    (0.0, [0.804, 0.965, 1.400]),
    (0.1, [0.754, 0.907, 1.281]),
    (0.2, [0.737, 0.917, 1.324]),
    (0.3, [0.723, 0.867, 1.311]),
    (0.5, [0.683, 0.824, 1.167]),
];

/// How far data are from the fitted law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// Anderson and Darling's A^2.
    pub a2: f64,
    /// Cramer and von Mises' W^2.
    pub w2: f64,
}

/// The distance of ascending probabilities `F(x)` from evenly spread ones.
pub fn distance(probabilities: &[f64]) -> Option<Distance> {
    if probabilities.is_empty() {
        return None;
    }
    #[allow(clippy::cast_precision_loss, reason = "numbers of values")]
    let n = probabilities.len() as f64;
    let sane = |f: f64| f.clamp(1e-300, 1.0 - 1e-16);
    let (mut a2, mut w2, mut odd) = (0.0, 0.0, 1.0);
    for (f, g) in probabilities.iter().zip(probabilities.iter().rev()) {
        a2 += odd * (sane(*f).ln() + (-sane(*g)).ln_1p());
        w2 += (f - odd / (2.0 * n)).powi(2);
        odd += 2.0;
    }
    Some(Distance { a2: -n - a2 / n, w2: w2 + 1.0 / (12.0 * n) })
}

/// The odds of an A^2 so large where the fitted law is right: within 0.01 to 0.1 interpolated, outside extrapolated.
pub fn odds(a2: f64, shape: f64) -> f64 {
    let shape = if shape.is_nan() { 0.0 } else { shape };
    let above = CRITICAL.partition_point(|(xi, _)| *xi < shape).clamp(1, CRITICAL.len() - 1);
    let (Some(low), Some(high)) = (CRITICAL.get(above - 1), CRITICAL.get(above)) else { return 1.0 };
    let part = ((shape - low.0) / (high.0 - low.0)).clamp(0.0, 1.0);
    let [ten, five, one]: [f64; 3] = std::array::from_fn(|i| low.1[i] + part * (high.1[i] - low.1[i]));
    // The odds fall about exponentially with A^2.
    let (from, to, at, beyond): (f64, f64, f64, f64) =
        if a2 < five { (ten, five, 0.1, 0.05) } else { (five, one, 0.05, 0.01) };
    (at.ln() + (a2 - from) / (to - from) * (beyond.ln() - at.ln())).exp().clamp(0.0, 1.0)
}

/// The odds of bins so far from what `law` expects: Pearson's test, bins joined until each expects 5 or more. `None`
/// where too few bins remain.
pub fn odds_of_bins(bins: &[(f64, f64, u64)], exceedances: &Exceedances, law: &Law) -> Option<f64> {
    let (mut statistic, mut classes) = (0.0, 0u32);
    let (mut seen, mut from) = (0.0, 0.0);
    for (_, to, n) in bins {
        #[allow(clippy::cast_precision_loss, reason = "counts beyond 2^53 lose nothing that matters")]
        let n = *n as f64;
        seen += n;
        let rest = exceedances.survival(law, *to) * exceedances.size();
        let here = exceedances.survival(law, from) * exceedances.size() - rest;
        // What is left for the last class must be enough, too.
        if here >= 5.0 && rest >= 5.0 {
            statistic += (seen - here).powi(2) / here;
            (classes, seen, from) = (classes + 1, 0.0, *to);
        }
    }
    let here = exceedances.survival(law, from) * exceedances.size();
    if here > 0.0 {
        statistic += (seen - here).powi(2) / here;
        classes += 1;
    }
    let freedom = f64::from(classes.checked_sub(3).filter(|freedom| *freedom > 0)?);
    Some(if statistic <= 0.0 { 1.0 } else { gamma_ur(freedom / 2.0, statistic / 2.0) })
}

/// How many of the largest lie farther out than the others let them: the first j of `LARGEST` of which the j-th is
/// beyond the level that j values pass with odds of 1 in 100 only, under the law that fits the others best and under
/// any that fits them nearly as well. `None` where all belong to the rest.
///
/// One value is little to decide by, and a rare mode shows one before it shows more: so this would rather hold a value
/// of a heavy tail for a stranger in one run of a hundred than tell a law to which a mode of twice the size is unknown.
pub fn strangers(exceedances: &Exceedances) -> Option<usize> {
    // (j, m): j of n values pass a level with odds of 1 in 100 if n times the probability of one is m (Poisson).
    const EXPECTED: [(usize, f64); 4] = [(1, 0.010_050), (2, 0.148_555), (3, 0.436_045), (10, 4.130_20)];
    let rest = exceedances.censored(LARGEST);
    let fit = rest.fit()?;
    let stranger = |(j, expected): (usize, f64)| {
        let value = exceedances.largest(j)?;
        let times = rest.times(expected / exceedances.size());
        let beyond = value > fit.law.level(times) && rest.drop(&fit, times, value) > LIKELY;
        beyond.then_some(j)
    };
    EXPECTED.into_iter().find_map(stranger)
}

/// The odds of the widest gap among the largest values: the gaps of what is exponentially distributed, the i-th from
/// the top taken i times, are exponential, each with mean 1 (Renyi 1953). `ln_survival` is descending in size: the
/// largest value first.
pub fn odds_of_gap(ln_survival: &[f64]) -> f64 {
    let gaps = ln_survival.windows(2).zip(1u32..).map(|(pair, i)| match pair {
        [large, small] => f64::from(i) * (small - large),
        _ => 0.0,
    });
    let (widest, n) = gaps.fold((0.0f64, 0u32), |(widest, n), gap| (widest.max(gap), n + 1));
    if n == 0 { 1.0 } else { -(f64::from(n) * (-(-widest).exp()).ln_1p()).exp_m1() }
}
