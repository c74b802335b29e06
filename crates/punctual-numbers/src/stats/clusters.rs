//! The extremal index: the number of clusters of exceedances over the number of exceedances. It is 1 if each comes
//! alone and 1/5 if they come in fives.

#![allow(clippy::cast_precision_loss, reason = "numbers of samples beyond 2^53 lose nothing that matters")]

/// The extremal index, where `exceeded` of `blocks` blocks hold an exceedance, and `above` of `n` values are
/// exceedances. `None` if all or no blocks hold one, because then nothing shows how exceedances cluster.
pub fn by_blocks(exceeded: u64, blocks: u64, above: u64, n: u64) -> Option<f64> {
    if exceeded == 0 || exceeded >= blocks || above == 0 || above >= n {
        return None;
    }
    let clusters = -(-(exceeded as f64 / blocks as f64)).ln_1p() * blocks as f64;
    let values = -(-(above as f64 / n as f64)).ln_1p() * n as f64;
    Some((clusters / values).min(1.0))
}
