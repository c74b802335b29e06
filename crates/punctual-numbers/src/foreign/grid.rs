//! Computes latencies from instants whose releases are not known: a grid of releases is fitted to the instants.
//!
//! Instants are taken in blocks, so that memory is constant and clocks may drift. In each block a straight line is
//! fitted to the earlier half of the activations and moved down to the earliest one. The distance to that line is the
//! latency. It is therefore relative to the earliest activation of its block, and does not include a delay that all
//! activations share.

use super::sequence::Sequence;
use crate::stats::float::{float, whole};
use punctual_hist::Nanos;

const BLOCK: usize = 1 << 16;
/// The smallest number of instants to which a grid is fitted.
pub(super) const LEAST: usize = 16;

/// Fits a grid of releases to ascending instants, block by block.
#[derive(Debug, Default)]
pub(super) struct Grid {
    /// The period stated by the user, and the period of the last fitted block, in nanoseconds.
    told: Option<f64>,
    period: Option<f64>,
    block: Vec<i64>,
    pub latencies: Sequence,
    /// Number of releases without an instant, and the largest number of them in a row.
    pub skipped: u64,
    pub longest_gap: u64,
    /// Number of instants that fall on the same release as another.
    pub surplus: u64,
    pub blocks: u64,
    slopes: (f64, f64),
}

impl Grid {
    pub fn new(period: Option<Nanos>) -> Self {
        let told = period.map(|period| float(period.as_ns()));
        Self { told, slopes: (f64::MAX, 0.0), ..Self::default() }
    }

    pub fn push(&mut self, instant: i64) {
        self.block.push(instant);
        if self.block.len() == BLOCK {
            self.settle();
            // The next block begins with the last instant of this one, so that releases skipped between the blocks are
            // counted.
            self.block.drain(..BLOCK - 1);
        }
    }

    /// Fits the last block, which may be incomplete. Returns whether there were enough instants for a grid.
    pub fn finish(&mut self) -> bool {
        let carried = usize::from(self.blocks > 0);
        if self.block.len() >= LEAST || self.blocks > 0 && self.block.len() > carried {
            self.settle();
        }
        self.blocks > 0
    }

    /// The shortest and the longest period that was fitted to a block.
    pub fn periods(&self) -> (f64, f64) {
        self.slopes
    }

    fn settle(&mut self) {
        let Some(origin) = self.block.first().copied() else { return };
        let offsets: Vec<f64> = self.block.iter().map(|instant| offset(*instant, origin)).collect();
        let Some(guess) = self.period.or(self.told).or_else(|| median_step(&offsets)) else { return };
        let guess = extended(&offsets, guess);
        let (slots, surplus) = slots(&offsets, guess);
        let enough = offsets.len() >= LEAST;
        let slope = if enough { slope(&offsets, &slots, guess) } else { guess };
        let line = |(offset, slot): (&f64, &u64)| offset - slope * float(*slot);
        let lowest = offsets.iter().zip(&slots).map(line).fold(f64::MAX, f64::min);
        let carried = usize::from(self.blocks > 0);
        for pair in offsets.iter().zip(&slots).skip(carried) {
            self.latencies.record(Nanos::from_ns(nearest(line(pair) - lowest)));
        }
        let steps = slots.iter().zip(slots.iter().skip(1)).map(|(a, b)| b.saturating_sub(*a).saturating_sub(1));
        self.longest_gap = steps.clone().fold(self.longest_gap, u64::max);
        self.skipped = steps.fold(self.skipped, u64::saturating_add);
        self.surplus = self.surplus.saturating_add(surplus);
        self.blocks = self.blocks.saturating_add(1);
        if enough {
            self.period = Some(slope);
            self.slopes = (self.slopes.0.min(slope), self.slopes.1.max(slope));
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "a block is far shorter than 2^53 ns, or its latency is coarse anyway")]
fn offset(instant: i64, origin: i64) -> f64 {
    instant.saturating_sub(origin) as f64
}

fn nearest(ratio: f64) -> u64 {
    whole(ratio.round().max(0.0))
}

fn median_step(offsets: &[f64]) -> Option<f64> {
    let mut steps: Vec<f64> = offsets.iter().zip(offsets.iter().skip(1)).map(|(a, b)| b - a).collect();
    median(&mut steps).filter(|step| *step > 0.0)
}

fn median(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// Refines a guessed period until it is exact enough for the whole block. Each step fits a stretch at most four times
/// as long as the last, so that the error over the longer stretch stays below half a period.
fn extended(offsets: &[f64], guess: f64) -> f64 {
    let mut period = guess;
    let mut reach = 8;
    while reach < offsets.len() {
        let end = offsets.get(reach).or(offsets.last()).copied().unwrap_or_default();
        let slots = nearest(end / period);
        if slots > 0 {
            period = end / float(slots);
        }
        reach = if reach * 4 < offsets.len() || reach == offsets.len() - 1 { reach * 4 } else { offsets.len() - 1 };
    }
    if period > 0.0 { period } else { guess }
}

/// The slot of each instant, counted from the first, and the number of instants that share one.
///
/// If there are as many instants as slots, each instant has its own slot, however late it is. Otherwise each instant
/// gets the nearest slot that is not before the slot of the instant before.
fn slots(offsets: &[f64], period: f64) -> (Vec<u64>, u64) {
    let end = offsets.last().copied().unwrap_or_default();
    let steps = offsets.len().saturating_sub(1) as u64;
    if nearest(end / period) == steps {
        return ((0..=steps).take(offsets.len()).collect(), 0);
    }
    let (mut slots, mut surplus) = (Vec::with_capacity(offsets.len()), 0);
    // `at` estimates where the last slot lies. It follows the instants slowly, since one late instant says little about
    // the grid.
    let (mut slot, mut at) = (0u64, 0.0f64);
    for (index, offset) in offsets.iter().enumerate() {
        let ahead = nearest((offset - at) / period);
        surplus += u64::from(ahead == 0 && index > 0);
        slot = slot.saturating_add(ahead);
        at += float(ahead) * period;
        at += (offset - at) / 16.0;
        slots.push(slot);
    }
    (slots, surplus)
}

/// The slope of a straight line through those instants that are early relative to a first fit.
fn slope(offsets: &[f64], slots: &[u64], guess: f64) -> f64 {
    let first = least_squares(offsets, slots, |_| true).unwrap_or((0.0, guess));
    let residual = |index: usize, (start, slope): (f64, f64)| {
        let (offset, slot) = (offsets.get(index).copied(), slots.get(index).copied());
        offset.unwrap_or_default() - start - slope * float(slot.unwrap_or_default())
    };
    let mut residuals: Vec<f64> = (0..offsets.len()).map(|index| residual(index, first)).collect();
    let Some(middle) = median(&mut residuals) else { return guess };
    let second = least_squares(offsets, slots, |index| residual(index, first) <= middle);
    second.map_or(first.1, |(_, slope)| slope)
}

/// Fits a line to the instants that `keep` selects: (start, slope). `None` if they do not lie in at least two slots.
fn least_squares(offsets: &[f64], slots: &[u64], keep: impl Fn(usize) -> bool) -> Option<(f64, f64)> {
    let kept =
        || offsets.iter().zip(slots).enumerate().filter(|(index, _)| keep(*index)).map(|(_, (o, s))| (*o, float(*s)));
    let n = float(kept().count() as u64);
    if n < 2.0 {
        return None;
    }
    let (mean_offset, mean_slot) = (kept().map(|(o, _)| o).sum::<f64>() / n, kept().map(|(_, s)| s).sum::<f64>() / n);
    let across: f64 = kept().map(|(o, s)| (o - mean_offset) * (s - mean_slot)).sum();
    let along: f64 = kept().map(|(_, s)| (s - mean_slot) * (s - mean_slot)).sum();
    let slope = across / along;
    (along > 0.0 && slope.is_finite() && slope > 0.0).then_some((mean_offset - slope * mean_slot, slope))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fitted(instants: &[i64]) -> Grid {
        let mut grid = Grid::new(None);
        for instant in instants {
            grid.push(*instant);
        }
        assert!(grid.finish());
        grid
    }

    #[test]
    fn known_latency_comes_back_and_skips_are_counted() {
        // The period is 1 ms minus 37 ns on the writer's clock. Every tenth activation is 20 us late, and the 5000th is
        // left out.
        let due = |k: i64| 5_000_000_000 + k * 999_963;
        let instants: Vec<i64> =
            (0..200_000).filter(|k| *k != 5_000).map(|k| due(k) + if k % 10 == 3 { 20_000 } else { 0 }).collect();
        let grid = fitted(&instants);
        assert_eq!((grid.latencies.counts.count(), grid.skipped, grid.surplus), (199_999, 1, 0));
        let late: u64 = grid
            .latencies
            .counts
            .nonzero()
            .filter(|(i, _)| punctual_hist::bucket_low(*i) > 15_000)
            .map(|(_, n)| n)
            .sum();
        assert_eq!(late, 20_000);
        assert!(
            grid.latencies.counts.max().unwrap().as_ns().abs_diff(20_000) < 20,
            "{:?}",
            grid.latencies.counts.max()
        );
        assert!((grid.periods().0 - 999_963.0).abs() < 0.01 && (grid.periods().1 - 999_963.0).abs() < 0.01);
    }

    #[test]
    fn after_a_stall_each_activation_keeps_its_own_release() {
        // No activation for six periods, then the six delayed activations within 10 us.
        let instants: Vec<i64> = (0..1_000)
            .map(|k| if (500..506).contains(&k) { 506_000_000 + (k - 500) * 1_000 } else { k * 1_000_000 })
            .collect();
        let grid = fitted(&instants);
        assert_eq!((grid.skipped, grid.latencies.counts.count()), (0, 1_000));
        assert!(
            grid.latencies.counts.max().unwrap().as_ns().abs_diff(6_000_000) < 2_000,
            "{:?}",
            grid.latencies.counts.max()
        );
    }

    #[test]
    fn too_few_are_no_grid() {
        let mut grid = Grid::new(None);
        (0..15).for_each(|k| grid.push(k * 1_000));
        assert!(!grid.finish());
    }

    proptest! {
        #[test]
        fn every_instant_is_counted_and_no_latency_is_invented(
            // A first guess of the period may be wrong by the range of the latencies, and is used over eight releases.
            period in 20 * 300i64..10_000_000,
            late in prop::collection::vec(0i64..300, 20..400),
        ) {
            let instants: Vec<i64> = late.iter().zip(0i64..).map(|(late, k)| k * period + late).collect();
            let grid = fitted(&instants);
            prop_assert_eq!(grid.latencies.counts.count(), late.len() as u64);
            prop_assert_eq!(grid.skipped, 0);
            // The fitted line is off by at most twice the range of the planted latencies.
            prop_assert!(grid.latencies.counts.max().unwrap().as_ns() <= 900, "{:?}", grid.latencies.counts.max());
        }

        #[test]
        fn nothing_panics_on_any_instants(steps in prop::collection::vec(prop_oneof![0i64..5, any::<i64>()], 0..200)) {
            let mut grid = Grid::new(None);
            let mut at = 0i64;
            for step in &steps {
                at = at.saturating_add(step.saturating_abs().max(0));
                grid.push(at);
            }
            grid.finish();
            prop_assert!(grid.latencies.counts.count() <= steps.len() as u64);
        }
    }
}
