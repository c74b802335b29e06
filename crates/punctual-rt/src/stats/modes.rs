//! Finds out whether a distribution has several humps, which means several kinds of wake-up.
//!
//! Buckets are combined to eight bins per octave, so that the shape does not depend on the scale. Two humps are
//! distinguished only if the valley between them is deeper than chance explains.

use punctual_hist::{Counts, Nanos};

/// Number of buckets of the histogram per bin.
const BUCKETS_PER_BIN: usize = 8;
/// Distributions with fewer values are not judged.
const ENOUGH: u64 = 1_000;
/// A hump with a smaller share of the values is a tail.
const LEAST_SHARE: f64 = 0.01;
/// Humps closer than this are joined, because of the granularity of the clock and the loop.
const LEAST_GAP: Nanos = Nanos::from_us(1);
/// The required depth of a valley, in standard deviations of a count.
const CERTAIN: f64 = 5.0;

/// One hump of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    /// Median of the hump's values.
    pub centre: Nanos,
    /// Share of the hump in all values, 0 to 1.
    pub share: f64,
}

/// The humps in ascending order; empty if there is only one, or if there are too few values.
///
/// # Real-time
/// Allocates, and reads all counts: not for the loop.
pub fn modes(counts: &Counts) -> Vec<Mode> {
    if counts.count() < ENOUGH {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut below = 0u64;
    for bins in humps(&smoothed(&bins(counts))) {
        let within = |index: &usize| bins.contains(&(index / BUCKETS_PER_BIN));
        let n: u64 = counts.nonzero().filter(|(index, _)| within(index)).fold(0, |all, (_, n)| all.saturating_add(n));
        if let Some(centre) = counts.value_at_rank(below.saturating_add(n.div_ceil(2))) {
            found.push(Mode { centre, share: share(n, counts.count()) });
        }
        below = below.saturating_add(n);
    }
    found.retain(|mode| mode.share >= LEAST_SHARE);
    let found = joined(found);
    if found.len() < 2 { Vec::new() } else { found }
}

#[allow(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

#[allow(clippy::cast_precision_loss, reason = "a shape needs no more than 53 bits")]
fn bins(counts: &Counts) -> Vec<f64> {
    let last = counts.nonzero().last().map_or(0, |(index, _)| index / BUCKETS_PER_BIN);
    let mut bins = vec![0.0; last.saturating_add(2)];
    for (index, n) in counts.nonzero() {
        if let Some(bin) = bins.get_mut(index / BUCKETS_PER_BIN) {
            *bin += n as f64;
        }
    }
    bins
}

/// Smooths the bins: half of a bin's own count, and a quarter of each neighbour's.
fn smoothed(bins: &[f64]) -> Vec<f64> {
    let at = |n: Option<usize>| n.and_then(|n| bins.get(n)).copied().unwrap_or(0.0);
    (0..bins.len()).map(|n| at(n.checked_sub(1)) / 4.0 + at(Some(n)) / 2.0 + at(n.checked_add(1)) / 4.0).collect()
}

/// The ranges of bins between valleys, which are less than half as high as the lower of the adjacent humps.
fn humps(heights: &[f64]) -> Vec<std::ops::Range<usize>> {
    let certainly_below = |low: f64, high: f64| low < high / 2.0 && high - low > CERTAIN * high.sqrt();
    let (mut humps, mut start) = (Vec::new(), 0);
    let (mut climbing, mut top, mut bottom, mut valley) = (true, 0.0, 0.0, 0);
    for (n, height) in heights.iter().copied().enumerate() {
        if climbing {
            top = height.max(top);
            if certainly_below(height, top) {
                (climbing, bottom, valley) = (false, height, n);
            }
        } else if height < bottom {
            (bottom, valley) = (height, n);
        } else if certainly_below(bottom, height) {
            humps.push(start..valley);
            (climbing, top, start) = (true, height, valley);
        }
    }
    humps.push(start..usize::MAX);
    humps
}

/// Joins humps that are too close to each other.
fn joined(modes: Vec<Mode>) -> Vec<Mode> {
    let mut joined: Vec<Mode> = Vec::new();
    for mode in modes {
        match joined.last_mut() {
            Some(last) if mode.centre - last.centre < LEAST_GAP => {
                let centre = if mode.share > last.share { mode.centre } else { last.centre };
                *last = Mode { centre, share: last.share + mode.share };
            }
            _ => joined.push(mode),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;

    fn counts_of(values: impl Iterator<Item = f64>) -> Counts {
        let mut counts = Counts::new();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a test's small values")]
        values.for_each(|value| counts.record(Nanos::from_ns(value.max(0.0) as u64)));
        counts
    }

    #[test]
    #[cfg_attr(miri, ignore = "slow")]
    fn one_hump_is_no_modes_whatever_its_width() {
        let mut noise = Noise::new(1);
        for sd in [10.0, 300.0, 2_000.0, 20_000.0] {
            let counts = counts_of((0..20_000).map(|_| 50_000.0 + sd * noise.normal()));
            assert_eq!(modes(&counts), [], "normal, sd {sd}");
        }
        assert_eq!(modes(&counts_of((0..20_000).map(|_| -8_000.0 * noise.uniform().ln()))), [], "exponential");
        assert_eq!(modes(&counts_of((0..20_000).map(|_| 90_000.0 * noise.uniform()))), [], "uniform");
        assert_eq!(modes(&counts_of((0..20_000).map(|n| f64::from(n % 7 * 20)))), [], "the clock's grain");
        assert_eq!(modes(&counts_of((0..999).map(|n| f64::from(n % 2 * 40_000)))), [], "too few");
    }

    #[test]
    #[cfg_attr(miri, ignore = "slow")]
    fn two_and_three_humps_are_found_with_their_shares() {
        let mut noise = Noise::new(2);
        let two = counts_of((0..20_000).map(|n| if n % 8 == 0 { 35_000.0 } else { 5_000.0 } + 800.0 * noise.normal()));
        let found = modes(&two);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].centre.as_ns().abs_diff(5_000) < 200 && found[1].centre.as_ns().abs_diff(35_000) < 800);
        assert!((found[1].share - 0.125).abs() < 0.01, "{found:?}");
        let three = counts_of((0..30_000).map(|n| [3_000.0, 12_000.0, 90_000.0][n % 3] + 500.0 * noise.normal()));
        assert_eq!(modes(&three).len(), 3);
    }

    #[test]
    #[cfg_attr(miri, ignore = "slow")]
    fn a_few_outliers_are_a_tail() {
        let mut noise = Noise::new(3);
        let counts =
            counts_of((0..20_000).map(|n| if n % 200 == 0 { 90_000.0 } else { 5_000.0 + 300.0 * noise.normal() }));
        assert_eq!(modes(&counts), []);
    }
}
