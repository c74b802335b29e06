//! The normal distribution and Student's. No input panics.

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::erf;
use std::f64::consts::SQRT_2;

/// From this number of degrees of freedom on, the normal distribution replaces Student's, which differs by less than
/// 1e-6.
const MANY: f64 = 1e6;

pub fn below(z: f64) -> f64 {
    erf::erfc(-z / SQRT_2) / 2.0
}

/// The `z` below which a standard normal value lies with probability `p`. A `p` below 1e-300 counts as 1e-300.
pub fn quantile(p: f64) -> f64 {
    let p = if p.is_nan() { 0.5 } else { p.clamp(1e-300, 1.0) };
    // Beyond 8.3 standard deviations on the right, `2 p` rounds to 2 and the result would be infinite.
    (-SQRT_2 * erf::erfc_inv(2.0 * p)).clamp(-37.0, 8.3)
}

/// P(T > t) for Student's distribution. Fewer than one degree of freedom count as one.
pub fn student_above(t: f64, freedom: f64) -> f64 {
    if t.is_nan() {
        return 0.5;
    }
    if freedom.is_nan() || freedom >= MANY {
        return below(-t);
    }
    StudentsT::new(0.0, 1.0, freedom.max(1.0)).map_or(0.5, |student| student.sf(t.clamp(-1e150, 1e150)))
}

/// The `t` that Student's distribution exceeds with probability `share`, which lies between 0 and 0.5.
pub fn student_quantile_above(share: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0f64, 1e6f64);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if student_above(middle, freedom) > share { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, wanted: f64) {
        assert!((got - wanted).abs() < 1e-6 * wanted.abs().max(1.0), "{got}, reference {wanted}");
    }

    /// Values of scipy 1.17: `norm.ppf`, `norm.cdf`, `t.sf`, `t.isf`.
    #[test]
    fn reference_values() {
        near(quantile(0.975), 1.959_963_984_540_054);
        near(quantile(1e-9), -5.997_807_015_007_686_5);
        near(below(-3.0), 0.001_349_898_031_630_094_6);
        near(student_above(2.0, 9.0), 0.038_276_411_792_859_05);
        near(student_above(-1.0, 4.5), 1.0 - student_above(1.0, 4.5));
        near(student_quantile_above(0.025, 9.0), 2.262_157_162_798_205);
        near(student_quantile_above(0.025, 1.0), 12.706_204_736_174_698);
        near(student_quantile_above(0.025, f64::INFINITY), 1.959_963_984_540_054);
    }

    #[test]
    fn nothing_panics() {
        for p in [f64::NAN, -1.0, 0.0, 1.0, 2.0, f64::INFINITY] {
            assert!(quantile(p).is_finite());
            assert!((0.0..=1.0).contains(&student_above(p, p)));
            assert!(student_quantile_above(p, p).is_finite());
        }
    }
}
