//! Laws of latency as tables of quantiles, from which drawing a value takes a few nanoseconds. True values are read
//! from the same tables, so that interpolation causes no error.

use super::dice::Dice;

/// Number of cells of the table of the body, evenly spaced in the probability of a larger value.
const BODY: usize = 4_096;
/// Below this probability of a larger value the table of the tail is used.
const TAIL_FROM: f64 = 1.0 / 64.0;
/// Number of steps of the table of the tail for each unit of the natural logarithm of the probability.
const TAIL_STEPS: f64 = 64.0;
/// The table of the tail ends at the probability of `exp(-TAIL_END)`.
const TAIL_END: f64 = 46.0;

/// A law of values in nanoseconds.
#[derive(Clone, Debug)]
pub struct Law {
    body: Vec<f64>,
    tail: Vec<f64>,
}

impl Law {
    /// The law that exceeds `quantile(p)` with probability `p`.
    pub fn of(quantile: impl Fn(f64) -> f64) -> Self {
        let body = (0..=BODY).map(|i| quantile((i as f64 / BODY as f64).clamp(1e-9, 1.0 - 1e-9)));
        let from = -TAIL_FROM.ln();
        let steps = ((TAIL_END - from) * TAIL_STEPS) as usize;
        let tail = (0..=steps).map(|i| quantile((-(from + i as f64 / TAIL_STEPS)).exp()));
        Self { body: body.collect(), tail: tail.collect() }
    }

    /// The value that is exceeded with this probability.
    pub fn at(&self, p: f64) -> f64 {
        if p >= TAIL_FROM { between(&self.body, p * BODY as f64) } else { self.in_tail(p) }
    }

    fn in_tail(&self, p: f64) -> f64 {
        between(&self.tail, (TAIL_FROM.ln() - p.ln()) * TAIL_STEPS)
    }

    pub fn draw(&self, dice: &mut Dice) -> f64 {
        self.at(dice.unit())
    }

    /// Draws the largest of `n` independent values.
    pub fn largest_of(&self, n: f64, dice: &mut Dice) -> f64 {
        self.at(-(dice.unit().ln() / n).exp_m1())
    }

    /// The probability of a value above `value`.
    pub fn above(&self, value: f64) -> f64 {
        let (mut low, mut high) = (-TAIL_END, 0.0f64);
        if self.at(low.exp()) <= value {
            return 0.0;
        }
        for _ in 0..48 {
            let middle = f64::midpoint(low, high);
            if self.at(middle.exp()) > value { low = middle } else { high = middle }
        }
        if high > -1e-9 { 1.0 } else { low.exp() }
    }

    /// The only value of the law; `None` if there are several.
    pub fn only(&self) -> Option<f64> {
        let first = *self.body.first()?;
        self.body.iter().chain(&self.tail).all(|value| (value - first).abs() < 1e-9).then_some(first)
    }
}

/// The value at a place between two entries of a table, interpolated; beyond the end, the last entry.
fn between(table: &[f64], place: f64) -> f64 {
    let index = place as usize;
    match table.get(index..index + 2) {
        Some([a, b]) => a + (b - a) * (place - index as f64),
        _ => table.last().copied().unwrap_or_default(),
    }
}

/// The root of a falling function between `low` and `high`.
pub fn root(falling: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if falling(middle) > 0.0 { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_has_the_quantiles_of_the_law() {
        let law = Law::of(|p| -5_000.0 * p.ln());
        let mut dice = Dice::new("law", 1);
        for p in [0.5, 0.01, 0.001] {
            let (n, at) = (400_000, law.at(p));
            assert!((at / (-5_000.0 * f64::ln(p)) - 1.0).abs() < 1e-4, "{at}");
            let above = (0..n).filter(|_| law.draw(&mut dice) > at).count() as f64 / f64::from(n);
            assert!((above - p).abs() < 5.0 * (p / f64::from(n)).sqrt(), "{above} {p}");
            assert!((law.above(at) / p - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn the_largest_of_many_is_what_drawing_them_gives() {
        let law = Law::of(|p| -5_000.0 * p.ln());
        let mut dice = Dice::new("largest", 1);
        let of_many = |dice: &mut Dice| (0..100).map(|_| law.draw(dice)).fold(0.0, f64::max);
        let at_once: f64 = (0..4_000).map(|_| law.largest_of(100.0, &mut dice)).sum::<f64>() / 4_000.0;
        let one_by_one: f64 = (0..4_000).map(|_| of_many(&mut dice)).sum::<f64>() / 4_000.0;
        assert!((at_once / one_by_one - 1.0).abs() < 0.02, "{at_once} {one_by_one}");
    }
}
