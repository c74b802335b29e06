//! Computes the figures of a strategy from its rounds.

use crate::round::Taken;
use punctual_rt::Nanos;
use serde::Serialize;

/// An activation counts as off if its error is larger than this, early or late.
const OFF_NS: u64 = 10_000;

/// The main figures of one strategy. Errors are taken without their sign: an early activation counts like a late one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Median over the rounds of each round's median error.
    pub p50_ns: u64,
    /// Median over the rounds of each round's 99th percentile of the errors.
    pub p99_ns: u64,
    /// The largest error in all rounds.
    pub max_ns: u64,
    /// Share of releases that were run more than 10 us off, or not run at all: the median over the rounds.
    pub off_by_10us_share: f64,
    /// Share of time spent polling, or of CPU time if the polling is not known: the median over the rounds.
    pub spin_share: f64,
    /// Number of activations in all rounds.
    pub cycles: u64,
}

/// Further figures of one strategy, to judge the main ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Details {
    /// Share of CPU time, for polling and for the kernel's work to sleep and wake: the median over the rounds.
    pub cpu_share: f64,
    /// Number of releases in all rounds that passed without being run.
    pub missed: u64,
    /// The smallest and the largest 99th percentile of a round. If they lie far apart, `p99_ns` is uncertain.
    pub p99_of_rounds_ns: [u64; 2],
}

/// Computes the figures of one strategy from its rounds.
pub fn of(rounds: &[Taken]) -> (Figures, Details) {
    let each: Vec<Vec<u64>> = rounds.iter().map(lengths).collect();
    let p99: Vec<u64> = each.iter().map(|sorted| quantile(sorted, 99)).collect();
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let figures = Figures {
        p50_ns: median(each.iter().map(|sorted| quantile(sorted, 50)).collect()),
        p99_ns: median(p99.clone()),
        max_ns: each.iter().filter_map(|sorted| sorted.last()).copied().max().unwrap_or(0),
        off_by_10us_share: median_share(rounds.iter().map(|round| {
            let off = round.errors.iter().filter(|error| error.unsigned_abs() > OFF_NS).count();
            let due = count(round.errors.len()).saturating_add(round.missed);
            share(Nanos::from_ns(count(off).saturating_add(round.missed)), Nanos::from_ns(due))
        })),
        spin_share: median_share(rounds.iter().map(|round| share(round.polled.unwrap_or(round.cpu), round.elapsed))),
        cycles: rounds.iter().map(|round| count(round.errors.len())).sum(),
    };
    let details = Details {
        cpu_share: median_share(rounds.iter().map(|round| share(round.cpu, round.elapsed))),
        missed: rounds.iter().map(|round| round.missed).sum(),
        p99_of_rounds_ns: [p99.iter().copied().min().unwrap_or(0), p99.iter().copied().max().unwrap_or(0)],
    };
    (figures, details)
}

/// The errors of a round without their signs, ascending.
fn lengths(round: &Taken) -> Vec<u64> {
    let mut sorted: Vec<u64> = round.errors.iter().map(|error| error.unsigned_abs()).collect();
    sorted.sort_unstable();
    sorted
}

/// The smallest value that at least `percent` of all values do not exceed; 0 if there is no value.
fn quantile(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0)
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    quantile(&values, 50)
}

fn median_share(shares: impl Iterator<Item = f64>) -> f64 {
    let mut shares: Vec<f64> = shares.collect();
    shares.sort_unstable_by(f64::total_cmp);
    let middle = shares.len().div_ceil(2).max(1) - 1;
    shares.get(middle).copied().unwrap_or(0.0)
}

fn share(part: Nanos, whole: Nanos) -> f64 {
    if whole == Nanos::ZERO { 0.0 } else { part.as_secs_f64() / whole.as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(errors: Vec<i64>, missed: u64, polled: Option<u64>) -> Taken {
        let polled = polled.map(Nanos::from_us);
        Taken { errors, missed, polled, cpu: Nanos::from_us(20), elapsed: Nanos::from_us(100) }
    }

    #[test]
    fn medians_of_the_rounds_and_the_largest_of_all() {
        let rounds = [
            round((1..=100).collect(), 0, Some(5)),
            round((1..=100).map(|n| -2 * n).collect(), 0, Some(6)),
            round((1..=100).map(|n| 1_000 * n).collect(), 0, Some(90)),
        ];
        let (figures, details) = of(&rounds);
        assert_eq!((figures.p50_ns, figures.p99_ns, figures.max_ns, figures.cycles), (100, 198, 100_000, 300));
        assert!((figures.spin_share - 0.06).abs() < 1e-9 && (details.cpu_share - 0.2).abs() < 1e-9);
        assert_eq!(details.p99_of_rounds_ns, [99, 99_000]);
    }

    #[test]
    fn a_release_that_was_not_run_is_off() {
        let (figures, details) = of(&[round(vec![10_000, -10_001, 0], 1, None)]);
        assert!((figures.off_by_10us_share - 0.5).abs() < 1e-9);
        assert_eq!((details.missed, figures.cycles), (1, 3));
        assert!((figures.spin_share - 0.2).abs() < 1e-9, "CPU time stands in");
    }

    #[test]
    fn the_keys_are_those_that_programs_look_for() {
        let json = serde_json::to_value(Figures::default()).unwrap();
        let mut keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["cycles", "max_ns", "off_by_10us_share", "p50_ns", "p99_ns", "spin_share"]);
    }

    #[test]
    fn no_round_no_panic() {
        assert_eq!(of(&[]), (Figures::default(), Details::default()));
    }
}
