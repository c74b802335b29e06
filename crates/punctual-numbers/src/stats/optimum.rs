//! Searches for the maximum of a function and for its zero.
//!
//! Every search ends after a fixed number of steps. A function value of NaN counts as minus infinity.

use super::float::float;

/// Golden section: each step keeps this part of the interval.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// The value of `f` at `x`, with minus infinity for NaN.
fn value(f: &impl Fn(f64) -> f64, x: f64) -> f64 {
    let y = f(x);
    if y.is_nan() { f64::NEG_INFINITY } else { y }
}

/// The maximum of `f` between `low` and `high`, as (place, value): a grid finds the hill, golden section its top.
pub fn maximum(f: impl Fn(f64) -> f64, low: f64, high: f64, grid: u32) -> (f64, f64) {
    let step = (high - low) / f64::from(grid.max(2));
    let places = (0..=grid.max(2)).map(|i| low + step * f64::from(i));
    let best = places.map(|x| (x, value(&f, x))).max_by(|a, b| a.1.total_cmp(&b.1));
    let (x, y) = best.unwrap_or((low, f64::NEG_INFINITY));
    let (top, height) = golden(&f, (x - step).max(low), (x + step).min(high));
    if height > y { (top, height) } else { (x, y) }
}

/// The maximum of `f`, which has one hill, near `start`, as (place, value). The hill is climbed with steps that grow
/// from `step`, and parabolas find its top. If `f` has no finite value at `start`, all between `low` and `high` is
/// searched.
pub fn near(f: impl Fn(f64) -> f64, start: f64, step: f64, low: f64, high: f64) -> (f64, f64) {
    let at = |x: f64| (x, value(&f, x));
    let middle = at(start.clamp(low, high));
    if !middle.1.is_finite() {
        return maximum(f, low, high, 15);
    }
    let mut hill = [at((middle.0 - step).max(low)), middle, at((middle.0 + step).min(high))];
    let mut reach = step;
    while hill[0].1 > hill[1].1 || hill[2].1 > hill[1].1 {
        let [left, middle, right] = hill;
        reach *= 2.0;
        hill = if left.1 > middle.1 {
            [at((left.0 - reach).max(low)), left, middle]
        } else {
            [middle, right, at((right.0 + reach).min(high))]
        };
    }
    top(at, hill, 1e-3 * step)
}

/// The top of a hill between three (place, value) points of which the middle one is highest, to within `near`.
fn top(at: impl Fn(f64) -> (f64, f64), mut hill: [(f64, f64); 3], near: f64) -> (f64, f64) {
    for turn in 0..40 {
        let [left, middle, right] = hill;
        let (before, after) = (middle.0 - left.0, right.0 - middle.0);
        let (rise, fall) = ((middle.1 - left.1) / before, (right.1 - middle.1) / after);
        let vertex = f64::midpoint(left.0, middle.0) - rise * (right.0 - left.0) / (fall - rise) / 2.0;
        let believed = vertex.is_finite() && turn % 4 < 3;
        if right.0 - left.0 <= near || (believed && turn > 1 && (vertex - middle.0).abs() < near) {
            break;
        }
        let aside = if before > after { -(1.0 - GOLDEN) * before } else { (1.0 - GOLDEN) * after };
        let next = at(if believed && (vertex - middle.0).abs() >= near { vertex } else { middle.0 + aside });
        hill = match (next.1 > middle.1, next.0 < middle.0) {
            (true, true) => [left, next, middle],
            (true, false) => [middle, next, right],
            (false, true) => [next, middle, right],
            (false, false) => [left, middle, next],
        };
    }
    hill[1]
}

fn golden(f: &impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> (f64, f64) {
    let mut left = high - GOLDEN * (high - low);
    let mut right = low + GOLDEN * (high - low);
    let (mut at_left, mut at_right) = (value(f, left), value(f, right));
    for _ in 0..40 {
        if at_left >= at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - GOLDEN * (high - low);
            at_left = value(f, left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + GOLDEN * (high - low);
            at_right = value(f, right);
        }
        // Near a top the value changes by the square of the distance only.
        if high - low <= 1e-6 * (1.0 + low.abs()) {
            break;
        }
    }
    if at_left >= at_right { (left, at_left) } else { (right, at_right) }
}

/// The place between `inside` and `outside` where `f` crosses zero. `f` is above zero at `inside` and not at `outside`.
/// The method is regula falsi with the Illinois rule, which halves the value at an end that stays.
pub fn crossing(f: impl Fn(f64) -> f64, inside: f64, outside: f64) -> f64 {
    let (mut inside, mut outside) = ((inside, value(&f, inside)), (outside, value(&f, outside)));
    let mut middle = f64::midpoint(inside.0, outside.0);
    for step in 0..60 {
        if (outside.0 - inside.0).abs() <= 1e-6 * (1e-12 + middle.abs()) {
            break;
        }
        let part = inside.1 / (inside.1 - outside.1);
        // Bisection replaces the rule for infinite values, and in every fifth step to guarantee progress.
        let part = if part.is_finite() && step % 5 < 4 { part.clamp(0.01, 0.99) } else { 0.5 };
        middle = inside.0 + part * (outside.0 - inside.0);
        let y = value(&f, middle);
        if y.abs() < 1e-6 {
            break;
        }
        if y > 0.0 {
            (inside, outside.1) = ((middle, y), outside.1 / 2.0);
        } else {
            (outside, inside.1) = ((middle, y), inside.1 / 2.0);
        }
    }
    middle
}

/// The maximum of a function of `N` numbers, as (place, value), by Nelder and Mead's simplex (1965). The first simplex
/// lies at `start` and reaches `step` along each axis.
pub fn simplex<const N: usize>(f: impl Fn([f64; N]) -> f64, start: [f64; N], step: [f64; N]) -> ([f64; N], f64) {
    let height = |x: [f64; N]| {
        let y = f(x);
        (x, if y.is_nan() { f64::NEG_INFINITY } else { y })
    };
    let mut best = height(start);
    let mut reach = 1.0;
    // The search restarts at the top it found, in case the simplex collapsed on the way.
    for _ in 0..3 {
        let before = best.1;
        let mut corners = vec![best];
        for (axis, length) in step.iter().enumerate() {
            let mut x = best.0;
            if let Some(x) = x.get_mut(axis) {
                *x += length * reach;
            }
            corners.push(height(x));
        }
        climb(&height, &mut corners);
        best = corners.first().copied().unwrap_or(best);
        reach = 0.1;
        if best.1 - before <= 1e-9 * (1.0 + best.1.abs()) {
            break;
        }
    }
    best
}

type Corner<const N: usize> = ([f64; N], f64);

/// Moves the corners uphill until their values are equal, and puts the highest corner first.
fn climb<const N: usize>(height: &impl Fn([f64; N]) -> Corner<N>, corners: &mut [Corner<N>]) {
    let along = |from: [f64; N], to: [f64; N], t: f64| std::array::from_fn(|i| from[i] + t * (to[i] - from[i]));
    for _ in 0..400 {
        corners.sort_by(|a, b| b.1.total_cmp(&a.1));
        let [first, .., second_last, last] = corners else { return };
        let spread = first.0.iter().zip(last.0).map(|(a, b)| (a - b).abs() / (1e-6 + a.abs())).fold(0.0, f64::max);
        if first.1 - last.1 <= 1e-11 * (1.0 + first.1.abs()) && spread < 1e-6 {
            return;
        }
        let (best, worst, next) = (*first, *last, second_last.1);
        let others = corners.len().saturating_sub(1);
        let centre: [f64; N] =
            std::array::from_fn(|i| corners.iter().take(others).map(|c| c.0[i]).sum::<f64>() / float(others));
        let reflected = height(along(worst.0, centre, 2.0));
        let moved = if reflected.1 > best.1 {
            let expanded = height(along(worst.0, centre, 3.0));
            Some(if expanded.1 > reflected.1 { expanded } else { reflected })
        } else if reflected.1 > next {
            Some(reflected)
        } else {
            let inwards = if reflected.1 > worst.1 { 1.5 } else { 0.5 };
            Some(height(along(worst.0, centre, inwards))).filter(|c| c.1 > worst.1.max(reflected.1))
        };
        match (moved, corners.last_mut()) {
            (Some(moved), Some(last)) => *last = moved,
            _ => corners.iter_mut().skip(1).for_each(|c| *c = height(along(best.0, c.0, 0.5))),
        }
    }
    corners.sort_by(|a, b| b.1.total_cmp(&a.1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hills_with_a_known_top() {
        let (x, y) = maximum(|x| -(x - 0.3).powi(2) + 2.0, -1.0, 1.0, 10);
        assert!((x - 0.3).abs() < 1e-5 && (y - 2.0).abs() < 1e-9);
        let (x, _) = maximum(|x| if x < 0.5 { f64::NAN } else { -x }, 0.0, 1.0, 10);
        assert!((x - 0.5).abs() < 1e-5, "{x}");
        // Rosenbrock's valley, upside down: top at (1, 1).
        let valley = |[x, y]: [f64; 2]| -(1.0 - x).powi(2) - 100.0 * (y - x * x).powi(2);
        let ([x, y], top) = simplex(valley, [-1.2, 1.0], [0.5, 0.5]);
        assert!((x - 1.0).abs() < 1e-4 && (y - 1.0).abs() < 1e-4 && top > -1e-8, "{x} {y} {top}");
        for start in [-0.9, 0.29, 0.3, 1.0] {
            let (x, y) = near(|x| (x - 0.3).cos() - 0.1 * (x - 0.3).powi(4), start, 0.05, -1.0, 1.0);
            assert!((x - 0.3).abs() < 1e-4 && (y - 1.0).abs() < 1e-8, "from {start}: {x} {y}");
        }
        // A top at the end of the range, and tops next to places where the function is NaN.
        assert!((near(|x| x, 0.0, 0.05, -1.0, 1.0).0 - 1.0).abs() < 1e-4);
        assert!((near(|x| (x - 0.5).ln() - 10.0 * x, 0.55, 0.05, 0.0, 1.0).0 - 0.6).abs() < 1e-4);
        assert!((near(|x| (x - 0.5).ln() - 10.0 * x, 0.2, 0.05, 0.0, 1.0).0 - 0.6).abs() < 1e-4);
        assert!((crossing(|x| 2.0 - x * x, 0.0, 9.0) - 2f64.sqrt()).abs() < 1e-5);
    }

    #[test]
    fn functions_without_a_number_end() {
        assert!(simplex(|_: [f64; 3]| f64::NAN, [0.0; 3], [1.0; 3]).1.is_infinite());
        assert!(maximum(|_| f64::NAN, 0.0, 1.0, 5).1.is_infinite());
        assert!(near(|_| f64::NAN, 0.5, 0.1, 0.0, 1.0).1.is_infinite());
        assert!(near(|_| 1.0, 0.5, 0.1, 0.0, 1.0).0.is_finite());
    }
}
