//! Whether a histogram has more than one hill: two mechanisms, such as with and without an idle state.

#![allow(clippy::cast_precision_loss, reason = "counts beyond 2^53 lose nothing that matters")]

/// How many standard deviations a difference in counts must have to be believed.
const BELIEVED: f64 = 5.0;
/// A valley is one where it is less than this part of the lower hill beside it.
const DEEP: f64 = 0.5;

/// A hill of a histogram, by indices of its bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// Index of the first bin.
    pub from: usize,
    /// Index of the highest bin.
    pub peak: usize,
    /// Index past the last bin.
    pub to: usize,
    /// How many values it holds.
    pub size: u64,
}

/// The hills of a histogram, in order. Neighbouring hills are told apart only where the valley between them is deeper
/// than chance makes it.
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

/// Whether `low` is lower than `high` by more than chance makes it, and by much.
fn below(low: u64, high: u64) -> bool {
    let (low, high) = (low as f64, high as f64);
    low < DEEP * high && high - low > BELIEVED * (low + high).sqrt()
}
