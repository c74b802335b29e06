//! Exact limits of the probability of an event that was seen a number of times (Clopper and Pearson 1934), and exact
//! binomial probabilities. No model of the distribution of latencies is needed.
//!
//! A limit holds for future activations only if machine and load stay the same, which no calculation can check.

#![allow(clippy::cast_precision_loss, reason = "numbers of samples beyond 2^53 lose nothing that matters to a bound")]

use super::float::whole;

/// With more misses and more hits than this the exact sum takes seconds, and Wilson's formula agrees in all printed
/// digits.
const EXACT_MAX: u64 = 10_000_000;

/// Power of the number of ties in [`new_maximum`]. For exponential tails in steps of up to eight scales it keeps the
/// probability within 6 points of the truth, where the future is up to six times as long as the past; for values that
/// are all equal the probability falls to 0.
const TIES_POWER: f64 = 0.9;

/// With a larger variance of the count than this, summing is slow and the normal approximation is right to six digits.
const MANY: f64 = 1e8;

/// Upper limit of the probability of a miss: the largest one with which `misses` or fewer in `n` samples still have a
/// probability of `1 - confidence`. `None` without samples, with more misses than samples, or for a confidence outside
/// 0.5..1.
pub fn upper_bound(misses: u64, n: u64, confidence: f64) -> Option<f64> {
    if n == 0 || misses > n || !(0.5..1.0).contains(&confidence) {
        return None;
    }
    let alpha = 1.0 - confidence;
    if misses == n {
        return Some(1.0);
    }
    if misses == 0 {
        return Some(-(alpha.ln() / n as f64).exp_m1());
    }
    if misses.min(n - misses) > EXACT_MAX {
        return Some(wilson(misses as f64, n as f64, alpha));
    }
    // The probability of `misses` or fewer falls as p grows, and is about a half at the observed share.
    let (mut low, mut high) = (misses as f64 / n as f64, 1.0f64);
    for _ in 0..200 {
        let middle = (low * high).sqrt();
        if middle <= low || middle >= high {
            break;
        }
        if at_most(misses, n, middle) > alpha { low = middle } else { high = middle }
    }
    Some(high)
}

/// P(X >= k) for a binomial X of `n` trials with probability `p`.
pub fn at_least(k: u64, n: u64, p: f64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    if k > n || p.is_nan() || p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    let (successes, all) = (k as f64, n as f64);
    let variance = all * p * (1.0 - p);
    let tail = match k {
        _ if variance > MANY => {
            upper_normal((successes - 0.5 - all * p) / variance.sqrt(), (1.0 - 2.0 * p) / variance.sqrt())
        }
        // Summing from `k` away from the mean adds falling terms only, so the tail that excludes the mean is summed.
        k if successes > all * p && k == n => p.powf(all),
        k if successes > all * p => at_most(n - k, n, 1.0 - p),
        1 => -(all * (-p).ln_1p()).exp_m1(),
        k => 1.0 - at_most(k - 1, n, p),
    };
    tail.clamp(0.0, 1.0)
}

/// P(Z > x) for a standardised sum that is nearly normal, with the first term of Edgeworth's series for its skewness.
fn upper_normal(x: f64, skewness: f64) -> f64 {
    let density = (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt();
    statrs::function::erf::erfc(x / std::f64::consts::SQRT_2) / 2.0 + density * skewness / 6.0 * (x * x - 1.0)
}

/// Number of samples without a miss that allows the claim, with `confidence`, that a miss is less probable than `p`.
/// The largest of that number of samples is an upper limit of the quantile `1 - p` (Wilks 1941). `None` for arguments
/// outside 0..1.
pub fn samples_to_claim(p: f64, confidence: f64) -> Option<u64> {
    let inside = |x: f64| x > 0.0 && x < 1.0;
    (inside(p) && inside(confidence)).then(|| whole(((1.0 - confidence).ln() / (-p).ln_1p()).ceil()))
}

/// The probability that the next `more` samples hold a value larger than all `n` before, of which `ties` share the
/// maximum. `None` without any sample.
///
/// With one maximum the probability is `more / (n + more)`, exact where the order of samples does not matter. Ties show
/// that values come in steps, so that the next maximum may be one more equal value. With ties the logarithm of the
/// probability of no larger value is divided by a power of their number ([`TIES_POWER`]).
pub fn new_maximum(n: u64, more: u64, ties: u64) -> Option<f64> {
    let (n, more, ties) = (n as f64, more as f64, ties.max(1) as f64);
    (n + more > 0.0)
        .then(|| if ties > 1.0 { 1.0 - (n / (n + more)).powf(ties.powf(-TIES_POWER)) } else { more / (n + more) })
}

/// P(X <= k) for a binomial X of `n` trials with probability `p`; 1 if `p` is no probability.
pub fn chance_of_at_most(k: u64, n: u64, p: f64) -> f64 {
    if k >= n || !(0.0..=1.0).contains(&p) {
        return 1.0;
    }
    let (none, all) = (p <= 0.0, p >= 1.0);
    if none || all {
        return if none { 1.0 } else { 0.0 };
    }
    if k as f64 / n as f64 <= p {
        return at_most_below_mean(k, n, p);
    }
    (1.0 - at_most_below_mean(n - k - 1, n, 1.0 - p)).clamp(0.0, 1.0)
}

fn at_most_below_mean(k: u64, n: u64, p: f64) -> f64 {
    let sum = if k == 0 { (n as f64 * (-p).ln_1p()).exp() } else { at_most(k, n, p) };
    sum.clamp(0.0, 1.0)
}

/// Wilson's upper bound (1927) with the continuity correction.
fn wilson(misses: f64, n: f64, alpha: f64) -> f64 {
    let z = std::f64::consts::SQRT_2 * statrs::function::erf::erfc_inv(2.0 * alpha);
    let share = (misses + 0.5) / n;
    let spread = z * (share * (1.0 - share) / n + (z / n) * (z / n) / 4.0).sqrt();
    (share + z * z / n / 2.0 + spread) / (1.0 + z * z / n)
}

/// P(X <= k) for a binomial X, with 0 < k < n and k/n <= p < 1, so that terms fall from `k` downwards.
fn at_most(k: u64, n: u64, p: f64) -> f64 {
    let odds = (1.0 - p) / p;
    let (mut term, mut sum) = (1.0, 1.0);
    let (mut down, mut up) = (k as f64, (n - k) as f64);
    while term > 1e-17 * sum && down > 0.0 {
        up += 1.0;
        term *= down / up * odds;
        down -= 1.0;
        sum += term;
    }
    ln_probability(k as f64, n as f64, p).exp() * sum
}

/// The logarithm of P(X = k) by Loader's saddle-point expansion, which loses no digits even for factorials of a
/// billion.
fn ln_probability(k: f64, n: f64, p: f64) -> f64 {
    let errors = stirling_error(n) - stirling_error(k) - stirling_error(n - k);
    let deviances = deviance(k, n * p) + deviance(n - k, n * (1.0 - p));
    errors - deviances - 0.5 * (std::f64::consts::TAU * k * (n - k) / n).ln()
}

fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        let (mut i, mut ln_factorial) = (1.0, 0.0);
        while i <= n {
            ln_factorial += f64::ln(i);
            i += 1.0;
        }
        return ln_factorial - (n + 0.5) * n.ln() + n - 0.5 * std::f64::consts::TAU.ln();
    }
    let square = n * n;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0) / square) / square) / square) / n
}

/// Computes x ln(x/m) + m - x. Near x = m the terms cancel, so a series replaces the formula there.
fn deviance(x: f64, m: f64) -> f64 {
    let v = (x - m) / (x + m);
    if v.abs() >= 0.1 {
        return x * (x / m).ln() + m - x;
    }
    let (mut sum, mut power, mut odd) = ((x - m) * v, 2.0 * x * v, 1.0);
    loop {
        power *= v * v;
        odd += 2.0;
        let next = sum + power / odd;
        if next.to_bits() == sum.to_bits() || odd > 1000.0 {
            return next;
        }
        sum = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Asserts that two numbers agree in the digits that the reference is printed with.
    fn assert_digits(got: f64, wanted: f64, what: &str) {
        assert!((got / wanted - 1.0).abs() < 5.1e-6, "{what}: {got:e}, reference {wanted:e}");
    }

    #[test]
    fn reference_table() {
        // (number of samples, upper bounds at 95 % for 0, 1, 2, 5 and 10 misses)
        let table = [
            (1_000, [2.99125e-3, 4.73499e-3, 6.28228e-3, 1.04841e-2, 1.69032e-2]),
            (100_000, [2.99569e-5, 4.74378e-5, 6.29566e-5, 1.05127e-4, 1.69616e-4]),
            (3_600_000, [8.32148e-7, 1.31774e-6, 1.74883e-6, 2.92029e-6, 4.71172e-6]),
            (86_400_000, [3.46728e-8, 5.49058e-8, 7.28680e-8, 1.21679e-7, 1.96322e-7]),
            (1_000_000_000, [2.99573e-9, 4.74386e-9, 6.29579e-9, 1.05130e-8, 1.69622e-8]),
        ];
        for (n, bounds) in table {
            for (misses, wanted) in [0, 1, 2, 5, 10].into_iter().zip(bounds) {
                assert_digits(upper_bound(misses, n, 0.95).unwrap(), wanted, &format!("{misses} of {n}"));
            }
        }
        assert_digits(upper_bound(49, 2000, 0.95).unwrap(), 0.030_982_8, "49 of 2000");
        assert_digits(upper_bound(6, 1500, 0.95).unwrap(), 0.007_879_6, "6 of 1500");
    }

    #[test]
    fn samples_needed() {
        let table = [
            (1e-2, [230, 299, 459]),
            (1e-3, [2302, 2995, 4603]),
            (1e-4, [23025, 29956, 46050]),
            (1e-5, [230_258, 299_572, 460_515]),
            (1e-6, [2_302_584, 2_995_731, 4_605_168]),
        ];
        for (p, wanted) in table {
            for (confidence, n) in [0.90, 0.95, 0.99].into_iter().zip(wanted) {
                assert_eq!(samples_to_claim(p, confidence), Some(n), "{p:e} at {confidence}");
            }
        }
        assert_digits(samples_to_claim(1e-9, 0.95).unwrap() as f64, 2.995_732e9, "1e-9");
    }

    #[test]
    fn questions_without_an_answer() {
        for (misses, n, confidence) in [(0, 0, 0.95), (2, 1, 0.95), (0, 9, 1.0), (0, 9, 0.0), (0, 9, f64::NAN)] {
            assert_eq!(upper_bound(misses, n, confidence), None);
        }
        assert_eq!(upper_bound(7, 7, 0.95), Some(1.0));
        assert_eq!((samples_to_claim(0.0, 0.95), samples_to_claim(1.0, 0.95)), (None, None));
        assert_eq!((new_maximum(0, 0, 1), new_maximum(0, 5, 1)), (None, Some(1.0)));
        assert_eq!((new_maximum(19, 1, 0), new_maximum(19, 1, 1)), (Some(0.05), Some(0.05)));
    }

    /// The true probability of a new maximum and the mean of the computed one, for values whose number above x is
    /// Poisson with mean exp(-x) in a past of length 2, cut down to steps of `width` with a boundary at
    /// `width * phase`.
    fn new_maximum_of_steps(width: f64, future: u32, phase: f64) -> (f64, f64) {
        let (mut truth, mut told, times) = (0.0, 0.0, f64::from(future) / 2.0);
        let of_ties = |ties: u32| new_maximum(2, u64::from(future), u64::from(ties)).unwrap();
        for step in -200..200 {
            let edge = |step: i32| (-width * (f64::from(step) + phase)).exp();
            let (inside, above) = (edge(step) - edge(step + 1), edge(step + 1));
            if above > 40.0 {
                continue;
            }
            // The largest value of the past lies in this step.
            truth += (-above).exp() * (-inside).exp_m1() * (-times * above).exp_m1();
            let mut chance = (-above - inside).exp();
            for ties in 1..300 {
                chance *= inside / f64::from(ties);
                told += chance * of_ties(ties);
            }
        }
        (truth, told)
    }

    #[test]
    fn ties_make_a_new_maximum_less_likely_as_steps_do() {
        for width in [0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 8.0] {
            for future in [1, 2, 12] {
                let of_phases = (0..8).map(|phase| new_maximum_of_steps(width, future, f64::from(phase) / 8.0));
                let (truth, told) =
                    of_phases.fold((0.0, 0.0), |sum, both| (sum.0 + both.0 / 8.0, sum.1 + both.1 / 8.0));
                assert!((truth - told).abs() < 0.06, "steps of {width}, a future of {future}: {told}, is {truth}");
            }
        }
        assert!(new_maximum(600, 3_600, 600).unwrap() < 0.01, "a constant");
    }

    #[test]
    fn the_formula_for_many_continues_the_sum() {
        for n in [3 * EXACT_MAX, 1000 * EXACT_MAX, EXACT_MAX + 50_000_000_000] {
            let exact = upper_bound(EXACT_MAX, n, 0.95).unwrap();
            assert_digits(wilson(EXACT_MAX as f64, n as f64, 0.05), exact, "by the formula");
            let width = exact - EXACT_MAX as f64 / n as f64;
            assert!((wilson(EXACT_MAX as f64, n as f64, 0.05) - exact).abs() < width * 1e-3);
        }
    }

    #[test]
    fn absurd_numbers_take_no_time() {
        let third = upper_bound(u64::MAX / 3, u64::MAX, 0.95).unwrap();
        assert!(third > 1.0 / 3.0 && third < 0.333_334, "{third}");
        let all_but_one = upper_bound(u64::MAX - 1, u64::MAX, 0.95).unwrap();
        assert!(all_but_one > 0.999_999 && all_but_one <= 1.0, "{all_but_one}");
        assert!(upper_bound(1, u64::MAX, 0.95).unwrap() < 1e-18);
    }

    proptest! {
        #[test]
        fn agrees_with_the_incomplete_beta_function(
            (n, misses) in (2u64..20_000).prop_flat_map(|n| (Just(n), 0..n)), confidence in 0.5f64..0.999
        ) {
            let bound = upper_bound(misses, n, confidence).unwrap();
            prop_assume!(bound < 1.0);
            let left = 1.0 - statrs::function::beta::beta_reg(misses as f64 + 1.0, (n - misses) as f64, bound);
            prop_assert!((left / (1.0 - confidence) - 1.0).abs() < 1e-5, "{} of {}: {}", misses, n, left);
        }

        #[test]
        fn more_misses_mean_a_higher_bound_and_more_samples_a_lower_one(
            (n, misses) in (3u64..1_000_000_000).prop_flat_map(|n| (Just(n), 0..n / 10 + 1))
        ) {
            let bound = |misses, n| upper_bound(misses, n, 0.95).unwrap();
            prop_assert!(bound(misses, n) > misses as f64 / n as f64);
            prop_assert!(bound(misses + 1, n) >= bound(misses, n));
            prop_assert!(bound(misses, n + 1) <= bound(misses, n));
        }
    }
}
