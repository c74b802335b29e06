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
