//! Counts how often limits and odds were right, and tests whether they were right often enough, allowing for chance.

use punctual_numbers::stats::binomial;
use serde::Serialize;

/// Intervals must hold the truth in at least this part of the runs that have one.
pub const COVERAGE_MIN: f64 = 0.93;
/// The comparison may find a difference in at most this part of equal pairs.
pub const FALSE_MAX: f64 = 0.05;
/// The claimed odds of a new maximum may differ from its frequency by at most this.
pub const ODDS_OFF: f64 = 0.05;
/// A limit counts as broken if results at least this bad have a smaller probability than this while the limit is kept.
const CHANCE: f64 = 0.01;

/// Number of runs, of the answers given in them, and of the right answers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Held {
    pub runs: u64,
    pub claimed: u64,
    pub right: u64,
    /// Widths of intervals, divided by the true value.
    #[serde(skip)]
    widths: Vec<f64>,
    pub median_width: Option<f64>,
}

impl Held {
    pub fn withheld(&mut self) {
        self.runs += 1;
    }

    pub fn add(&mut self, right: bool, width: Option<f64>) {
        self.runs += 1;
        self.claimed += 1;
        self.right += u64::from(right);
        self.widths.extend(width);
    }

    pub fn merge(&mut self, other: Self) {
        self.runs += other.runs;
        self.claimed += other.claimed;
        self.right += other.right;
        self.widths.extend(other.widths);
        self.widths.sort_by(f64::total_cmp);
        self.median_width = self.widths.get(self.widths.len() / 2).copied();
    }

    pub fn share_claimed(&self) -> f64 {
        share(self.claimed, self.runs)
    }

    pub fn share_right(&self) -> f64 {
        share(self.right, self.claimed)
    }

    /// Whether the number of right answers is too small to be explained by chance.
    pub fn breaks_coverage(&self) -> bool {
        self.claimed > 0 && binomial::chance_of_at_most(self.right, self.claimed, COVERAGE_MIN) < CHANCE
    }

    /// Whether the number of equal pairs that were found to differ is too large to be explained by chance.
    pub fn breaks_false(&self) -> bool {
        self.runs > 0 && binomial::at_least(self.claimed, self.runs, FALSE_MAX) < CHANCE
    }
}

pub fn share(n: u64, of: u64) -> f64 {
    if of == 0 { f64::NAN } else { n as f64 / of as f64 }
}

/// Claimed odds of a new maximum, and how often one came.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Foretold {
    pub runs: u64,
    pub told: u64,
    pub came: u64,
    /// Sum of the claimed odds over all runs with odds.
    pub odds: f64,
}

impl Foretold {
    pub fn withheld(&mut self) {
        self.runs += 1;
    }

    pub fn add(&mut self, odds: f64, came: bool) {
        (self.runs, self.told) = (self.runs + 1, self.told + 1);
        self.came += u64::from(came);
        self.odds += odds;
    }

    pub fn merge(&mut self, other: &Self) {
        (self.runs, self.told, self.came) = (self.runs + other.runs, self.told + other.told, self.came + other.came);
        self.odds += other.odds;
    }

    pub fn said(&self) -> f64 {
        if self.told == 0 { f64::NAN } else { self.odds / self.told as f64 }
    }

    pub fn was(&self) -> f64 {
        share(self.came, self.told)
    }

    /// Whether the claimed odds differ from the frequency by more than allowed, and by more than chance explains.
    pub fn breaks(&self) -> bool {
        let (said, n) = (self.said(), self.told);
        let too_rare = binomial::chance_of_at_most(self.came, n, (said - ODDS_OFF).max(0.0));
        let too_often = binomial::at_least(self.came, n, (said + ODDS_OFF).min(1.0));
        n > 0 && too_rare.min(too_often) < CHANCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(right: u64, claimed: u64) -> Held {
        Held { runs: claimed, claimed, right, ..Held::default() }
    }

    #[test]
    fn a_limit_is_broken_beyond_chance_alone() {
        assert!(!held(0, 0).breaks_coverage());
        assert!(!held(270, 300).breaks_coverage(), "90 % of 300 is chance at 93 %");
        assert!(held(260, 300).breaks_coverage());
        assert!(!Held { runs: 200, claimed: 17, ..Held::default() }.breaks_false());
        assert!(Held { runs: 200, claimed: 19, ..Held::default() }.breaks_false());
    }

    #[test]
    fn odds_that_are_off_are_seen_in_both_directions() {
        let foretold = |came| Foretold { runs: 300, told: 300, came, odds: 0.857 * 300.0 };
        assert!(!foretold(257).breaks() && !foretold(240).breaks() && !foretold(270).breaks());
        assert!(foretold(215).breaks() && foretold(290).breaks());
    }
}
