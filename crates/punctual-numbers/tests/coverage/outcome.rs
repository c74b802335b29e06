//! Collects the outcome of many runs of a family, and checks whether it is as expected.

use super::laws::Law;
use punctual_hist::Nanos;
use punctual_numbers::claims::{Beyond, Refusal};
use std::collections::BTreeMap;

#[derive(Clone, Copy, PartialEq)]
pub enum Expected {
    /// The intervals contain the true value in 95 % of the runs.
    Held,
    Refused,
    /// The method is refused if the run has enough values of the rare mode to distinguish it from chance.
    RefusedIfSeen,
    /// The data do not show that a condition of the method is violated, so the intervals are too narrow. The report
    /// states the condition beside them.
    Unseen,
}

/// Runs whose latencies follow one law and depend on each other in one way.
pub struct Family<Kind> {
    pub name: &'static str,
    pub law: Law,
    pub kind: Kind,
    pub expected: Expected,
}

pub const fn family<Kind: Copy>(name: &'static str, law: Law, kind: Kind, expected: Expected) -> Family<Kind> {
    Family { name, law, kind, expected }
}

#[derive(Debug, Default)]
pub struct LevelOutcome {
    runs: u64,
    answered: u64,
    covered: u64,
    refused: BTreeMap<String, u64>,
    /// The numbers of (runs, answered runs) by the number of values of the rare mode in a run.
    by_rare: BTreeMap<u64, (u64, u64)>,
}

impl LevelOutcome {
    /// Adds a run with `rare` values of the rare mode. `told` is the claim about it; the true level that is exceeded
    /// once in `time` is `truth`.
    pub fn add(&mut self, told: &Result<Beyond, Refusal>, (time, truth): (Nanos, Nanos), rare: u64) {
        let seen = self.by_rare.entry(rare).or_default();
        (self.runs, seen.0) = (self.runs + 1, seen.0 + 1);
        let level = told.as_ref().map(|told| told.levels.iter().find(|level| level.once_in == time));
        let gate = match level {
            Ok(Some(level)) => {
                seen.1 += 1;
                self.answered += 1;
                self.covered += u64::from(level.low <= truth && level.high.is_none_or(|high| truth <= high));
                return;
            }
            Ok(None) => "TooFar".to_owned(),
            Err(refusal) => gate(refusal),
        };
        *self.refused.entry(gate).or_default() += 1;
    }

    fn percent(&self) -> f64 {
        100.0 * self.covered as f64 / self.answered.max(1) as f64
    }

    /// The numbers of (runs, answered runs) with at least `least` values of the rare mode.
    fn with_rare(&self, least: u64) -> (u64, u64) {
        self.by_rare.range(least..).fold((0, 0), |sum, (_, one)| (sum.0 + one.0, sum.1 + one.1))
    }

    fn is_as(&self, expected: Expected) -> bool {
        let refused = |(runs, answered): (u64, u64)| runs == 0 || answered as f64 <= 0.05 * runs as f64;
        match expected {
            Expected::Held => (93.0..=99.5).contains(&self.percent()) && self.answered * 2 > self.runs,
            Expected::Refused => refused((self.runs, self.answered)),
            // Only runs with at least two values of the rare mode count: a single one is mistaken for a heavy tail in
            // nine runs of ten.
            Expected::RefusedIfSeen => refused(self.with_rare(2)),
            Expected::Unseen => self.percent() < 93.0,
        }
    }

    /// Prints the lines of a family in the table: one, or two if a rare mode matters.
    fn print(&self, name: &str, expected: Expected) {
        let refused = 100.0 * (self.runs - self.answered) as f64 / self.runs as f64;
        println!(
            "{name:<18} answered {:>5}  covered {:5.1} %  refused {refused:5.1} % {:?}",
            self.answered,
            self.percent(),
            self.refused
        );
        if expected == Expected::RefusedIfSeen {
            let few: Vec<_> = self.by_rare.iter().take(5).collect();
            println!("{:<18} by number seen (runs, answered): {few:?}", "");
        }
    }

    /// Whether the outcome of 6 runs is as expected, with room for chance: of 6 intervals at 95 %, three or more miss
    /// with a probability of 1 in 500.
    fn is_as_in_six(&self, expected: Expected) -> bool {
        match expected {
            Expected::Held => self.answered >= 4 && self.covered + 2 >= self.answered,
            Expected::Refused | Expected::RefusedIfSeen => self.answered <= 1,
            Expected::Unseen => self.covered < self.runs,
        }
    }
}

/// The name of a family, the expected outcome, and the actual outcome of its runs.
pub type Told = (&'static str, Expected, LevelOutcome);

/// Prints a line for each family, and returns the names of those that are not as expected.
pub fn table(families: impl Iterator<Item = Told>) -> Vec<&'static str> {
    let printed = families.inspect(|(name, expected, outcome)| outcome.print(name, *expected));
    printed.filter(|(_, expected, outcome)| !outcome.is_as(*expected)).map(|(name, ..)| name).collect()
}

/// Fails if the outcome of a family, with 6 runs, is not as expected.
pub fn assert_six(families: impl Iterator<Item = Told>) {
    for (name, expected, outcome) in families {
        assert!(outcome.is_as_in_six(expected), "{name}: {outcome:?}");
    }
}

fn gate(refusal: &Refusal) -> String {
    let text = format!("{refusal:?}");
    text.split(['(', ' ', '{']).next().unwrap_or_default().to_owned()
}
