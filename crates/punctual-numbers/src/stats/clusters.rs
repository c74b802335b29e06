//! Exceedances that come together: how many there really are.
//!
//! The extremal index is the part of exceedances that are clusters of their own: 1 where each comes alone, 1/5 where
//! they come in fives.

#![allow(clippy::cast_precision_loss, reason = "numbers of samples beyond 2^53 lose nothing that matters")]

/// The extremal index from blocks: `exceeded` of `blocks` blocks hold an exceedance, and `above` of `n` values exceed.
/// `None` where all or no blocks do: both say nothing.
pub fn by_blocks(exceeded: u64, blocks: u64, above: u64, n: u64) -> Option<f64> {
    if exceeded == 0 || exceeded >= blocks || above == 0 || above >= n {
        return None;
    }
    let clusters = -(-(exceeded as f64 / blocks as f64)).ln_1p() * blocks as f64;
    let values = -(-(above as f64 / n as f64)).ln_1p() * n as f64;
    Some((clusters / values).min(1.0))
}

/// By how much counts spread more than those of independent values would: the variance of a share over the variance it
/// would have. `parts` are (exceedances, values) of stretches of the series that are long against what depends on what.
/// `None` with fewer than 10 stretches or without exceedances.
pub fn spread(parts: &[(u64, u64)]) -> Option<f64> {
    let (above, n) = parts.iter().fold((0.0, 0.0), |(k, n), part| (k + part.0 as f64, n + part.1 as f64));
    let used = parts.iter().filter(|part| part.1 > 0).count() as f64;
    if used < 10.0 || above <= 0.0 || above >= n {
        return None;
    }
    let share = above / n;
    let square = |part: &(u64, u64)| {
        let (k, size) = (part.0 as f64, part.1 as f64);
        (k - size * share).powi(2) / (size * share * (1.0 - share))
    };
    Some(parts.iter().filter(|part| part.1 > 0).map(square).sum::<f64>() / (used - 1.0))
}
