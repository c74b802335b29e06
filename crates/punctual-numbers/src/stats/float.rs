//! Casts between whole numbers and floating-point ones, each with what it loses.

/// Converts a count or a length for ratios and statistics. Above 2^53 the last digits are rounded, which changes no
/// ratio.
#[allow(clippy::cast_precision_loss, reason = "rounding is stated above")]
pub fn float(n: impl TryInto<u64>) -> f64 {
    n.try_into().unwrap_or(u64::MAX) as f64
}

/// The whole number at or below `x`: 0 if `x` is negative or NaN, `u64::MAX` if it is larger than that.
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
