//! How many rounds a budget allows, how many are needed to tell anything, and in which order a round goes.

use super::{Arm, Candidate, Design, Metric, Strategy, screen};
use punctual_numbers::stats::random::SplitMix;

/// Odds of calling anything better or worse in a campaign in which nothing differs.
pub const ERROR_RATE: f64 = 0.05;
/// How often verdicts are looked for; each time a third of the odds is spent.
pub const LOOKS: u32 = 3;
/// Rounds in which what is recommended is measured together, after all else.
pub(super) const TOGETHER: u32 = 4;
/// More rounds than this are of no use.
const ROUNDS_MAX: u32 = 1000;
/// Candidates that screening leaves, at most.
const LEFT_MAX: usize = 6;
/// And at least.
const LEFT_MIN: usize = 3;

/// A budget that cannot tell anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooShort {
    /// Runs that it takes at least.
    pub needed: u64,
    /// Runs there would be.
    pub have: u64,
}

impl Design {
    /// The design for a budget of so many runs.
    ///
    /// # Errors
    /// When so few runs could not tell anything, whatever they came to.
    pub fn new(
        candidates: Vec<Candidate>,
        strategy: Strategy,
        seed: u64,
        margin: f64,
        runs: u64,
    ) -> Result<Self, TooShort> {
        let alone = match strategy {
            Strategy::Screening => screened(candidates.len()),
            _ => candidates.len(),
        };
        let mut design = Self { candidates, strategy, seed, rounds: 0, baselines: baselines(alone), margin };
        design.rounds = design.rounds_needed();
        let needed = design.runs_at_most();
        if needed > runs {
            return Err(TooShort { needed, have: runs });
        }
        while design.rounds < ROUNDS_MAX {
            design.rounds += 1;
            if design.runs_at_most() > runs {
                design.rounds -= 1;
                break;
            }
        }
        Ok(design)
    }

    /// How many candidates are tried each alone.
    pub(super) fn alone(&self) -> usize {
        match self.strategy {
            Strategy::Screening => screened(self.candidates.len()),
            _ => self.candidates.len(),
        }
    }

    /// Odds that one test in one direction may have of being wrong: all of them and all looks share the whole.
    pub(super) fn share_of_error(&self) -> f64 {
        let tests = self.alone().max(1) * Metric::ALL.len();
        ERROR_RATE / f64::from(LOOKS) / float(tests) / 2.0
    }

    /// So few rounds cannot tell anything.
    pub fn rounds_needed(&self) -> u32 {
        let first = 1.0 / f64::from(self.baselines + 1);
        let told = |rounds: &u32| first.powi(i32::try_from(*rounds).unwrap_or(i32::MAX)) <= self.share_of_error();
        (1..ROUNDS_MAX).find(told).unwrap_or(ROUNDS_MAX)
    }

    /// After which rounds verdicts are looked for; fixed beforehand, so that looking costs no more than was set aside.
    pub(super) fn looks(&self) -> Vec<u32> {
        let least = self.rounds_needed().min(self.rounds);
        let mut looks: Vec<u32> = (0..LOOKS).map(|look| least + (self.rounds - least) * look / (LOOKS - 1)).collect();
        looks.dedup();
        looks
    }

    /// After which rounds the less promising half leaves a race.
    pub(super) fn halvings(&self) -> Vec<u32> {
        if self.strategy != Strategy::Race {
            return Vec::new();
        }
        let stages = self.candidates.len().max(1).ilog2();
        let mut rounds: Vec<u32> = (1..=stages).map(|stage| self.rounds * stage / (stages + 1)).collect();
        rounds.retain(|round| *round > 1);
        rounds.dedup();
        rounds
    }

    /// Runs of the largest block: what is held against each other.
    pub fn block_at_most(&self) -> u64 {
        let screening =
            if self.strategy == Strategy::Screening { screen::rows(self.candidates.len()).len() } else { 0 };
        (screening as u64).max(self.alone() as u64 + u64::from(self.baselines))
    }

    /// Runs of the whole campaign, if no verdict ends it before.
    pub fn runs_at_most(&self) -> u64 {
        let screening = match self.strategy {
            Strategy::Screening => screen::rows(self.candidates.len()).len(),
            _ => 0,
        };
        let (mut left, mut runs) = (self.alone(), screening as u64);
        let halvings = self.halvings();
        for round in 1..=self.rounds {
            runs += left as u64 + u64::from(self.baselines);
            if halvings.contains(&round) {
                left = left.div_ceil(2);
            }
        }
        let together = if self.candidates.len() > 1 { TOGETHER } else { 0 };
        runs + u64::from(together) * u64::from(self.baselines + 1)
    }

    /// A round, in the order of the seed: each of these alone, and the machine as it was.
    pub(super) fn round(&self, number: u32, arms: &[Arm]) -> Vec<Arm> {
        let mut round: Vec<Arm> = (0..self.baselines).map(|_| Arm::new()).chain(arms.iter().cloned()).collect();
        shuffle(&mut round, &mut self.lot(number));
        round
    }

    /// Random numbers of a round.
    pub(super) fn lot(&self, number: u32) -> SplitMix {
        let mut seeds = SplitMix::new(self.seed ^ (u64::from(number) << 32));
        SplitMix::new(seeds.bits())
    }
}

/// Fisher and Yates.
pub(super) fn shuffle<T>(items: &mut [T], random: &mut SplitMix) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last + 1));
    }
}

/// What many are held against is measured more often than each of them, best by the root of how many (Dunnett 1955).
fn baselines(candidates: usize) -> u32 {
    let mut root = 2u32;
    while (root as usize) * (root as usize) < candidates {
        root += 1;
    }
    root
}

/// How many of so many candidates screening leaves.
fn screened(candidates: usize) -> usize {
    candidates.div_ceil(3).clamp(LEFT_MIN, LEFT_MAX).min(candidates)
}

#[allow(clippy::cast_precision_loss, reason = "a number of tests")]
fn float(n: usize) -> f64 {
    n as f64
}
