//! Laws of latency with known percentiles, and random numbers for the tests.

use punctual_numbers::stats::normal;

/// The generator `SplitMix64`, which here returns numbers above 0 and below 1.
pub struct Dice(u64);

impl Dice {
    pub fn new(family: usize, run: u64) -> Self {
        Self((family as u64 + 1).wrapping_mul(0x2545_F491_4F6C_DD1D) ^ run.wrapping_mul(0x9E6C_63D0_876A_68DE))
    }

    pub fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
    }

    /// The probability of one value exceeding the largest of `n` independent values, drawn at random.
    pub fn largest_of(&mut self, n: f64) -> f64 {
        -(self.draw().ln() / n).exp_m1()
    }

    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.draw().ln()).sqrt() * (std::f64::consts::TAU * self.draw()).cos()
    }
}

/// Returns the value, in microseconds, that is exceeded with probability `p`.
pub type Law = fn(f64) -> f64;

pub fn exponential(p: f64) -> f64 {
    -5.0 * p.ln()
}

pub fn bounded(p: f64) -> f64 {
    5.0 / 0.3 * (1.0 - p.powf(0.3))
}

pub fn heavy(p: f64) -> f64 {
    5.0 / 0.2 * (p.powf(-0.2) - 1.0)
}

pub fn lognormal(p: f64) -> f64 {
    10.0 * (-0.5 * normal::quantile(p)).exp()
}

/// The probability of a larger value: the inverse of a law.
pub fn above(law: Law, value: f64) -> f64 {
    let (mut low, mut high) = (-40.0f64, 0.0f64);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if law(middle.exp()) > value { low = middle } else { high = middle }
    }
    low.exp()
}

/// The value that one in `one_in` values exceeds, where `above` is the probability of a larger one.
pub fn quantile(above: impl Fn(f64) -> f64, one_in: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e4);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if above(middle) * one_in > 1.0 { low = middle } else { high = middle }
    }
    low
}

/// The share of all values that lie in bursts.
pub const IN_BURSTS: f64 = 0.2;

/// The probability of a larger value, if values in bursts are twice as large.
pub fn above_in_bursts(law: Law, value: f64) -> f64 {
    (1.0 - IN_BURSTS) * above(law, value) + IN_BURSTS * above(law, value / 2.0)
}

/// Draws a value of the rare mode, in microseconds.
pub fn of_mode(dice: &mut Dice) -> f64 {
    150.0 + 50.0 * dice.draw()
}

/// The level that one in `values` values exceeds, if a value belongs to the rare mode with the probability `often`. The
/// level lies in the mode, or in the tail of the law if the mode is too rare.
pub fn level_with_mode(law: Law, often: f64, values: f64) -> f64 {
    (200.0 - 50.0 / (values * often)).max(law(1.0 / values))
}

/// Factor by which an autoregressive series multiplies its last value in each step.
pub const KEPT: f64 = 0.9;

/// The next value of an autoregressive series with a standard normal distribution.
pub fn autoregressive(dice: &mut Dice, last: f64) -> f64 {
    KEPT * last + (1.0 - KEPT * KEPT).sqrt() * dice.normal()
}

/// The level that an autoregressive series exceeds for the first time after `steps` steps on average. Steps that stay
/// below the level form a kernel, whose largest eigenvalue is 1 minus the probability to exceed the level in one step.
pub fn autoregressive_level(steps: f64) -> f64 {
    let (mut low, mut high) = (1.0, 9.0);
    for _ in 0..30 {
        let middle = f64::midpoint(low, high);
        if lost_in_a_step(middle) * steps > 1.0 { low = middle } else { high = middle }
    }
    low
}

fn lost_in_a_step(level: f64) -> f64 {
    const PLACES: usize = 240;
    let deviation = (1.0 - KEPT * KEPT).sqrt();
    let width = (level + 7.0) / PLACES as f64;
    let places: Vec<f64> = (0..PLACES).map(|i| -7.0 + width * (i as f64 + 0.5)).collect();
    let step = |from: f64, to: f64| (-((to - KEPT * from) / deviation).powi(2) / 2.0).exp();
    let kernel: Vec<Vec<f64>> = places.iter().map(|to| places.iter().map(|from| step(*from, *to)).collect()).collect();
    let mut shares = vec![1.0 / PLACES as f64; PLACES];
    for _ in 0..120 {
        let next: Vec<f64> =
            kernel.iter().map(|row| row.iter().zip(&shares).map(|(step, share)| step * share).sum()).collect();
        let all: f64 = next.iter().sum();
        shares = next.into_iter().map(|share: f64| share / all).collect();
    }
    let lost = |(share, from): (&f64, &f64)| share * normal::below((KEPT * from - level) / deviation);
    shares.iter().zip(&places).map(lost).sum()
}

/// The next value of X = max(0.8 X', 0.2 Z) with Frechet margins: a large value decays by a fifth in each step, so that
/// five successive values on average exceed a level (extremal index 1/5).
pub fn decaying(dice: &mut Dice, last: f64) -> f64 {
    (0.8 * last).max(-0.2 / dice.draw().ln())
}

/// The probability that a value with a Frechet distribution, as in a decaying series, exceeds `value`.
pub fn of_frechet(value: f64) -> f64 {
    -(-1.0 / value).exp_m1()
}
