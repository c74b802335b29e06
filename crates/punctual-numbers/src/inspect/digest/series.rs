//! Sums over values that come one by one, in bounded memory.

use crate::inspect::values::{PeriodErrors, PeriodErrorsShow, Quantiles};
use crate::stats::float::float;
use punctual_hist::{Counts, Nanos};

/// Up to this many values, percentiles are exact.
const EXACT_MAX: usize = 1 << 14;
/// Distances that are kept for their median.
const DISTANCES_MAX: usize = 1 << 13;
/// Of this many distances, one is the shortest that is still usual.
const SHORT_PART: usize = 100;
/// Releases have a period if at least 8 of 10 distances are within this part (1/50) of a multiple of it.
const PERIOD_PART: u64 = 50;
/// Autocorrelations are told from this many values on.
const ERRORS_MIN: u64 = 50;
/// An autocorrelation this small shows no dependence. Independent latencies around a grid have -0.5.
const NEARLY_NONE: f64 = 0.25;

/// Values of which percentiles are asked: exact while they are few, and from then on at most 1.6 % too large.
#[derive(Clone, Debug)]
pub enum Values {
    Few(Vec<Nanos>),
    Many(Box<Counts>),
}

impl Default for Values {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl Values {
    pub fn add(&mut self, value: Nanos) {
        match self {
            Self::Few(values) if values.len() < EXACT_MAX => values.push(value),
            Self::Few(values) => {
                let mut counts = Counts::new();
                for before in values.iter() {
                    counts.record(*before);
                }
                counts.record(value);
                *self = Self::Many(Box::new(counts));
            }
            Self::Many(counts) => counts.record(value),
        }
    }

    pub fn count(&self) -> u64 {
        match self {
            Self::Few(values) => values.len() as u64,
            Self::Many(counts) => counts.count(),
        }
    }

    /// Each is the smallest value that at least this share of the values do not exceed, if a value is expected above it.
    pub fn quantiles(&self) -> Quantiles {
        match self {
            Self::Few(values) => {
                let mut sorted = values.clone();
                sorted.sort_unstable();
                let n = sorted.len() as u64;
                let at = |share: u64| {
                    let rank = (n * share).div_ceil(1000).max(1);
                    let enough = n * (1000 - share) >= 1000;
                    sorted.get(usize::try_from(rank - 1).ok()?).copied().filter(|_| enough)
                };
                Quantiles { p50: at(500), p99: at(990), p999: at(999), max: sorted.last().copied() }
            }
            Self::Many(counts) => {
                let at = |ppm| counts.percentile_ppm(ppm);
                Quantiles { p50: at(500_000), p99: at(990_000), p999: at(999_000), max: counts.max() }
            }
        }
    }
}

/// Distances in time between one event and the next.
#[derive(Clone, Debug)]
pub struct Distances {
    count: u64,
    sum: Nanos,
    /// Of this many distances one is kept: all at first.
    every: u64,
    kept: Vec<Nanos>,
}

impl Default for Distances {
    fn default() -> Self {
        Self { count: 0, sum: Nanos::ZERO, every: 1, kept: Vec::new() }
    }
}

impl Distances {
    pub fn add(&mut self, distance: Nanos) {
        if distance == Nanos::ZERO {
            return;
        }
        if self.count % self.every == 0 {
            self.keep(distance);
        }
        self.count += 1;
        self.sum = self.sum.plus(distance);
    }

    fn keep(&mut self, distance: Nanos) {
        if self.kept.len() == DISTANCES_MAX {
            let mut nth = 0_usize;
            self.kept.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
            self.every *= 2;
            // The present one is kept if it is one of the new, wider grid.
            if self.count % self.every != 0 {
                return;
            }
        }
        self.kept.push(distance);
    }

    fn sorted(&self) -> Vec<Nanos> {
        let mut sorted = self.kept.clone();
        sorted.sort_unstable();
        sorted
    }

    /// The median distance, if nearly all distances are about a multiple of it.
    pub fn period(&self) -> Option<Nanos> {
        let sorted = self.sorted();
        let period = sorted.get(sorted.len() / 2).copied()?;
        let near = |distance: &&Nanos| {
            let times = distance.plus(period.divided_by(2)).whole(period);
            times > 0 && distance.as_ns().abs_diff(times * period.as_ns()) <= times * period.as_ns() / PERIOD_PART
        };
        let regular = sorted.iter().filter(near).count();
        (regular * 10 >= sorted.len() * 8).then_some(period)
    }

    /// How much longer distances are on the average than the shortest that are usual.
    pub fn drift(&self) -> Nanos {
        let sorted = self.sorted();
        let shortest = sorted.get(sorted.len() / SHORT_PART).copied().unwrap_or_default();
        self.sum.divided_by(self.count.max(1)).minus(shortest)
    }
}

/// How much each value of a series tells of the next one.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    count: u64,
    /// Sums are of what values differ by from the first, so that they stay small.
    first: f64,
    last: f64,
    sum: f64,
    squares: f64,
    products: f64,
}

impl Errors {
    pub fn add(&mut self, error: f64) {
        if self.count == 0 {
            self.first = error;
        }
        let off = error - self.first;
        if self.count > 0 {
            self.products += self.last * off;
        }
        self.count += 1;
        self.sum += off;
        self.squares += off * off;
        self.last = off;
    }

    /// The autocorrelation of a value and the next.
    fn rho1(&self) -> Option<f64> {
        let n = float(self.count);
        let mean = self.sum / n;
        let variance = self.squares - n * mean * mean;
        // The first value is 0 after the first was taken away from all.
        let product = self.products - mean * (2.0 * self.sum - self.last) + (n - 1.0) * mean * mean;
        Some(product / variance).filter(|rho| variance > 0.0 && rho.is_finite())
    }

    /// What the autocorrelation shows; `None` of few values.
    pub fn show(&self, keeps_grid: bool) -> Option<PeriodErrors> {
        let rho1 = self.rho1().filter(|_| self.count >= ERRORS_MIN)?;
        let shows = match rho1 {
            rho if rho < -NEARLY_NONE => PeriodErrorsShow::Grid,
            rho if rho <= NEARLY_NONE && !keeps_grid => PeriodErrorsShow::Accumulation,
            _ => PeriodErrorsShow::Wandering,
        };
        Some(PeriodErrors { rho1, shows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::dependence::autocorrelations;

    #[test]
    fn percentiles_are_exact_at_first_and_close_later() {
        let mut values = Values::default();
        let all: Vec<Nanos> = (1..=40_000_u64).map(|n| Nanos::from_ns(n * 7919 % 40_009)).collect();
        for (nth, value) in all.iter().enumerate() {
            values.add(*value);
            if nth + 1 == EXACT_MAX {
                let mut sorted = all[..EXACT_MAX].to_vec();
                sorted.sort_unstable();
                assert_eq!(values.quantiles().p50, Some(sorted[EXACT_MAX / 2 - 1]));
            }
        }
        let Quantiles { p50, p99, p999, max } = values.quantiles();
        let mut sorted = all;
        sorted.sort_unstable();
        for (told, rank) in [(p50, 20_000), (p99, 39_600), (p999, 39_960)] {
            let (told, exact) = (told.unwrap().as_ns(), sorted[rank - 1].as_ns());
            assert!(told >= exact && told <= exact + exact / 60, "{told} for {exact}");
        }
        assert_eq!((max, values.count()), (sorted.last().copied(), 40_000));
    }

    #[test]
    fn the_period_of_many_distances_is_that_of_a_part_of_them() {
        let mut distances = Distances::default();
        (0..100_000_u64).for_each(|nth| distances.add(Nanos::from_ns(1_000_000 + nth % 7 * 10)));
        assert_eq!(distances.period(), Some(Nanos::from_ns(1_000_030)));
        assert!(distances.kept.len() <= DISTANCES_MAX && distances.drift() == Nanos::from_ns(29), "{distances:?}");
        let mut wild = Distances::default();
        (0..1_000_u64).for_each(|nth| wild.add(Nanos::from_ns(1_000_000 + nth * 1_000)));
        assert_eq!(wild.period(), None);
    }

    #[test]
    fn the_autocorrelation_is_that_of_the_whole_series() {
        let series: Vec<f64> = (0..500_u32).map(|n| 1e6 + f64::from(n * 7919 % 1013) + f64::from(n % 5)).collect();
        let mut errors = Errors::default();
        for error in &series {
            errors.add(*error);
        }
        let (told, exact) = (errors.rho1().unwrap(), autocorrelations(&series, 1)[0]);
        assert!((told - exact).abs() < 1e-9, "{told} {exact}");
        let mut same = Errors::default();
        (0..500).for_each(|_| same.add(3.0));
        assert_eq!(same.show(true), None);
    }
}
