//! Counts what comparisons decide about equal pairs, in which no difference must be found, and about pairs with a known
//! difference.

use super::claimed::Truth;
use super::family::{Family, Spikes};
use super::held::Held;
use super::peers;
use super::run::{Machine, Shift};
use punctual_hist::Nanos;
use punctual_numbers::compare::{Compared, Comparison, Options};
use punctual_numbers::recording::Recording;
use serde::Serialize;

/// How the second run of a pair differs from the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Difference {
    None,
    /// All latencies are 15 % larger.
    Larger,
    /// All latencies are a fifth smaller.
    Smaller,
    /// Latencies from p99 on are a fifth larger.
    P99,
    /// Spikes come on one in 1e4 activations instead of one in 1e5.
    Spikes,
    /// The distance of latencies above p99.9 from p99.9 is doubled.
    Tail,
}

pub const DIFFERENCES: [Difference; 6] =
    [Difference::None, Difference::Larger, Difference::Smaller, Difference::P99, Difference::Spikes, Difference::Tail];

/// Results of the pairs of a family that have one kind of difference. `right` counts decisions in the right direction.
#[derive(Clone, Debug, Serialize)]
pub struct Decided {
    pub difference: Difference,
    pub product: Held,
    /// Results of the other methods, in the order of `peers::NAMES`.
    pub peers: [Held; 3],
    /// Decisions of an exact test that is told where the spikes begin; no runs for differences of another kind.
    pub told: Held,
}

impl Difference {
    fn shift(self, family: &Family) -> Shift {
        match self {
            Self::None | Self::Spikes => Shift::Same,
            Self::Larger => Shift::Times(1.15),
            Self::Smaller => Shift::Times(0.8),
            Self::P99 => Shift::Stretched(family.at(0.03), family.at(0.01), 1.2),
            Self::Tail => Shift::Doubled(family.at(1e-3)),
        }
    }

    /// The spikes that the first and the second run have in addition to those of the family.
    fn spikes(self, family: &Family) -> [Option<Spikes>; 2] {
        if self != Self::Spikes {
            return [None, None];
        }
        let from = family.at(1e-4);
        let spikes = |gap| Some(Spikes { gap, regular: false, size: (from, from), together: 1 });
        [spikes(1e5), spikes(1e4)]
    }

    /// The verdict that is right for this difference.
    fn verdict(self) -> Compared {
        match self {
            Self::None => Compared::NoDifferenceShown,
            Self::Smaller => Compared::Better,
            _ => Compared::Worse,
        }
    }
}

/// The two recordings of a pair. `None` for an equal pair if neither run shows that there are moods: each run looks
/// steady in a mood of its own, which looks like a difference between the machines.
fn pair(family: &Family, number: u64, difference: Difference, budget: Nanos) -> Option<[Recording; 2]> {
    let [first, second] = difference.spikes(family);
    // Numbers beyond those of single runs give the pairs random values of their own.
    let of = |number: u64| Machine::new(family, (1 << 32) + number, family.seconds.1);
    let mut machines = [of(2 * number).with(first), of(2 * number + 1).with(second).shifted(difference.shift(family))];
    let recordings = machines.each_mut().map(|machine| machine.measure(budget));
    let known = machines.iter().any(Machine::shows_itself);
    (known || difference != Difference::None).then_some(recordings)
}

/// Measures the pairs of a family with these numbers and counts the decisions.
pub fn pairs(family: &Family, numbers: impl Iterator<Item = u64>, difference: Difference) -> Decided {
    let budget = Truth::of(family).budget;
    let mut decided = Decided::new(difference);
    for number in numbers {
        if let Some([first, second]) = pair(family, number, difference, budget) {
            decided.add(&first, &second, number);
            if difference == Difference::Spikes {
                let larger = peers::poisson_of_known(&first, &second, family.at(1e-4));
                noted(&mut decided.told, larger, true);
            }
        }
    }
    decided
}

impl Decided {
    pub fn new(difference: Difference) -> Self {
        Self { difference, product: Held::default(), peers: Default::default(), told: Held::default() }
    }

    /// Adds the decisions of the product and of its peers about a pair.
    pub fn add(&mut self, first: &Recording, second: &Recording, number: u64) {
        let verdict = Comparison::of(&[("a".to_owned(), first), ("b".to_owned(), second)], Options::default())
            .map_or(Compared::NotEnoughData, |comparison| comparison.verdict());
        match verdict {
            Compared::Better | Compared::Worse | Compared::Mixed => {
                self.product.add(verdict == self.difference.verdict(), None);
            }
            Compared::NoDifferenceShown | Compared::NotEnoughData => self.product.withheld(),
        }
        for (held, larger) in self.peers.iter_mut().zip(peers::verdicts(first, second, number)) {
            noted(held, larger, self.difference.verdict() == Compared::Worse);
        }
    }

    pub fn merge(&mut self, other: Self) {
        self.product.merge(other.product);
        for (mine, theirs) in self.peers.iter_mut().zip(other.peers) {
            mine.merge(theirs);
        }
        self.told.merge(other.told);
    }

    pub fn is_broken(&self) -> bool {
        self.difference == Difference::None && self.product.breaks_false()
    }

    /// The share of pairs in which the test that was told where the spikes begin found them; `None` if it was not asked.
    pub fn share_of_told(&self) -> Option<f64> {
        (self.told.runs > 0).then(|| super::held::share(self.told.right, self.told.runs))
    }

    /// The share of pairs that the product decided, and that each peer decided. If the pairs differ, only decisions in
    /// the right direction count.
    pub fn shares(&self) -> (f64, [f64; 3]) {
        let share = |held: &Held| {
            let n = if self.difference == Difference::None { held.claimed } else { held.right };
            super::held::share(n, held.runs)
        };
        (share(&self.product), self.peers.each_ref().map(share))
    }
}

/// Counts the verdict of another method, of which it is known whether the second run has the larger latencies.
fn noted(held: &mut Held, verdict: peers::Verdict, larger: bool) {
    match verdict {
        Some(verdict) => held.add(verdict == larger, None),
        None => held.withheld(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family;

    #[test]
    fn what_differs_is_decided_and_what_does_not_is_not() {
        let families = family::all();
        let family = families.iter().find(|family| family.name == "lognormal, 30 s").unwrap();
        for difference in [Difference::Larger, Difference::Smaller] {
            let decided = pairs(family, 0..6, difference);
            assert_eq!((decided.product.runs, decided.product.right), (6, 6), "{difference:?}");
        }
        let equal = pairs(family, 0..6, Difference::None);
        assert!(equal.product.claimed == 0 && !equal.is_broken());
        assert!(equal.told.runs == 0 && equal.share_of_told().is_none());
    }
}
