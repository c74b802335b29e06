//! Finds the hills of a histogram. Several hills show several mechanisms, such as waking with and without an idle
//! state.

#![allow(clippy::cast_precision_loss, reason = "counts beyond 2^53 lose nothing that matters")]

/// A valley counts if its count is lower than that of the hill by more than this number of standard deviations.
const BELIEVED: f64 = 5.0;
/// A valley counts if it is lower than this part of the lower of the two hills beside it.
const DEEP: f64 = 0.5;

/// A hill of a histogram, by indices of its bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// Index of the first bin of the hill.
    pub from: usize,
    /// Index of the highest bin of the hill.
    pub peak: usize,
    /// Index past the last bin of the hill.
    pub to: usize,
    /// Number of values in the bins of the hill.
    pub size: u64,
}

/// The hills of a histogram, from left to right. Two hills count as one if chance may explain the valley between them.
pub fn modes(bins: &[u64]) -> Vec<Mode> {
    let mut modes: Vec<Mode> = Vec::new();
    let (mut from, mut peak, mut valley) = (0usize, (0usize, 0u64), (0usize, 0u64));
    for (index, n) in bins.iter().enumerate() {
        if *n > peak.1 && !below(valley.1, peak.1) {
            (peak, valley) = ((index, *n), (index, *n));
        } else if *n <= valley.1 {
            valley = (index, *n);
        } else if below(valley.1, peak.1) && below(valley.1, *n) {
            modes.push(Mode { from, peak: peak.0, to: valley.0, size: sum(bins, from, valley.0) });
            (from, peak, valley) = (valley.0, (index, *n), (index, *n));
        }
    }
    if peak.1 > 0 {
        modes.push(Mode { from, peak: peak.0, to: bins.len(), size: sum(bins, from, bins.len()) });
    }
    modes
}

fn sum(bins: &[u64], from: usize, to: usize) -> u64 {
    bins.iter().take(to).skip(from).fold(0, |sum, n| sum.saturating_add(*n))
}

/// Whether the count `low` is a valley beside the count `high`: much lower, and by more than chance explains.
fn below(low: u64, high: u64) -> bool {
    let (low, high) = (low as f64, high as f64);
    low < DEEP * high && high - low > BELIEVED * (low + high).sqrt()
}
