//! What two runs show of moods that came too rarely to be judged.
//!
//! If a run was in another mood at a few places, nobody knows whether the next run would meet that mood as often. Two
//! things follow. A difference must also show in the usual cells alone. And if one run may have been in a mood of the
//! other one all the time, there is no decision.

use super::odds::Odds;
use crate::stats::chances::Chances;
use crate::stats::moods::{Events, Excursions, Moods};
use std::cmp::Ordering;

/// From this probability on, that a run was in a mood of the other one all the time, nothing is decided.
const SAME_MACHINE: f64 = 0.05;

/// The excursions of two runs.
#[derive(Debug, Default)]
pub(super) struct Unusual {
    first: Excursions,
    second: Excursions,
    /// The probability that one run was in a mood all the time that the other one met at a few places.
    same_machine: f64,
}

impl Unusual {
    /// The excursions that frequent events show, where each pair counts the events beyond one level in both runs.
    pub(super) fn of<'a>(levels: impl Iterator<Item = (&'a Events, &'a Events)>) -> Self {
        let mut unusual = Self::default();
        for (place, (a, b)) in levels.enumerate() {
            let (first, second) = (Excursions::of(a.cells()), Excursions::of(b.cells()));
            let same = through(a, &first, b).max(through(b, &second, a));
            unusual.same_machine = unusual.same_machine.max(same);
            if place == 0 {
                (unusual.first, unusual.second) = (first, second);
            } else {
                unusual.first.join(&first);
                unusual.second.join(&second);
            }
        }
        unusual
    }

    /// The odds of a difference between the numbers of events of both runs; `None` without events.
    pub(super) fn odds(&self, a: &Events, b: &Events, moods: &Moods) -> Option<Odds> {
        let all = Chances::of(a, b, moods)?;
        let mut odds = Odds { more: all.more, less: all.fewer };
        if self.first.are_few() || self.second.are_few() {
            let usual = |of: &Events, excursions: &Excursions| {
                if excursions.are_few() { of.without(excursions) } else { of.clone() }
            };
            let usual = Chances::of(&usual(a, &self.first), &usual(b, &self.second), moods);
            let usual = usual.unwrap_or(Chances { more: 1.0, fewer: 1.0 });
            odds = odds.at_least(usual.more, usual.fewer);
        }
        Some(odds.at_least(self.least(), self.least()))
    }

    /// The least odds of any row.
    pub(super) fn least(&self) -> f64 {
        if self.same_machine > SAME_MACHINE { self.same_machine } else { 0.0 }
    }
}

/// The probability that the other run was in a mood all the time that this run met. This run shows how long the mood
/// lasts by its excursions towards the other one, if they reach at least half the way. Lengths of moods are taken to be
/// exponential, with a mean of which nothing else is known.
fn through(own: &Events, excursions: &Excursions, other: &Events) -> f64 {
    let usual = own.without(excursions).rate();
    let away = other.rate() - usual;
    let direction = if away > 0.0 { Ordering::Greater } else { Ordering::Less };
    let (places, (events, of)) = excursions.towards(direction, own.cells());
    let reached = events / of.max(1.0) - usual;
    if places == 0 || reached.abs() < away.abs() / 2.0 {
        return 0.0;
    }
    (of / (of + other.of).max(1.0)).powi(i32::try_from(places).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of 120 cells of 1000 activations, half of which are events, and 120 more where `busy`.
    fn run(busy: impl Fn(u32) -> bool) -> Events {
        let cell = |at: u32| (500.0 + f64::from(at * 37 % 21) - 10.0 + if busy(at) { 120.0 } else { 0.0 }, 1_000.0);
        Events::new(&(0..120).map(cell).collect::<Vec<_>>(), 120.0)
    }

    fn odds(a: &Events, b: &Events) -> f64 {
        let odds = Unusual::of(std::iter::once((a, b))).odds(a, b, &Moods::of(&[a, b], None)).unwrap();
        2.0 * odds.more.min(odds.less)
    }

    #[test]
    fn a_mood_that_one_run_met_and_the_other_never_left_decides_nothing() {
        let (quiet, all_busy) = (run(|_| false), run(|_| true));
        assert!(odds(&quiet, &all_busy) < 1e-6, "no run shows moods");
        assert!(
            odds(&run(|at| at >= 110), &all_busy) > 0.05,
            "the first run was about to enter the mood of the second"
        );
        assert!(odds(&quiet, &run(|at| at > 10)) > 0.05, "the second run came from the mood of the first");
    }

    #[test]
    fn short_disturbances_hide_no_difference_and_make_none() {
        let disturbed = |at: u32| [20, 55, 90].contains(&at);
        assert!(odds(&run(disturbed), &run(|_| true)) < 0.01);
        assert!(odds(&run(|_| false), &run(disturbed)) > 0.05);
    }
}
