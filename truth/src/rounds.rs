//! Counts what comparisons decide whose two sides were measured in turn on one machine: about equal sides, and about
//! sides of which the second has larger latencies.

use super::claimed::Truth;
use super::family::Family;
use super::held::Held;
use super::run::{Machine, Shift};
use punctual_hist::Nanos;
use punctual_numbers::compare::{Compared, Comparison, Options};
use punctual_numbers::recording::Recording;
use punctual_optimize::turns::{Turn, Turns};
use serde::Serialize;

/// The design: the number of rounds, the length of each of the two measurements of a round, and the pause before a
/// measurement, in seconds.
const ROUNDS: u32 = 16;
const EACH: u32 = 30;
const PAUSE: u32 = 2;
/// The factor by which latencies of the second side are larger.
const LARGER: f64 = 1.15;

/// Results of the campaigns of a family. `right` counts decisions in the right direction.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Rounds {
    pub equal: Held,
    pub larger: Held,
}

/// Measures campaigns of a family with these numbers and counts the decisions.
pub fn rounds(family: &Family, numbers: impl Iterator<Item = u64>) -> Rounds {
    let budget = Truth::of(family).budget;
    let mut rounds = Rounds::default();
    for number in numbers {
        let cases = [(&mut rounds.equal, Shift::Same, 0), (&mut rounds.larger, Shift::Times(LARGER), 1)];
        for (held, shift, case) in cases {
            // Numbers beyond those of pairs give the campaigns random values of their own.
            match verdict(family, (2 << 32) + 2 * number + case, shift, budget) {
                Compared::NoDifferenceShown | Compared::NotEnoughData => held.withheld(),
                decided => held.add(decided == Compared::Worse, None),
            }
        }
    }
    rounds
}

fn verdict(family: &Family, number: u64, shift: Shift, budget: Nanos) -> Compared {
    let mut machine = Machine::new(family, number, 2 * ROUNDS * (EACH + PAUSE)).measured_for(EACH);
    let mut turns = Turns {
        arguments: Vec::new(),
        commands: [String::new(), String::new()],
        seed: number,
        rounds: ROUNDS,
        measured: 0,
        last: None,
    };
    let mut sides: [Vec<(String, Recording)>; 2] = Default::default();
    while let Some(next) = turns.next() {
        machine.rest(PAUSE);
        let (side, shift) = if next.turn == Turn::A { (0, Shift::Same) } else { (1, shift) };
        machine = machine.shifted(shift);
        if let Some(side) = sides.get_mut(side) {
            side.push((next.round.to_string(), machine.measure(budget)));
        }
        turns.measured += 1;
    }
    let [first, second] = sides.each_ref().map(|side| side.iter().map(|(name, run)| (name.clone(), run)).collect());
    let (first, second): (Vec<_>, Vec<_>) = (first, second);
    Comparison::of_sides(&first, &second, true, Options::default())
        .map_or(Compared::NotEnoughData, |comparison| comparison.verdict())
}

impl Rounds {
    pub fn merge(&mut self, other: Self) {
        self.equal.merge(other.equal);
        self.larger.merge(other.larger);
    }

    pub fn is_broken(&self) -> bool {
        self.equal.breaks_false()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family;

    #[test]
    fn a_shift_is_found_and_equal_sides_are_not_told_apart() {
        let families = family::all();
        let family = families.iter().find(|family| family.name == "lognormal, 30 s").unwrap();
        let rounds = rounds(family, 0..2);
        assert_eq!((rounds.equal.runs, rounds.equal.claimed, rounds.larger.right), (2, 0, 2));
        assert!(!rounds.is_broken());
    }
}
