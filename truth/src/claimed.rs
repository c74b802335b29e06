//! Compares the claims of single runs with the law from which the runs were drawn.

use super::family::Family;
use super::held::{Foretold, Held};
use super::run::Machine;
use punctual_hist::Nanos;
use punctual_numbers::claims::{Claims, PhaseClaims};
use punctual_numbers::recording::Recording;
use serde::Serialize;

/// The percentiles that are judged: for each number, the value that one value in that number exceeds.
pub const ONE_IN: [u64; 3] = [100, 1_000, 10_000];
const HOUR: Nanos = Nanos::from_secs(3_600);
/// Misses are judged for the budget that one activation in this number exceeds.
const MISSES_ONE_IN: f64 = 1_000.0;

/// Results of the single runs of one family.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Claimed {
    /// Number of runs reported as changing over time. Their limits apply to these runs alone and count as withheld.
    pub drifting: u64,
    /// Limits of p99, p99.9 and p99.99.
    pub percentiles: [Held; 3],
    /// Lower limits of percentiles that have no upper limit.
    pub lower: Held,
    /// Upper limit of the probability of a miss.
    pub misses: Held,
    /// Limits of the level that is exceeded once an hour.
    pub level: Held,
    /// Odds of a new maximum in the next hour.
    pub next: Foretold,
}

/// The true values of a family.
#[derive(Clone, Copy, Debug)]
pub struct Truth {
    pub percentiles: [f64; 3],
    pub budget: Nanos,
    /// Probability of a miss of the budget.
    pub miss: f64,
    /// Level that is exceeded once an hour; NaN if it is not known.
    pub once_an_hour: f64,
}

impl Truth {
    pub fn of(family: &Family) -> Self {
        let budget = Nanos::from_ns(family.at(1.0 / MISSES_ONE_IN) as u64);
        Self {
            percentiles: ONE_IN.map(|one_in| family.at(1.0 / one_in as f64)),
            budget,
            miss: family.above(budget.as_ns() as f64),
            once_an_hour: family.once_an_hour(),
        }
    }
}

/// The function that makes the claims of a run. A test replaces it by a faulty one.
pub type Judge = fn(&Recording) -> Option<PhaseClaims>;

/// The claims that the product makes.
pub fn product(recording: &Recording) -> Option<PhaseClaims> {
    Claims::of(recording, None).phases.into_iter().next()
}

/// Measures the runs of a family with these numbers and compares their claims with the truth. Runs that do not show the
/// family's moods are left out.
pub fn runs(family: &Family, numbers: impl Iterator<Item = u64>, judge: Judge) -> Claimed {
    let truth = Truth::of(family);
    let mut claimed = Claimed::default();
    for number in numbers {
        let mut machine = Machine::new(family, number, family.seconds.0);
        let recording = machine.measure(truth.budget);
        let largest = recording.cpus.values().filter_map(|cpu| cpu.ran.max()).max().unwrap_or_default();
        let Some(claims) = judge(&recording).filter(|_| machine.shows_itself()) else { continue };
        claimed.add(&claims, &truth);
        match claims.next.iter().find(|next| next.time == HOUR) {
            Some(next) => claimed.next.add(next.odds, machine.largest_of_an_hour() as u64 > largest.as_ns()),
            None => claimed.next.withheld(),
        }
    }
    claimed
}

impl Claimed {
    pub fn add(&mut self, claims: &PhaseClaims, truth: &Truth) {
        let drifts = claims.drift.is_some();
        self.drifting += u64::from(drifts);
        for ((held, one_in), truth) in self.percentiles.iter_mut().zip(ONE_IN).zip(truth.percentiles) {
            let told = claims.percentiles.iter().find(|told| told.one_in == one_in).filter(|_| !drifts);
            match told.map(|told| (told.low, told.high)) {
                Some((low, Some(high))) => held.judge(low, Some(high), truth),
                Some((Some(low), None)) => {
                    self.lower.judge(Some(low), None, truth);
                    held.withheld();
                }
                _ => held.withheld(),
            }
        }
        match claims.misses.filter(|_| !drifts).and_then(|misses| misses.upper) {
            Some(upper) => self.misses.add(upper >= truth.miss, Some(upper / truth.miss)),
            None => self.misses.withheld(),
        }
        let levels = claims.beyond.iter().flat_map(|beyond| &beyond.levels);
        match levels.into_iter().find(|level| level.once_in == HOUR && truth.once_an_hour.is_finite()) {
            Some(level) => self.level.judge(Some(level.low), level.high, truth.once_an_hour),
            None => self.level.withheld(),
        }
    }

    pub fn merge(&mut self, other: Self) {
        self.drifting += other.drifting;
        for (mine, theirs) in self.percentiles.iter_mut().zip(other.percentiles) {
            mine.merge(theirs);
        }
        self.lower.merge(other.lower);
        self.misses.merge(other.misses);
        self.level.merge(other.level);
        self.next.merge(&other.next);
    }

    /// Names of the limits that did not hold the truth often enough.
    pub fn broken(&self) -> Vec<&'static str> {
        let [p99, p999, p9999] = self.percentiles.each_ref().map(Held::breaks_coverage);
        let all = [
            ("p99", p99),
            ("p99.9", p999),
            ("p99.99", p9999),
            ("lower limits", self.lower.breaks_coverage()),
            ("misses", self.misses.breaks_coverage()),
            ("level of an hour", self.level.breaks_coverage()),
            ("odds of a new maximum", self.next.breaks()),
        ];
        all.into_iter().filter(|(_, broken)| *broken).map(|(name, _)| name).collect()
    }
}

impl Held {
    /// Counts whether the limits hold the truth. Limits are whole nanoseconds, so the truth is rounded in favour of the
    /// limits.
    fn judge(&mut self, low: Option<Nanos>, high: Option<Nanos>, truth: f64) {
        let (floor, ceiling) = (truth.floor() as u64, truth.ceil() as u64);
        let right = low.is_none_or(|low| low.as_ns() <= ceiling) && high.is_none_or(|high| floor <= high.as_ns());
        let width = high.map(|high| (high.as_ns() as f64 - low.map_or(0.0, |low| low.as_ns() as f64)) / truth);
        self.add(right, width);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family;

    /// The product's claims with upper limits of percentiles lowered by a twentieth, which must be found broken.
    fn too_low(recording: &Recording) -> Option<PhaseClaims> {
        let mut claims = product(recording)?;
        for told in &mut claims.percentiles {
            told.high = told.high.map(|high| Nanos::from_ns(high.as_ns() / 20 * 19));
        }
        Some(claims)
    }

    #[test]
    fn a_wrong_limit_is_found() {
        let families = family::all();
        let family = families.iter().find(|family| family.name == "lognormal, 30 s").unwrap();
        let sound = runs(family, 0..30, product);
        assert_eq!(sound.broken(), Vec::<&str>::new());
        assert_eq!(sound.percentiles[0].claimed, 30);
        let wrong = runs(family, 0..30, too_low);
        assert!(wrong.broken().contains(&"p99"), "{wrong:?}");
    }
}
