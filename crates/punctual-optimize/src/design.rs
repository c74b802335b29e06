//! How many rounds fit the budget of a campaign, how many are needed for any verdict, and the order within a round.

use super::{Arm, Candidate, Design, Metric, Strategy, screen};
use punctual_hist::SplitMix;
use punctual_numbers::stats::float::float;

/// Probability of calling anything better or worse in a campaign in which nothing differs.
pub const ERROR_RATE: f64 = 0.05;
/// Number of times that verdicts are looked for. Each look spends the same part of [`ERROR_RATE`].
pub const LOOKS: u32 = 3;
/// Rounds at the end in which all recommended candidates are measured together.
pub(super) const TOGETHER: u32 = 4;
/// More rounds than this are never planned: the limits hardly get narrower.
const ROUNDS_MAX: u32 = 1000;
/// Least and largest number of candidates that screening leaves.
const LEFT: (usize, usize) = (3, 6);

/// A budget that is too small for any verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooShort {
    /// Runs that the campaign takes at least.
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

    /// How many candidates are tried alone.
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

    /// Error rate of one test in one direction: all tests and all looks share [`ERROR_RATE`].
    pub(super) fn share_of_error(&self) -> f64 {
        let tests = self.alone().max(1) * Metric::ALL.len();
        ERROR_RATE / f64::from(LOOKS) / float(tests) / 2.0
    }

    /// With fewer rounds than this no test can reach its error rate, whatever is measured.
    pub fn rounds_needed(&self) -> u32 {
        let first = 1.0 / f64::from(self.baselines + 1);
        let told = |rounds: &u32| first.powi(i32::try_from(*rounds).unwrap_or(i32::MAX)) <= self.share_of_error();
        (1..ROUNDS_MAX).find(told).unwrap_or(ROUNDS_MAX)
    }

    /// The rounds after which verdicts are looked for. They are fixed beforehand, so that each look spends its own part
    /// of the error rate.
    pub(super) fn looks(&self) -> Vec<u32> {
        let least = self.rounds_needed().min(self.rounds);
        let mut looks: Vec<u32> = (0..LOOKS).map(|look| least + (self.rounds - least) * look / (LOOKS - 1)).collect();
        looks.dedup();
        looks
    }

    /// The rounds after which the less promising half of the candidates leaves a race.
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

    /// Runs of the largest block, which are the runs that are compared with each other.
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

    /// The runs of a round in the order drawn by lot: each of these arms once, and the baselines.
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

/// How often to measure the baseline in a round: best is the square root of the number of candidates (Dunnett 1955).
fn baselines(candidates: usize) -> u32 {
    let mut root = 2u32;
    while (root as usize) * (root as usize) < candidates {
        root += 1;
    }
    root
}
