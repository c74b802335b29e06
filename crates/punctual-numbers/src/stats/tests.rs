//! Compares the statistics with published data and with values that scipy 1.17 and R computed from the samples S1 to
//! S5. The samples come from a generator with a fixed seed that exists on both sides.

mod properties;

use super::moods::{Events, Moods};
use super::tail::{Exceedances, Law};
use super::{binomial, clusters, dependence, goodness, modes, moods, normal, order, ranks, trend};
use crate::stats::float::{float, whole};
use punctual_hist::SplitMix;

/// Random numbers above 0 and below 1 from the generator `SplitMix64`.
pub(crate) fn uniform(seed: u64) -> impl Iterator<Item = f64> {
    let mut random = SplitMix::new(seed);
    std::iter::repeat_with(move || random.unit())
}

fn pareto(seed: u64, n: usize, scale: f64, shape: f64) -> Vec<f64> {
    uniform(seed).take(n).map(|u| scale / shape * ((1.0 - u).powf(-shape) - 1.0)).collect()
}

fn s1() -> Vec<f64> {
    pareto(42, 500, 10.0, 0.1)
}

#[track_caller]
fn near(got: f64, wanted: f64, relative: f64) {
    assert!((got / wanted - 1.0).abs() < relative, "{got}, reference {wanted}");
}

#[test]
fn the_samples_are_those_of_the_references() {
    near(uniform(42).next().unwrap(), 0.741_564_878_771_823_4, 1e-15);
    near(s1().iter().sum(), 5_703.814_574_260_801, 1e-12);
    near(pareto(43, 300, 10.0, -0.3).iter().sum(), 2_254.258_421_003_656_6, 1e-12);
}

#[test]
fn the_most_likely_law_of_values() {
    // scipy.stats.genpareto.fit(x, floc=0) gives the scale 10.8416842 and the shape 0.0497034. A finer search gives the
    // scale below.
    let data = Exceedances::of_values(s1(), 0.0);
    let fit = data.fit().unwrap();
    near(fit.law.scale, 10.841_670_27, 1e-5);
    near(fit.law.shape, 0.049_702_02, 1e-4);
    near(fit.ln_likelihood, -1_716.549_547_40, 1e-10);
    let shape = data.shape(&fit);
    near(shape.low, -0.035_709_3, 1e-3);
    near(shape.high, 0.154_433_2, 1e-3);
    // S2 has a negative shape: its law ends.
    let fit = Exceedances::of_values(pareto(43, 300, 10.0, -0.3), 0.0).fit().unwrap();
    near(fit.law.scale, 10.354_741, 1e-5);
    near(fit.law.shape, -0.371_427, 1e-5);
    near(fit.ln_likelihood, -889.805_363, 1e-9);
}

#[test]
fn levels_with_intervals_by_profile_likelihood() {
    let data = Exceedances::of_values(s1(), 0.0);
    let fit = data.fit().unwrap();
    // A tail above 50 with 5e-4 of all values: (probability, level exceeded with it, lower and upper limit).
    for (p, level, low, high) in [
        (1e-6, 128.941_819, 114.735_892, 155.030_634),
        (1e-7, 164.961_854, 135.987_766, 226.795_130),
        (1e-9, 250.633_632, 173.446_781, 475.425_992),
    ] {
        let estimate = data.level(&fit, 5e-4 / p, 1.0).unwrap();
        near(50.0 + estimate.value, level, 1e-5);
        near(50.0 + estimate.low, low, 1e-4);
        near(50.0 + estimate.high, high, 1e-4);
    }
}

#[test]
fn the_most_likely_law_of_counts_in_bins() {
    let bins = |width: f64| {
        let mut counts = std::collections::BTreeMap::<u64, u64>::new();
        for x in s1() {
            *counts.entry(whole(x / width)).or_default() += 1;
        }
        let bin = move |(index, n): (u64, u64)| (float(index) * width, float(index + 1) * width, n);
        counts.into_iter().map(bin).collect::<Vec<_>>()
    };
    for (width, scale, shape, ln_likelihood) in
        [(1.0, 10.856_893, 0.049_087, -1_717.120_747), (5.0, 10.889_434, 0.048_140, -917.621_546)]
    {
        let data = Exceedances::of_bins(bins(width), 0.0);
        let fit = data.fit().unwrap();
        near(fit.law.scale, scale, 1e-4);
        near(fit.law.shape, shape, 2e-3);
        near(fit.ln_likelihood, ln_likelihood, 1e-9);
        let odds = goodness::odds_of_bins(&bins(width), &data, &fit.law).unwrap();
        assert!(odds > 0.05, "{odds}");
    }
    // The largest values are taken from the last bins.
    let few = Exceedances::of_bins([(0.0, 1.0, 90), (1.0, 2.0, 8), (4.0, 5.0, 3)], 0.0);
    assert_eq!(
        [1, 3, 4, 12, 101, 102].map(|place| few.largest(place)),
        [Some(4.0), Some(4.0), Some(1.0), Some(0.0), Some(0.0), None]
    );
    let censored = few.censored(5);
    assert_eq!(
        (censored.size().to_bits(), censored.largest(1), censored.largest(6)),
        (101f64.to_bits(), Some(1.0), Some(1.0))
    );
    // Two heaps of values follow no Pareto law.
    let heaps = [(0.0, 1.0, 300), (1.0, 2.0, 20), (2.0, 3.0, 5), (3.0, 4.0, 180), (4.0, 5.0, 20), (5.0, 6.0, 9)];
    let data = Exceedances::of_bins(heaps, 0.0);
    let fit = data.fit().unwrap();
    assert!(goodness::odds_of_bins(&heaps, &data, &fit.law).unwrap() < 1e-6);
}

#[test]
fn the_distance_from_the_law() {
    let data = Exceedances::of_values(s1(), 0.0);
    let fit = data.fit().unwrap();
    let mut sorted = s1();
    sorted.sort_by(f64::total_cmp);
    let probabilities: Vec<f64> = sorted.iter().map(|y| 1.0 - data.survival(&fit.law, *y)).collect();
    let distance = goodness::distance(&probabilities).unwrap();
    near(distance, 0.162_909_60, 1e-3);
    for (a2, shape, odds) in [(0.804, 0.0, 0.1), (0.965, 0.0, 0.05), (1.4, 0.0, 0.01), (0.912, 0.15, 0.05)] {
        near(goodness::odds(a2, shape), odds, 1e-9);
    }
    assert!(goodness::odds(0.163, 0.05) > 0.9 && goodness::odds(3.0, 0.05) < 1e-4);
}

/// Port Pirie, yearly largest sea levels 1923 to 1987 in metres (Coles 2001, table 1.1).
const PORT_PIRIE: [f64; 65] = [
    4.03, 3.83, 3.65, 3.88, 4.01, 4.08, 4.18, 3.80, 4.36, 3.96, 3.98, 4.69, 3.85, 3.96, 3.85, 3.93, 3.75, 3.63, 3.57,
    4.25, 3.97, 4.05, 4.24, 4.22, 3.73, 4.37, 4.06, 3.71, 3.96, 4.06, 4.55, 3.79, 3.89, 4.11, 3.85, 3.86, 3.86, 4.21,
    4.01, 4.11, 4.24, 3.96, 4.21, 3.74, 3.85, 3.88, 3.66, 4.11, 3.71, 4.18, 3.90, 3.78, 3.91, 3.72, 4.00, 3.66, 3.62,
    4.33, 4.55, 3.75, 4.08, 3.90, 3.88, 3.94, 4.33,
];

#[test]
fn largest_of_blocks_above_a_threshold_follow_the_law_of_block_maxima() {
    // GEV with location 3.874750, scale 0.198044 and shape -0.050110 (Coles 2001) is, above u, this law: rate
    // (1 + shape (u - location) / scale)^(-1/shape) a year and scale + shape (u - location).
    let below = 3.5;
    let law = Law { scale: 0.198_044 - 0.050_110 * (below - 3.874_750), shape: -0.050_110 };
    let rate = (1.0f64 - 0.050_110 * (below - 3.874_750) / 0.198_044).powf(1.0 / 0.050_110);
    let data = Exceedances::of_values(PORT_PIRIE.iter().map(|x| x - below), rate);
    // The fitted likelihood is conditional on a year's maximum above the threshold, which is true of all 65 years.
    let all_above = 65.0 * (-(-rate).exp()).ln_1p();
    near(data.ln_likelihood(&law) + all_above, 4.339_058, 2e-2);
    // The level exceeded once in 100 years under this law and rate is 4.688403.
    near(below + law.level(100.0 * rate), 4.688_403 + 0.000_6, 1e-3);
    let fit = data.fit().unwrap();
    near(fit.law.scale, law.scale, 0.05);
    assert!((fit.law.shape - law.shape).abs() < 0.03, "{fit:?}");
}

#[test]
fn dependence_of_what_follows() {
    let x = s1();
    for (lags, q, p) in [(5, 6.046_061, 0.301_763), (10, 14.600_530, 0.147_319), (20, 17.222_649, 0.638_472)] {
        let tested = dependence::ljung_box(&x, lags).unwrap();
        near(tested.statistic, q, 1e-6);
        near(tested.odds, p, 1e-5);
    }
    let ranks = ranks::of(&x);
    for (lags, q, p) in [(5, 7.073_323, 0.215_244), (10, 14.344_662, 0.157_843), (20, 19.032_455, 0.519_717)] {
        let tested = dependence::ljung_box(&ranks, lags).unwrap();
        near(tested.statistic, q, 1e-6);
        near(tested.odds, p, 1e-5);
    }
    assert_eq!(ranks::of(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    let alternating: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
    assert!(dependence::ljung_box(&alternating, 5).unwrap().odds < 1e-9);
    assert!(dependence::ljung_box(&[1.0; 100], 5).is_none(), "nothing differs");
}

#[test]
fn change_over_time() {
    let x = s1();
    near(trend::kpss(&x, 5).unwrap(), 0.161_654, 1e-5);
    let kendall = trend::kendall(&x).unwrap();
    near(kendall.statistic, -0.006_846, 1e-4);
    near(kendall.odds, 0.819_016, 1e-5);
    let rising: Vec<f64> = x.iter().zip(0u32..).map(|(x, i)| x + 0.05 * f64::from(i)).collect();
    assert!(trend::kendall(&rising).unwrap().odds < 1e-9 && trend::kpss(&rising, 5).unwrap() > 0.739);
    // scipy.stats.binomtest(k, n, p).pvalue doubles the smaller tail where p is 1/2: 10 of 10, 3 of 10, 5 of 10.
    near(trend::halves(10, 100, 0, 100), 2.0 / 1024.0, 1e-9);
    near(trend::halves(3, 100, 7, 100), 0.34375, 1e-9);
    near(trend::halves(5, 100, 5, 100), 1.0, 1e-9);
}

#[test]
fn exceedances_that_come_together() {
    // Moving maxima of pairs, whose index is 1/2: exceedances of the 98 % quantile in 1000 blocks of 100.
    let z: Vec<f64> = uniform(5).take(100_001).map(|u| -1.0 / u.ln()).collect();
    let w: Vec<f64> = z.windows(2).map(|pair| pair[0].max(pair[1]) / 2.0).collect();
    let high = |x: &f64| *x > 200.0;
    let blocks = w.chunks(100).filter(|block| block.iter().any(high)).count() as u64;
    near(clusters::by_blocks(blocks, 1_000, w.iter().filter(|x| high(x)).count() as u64, 100_000).unwrap(), 0.5, 0.1);
    // Ten blocks, of which four hold the 8 of 1000 values: by hand.
    let by_hand = (10.0 * (0.6f64).ln()) / (1000.0 * (0.992f64).ln());
    near(clusters::by_blocks(4, 10, 8, 1000).unwrap(), by_hand, 1e-12);
    assert_eq!(clusters::by_blocks(10, 10, 8, 1000), None);
}

#[test]
fn ranks_of_the_limits_of_percentiles() {
    // (number of values, share above the percentile, rank from the top of its one-sided upper limit at 95 %)
    for (n, above, rank) in [
        (1_000_000, 1e-3, 948),
        (1_000_000, 1e-4, 84),
        (1_000_000, 1e-5, 5),
        (100_000, 1e-3, 84),
        (3_600_000, 1e-5, 26),
        (3_600_000, 1e-6, 1),
    ] {
        assert_eq!(order::upper(n, above, 0.95), Some(rank), "{n} {above}");
    }
    assert_eq!(order::upper(2_995_730, 1e-6, 0.95), None, "one too few for the largest to cover it");
    assert!(order::upper(2_995_732, 1e-6, 0.95).is_some());
    // Ten values, median: the smallest one lies below it with probability 1 - 1/1024, the second with 1 - 11/1024.
    assert_eq!((order::upper(10, 0.5, 0.975), order::lower(10, 0.5, 0.975)), (Some(2), Some(9)));
    assert_eq!(order::upper(10, 0.5, 0.995), Some(1));
    // For a trillion values the rank is half their number less 1.645 standard deviations, which are 822427.
    let rank = order::upper(1_000_000_000_000, 0.5, 0.95).unwrap();
    assert!(rank.abs_diff(500_000_000_000 - 822_427) < 2, "{rank}");
}

#[test]
fn how_many_values_a_claim_takes() {
    assert_eq!(order::wanted(0, 1e-6, 0.95), Some(2_995_731));
    // With one miss in 3 600 000 samples the bound of the miss probability is 1.31774e-6.
    let n = order::wanted(1, 1.317_74e-6, 0.95).unwrap();
    assert!(n.abs_diff(3_600_000) < 30, "{n}");
}

#[test]
fn binomial_tails() {
    // scipy.stats.binom.sf(k - 1, n, p).
    for (k, n, p, wanted) in [
        (1, 10, 0.1, 0.651_321_559_9),
        (3, 10, 0.1, 0.070_190_826_4),
        (10, 10, 0.5, 0.000_976_562_5),
        (7, 10, 0.5, 0.171_875),
        (110, 1000, 0.1, 0.158_257_530_188_702),
        (90, 1000, 0.1, 0.866_596_228_235_893),
        (10_300, 1_000_000_000, 1e-5, 0.001_432_295_078),
    ] {
        near(binomial::at_least(k, n, p), wanted, 1e-7);
    }
    for k in [499_999_000_000u64, 500_000_000_000, 500_000_600_000] {
        let tail = binomial::at_least(k, 1_000_000_000_000, 0.5);
        let z = (float(k) - 0.5 - 5e11) / 5e5;
        near(tail, statrs::function::erf::erfc(z / 2f64.sqrt()) / 2.0, 1e-6);
    }
}

#[test]
fn gaps_and_values_that_do_not_belong() {
    // The logarithm of the survival function at each value of an evenly spread sample, which has no odd gap.
    let regular: Vec<f64> = (1..50).map(|i| (f64::from(i) / 50.0).ln()).collect();
    assert!(goodness::odds_of_gap(&regular) > 0.5);
    let mut odd = regular.clone();
    odd.iter_mut().take(3).for_each(|e| *e -= 6.0);
    assert!(goodness::odds_of_gap(&odd) < 1e-5, "{}", goodness::odds_of_gap(&odd));
    // Samples of one law hold no strangers, but a value far out is one.
    let with = |more: &[f64]| {
        let values = s1().into_iter().chain(more.iter().copied());
        goodness::strangers(&Exceedances::of_values(values, 0.0))
    };
    assert_eq!(with(&[]), None);
    assert_eq!(with(&[1_000.0]), Some(1));
    assert!(with(&[900.0, 1_000.0]).is_some());
    assert_eq!(goodness::strangers(&Exceedances::of_values(pareto(43, 300, 10.0, -0.3), 0.0)), None);
}

#[test]
fn hills() {
    let one: Vec<u64> = vec![0, 3, 100, 900, 700, 400, 390, 410, 200, 20, 1, 0, 1];
    assert_eq!(modes::modes(&one).len(), 1);
    let two: Vec<u64> = vec![0, 3, 100, 900, 100, 5, 3, 60, 400, 50, 2];
    let found = modes::modes(&two);
    assert_eq!(found.iter().map(|m| (m.peak, m.size)).collect::<Vec<_>>(), [(3, 1_108), (8, 515)]);
    assert!(modes::modes(&[]).is_empty() && modes::modes(&[0, 0]).is_empty());
}

/// 256 cells of 10 000 values, of which one in 100 is an exceedance, with moods of this strength that last 10 cells.
fn moody(strength: f64, seed: u64) -> Vec<moods::Cell> {
    let mut dice = uniform(seed);
    let mut normal = move || normal::quantile(dice.next().unwrap());
    let (kept, mut mood) = ((-0.2f64).exp(), 0.0);
    let cell = |_| {
        mood = kept * mood + (1.0 - kept * kept).sqrt() * normal();
        let expected = 100.0 * (1.0 + strength * mood);
        ((expected + expected.max(0.0).sqrt() * normal()).max(0.0).round(), 10_000.0)
    };
    (0..256).map(cell).collect()
}

/// The moods that cells of length 1 show, and the design effect at 95 %.
fn shown(cells: &[moods::Cell]) -> (Moods, f64) {
    let events = Events::new(cells, 256.0);
    let moods = Moods::of(&[&events], None);
    let effect = moods.effect(&events, 0.025);
    (moods, effect)
}

#[test]
fn counts_without_moods_are_worth_what_they_are() {
    let all: Vec<(f64, f64)> =
        (0..20).map(|seed| shown(&moody(0.0, seed))).map(|(m, effect)| (m.odds, effect)).collect();
    let calm = all.iter().filter(|(odds, effect)| *odds < 0.2 && *effect < 1.3);
    assert!(calm.count() >= 15 && all.iter().all(|(odds, _)| *odds < 0.9), "{all:?}");
    let (_, even) = shown(&[(7.0, 100.0); 64]);
    assert!(even < 1.1, "{even}");
}

/// Moods of 0.3 of the mean: variance of the mean is 1 + 30^2 / 99 * 10 = 92 times that of independent values.
#[test]
fn moods_have_their_length_and_widen_the_mean_by_more_than_their_variance() {
    let mut effects = Vec::new();
    for seed in 0..11 {
        let (moods, effect) = shown(&moody(0.3, seed));
        assert!(moods.odds > 0.99, "{}", moods.odds);
        assert!((1.6..16.0).contains(&moods.tau), "seed {seed}: {} where it is 5", moods.tau);
        effects.push(effect);
    }
    effects.sort_by(f64::total_cmp);
    assert!(effects[0] > 20.0 && (60.0..300.0).contains(&effects[5]), "{effects:?}");
}

#[test]
fn exceedances_are_spread_over_the_places_they_are_in() {
    let each = [(1.0, 10.0); 32];
    assert_eq!(moods::spread_over(&each, 32.0), (32.0, 0.0), "none is busier than the others");
    assert_eq!(moods::spread_over(&each, 8.0), (8.0, 0.0));
    let mut one = [(0.0, 10.0); 32];
    one[5] = (9.0, 10.0);
    assert_eq!(moods::spread_over(&one, 32.0), (1.0, 1.0));
    let mut two = [(2.0, 10.0); 32];
    (two[5], two[9]) = ((9.0, 10.0), (9.0, 10.0));
    let (places, busy) = moods::spread_over(&two, 32.0);
    assert!(places > 18.0 && (busy - 2.0).abs() < 1e-12, "{places} {busy}");
    assert_eq!(moods::spread_over(&[(0.0, 10.0); 32], 32.0), (0.0, 0.0));
}
