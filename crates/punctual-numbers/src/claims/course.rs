//! How long the machine stays in one mood (a stretch of time in which it behaves alike), and how many independent
//! values the run is worth at each level of latency.
//!
//! Limits are computed from the number of independent values. A run that has seen only a few moods gets no limits,
//! because the next run may meet others.

#![allow(clippy::cast_precision_loss, reason = "numbers of samples beyond 2^53 lose nothing that matters")]

use super::{CONFIDENCE, Moods};
use crate::stats::float::whole;
use crate::stats::moods::{self, Cell, Spectrum};
use punctual_hist::Nanos;

/// Levels that fewer values exceed are not tested, because fewer exceedances do not show how they cluster.
pub(super) const LARGEST: u64 = 200;
/// Probability from which on moods are taken to exist.
const BELIEVED: f64 = 0.9;
/// A run gets no limits if it has fewer independent stretches than this with a probability of at least the second
/// number.
const STRETCHES_MIN: f64 = 8.0;
const STRETCHES_ODDS: f64 = 0.1;
/// Number of moods with which a run nearly always gets limits. The advised length of a longer run aims at it.
const STRETCHES_WANTED: f64 = 20.0;
/// Exceedances that cluster in fewer stretches of the run than this do not show how large clusters are.
const PLACES_MIN: f64 = 12.0;
/// If the exceedances gather in fewer busy stretches of the run than this, the spectrum understates how much counts
/// vary from run to run: one busy stretch more or less would change them too much.
const BUSY_MIN: f64 = 5.0;
/// Busy stretches are counted among at most this number of parts of the run, so that a long one counts once or twice.
const BUSY_PARTS: f64 = 20.0;
/// Design effect from which on exceedances count as clustered.
const TOGETHER: f64 = 1.5;
/// Limits are reported only for levels that at most one value in this many exceeds.
const ONE_IN_LIMITS: u64 = 100;

/// The design effect at one level of latency.
#[derive(Clone, Copy, Debug)]
struct Rung {
    above: u64,
    effect: f64,
}

/// The design effects of a run at all levels, and its moods.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    /// The rungs in ascending order of level, so that `above` falls along the list.
    rungs: Vec<Rung>,
    n: u64,
    pub(super) moods: Option<Moods>,
}

impl Course {
    /// The course of a run of `n` values. `cells(above)` returns, cell by cell, the number of values over the level
    /// that `above` values of the run exceed.
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
            let (places, busy) =
                (moods::spread_over(&cells, stretches).0, moods::spread_over(&cells, stretches.min(BUSY_PARTS)).1);
            let is_open = effect > TOGETHER && (places < PLACES_MIN || busy < BUSY_MIN);
            // The spectrum cannot be relied upon if `is_open`. Each stretch then counts as one independent value.
            let effect = if is_open { effect.max(n as f64 / stretches) } else { effect };
            course.rungs.push(Rung { above, effect });
            course.moods = Some(told(time, (odds, fewest, cells.len()), is_long));
        }
        course
    }

    pub(super) fn is_too_long(&self) -> bool {
        self.moods.is_some_and(|moods| moods.too_long)
    }

    /// The design effect at the level that `above` values exceed, taken from the highest tested level that at least as
    /// many values exceed.
    pub(super) fn effect(&self, above: u64) -> f64 {
        let lower = self.rungs.iter().rev().find(|rung| rung.above >= above);
        lower.or(self.rungs.first()).map_or(1.0, |rung| rung.effect)
    }

    /// The largest design effect among the levels for which limits are reported.
    pub(super) fn largest(&self) -> f64 {
        let of_limits = self.rungs.iter().filter(|rung| rung.above <= self.n / ONE_IN_LIMITS);
        of_limits.map(|rung| rung.effect).fold(1.0, f64::max)
    }
}

fn told(time: Nanos, (odds, stretches, cells): (f64, f64, usize), too_long: bool) -> Moods {
    let part = |times: f64| Nanos::from_ns(whole(time.as_ns() as f64 * times));
    let length = stretches.is_finite().then(|| part(1.0 / stretches));
    Moods {
        probability: odds,
        length,
        stretches: stretches.min(cells as f64),
        too_long,
        run_wanted: too_long.then(|| part(STRETCHES_WANTED / stretches)),
    }
}
