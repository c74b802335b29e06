//! How long the machine stays in one mood (a stretch of time in which it behaves alike), and how many independent
//! values the run is worth at each level of latency.
//!
//! Limits are computed from the number of independent values. A run that has seen only a few moods gets no limits,
//! because the next run may meet others.

use super::{CONFIDENCE, Moods};
use crate::stats::float::{float, whole};
use crate::stats::moods::{self, Cell, Events, Excursions, PLACES_MIN};
use punctual_hist::Nanos;

/// Levels that fewer values exceed are not tested, because fewer exceedances do not show how they cluster.
pub(super) const LARGEST: u64 = 200;
/// A run of fewer cells than this is too short to show moods.
const CELLS_MIN: usize = 16;
/// Probability from which on moods are taken to exist.
const BELIEVED: f64 = 0.9;
/// A run with moods gets no limits if it has fewer independent stretches than this with a probability of at least the
/// second number.
const STRETCHES_MIN: f64 = 8.0;
const STRETCHES_ODDS: f64 = 0.05;
/// Number of moods with which a run nearly always gets limits. The advised length of a longer run aims at it.
const STRETCHES_WANTED: f64 = 20.0;
/// If the exceedances gather in fewer busy stretches of the run than this, the estimate understates how much counts
/// vary from run to run: one busy stretch more or less would change them too much.
const BUSY_MIN: f64 = 5.0;
/// Busy stretches are counted among at most this number of parts of the run, so that a long one counts once or twice.
const BUSY_PARTS: f64 = 20.0;
/// Design effect from which on exceedances count as clustered.
const TOGETHER: f64 = 1.5;
/// Limits are reported only for levels that at most one value in this many exceeds.
const ONE_IN_LIMITS: u64 = 100;
/// Risk on each side of an interval.
const RISK: f64 = (1.0 - CONFIDENCE) / 2.0;

/// The design effect at one level of latency.
#[derive(Clone, Debug)]
struct Rung {
    above: u64,
    effect: f64,
    moods: moods::Moods,
}

/// The design effects of a run at all levels, and its moods.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    /// The rungs in ascending order of level, so that `above` falls along the list.
    rungs: Vec<Rung>,
    n: u64,
    time: Nanos,
    pub(super) moods: Option<Moods>,
}

impl Course {
    /// The course of a run of `n` values. `cells(above)` returns, cell by cell, the number of values over the level
    /// that `above` values of the run exceed.
    pub(super) fn of(n: u64, time: Nanos, cells: impl Fn(u64) -> Option<Vec<Cell>>) -> Self {
        let mut course = Self { n, time, ..Self::default() };
        let (mut odds, mut fewest, mut is_long, mut gathers) = (0.0f64, f64::INFINITY, false, false);
        let levels = [n / 2, n / 10, n / ONE_IN_LIMITS, n / 1_000, LARGEST];
        for above in levels.into_iter().filter(|above| *above >= LARGEST) {
            let Some(cells) = cells(above).filter(|cells| cells.len() >= CELLS_MIN) else { continue };
            let Some((events, moods)) = course.estimate(&cells, None) else { continue };
            odds = odds.max(moods.odds);
            if moods.odds > BELIEVED {
                fewest = fewest.min(time.as_secs_f64() / moods.tau / 2.0);
                is_long |= moods.longer_than(time.as_secs_f64() / STRETCHES_MIN / 2.0) >= STRETCHES_ODDS * moods.odds;
            }
            if above >= n / ONE_IN_LIMITS {
                gathers |= Excursions::of(&cells).are_few();
            }
            let effect = moods.effect(&events, RISK);
            let stretches = fewest.min(float(cells.len()));
            let (places, busy) =
                (moods::spread_over(&cells, stretches).0, moods::spread_over(&cells, stretches.min(BUSY_PARTS)).1);
            let is_open = gathers || effect > TOGETHER && (places < float(PLACES_MIN) || busy < BUSY_MIN);
            // The estimate cannot be relied upon if `is_open`. Each stretch then counts as one independent value.
            let effect = if is_open { effect.max(float(n) / stretches) } else { effect };
            course.rungs.push(Rung { above, effect, moods });
            course.moods = Some(told(time, (odds, fewest, cells.len()), is_long));
        }
        course
    }

    /// The moods that these cells show; `None` if all or no values are events.
    fn estimate(&self, cells: &[Cell], body: Option<&moods::Moods>) -> Option<(Events, moods::Moods)> {
        let events = Events::new(cells, self.time.as_secs_f64());
        let moods = moods::Moods::of(&[&events], body);
        (events.count > 0.0 && events.count < events.of).then_some((events, moods))
    }

    /// Whether the moods are too long for this run to give any limit.
    pub(super) fn is_too_long(&self) -> bool {
        self.moods.is_some_and(|moods| moods.too_long)
    }

    /// The rung for the level that `above` values exceed: the highest one that at least as many values exceed.
    fn rung(&self, above: u64) -> Option<&Rung> {
        self.rungs.iter().rev().find(|rung| rung.above >= above).or(self.rungs.first())
    }

    /// The design effect at the level that `above` values exceed.
    pub(super) fn effect(&self, above: u64) -> f64 {
        self.rung(above).map_or(1.0, |rung| rung.effect)
    }

    /// The design effect of misses. Misses may come in clusters where the many values about as large as they do not.
    pub(super) fn effect_of_misses(&self, missed: u64, cells: &[Cell]) -> f64 {
        let rung = self.rung(missed);
        let own = rung.and_then(|rung| self.estimate(cells, Some(&rung.moods)));
        own.map_or(1.0, |(events, moods)| moods.effect(&events, RISK)).max(self.effect(missed))
    }

    /// The largest design effect among the levels for which limits are reported.
    pub(super) fn largest(&self) -> f64 {
        let of_limits = self.rungs.iter().filter(|rung| rung.above <= self.n / ONE_IN_LIMITS);
        of_limits.map(|rung| rung.effect).fold(1.0, f64::max)
    }
}

fn told(time: Nanos, (odds, stretches, cells): (f64, f64, usize), too_long: bool) -> Moods {
    let part = |times: f64| Nanos::from_ns(whole(float(time.as_ns()) * times));
    let length = stretches.is_finite().then(|| part(1.0 / stretches));
    Moods {
        probability: odds,
        length,
        stretches: stretches.min(float(cells)),
        too_long,
        run_wanted: too_long.then(|| part((STRETCHES_WANTED / stretches).max(2.0))),
    }
}
