//! The likelihood of cosine transforms under a model of moods, integrated over the size of clusters of events.

use crate::stats::float::float;
use crate::stats::normal;
use statrs::function::gamma;

/// Number of equally probable values by which the size of clusters is represented.
const SIZES: usize = 16;
/// Logarithm of ln 10 000. The logarithm of the cluster size, 1 to 10 000, has an even prior over this range.
const SIZES_RANGE: f64 = 2.220_327;
/// The approximation of gamma quantiles is too inaccurate if a gamma variate lies below the observed power with a
/// smaller probability than this.
const EVEN: f64 = 1e-3;
/// Probabilities below this are not computed accurately by the incomplete gamma function.
const LEAST: f64 = 1e-12;

/// The factor on the strength of moods that applies to the mean of a run: 1 for a long run, and less for a run that
/// sees only a part of a mood. `part` is `tau` over the length of the run.
pub(super) fn of_mean(part: f64) -> f64 {
    if part > 0.0 { 1.0 - part * (1.0 - (-1.0 / part).exp()) } else { 1.0 }
}

/// The factor on the strength of moods that applies to the k-th cosine transform.
fn at_wave(k: f64, part: f64) -> f64 {
    1.0 / (1.0 + (std::f64::consts::PI * k * part).powi(2))
}

/// The length of a run, and the squares of its cosine transforms.
pub(super) type Powers<'a> = (f64, &'a [f64]);

/// The parts of the likelihood of the transforms under a model: the sum of the powers over their expected values, and
/// the logarithm of the normalising factor.
pub(super) fn evidence(runs: &[Powers<'_>], tau: f64, strength: f64) -> (f64, f64) {
    let (mut squares, mut logarithms) = (0.0, 0.0);
    for (length, powers) in runs {
        let part = tau / length.max(f64::MIN_POSITIVE);
        for (power, k) in powers.iter().zip(1u32..) {
            let weight = 1.0 + strength * at_wave(f64::from(k), part);
            squares += power / weight;
            logarithms += weight.ln();
        }
    }
    (squares, -logarithms / 2.0)
}

/// The log-likelihood of a sum of `n` squares, integrated over the prior of cluster sizes from 1 on.
pub(super) fn of_all_sizes(squares: f64, n: f64) -> f64 {
    let (shape, half) = (n / 2.0, squares / 2.0);
    if n <= 0.0 {
        return -SIZES_RANGE;
    }
    // Without any power the integral is its limit: clusters are small.
    if squares <= 0.0 {
        return -shape.max(1.0).ln() - SIZES_RANGE;
    }
    let most = gamma::gamma_lr(shape, half);
    if most < LEAST {
        return -half - (shape + 1.0).ln() - SIZES_RANGE;
    }
    gamma::ln_gamma(shape) - shape * half.ln() + most.ln() - SIZES_RANGE
}

/// Equally probable cluster sizes, 1 or more, given a sum of `n` squares.
pub(super) fn cluster_sizes(squares: f64, n: f64) -> Vec<f64> {
    let (shape, half) = (n / 2.0, squares / 2.0);
    if n <= 0.0 || squares <= 0.0 {
        return vec![1.0];
    }
    // The posterior of the size is that of `half` over a gamma variate of at most `half`, because a size is at least 1.
    let most = gamma::gamma_lr(shape, half);
    let part = |i: usize| (float(i) + 0.5) / float(SIZES);
    // Events may come more evenly than independent ones. The posterior then falls as a power of the size, from size 1
    // on.
    if most < EVEN {
        return (0..SIZES).map(|i| (1.0 - part(i)).powf(-1.0 / (shape - half).max(1.0))).collect();
    }
    (0..SIZES).map(|i| (half / gamma_quantile(shape, most * part(i))).max(1.0)).collect()
}

/// The value under which a gamma variate of this shape lies with probability `p` (Wilson and Hilferty 1931).
fn gamma_quantile(shape: f64, p: f64) -> f64 {
    let root = 1.0 - 1.0 / (9.0 * shape) + normal::quantile(p) / (3.0 * shape.sqrt());
    (shape * root.max(0.01).powi(3)).max(f64::MIN_POSITIVE)
}
