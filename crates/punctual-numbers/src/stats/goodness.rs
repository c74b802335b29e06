//! Tests of a fitted tail: goodness of fit, and whether the largest values follow the same law as the others.

use super::tail::{Exceedances, Law};
use crate::stats::float::float;
use statrs::function::gamma::gamma_ur;

/// Number of largest values that are compared with the law of the others.
const LARGEST: usize = 10;
/// A law counts as likely if twice its log-likelihood is at most this much below that of the best law: one standard
/// deviation.
const LIKELY: f64 = 1.0;

/// Critical values of A^2 for a Pareto law with both parameters fitted: (shape, values at 10 %, 5 % and 1 %). They come
/// from 3000 simulations of 200 exceedances and agree with Choulakian and Stephens (2001) within the simulation's
/// error.
const CRITICAL: [(f64, [f64; 3]); 7] = [
    (-0.3, [0.878, 1.085, 1.608]),
    (-0.1, [0.804, 0.991, 1.450]),
    (0.0, [0.804, 0.965, 1.400]),
    (0.1, [0.754, 0.907, 1.281]),
    (0.2, [0.737, 0.917, 1.324]),
    (0.3, [0.723, 0.867, 1.311]),
    (0.5, [0.683, 0.824, 1.167]),
];

/// Anderson and Darling's A^2: how far ascending probabilities `F(x)` are from evenly spread ones. `None` for an empty
/// list.
pub fn distance(probabilities: &[f64]) -> Option<f64> {
    if probabilities.is_empty() {
        return None;
    }
    let n = float(probabilities.len());
    let sane = |f: f64| f.clamp(1e-300, 1.0 - 1e-16);
    let (mut a2, mut odd) = (0.0, 1.0);
    for (f, g) in probabilities.iter().zip(probabilities.iter().rev()) {
        a2 += odd * (sane(*f).ln() + (-sane(*g)).ln_1p());
        odd += 2.0;
    }
    Some(-n - a2 / n)
}

/// The probability of an A^2 at least this large if the fitted law is right. It is interpolated between 0.01 and 0.1
/// and extrapolated outside.
pub fn odds(a2: f64, shape: f64) -> f64 {
    let shape = if shape.is_nan() { 0.0 } else { shape };
    let above = CRITICAL.partition_point(|(xi, _)| *xi < shape).clamp(1, CRITICAL.len() - 1);
    let (Some(low), Some(high)) = (CRITICAL.get(above - 1), CRITICAL.get(above)) else { return 1.0 };
    let part = ((shape - low.0) / (high.0 - low.0)).clamp(0.0, 1.0);
    let [ten, five, one]: [f64; 3] = std::array::from_fn(|i| low.1[i] + part * (high.1[i] - low.1[i]));
    // The probability falls about exponentially with A^2.
    let (from, to, at, beyond): (f64, f64, f64, f64) =
        if a2 < five { (ten, five, 0.1, 0.05) } else { (five, one, 0.05, 0.01) };
    (at.ln() + (a2 - from) / (to - from) * (beyond.ln() - at.ln())).exp().clamp(0.0, 1.0)
}

/// The probability of bin counts at least this far from those expected under `law`: Pearson's test, with bins joined
/// until each expects 5 or more. `None` if too few bins remain.
pub fn odds_of_bins(bins: &[(f64, f64, u64)], exceedances: &Exceedances, law: &Law) -> Option<f64> {
    let (mut statistic, mut classes) = (0.0, 0u32);
    let (mut seen, mut from) = (0.0, 0.0);
    for (_, to, n) in bins {
        let n = float(*n);
        seen += n;
        let rest = exceedances.survival(law, *to) * exceedances.size();
        let here = exceedances.survival(law, from) * exceedances.size() - rest;
        // The remaining bins form the last class, which must expect 5 or more as well.
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

/// Number of largest values that do not follow the law of the others; `None` if all of them do. The j largest are
/// strangers if the j-th exceeds the level that j values exceed with a probability of 1 %. That must hold for the law
/// that fits the other values best and for every law that fits them nearly as well.
///
/// A rare mechanism shows a single value first, so one value is enough. The price is that in one run of a hundred a
/// value of a heavy tail is taken for a stranger.
pub fn strangers(exceedances: &Exceedances) -> Option<usize> {
    // (j, m): j or more of n values exceed a level with a probability of 1 % if m of them are expected to (Poisson).
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

/// The probability of a gap among the largest values at least as wide as the widest one. `ln_survival` starts with the
/// largest value. For exponential values the i-th gap from the top, times i, is exponential with mean 1 (Renyi 1953).
pub fn odds_of_gap(ln_survival: &[f64]) -> f64 {
    let gaps = ln_survival.windows(2).zip(1u32..).map(|(pair, i)| match pair {
        [large, small] => f64::from(i) * (small - large),
        _ => 0.0,
    });
    let (widest, n) = gaps.fold((0.0f64, 0u32), |(widest, n), gap| (widest.max(gap), n + 1));
    if n == 0 { 1.0 } else { -(f64::from(n) * (-(-widest).exp()).ln_1p()).exp_m1() }
}
