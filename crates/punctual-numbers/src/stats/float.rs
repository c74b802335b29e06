//! Whole numbers as floating-point ones, and back: the one place that says what a cast loses.

/// A count or a length for ratios and statistics. Beyond 2^53 its last digits are rounded, which no ratio shows.
#[allow(clippy::cast_precision_loss, reason = "as said above")]
pub fn float(n: impl TryInto<u64>) -> f64 {
    n.try_into().unwrap_or(u64::MAX) as f64
}

/// The whole number at or below `x`: 0 for what is negative or no number, the largest one for what is larger.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
pub fn whole(x: f64) -> u64 {
    x as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn casts_saturate_and_never_wrap() {
        assert_eq!((float(3_usize), float(u64::MAX)), (3.0, 18_446_744_073_709_551_616.0));
        assert_eq!([-1.0, f64::NAN, 2.9, 1e30].map(whole), [0, 0, 2, u64::MAX]);
    }
}
