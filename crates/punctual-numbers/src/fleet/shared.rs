//! What the bad machines of a fleet share: for each candidate (a finding, a setting, a kernel), how much more often
//! machines that have it are bad, with limits and odds that allow for the number of candidates.
//!
//! The unit is the machine and never the run, because the runs of one machine resemble each other. The test is Fisher's
//! exact one, limits of the difference are Newcombe's of 1998 from Wilson's score limits, and both are corrected: the
//! odds by Holm, the limits by Bonferroni.

use crate::stats::{float::float, multiplicity, normal};
use statrs::function::gamma::ln_gamma;

/// Probability that a fleet in which no candidate matters has any candidate named.
pub const RISK: f64 = 0.05;

/// The numbers of machines of one candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    pub candidate: String,
    pub bad_with: u64,
    pub good_with: u64,
    pub bad_without: u64,
    pub good_without: u64,
}

/// A candidate with its limits and odds.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shared {
    /// The finding, by the id of its knob.
    pub candidate: String,
    /// Number of machines that have it.
    pub machines_with: u64,
    /// Number of bad machines among those that have it.
    pub bad_with: u64,
    /// Number of machines that do not have it.
    pub machines_without: u64,
    /// Number of bad machines among those that do not have it.
    pub bad_without: u64,
    /// Share of bad machines among those that have it, divided by the share among all others; null if none of the
    /// others is bad.
    pub lift: Option<f64>,
    /// Share of bad machines among those that have it, less the share among all others, from -1 to 1.
    pub difference: f64,
    /// Lower limit of the difference, which holds for all candidates at once.
    pub low: f64,
    /// Upper limit of the difference, which holds for all candidates at once.
    pub high: f64,
    /// Probability that chance alone makes any candidate stand out as much.
    pub odds: f64,
    /// Whether the bad machines share it: the odds are at most 5 % and the limits exclude 0.
    pub named: bool,
}

/// Judges all candidates together; the strongest comes first. Candidates that all machines have, or none, cannot
/// explain a difference and are left out.
pub fn judged(candidates: &[Counted]) -> Vec<Shared> {
    let told: Vec<&Counted> = candidates.iter().filter(|of| of.with() > 0 && of.without() > 0).collect();
    let odds: Vec<(f64, f64)> = told.iter().map(|of| (of.odds_of_more(), 1.0)).collect();
    let adjusted = multiplicity::holm_weighted(&odds);
    let z = -normal::quantile(RISK / 2.0 / float(told.len().max(1) as u64));
    let one = |(of, odds): (&&Counted, &f64)| {
        let (low, high) = of.limits(z);
        Shared {
            candidate: of.candidate.clone(),
            machines_with: of.with(),
            bad_with: of.bad_with,
            machines_without: of.without(),
            bad_without: of.bad_without,
            lift: (of.bad_without > 0).then(|| of.share_with() / of.share_without()),
            difference: of.share_with() - of.share_without(),
            low,
            high,
            odds: *odds,
            named: *odds <= RISK && low > 0.0,
        }
    };
    let mut judged: Vec<Shared> = told.iter().zip(&adjusted).map(one).collect();
    judged.sort_by(|a, b| a.odds.total_cmp(&b.odds).then(b.difference.total_cmp(&a.difference)));
    judged
}

impl Counted {
    fn with(&self) -> u64 {
        self.bad_with.saturating_add(self.good_with)
    }

    fn without(&self) -> u64 {
        self.bad_without.saturating_add(self.good_without)
    }

    fn share_with(&self) -> f64 {
        float(self.bad_with) / float(self.with())
    }

    fn share_without(&self) -> f64 {
        float(self.bad_without) / float(self.without())
    }

    /// P(at least `bad_with` of the machines that have it are bad) if it makes no difference (Fisher's exact test).
    fn odds_of_more(&self) -> f64 {
        let (with, without) = (self.with(), self.without());
        let bad = self.bad_with.saturating_add(self.bad_without);
        let choose = |n: u64, k: u64| {
            let ln = |n: u64| ln_gamma(float(n) + 1.0);
            ln(n) - ln(k) - ln(n.saturating_sub(k))
        };
        let all = choose(with.saturating_add(without), bad);
        let most = bad.min(with);
        let term = |k: u64| (choose(with, k) + choose(without, bad.saturating_sub(k)) - all).exp();
        let sum: f64 = (self.bad_with..=most).filter(|k| bad.saturating_sub(*k) <= without).map(term).sum();
        sum.min(1.0)
    }

    /// Limits of the difference of both shares, `z` standard errors away.
    fn limits(&self, z: f64) -> (f64, f64) {
        let (with, without) = (self.share_with(), self.share_without());
        let (with_low, with_high) = wilson(with, float(self.with()), z);
        let (without_low, without_high) = wilson(without, float(self.without()), z);
        let away = |a: f64, b: f64| (a * a + b * b).sqrt();
        let low = with - without - away(with - with_low, without_high - without);
        let high = with - without + away(with_high - with, without - without_low);
        (low.max(-1.0), high.min(1.0))
    }
}

/// Wilson's score limits of a share of `n`.
fn wilson(share: f64, n: f64, z: f64) -> (f64, f64) {
    let square = z * z;
    let middle = 2.0 * n * share + square;
    let away = z * (square + 4.0 * n * share * (1.0 - share)).max(0.0).sqrt();
    let below = 2.0 * (n + square);
    (((middle - away) / below).max(0.0), ((middle + away) / below).min(1.0))
}
