//! The design of a campaign: the number of rounds that fit its budget, the number that any verdict needs, and the order
//! within a round.

use super::{Arm, Candidate, Design, Metric, Strategy, screen};
use punctual_hist::SplitMix;
use punctual_numbers::stats::float::float;

/// Largest probability that a campaign in which no candidate has an effect calls one of them better or worse.
pub const ERROR_RATE: f64 = 0.05;
/// Number of looks, which are the times at which verdicts are computed. Each look spends the same part of
/// [`ERROR_RATE`].
pub const LOOKS: u32 = 3;
/// Number of rounds in the last stage, in which all recommended candidates are measured together.
pub(super) const TOGETHER: u32 = 4;
/// Largest number of planned rounds. Further rounds hardly narrow the confidence limits.
const ROUNDS_MAX: u32 = 1000;
/// Smallest and largest number of candidates that remain after screening.
const LEFT: (usize, usize) = (3, 6);

/// The error for a budget that is too small for any verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooShort {
    /// Smallest number of runs that the campaign takes.
    pub needed: u64,
    /// Runs that the budget allows.
    pub have: u64,
}

impl Design {
    /// The design with as many rounds as fit a budget of `runs` measurements.
    pub fn new(
        candidates: Vec<Candidate>,
        strategy: Strategy,
        seed: u64,
        margin: f64,
        runs: u64,
    ) -> Result<Self, TooShort> {
        let mut design = Self { candidates, strategy, seed, rounds: 0, baselines: 0, margin };
        design.baselines = baselines(design.alone());
        design.rounds = design.rounds_needed();
        let needed = design.runs_at_most();
        if needed > runs {
            return Err(TooShort { needed, have: runs });
        }
        let fits = |rounds: &u32| Self { rounds: *rounds, ..design.clone() }.runs_at_most() <= runs;
        design.rounds = (design.rounds..=ROUNDS_MAX).take_while(fits).last().unwrap_or(design.rounds);
        Ok(design)
    }

    /// Largest number of candidates that are measured alone.
    pub(super) fn alone(&self) -> usize {
        let all = self.candidates.len();
        match self.strategy {
            Strategy::Screening => all.div_ceil(3).clamp(LEFT.0, LEFT.1).min(all),
            _ => all,
        }
    }

    /// The measurements of the screening design; none without screening.
    pub(super) fn screening(&self) -> Vec<Arm> {
        if self.strategy == Strategy::Screening { screen::rows(self.candidates.len()) } else { Vec::new() }
    }

    /// Error rate of one test in one direction. All tests of all looks together have [`ERROR_RATE`].
    pub(super) fn share_of_error(&self) -> f64 {
        let tests = self.alone().max(1) * Metric::ALL.len();
        ERROR_RATE / f64::from(LOOKS) / float(tests) / 2.0
    }

    /// Smallest number of rounds with which a test can reach its error rate. With fewer, no measured values can give a
    /// verdict.
    pub fn rounds_needed(&self) -> u32 {
        let first = 1.0 / f64::from(self.baselines + 1);
        let told = |rounds: &u32| first.powi(i32::try_from(*rounds).unwrap_or(i32::MAX)) <= self.share_of_error();
        (1..ROUNDS_MAX).find(told).unwrap_or(ROUNDS_MAX)
    }

    /// The rounds after which verdicts are computed. They are fixed in advance, so that each look spends its own part
    /// of the error rate.
    pub(super) fn looks(&self) -> Vec<u32> {
        let least = self.rounds_needed().min(self.rounds);
        let mut looks: Vec<u32> = (0..LOOKS).map(|look| least + (self.rounds - least) * look / (LOOKS - 1)).collect();
        looks.dedup();
        looks
    }

    /// The rounds after which a race drops the less promising half of its candidates.
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

    /// Number of runs in the largest block. A block is a set of runs that are compared with each other.
    pub fn block_at_most(&self) -> u64 {
        (self.screening().len() as u64).max(self.alone() as u64 + u64::from(self.baselines))
    }

    /// Largest number of runs of the whole campaign. Verdicts may end it earlier.
    pub fn runs_at_most(&self) -> u64 {
        let (mut left, mut runs) = (self.alone(), self.screening().len() as u64);
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

    /// The runs of a round in random order: each of these arms once, and the baselines.
    pub(super) fn round(&self, number: u32, arms: &[Arm]) -> Vec<Arm> {
        let mut round: Vec<Arm> = (0..self.baselines).map(|_| Arm::new()).chain(arms.iter().cloned()).collect();
        shuffle(&mut round, &mut self.lot(number));
        round
    }

    pub(super) fn lot(&self, number: u32) -> SplitMix {
        let mut seeds = SplitMix::new(self.seed ^ (u64::from(number) << 32));
        SplitMix::new(seeds.bits())
    }
}

/// The shuffle of Fisher and Yates.
pub(super) fn shuffle<T>(items: &mut [T], random: &mut SplitMix) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last + 1));
    }
}

/// Number of baselines in a round. The square root of the number of candidates is best (Dunnett 1955).
fn baselines(candidates: usize) -> u32 {
    let mut root = 2u32;
    while (root as usize) * (root as usize) < candidates {
        root += 1;
    }
    root
}
