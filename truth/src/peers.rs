//! Standard methods to find a difference between two runs. Each has the same margin as the product and an error of 5 %
//! over all its tests.

use super::dice::Dice;
use punctual_hist::{Nanos, bucket_high, bucket_low};
use punctual_numbers::recording::Recording;
use punctual_numbers::stats::binomial;
use std::collections::BTreeMap;

/// Names of the methods, in the order of their verdicts.
pub const NAMES: [&str; 3] = ["block bootstrap", "Mann-Whitney on stretches", "Poisson on clusters"];

/// Whether the latencies of the second run are larger; `None` if no difference is found.
pub type Verdict = Option<bool>;

/// A change by less than this factor is not a difference.
const MARGIN: f64 = 1.1;
/// The percentiles that the methods test.
const SHARES: [f64; 3] = [0.5, 0.99, 0.999];
/// Number of stretches that a run is cut into.
const STRETCHES: usize = 24;
const RESAMPLES: usize = 400;

/// Non-empty buckets in ascending order, each with its count.
type Counts = Vec<(usize, u64)>;

/// The verdicts of all methods, in the order of `NAMES`.
pub fn verdicts(a: &Recording, b: &Recording, number: u64) -> [Verdict; 3] {
    let (first, second) = (stretches(a), stretches(b));
    let mut dice = Dice::new("peers", number);
    [bootstrap(&first, &second, &mut dice), mann_whitney(&first, &second), poisson(a, b)]
}

/// The slices of a recording, joined to stretches of about equal length.
fn stretches(recording: &Recording) -> Vec<Counts> {
    let slices: Vec<_> = recording.slices.iter().collect();
    let size = slices.len().div_ceil(STRETCHES).max(1);
    let of = |part: &[&punctual_numbers::recording::TimeSlice]| {
        let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
        for (bucket, n) in part.iter().flat_map(|slice| slice.cpus.values()).flat_map(|cpu| cpu.ran.nonzero()) {
            *counts.entry(bucket).or_default() += n;
        }
        counts.into_iter().collect()
    };
    slices.chunks(size).map(of).collect()
}

/// A percentile of counts, as the middle of its bucket.
fn percentile(counts: &[(usize, u64)], share: f64) -> f64 {
    let all: u64 = counts.iter().map(|(_, n)| n).sum();
    let rank = ((all as f64 * share).ceil() as u64).max(1);
    let mut seen = 0;
    for (bucket, n) in counts {
        if seen + n >= rank {
            let (low, high) = (bucket_low(*bucket) as f64, bucket_high(*bucket) as f64 + 1.0);
            return low + (high - low) * ((rank - seen) as f64 - 0.5) / *n as f64;
        }
        seen += n;
    }
    f64::NAN
}

/// Efron's percentile interval of the ratio of percentiles, resampling stretches (Künsch 1989), at 5 % over all
/// percentiles.
fn bootstrap(a: &[Counts], b: &[Counts], dice: &mut Dice) -> Verdict {
    let mut ratios = [const { Vec::new() }; SHARES.len()];
    for _ in 0..RESAMPLES {
        let (one, other) = (resampled(a, dice), resampled(b, dice));
        for (list, share) in ratios.iter_mut().zip(SHARES) {
            list.push((percentile(&other, share) / percentile(&one, share)).ln());
        }
    }
    let risk = 0.05 / SHARES.len() as f64 / 2.0;
    let beyond = RESAMPLES as f64 * risk;
    ratios.iter_mut().find_map(|list| {
        list.sort_by(f64::total_cmp);
        let (low, high) = (list.get(beyond as usize)?, list.get(RESAMPLES - 1 - beyond as usize)?);
        if *low > MARGIN.ln() { Some(true) } else { (*high < -MARGIN.ln()).then_some(false) }
    })
}

fn resampled(stretches: &[Counts], dice: &mut Dice) -> Counts {
    let last = stretches.iter().filter_map(|counts| counts.last()).map(|(bucket, _)| *bucket).max().unwrap_or_default();
    let mut counts = vec![0; last + 1];
    for _ in 0..stretches.len() {
        for (bucket, n) in stretches.get(dice.below(stretches.len())).into_iter().flatten() {
            if let Some(count) = counts.get_mut(*bucket) {
                *count += n;
            }
        }
    }
    counts.into_iter().enumerate().filter(|(_, n)| *n > 0).collect()
}

/// Mann and Whitney's test (1947) of the percentiles of stretches, at 5 % over all percentiles.
fn mann_whitney(a: &[Counts], b: &[Counts]) -> Verdict {
    let critical = punctual_numbers::stats::normal::quantile(1.0 - 0.05 / SHARES.len() as f64 / 2.0);
    SHARES.into_iter().find_map(|share| {
        let of = |list: &[Counts], times: f64| list.iter().map(|c| times * percentile(c, share)).collect::<Vec<_>>();
        let larger = deviate(&of(a, MARGIN), &of(b, 1.0)) > critical;
        let smaller = deviate(&of(b, MARGIN), &of(a, 1.0)) > critical;
        if larger { Some(true) } else { smaller.then_some(false) }
    })
}

/// The number of standard deviations by which the second values are larger than the first.
fn deviate(a: &[f64], b: &[f64]) -> f64 {
    let (n, m) = (a.len() as f64, b.len() as f64);
    let of = |x: &f64, y: &f64| if y > x { 1.0 } else { f64::from(u8::from(y >= x)) / 2.0 };
    let won: f64 = a.iter().map(|x| b.iter().map(|y| of(x, y)).sum::<f64>()).sum();
    (won - n * m / 2.0) / (n * m * (n + m + 1.0) / 12.0).sqrt()
}

/// The exact conditional test of two Poisson counts (Przyborowski and Wilenski 1940) of the seconds that hold a value
/// above a threshold. The two thresholds are exceeded by one in 1e4 and one in 1e5 of the values of both runs.
fn poisson(first: &Recording, second: &Recording) -> Verdict {
    let maxima = |recording: &Recording| -> Vec<u64> {
        recording.blocks.of(0, |_| true).into_values().map(Nanos::as_ns).collect()
    };
    let blocks = [maxima(first), maxima(second)];
    let due: u64 = [first, second].iter().flat_map(|run| run.cpus.values()).map(|cpu| cpu.ran.count()).sum();
    let mut all: Vec<u64> = blocks.iter().flatten().copied().collect();
    all.sort_unstable_by(|one, other| other.cmp(one));
    let risk = 0.05 / 4.0;
    [1e4, 1e5].into_iter().find_map(|one_in| {
        let threshold = *all.get((due as f64 / one_in).round() as usize)?;
        let [before, after] = blocks.each_ref().map(|list| list.iter().filter(|max| **max > threshold).count() as u64);
        let [seconds, seconds_after] = blocks.each_ref().map(|list| list.len() as f64);
        let share = |first: f64, second: f64| second / (first + second);
        let larger = binomial::at_least(after, before + after, share(seconds, seconds_after * MARGIN));
        let smaller = binomial::chance_of_at_most(after, before + after, share(seconds * MARGIN, seconds_after));
        if larger < risk { Some(true) } else { (smaller < risk).then_some(false) }
    })
}

/// The exact conditional test of two Poisson counts, at 5 %, of the activations with at least this latency. It is given
/// the threshold and is asked one question, so that no test that must find a threshold can be expected to find more.
pub fn poisson_of_known(first: &Recording, second: &Recording, threshold: f64) -> Verdict {
    let [before, after] = [first, second].map(|run| {
        let cells = run.cpus.values().flat_map(|cpu| cpu.ran.nonzero());
        cells.filter(|(bucket, _)| bucket_high(*bucket) as f64 >= threshold).map(|(_, n)| n).sum::<u64>()
    });
    if binomial::at_least(after, before + after, 0.5) < 0.025 {
        Some(true)
    } else {
        (binomial::chance_of_at_most(after, before + after, 0.5) < 0.025).then_some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_lies_between_the_edges_of_its_bucket() {
        let counts = [(640, 50), (700, 50)];
        let (low, high) = (bucket_low(640) as f64, bucket_high(640) as f64 + 1.0);
        assert!((low..=high).contains(&percentile(&counts, 0.5)));
        assert!(percentile(&counts, 0.99) > bucket_low(700) as f64);
        assert!(percentile(&[], 0.5).is_nan());
    }

    #[test]
    fn counts_decide_as_the_exact_test_says() {
        use crate::{family, run::Machine};
        let families = family::all();
        let family = families.iter().find(|family| family.name == "lognormal, 30 s").unwrap();
        let [first, second] = [1, 2].map(|number| Machine::new(family, number, 30).measure(Nanos::from_us(100)));
        let threshold = family.at(0.1);
        assert_eq!(poisson_of_known(&first, &second, threshold), None);
        // Of 3 000 against 300 no doubt remains.
        let fewer = Machine::new(family, 3, 3).measure(Nanos::from_us(100));
        assert_eq!(poisson_of_known(&fewer, &second, threshold), Some(true));
        assert_eq!(poisson_of_known(&second, &fewer, threshold), Some(false));
        assert_eq!(poisson_of_known(&first, &second, 1e12), None, "no event, no decision");
    }

    #[test]
    fn ranks_that_differ_wholly_differ_and_equal_ones_do_not() {
        let (low, high) = ([1.0; 12], [2.0; 12]);
        assert!(deviate(&low, &high) > 4.0 && deviate(&high, &low) < -4.0);
        assert!(deviate(&low, &low).abs() < 1e-9);
    }
}
