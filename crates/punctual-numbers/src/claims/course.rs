//! The course of a run: how long the machine stays in one mood, and how many independent values the run is worth at each
//! height of latency.
//!
//! A limit counts what is independent. A run that has seen only a few moods gets no limit, because none would be about the
//! next run.

#![allow(clippy::cast_precision_loss, reason = "numbers of samples beyond 2^53 lose nothing that matters")]

use super::{CONFIDENCE, Moods};
use crate::stats::moods::{self, Cell, Spectrum};
use punctual_hist::Nanos;

/// No level that fewer values exceed is looked at: what is above it is too little to show how it comes together.
pub(super) const LARGEST: u64 = 200;
/// Moods are believed from this probability on.
const BELIEVED: f64 = 0.9;
/// A run of fewer independent stretches than this tells no limit, and nor does one that has fewer with these odds.
const STRETCHES_MIN: f64 = 8.0;
const STRETCHES_ODDS: f64 = 0.1;
/// A run of this many moods is long enough nearly always.
const STRETCHES_WANTED: f64 = 20.0;
/// Where exceedances come together, and in fewer places than this, the size of such a place is not known.
const PLACES_MIN: f64 = 12.0;
/// From this design effect on exceedances come together.
const TOGETHER: f64 = 1.5;
/// Counts at and above this level are those of limits: one value in 100 is beyond it.
const ONE_IN_LIMITS: u64 = 100;

/// What a run is worth at a level.
#[derive(Clone, Copy, Debug)]
struct Rung {
    /// Number of values above the level.
    above: u64,
    effect: f64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    /// From many values above to few.
    rungs: Vec<Rung>,
    n: u64,
    pub(super) moods: Option<Moods>,
}

impl Course {
    /// Of a run of `n` values; `cells` has the counts above the level that a number of values exceed.
    pub(super) fn of(n: u64, time: Nanos, cells: impl Fn(u64) -> Option<Vec<Cell>>) -> Self {
        let mut course = Self { n, ..Self::default() };
        let (mut odds, mut fewest, mut is_long) = (0.0f64, f64::INFINITY, false);
        let levels = [n / 2, n / 10, n / ONE_IN_LIMITS, n / 1_000, LARGEST];
        for above in levels.into_iter().filter(|above| *above >= LARGEST) {
            let Some(cells) = cells(above) else { continue };
            let Some(spectrum) = Spectrum::of(&cells) else { continue };
            odds = odds.max(spectrum.odds());
            if spectrum.odds() > BELIEVED {
                fewest = fewest.min(spectrum.stretches(0.5));
                is_long |= spectrum.stretches(STRETCHES_ODDS) < STRETCHES_MIN;
            }
            let effect = spectrum.effect(CONFIDENCE);
            let stretches = fewest.min(cells.len() as f64);
            let is_open = effect > TOGETHER && moods::spread_over(&cells, stretches) < PLACES_MIN;
            // Each stretch is then one value between none and all, of which nothing is known but that they are independent.
            let effect = if is_open { effect.max(n as f64 / stretches) } else { effect };
            course.rungs.push(Rung { above, effect });
            course.moods = Some(told(time, (odds, fewest, cells.len()), is_long));
        }
        course
    }

    /// Whether moods are too long for any limit.
    pub(super) fn is_too_long(&self) -> bool {
        self.moods.is_some_and(|moods| moods.too_long)
    }

    /// The design effect at the level that `above` values exceed: that of the highest level exceeded by no fewer.
    pub(super) fn effect(&self, above: u64) -> f64 {
        let lower = self.rungs.iter().rev().find(|rung| rung.above >= above);
        lower.or(self.rungs.first()).map_or(1.0, |rung| rung.effect)
    }

    /// The largest design effect among the levels of limits.
    pub(super) fn largest(&self) -> f64 {
        let of_limits = self.rungs.iter().filter(|rung| rung.above <= self.n / ONE_IN_LIMITS);
        of_limits.map(|rung| rung.effect).fold(1.0, f64::max)
    }
}

fn told(time: Nanos, (odds, stretches, cells): (f64, f64, usize), too_long: bool) -> Moods {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, and NaN is 0")]
    let part = |times: f64| Nanos::from_ns((time.as_ns() as f64 * times) as u64);
    let length = stretches.is_finite().then(|| part(1.0 / stretches));
    Moods {
        probability: odds,
        length,
        stretches: stretches.min(cells as f64),
        too_long,
        run_wanted: too_long.then(|| part(STRETCHES_WANTED / stretches)),
    }
}
