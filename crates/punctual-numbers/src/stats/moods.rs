//! Estimates from one run how long a machine stays in one mood, and how much that widens limits of counts.
//!
//! A mood is a stretch of time in which a machine behaves alike. The counts of exceedances in equal cells of the run
//! are decomposed into cosines. Independent values give the same power at each frequency; moods add power at
//! frequencies below the inverse of their length. The powers are compared with a family of laws: white noise plus an
//! autoregressive process of each of several strengths and lengths, weighed by its likelihood (Whittle 1953). Limits
//! use the mixture of all laws, so that a run that leaves its moods uncertain gets wide limits, as with Student's t for
//! an unknown variance. Müller and Watson (2008) judge means of strongly dependent series by their lowest frequencies
//! in the same way.

#![allow(clippy::cast_precision_loss, reason = "numbers of cells and counts, far below 2^53")]

use super::normal;
use std::f64::consts::{PI, SQRT_2};

/// A run of fewer cells than this is too short to show moods.
pub const CELLS_MIN: usize = 16;
/// More cells than this cost time and add nothing about the lowest frequencies.
pub const CELLS_MAX: usize = 256;
/// Prior probability that a machine has no moods.
const CALM: f64 = 0.8;
/// Lengths of moods that are tried, as exponents of the square root of 2 of the number of correlation times in the run:
/// from half the run down to a 362nd of it.
const TIMES: std::ops::Range<i32> = 2..18;
/// Number of strengths of moods that are tried. A strength is the power at frequency 0 over that of the noise; the
/// strengths are powers of 2, the first of which is a quarter.
const STRENGTHS: i32 = 19;
/// Standard normal quantile of a one-sided test at 5 %.
const ONE_SIDED_5: f64 = 1.645;
/// Laws that are less probable than this are left out, because they change no limit.
const WEIGHT_MIN: f64 = 1e-6;

/// (exceedances, values) of a cell of the run.
pub type Cell = (u64, u64);

/// The laws of moods that the spectrum of counts leaves possible.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    laws: Vec<Law>,
}

/// One law of moods.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Law {
    /// Posterior probability of this law.
    weight: f64,
    /// Variance of the mean over that of the mean of independent values.
    effect: f64,
    /// Number of independent stretches in the run; infinite without moods.
    stretches: f64,
}

impl Spectrum {
    /// The spectrum of these cells; `None` with fewer than [`CELLS_MIN`] of them, or if all or no values are
    /// exceedances.
    pub fn of(cells: &[Cell]) -> Option<Self> {
        let powers = powers(cells)?;
        let calm = fit(&powers, |_| 1.0);
        let candidates = || TIMES.flat_map(|time| (-2..STRENGTHS - 2).map(move |strength| (time, strength)));
        let each = (1.0 - CALM) / candidates().count() as f64;
        let mut laws = vec![Law { weight: calm.0 + CALM.ln(), effect: calm.1, stretches: f64::INFINITY }];
        laws.extend(candidates().map(|(time, strength)| {
            let (times, strength) = (SQRT_2.powi(time), 2.0f64.powi(strength));
            let kept = (-times / cells.len() as f64).exp();
            let shape = |cosine: f64| 1.0 + strength * (1.0 - kept).powi(2) / (1.0 - 2.0 * kept * cosine + kept * kept);
            let (ln, white) = fit(&powers, shape);
            // The mean over a run of few correlation times varies less than the power at frequency 0 says.
            let of_run = 1.0 - (1.0 - (-times).exp()) / times;
            Law { weight: ln + each.ln(), effect: white * (1.0 + strength * of_run), stretches: times / 2.0 }
        }));
        let top = laws.iter().map(|law| law.weight).fold(f64::NEG_INFINITY, f64::max);
        for law in &mut laws {
            law.weight = (law.weight - top).exp();
        }
        let sum: f64 = laws.iter().map(|law| law.weight).sum();
        for law in &mut laws {
            law.weight /= sum;
        }
        laws.retain(|law| law.weight > WEIGHT_MIN);
        Some(Self { laws })
    }

    /// The design effect, 1 or more, that gives a normal interval of this two-sided confidence the width that the
    /// mixture of all laws needs.
    pub fn effect(&self, confidence: f64) -> f64 {
        let z = normal::quantile(f64::midpoint(confidence, 1.0));
        let inside = |effect: f64| -> f64 {
            let of = |law: &Law| law.weight * (1.0 - 2.0 * normal::below(-z * (effect / law.effect).sqrt()));
            self.laws.iter().map(of).sum()
        };
        let (mut low, mut high) = (1.0f64, 1e12f64);
        for _ in 0..50 {
            let middle = (low * high).sqrt();
            if inside(middle) < confidence { low = middle } else { high = middle }
        }
        low
    }

    /// The probability that the machine has moods.
    pub fn odds(&self) -> f64 {
        let moody = self.laws.iter().filter(|law| law.stretches.is_finite());
        moody.map(|law| law.weight).sum::<f64>().clamp(0.0, 1.0)
    }

    /// The number of independent stretches in the run, as a quantile: if there are moods, the run has at most this
    /// number of stretches with `probability`.
    pub fn stretches(&self, probability: f64) -> f64 {
        let mut laws: Vec<&Law> = self.laws.iter().filter(|law| law.stretches.is_finite()).collect();
        laws.sort_by(|a, b| a.stretches.total_cmp(&b.stretches));
        let wanted = self.odds() * probability;
        let mut sum = 0.0;
        let reached = laws.iter().find(|law| {
            sum += law.weight;
            sum >= wanted
        });
        reached.map_or(f64::INFINITY, |law| law.stretches)
    }
}

/// Over how many of `stretches` equal parts of the run the exceedances are spread. The second number is the same for
/// the surplus of each part over the quietest quarter of the parts. Each number is the square of the sum over the sum
/// of squares, which is the number of parts if all hold equally many.
pub fn spread_over(cells: &[Cell], stretches: f64) -> (f64, f64) {
    let parts = stretches.clamp(1.0, cells.len().max(1) as f64);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and the number of cells")]
    let size = (cells.len() as f64 / parts).ceil() as usize;
    let counts = cells.chunks(size.max(1)).map(|part| part.iter().map(|cell| cell.0 as f64).sum::<f64>());
    let mut counts: Vec<f64> = counts.collect();
    counts.sort_by(f64::total_cmp);
    let quiet = counts.get(counts.len() / 4).copied().unwrap_or_default();
    let spread = |base: f64| {
        let beyond = counts.iter().map(|count| (count - base).max(0.0));
        let (sum, squares) = beyond.fold((0.0, 0.0), |(sum, squares), k| (sum + k, squares + k * k));
        if squares > 0.0 { sum * sum / squares } else { 0.0 }
    };
    (spread(0.0), spread(quiet))
}

/// The log-likelihood of these powers under a law whose mean power is `white * shape`, and the `white`, 1 or more, that
/// maximises it. `shape` gets the cosine of the frequency.
fn fit(powers: &[(f64, f64)], shape: impl Fn(f64) -> f64) -> (f64, f64) {
    let freedom = powers.len() as f64;
    let (mut product, mut ln, mut sum) = (1.0f64, 0.0, 0.0);
    for (cosine, power) in powers {
        let shape = shape(*cosine);
        sum += power / shape;
        product *= shape;
        // One logarithm serves many factors, each of which is below 1e6.
        if product > 1e200 {
            ln += product.ln();
            product = 1.0;
        }
    }
    ln += product.ln();
    let mean = sum / freedom;
    let white = if mean < 1.0 + ONE_SIDED_5 * (2.0 / freedom).sqrt() { 1.0 } else { mean };
    (-0.5 * (ln + freedom * white.ln() + sum / white), white)
}

/// (cosine of the frequency, power) for rising frequencies, of which the first has half a cycle in the run. Independent
/// values have a mean power of 1.
fn powers(cells: &[Cell]) -> Option<Vec<(f64, f64)>> {
    let (above, n) = cells.iter().fold((0.0, 0.0), |(k, n), cell| (k + cell.0 as f64, n + cell.1 as f64));
    if cells.len() < CELLS_MIN || above <= 0.0 || above >= n {
        return None;
    }
    let (share, size) = (above / n, cells.len());
    let scale = 2.0 / (share * (1.0 - share) * n);
    let cosines: Vec<f64> = (0..4 * size).map(|i| (PI * i as f64 / (2 * size) as f64).cos()).collect();
    let cosine = |i: usize| cosines.get(i % (4 * size)).copied().unwrap_or_default();
    let off: Vec<f64> = cells.iter().map(|(k, n)| *k as f64 - share * *n as f64).collect();
    let power = |j: usize| {
        let sum: f64 = off.iter().enumerate().map(|(i, x)| x * cosine(j * (2 * i + 1))).sum();
        (cosine(2 * j), sum * sum * scale)
    };
    Some((1..size).map(power).collect())
}
