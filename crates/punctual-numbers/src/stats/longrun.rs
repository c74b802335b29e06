//! Compares the numbers of events of two runs of a machine that has moods.
//!
//! A mood is a stretch of time in which a machine behaves alike: a neighbour on the host, a warm processor, a nightly
//! job. The number of moods, and not the number of activations, limits what a run shows. The design effect says by how
//! much more counts vary from run to run than counts of independent events. A single estimate of the design effect is
//! uncertain, and on average too small if a run holds few moods. Therefore many models of the moods are weighed by how
//! well they explain the first cosine transforms of the runs (Mueller 2014; Lazarus, Lewis, Stock and Watson 2018).
//! Every probability is the mean over the models.
//!
//! A model has moods of one strength whose correlation falls exponentially with the time `tau`, and independent
//! clusters of events. A mood much longer than the runs cannot be seen in them.

use super::normal;
use crate::stats::float::float;
use statrs::function::{beta, gamma};

/// Number of cosine transforms of one run. They show moods longer than about a twentieth of the run. Shorter ones
/// affect all transforms alike and count as clusters.
const TRANSFORMS: usize = 24;
/// Values of `tau` that are tried, as parts of the longer run. Above half of the run, a longer `tau` has a lower prior
/// probability.
const LENGTHS: [f64; 8] = [0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.2, 2.5];
/// Strengths of moods that are tried: the variance that moods add to the count of an endless run, as a multiple of its
/// variance without moods.
const STRENGTHS: [f64; 8] = [1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 10_000.0];
/// Prior probabilities that events are independent, and that they come in clusters without moods. All models with moods
/// share the rest.
const INDEPENDENT: f64 = 0.35;
const CLUSTERS: f64 = 0.4;
/// Part of the prior for rare events that follows from the frequent events of the same runs, and the factors by which
/// moods may be stronger in rare events.
const OF_BODY: f64 = 0.8;
const STRONGER: [f64; 2] = [1.0, 5.0];
/// Number of equally probable values by which the size of clusters is represented.
const SIZES: usize = 16;
/// Logarithm of ln 10 000. The logarithm of the cluster size, 1 to 10 000, has an even prior over this range.
const SIZES_RANGE: f64 = 2.220_327;
/// The approximation of gamma quantiles is too inaccurate if a gamma variate lies below the observed power with a
/// smaller probability than this.
const EVEN: f64 = 1e-3;
/// Probabilities below this are not computed accurately by the incomplete gamma function.
const LEAST: f64 = 1e-12;
/// Models with a smaller posterior probability than this are left out.
const NEGLIGIBLE: f64 = 1e-6;
/// Counts up to this are compared by the exact test, larger ones by the normal distribution.
const EXACT_MAX: f64 = 2_000.0;
/// With a larger share of events than this the exact test, which assumes Poisson counts, is not used.
const RARE: f64 = 0.01;

/// Events of one run, such as activations beyond a threshold.
#[derive(Clone, Debug, Default)]
pub struct Events {
    pub count: f64,
    /// Number of activations, each of which could have been an event.
    pub of: f64,
    /// Length of the run, in any unit that both runs of a comparison share.
    length: f64,
    /// Squares of the cosine transforms. Each is 1 in the mean for independent events.
    powers: Vec<f64>,
}

impl Events {
    /// Builds the events from slices of time in their order, each as (events, activations).
    pub fn new(slices: &[(f64, f64)], length: f64) -> Self {
        let (count, of) = slices.iter().fold((0.0, 0.0), |sum, slice| (sum.0 + slice.0, sum.1 + slice.1));
        let events = Self { count, of, length, powers: Vec::new() };
        let (rate, variance) = (events.rate(), events.variance());
        if variance <= 0.0 {
            return events;
        }
        let mut before = 0.0;
        let placed = slices.iter().map(|(n, of_slice)| {
            let place = (before + of_slice / 2.0) / of;
            before += of_slice;
            (place, n - rate * of_slice)
        });
        let placed: Vec<(f64, f64)> = placed.collect();
        let transform = |k: usize| {
            let wave = |place: f64| (std::f64::consts::PI * float(k) * place).cos();
            let sum: f64 = placed.iter().map(|(place, rest)| rest * wave(*place)).sum();
            2.0 * sum * sum / variance
        };
        Self { powers: (1..=TRANSFORMS.min(slices.len() / 2)).map(transform).collect(), ..events }
    }

    pub fn rate(&self) -> f64 {
        if self.of > 0.0 { self.count / self.of } else { 0.0 }
    }

    fn variance(&self) -> f64 {
        self.count * (1.0 - self.rate())
    }
}

#[derive(Clone, Copy, Debug)]
struct Model {
    /// Posterior probability of the model.
    odds: f64,
    /// Design effect of the first run and of the second.
    effects: (f64, f64),
}

/// Prior probabilities of the models.
struct Beforehand {
    independent: f64,
    clusters: f64,
    /// (probability, `tau`, strength) of each model with moods.
    moods: Vec<(f64, f64, f64)>,
}

impl Beforehand {
    /// The prior for events of this variance, where the longer run is `longest` long. If the frequent events of the
    /// same runs (`body`) have moods, rare events have moods at least as strong, which few events cannot show.
    fn of(longest: f64, body: Option<&DesignEffect>, variance: f64) -> Self {
        let part = if body.is_some() { 1.0 - OF_BODY } else { 1.0 };
        let each = part * (1.0 - INDEPENDENT - CLUSTERS) / float(LENGTHS.len() * STRENGTHS.len());
        let believed = |length: f64| each * (0.5 / length).min(1.0).powi(2);
        let all =
            LENGTHS.iter().flat_map(|length| STRENGTHS.map(|strength| (believed(*length), length * longest, strength)));
        let mut known = Self { independent: part * INDEPENDENT, clusters: part * CLUSTERS, moods: all.collect() };
        if let Some(body) = body {
            let plain = OF_BODY * (1.0 - body.moody).max(0.0) / (INDEPENDENT + CLUSTERS);
            known.independent += plain * INDEPENDENT;
            known.clusters += plain * CLUSTERS;
            let scale = variance / body.variance.max(f64::MIN_POSITIVE);
            for (odds, tau, strength) in &body.moods {
                let each = OF_BODY * odds / float(STRONGER.len());
                known.moods.extend(STRONGER.map(|stronger| (each, *tau, strength * scale * stronger)));
            }
        }
        known
    }
}

/// A model with moods of one length and strength, and how well it explains two runs.
#[derive(Clone, Copy, Debug)]
struct Explained {
    tau: f64,
    strength: f64,
    squares: f64,
    /// Posterior probability; its logarithm up to a constant until all models are known.
    odds: f64,
}

/// The design effects of two runs under all models, each with its probability.
#[derive(Clone, Debug)]
pub struct DesignEffect {
    models: Vec<Model>,
    /// (probability, `tau`, strength) of the models with moods.
    moods: Vec<(f64, f64, f64)>,
    /// Variance of the counts of both runs if events were independent.
    variance: f64,
    pub moody: f64,
    /// Length of a mood in the unit of the length of the runs: the geometric mean of `tau` over the models with moods.
    pub mood: f64,
}

impl DesignEffect {
    /// Estimates the design effects from the events of two runs that are taken to have moods of one kind. `body` is the
    /// estimate from more frequent events of the same runs.
    pub fn of(first: &Events, second: &Events, body: Option<&Self>) -> Self {
        let n: f64 = [first, second].iter().map(|side| float(side.powers.len())).sum();
        let variance = first.variance() + second.variance();
        let known = Beforehand::of(first.length.max(second.length), body, variance);
        let mut explained: Vec<Explained> = known
            .moods
            .iter()
            .copied()
            .chain([(known.clusters, 0.0, 0.0)])
            .map(|(prior, tau, strength)| {
                let (squares, logarithm) = evidence([first, second], tau, strength);
                Explained { tau, strength, squares, odds: prior.ln() + logarithm + of_all_sizes(squares, n) }
            })
            .collect();
        let squares = evidence([first, second], 0.0, 0.0).0;
        let independent = known.independent.ln() - squares / 2.0;
        let best = explained.iter().map(|model| model.odds).fold(independent, f64::max);
        for model in &mut explained {
            model.odds = (model.odds - best).exp();
        }
        let independent = (independent - best).exp();
        let total = independent + explained.iter().map(|model| model.odds).sum::<f64>();
        let mut models = vec![Model { odds: independent / total, effects: (1.0, 1.0) }];
        let (mut moody, mut length, mut weighed) = (0.0, 0.0, Vec::new());
        for Explained { tau, strength, squares, odds } in explained {
            let odds = odds / total;
            if odds < NEGLIGIBLE {
                continue;
            }
            if tau > 0.0 {
                (moody, length) = (moody + odds, length + odds * tau.ln());
                weighed.push((odds, tau, strength));
            }
            let effect = |side: &Events| 1.0 + strength * of_mean(tau / side.length.max(f64::MIN_POSITIVE));
            let effects = (effect(first), effect(second));
            let sizes = cluster_sizes(squares, n);
            let odds = odds / float(sizes.len());
            models.extend(sizes.iter().map(|size| Model { odds, effects: (size * effects.0, size * effects.1) }));
        }
        let mood = if moody > 0.0 { (length / moody).exp() } else { 0.0 };
        Self { models, moods: weighed, variance, moody, mood }
    }

    /// The probability that there are moods with a `tau` above this length.
    pub fn longer_than(&self, length: f64) -> f64 {
        self.moods.iter().filter(|(_, tau, _)| *tau > length).map(|(odds, ..)| odds).sum()
    }

    /// The mean over the models of a function of the design effects of the first and the second run.
    pub fn mean(&self, of: impl Fn(f64, f64) -> f64) -> f64 {
        let total: f64 = self.models.iter().map(|model| model.odds).sum();
        self.models.iter().map(|model| model.odds * of(model.effects.0, model.effects.1)).sum::<f64>() / total
    }

    /// The design effects, of the first and the second run, that give normal limits with `risk` on each side the width
    /// that the mixture of all models needs.
    pub fn for_limits(&self, risk: f64) -> (f64, f64) {
        let normal = -normal::quantile(risk);
        let of = |effect: fn(&Model) -> f64| {
            let beyond =
                |z: f64| self.models.iter().map(|m| m.odds * normal::below(-z / effect(m).sqrt())).sum::<f64>();
            let (mut low, mut high) = (0.0, 1e6);
            for _ in 0..60 {
                let middle = f64::midpoint(low, high);
                if beyond(middle) > risk { low = middle } else { high = middle }
            }
            (high / normal).powi(2).max(1.0)
        };
        (of(|model| model.effects.0), of(|model| model.effects.1))
    }
}

/// The factor on the strength of moods that applies to the mean of a run: 1 for a long run, and less for a run that
/// sees only a part of a mood. `part` is `tau` over the length of the run.
fn of_mean(part: f64) -> f64 {
    1.0 - part * (1.0 - (-1.0 / part).exp())
}

/// The factor on the strength of moods that applies to the k-th cosine transform.
fn at_wave(k: f64, part: f64) -> f64 {
    1.0 / (1.0 + (std::f64::consts::PI * k * part).powi(2))
}

/// The parts of the likelihood of the transforms under a model: the sum of the powers over their expected values, and
/// the logarithm of the normalising factor.
fn evidence(sides: [&Events; 2], tau: f64, strength: f64) -> (f64, f64) {
    let (mut squares, mut logarithms) = (0.0, 0.0);
    for side in sides {
        let part = tau / side.length.max(f64::MIN_POSITIVE);
        for (power, k) in side.powers.iter().zip(1u32..) {
            let weight = 1.0 + strength * at_wave(f64::from(k), part);
            squares += power / weight;
            logarithms += weight.ln();
        }
    }
    (squares, -logarithms / 2.0)
}

/// The log-likelihood of a sum of `n` squares, integrated over the prior of cluster sizes from 1 on.
fn of_all_sizes(squares: f64, n: f64) -> f64 {
    let (shape, half) = (n / 2.0, squares / 2.0);
    if n <= 0.0 {
        return -SIZES_RANGE;
    }
    // Without any power the integral is its limit: clusters are small.
    if squares <= 0.0 {
        return -shape.max(1.0).ln() - SIZES_RANGE;
    }
    let most = gamma::gamma_lr(shape, half);
    if most < LEAST {
        return -half - (shape + 1.0).ln() - SIZES_RANGE;
    }
    gamma::ln_gamma(shape) - shape * half.ln() + most.ln() - SIZES_RANGE
}

/// Equally probable cluster sizes, 1 or more, given a sum of `n` squares.
fn cluster_sizes(squares: f64, n: f64) -> Vec<f64> {
    let (shape, half) = (n / 2.0, squares / 2.0);
    if n <= 0.0 || squares <= 0.0 {
        return vec![1.0];
    }
    // The posterior of the size is that of `half` over a gamma variate of at most `half`, because a size is at least 1.
    let most = gamma::gamma_lr(shape, half);
    let part = |i: usize| (float(i) + 0.5) / float(SIZES);
    // Events may come more evenly than independent ones. The posterior then falls as a power of the size, from size 1
    // on.
    if most < EVEN {
        return (0..SIZES).map(|i| (1.0 - part(i)).powf(-1.0 / (shape - half).max(1.0))).collect();
    }
    (0..SIZES).map(|i| (half / gamma_quantile(shape, most * part(i))).max(1.0)).collect()
}

/// The value under which a gamma variate of this shape lies with probability `p` (Wilson and Hilferty 1931).
fn gamma_quantile(shape: f64, p: f64) -> f64 {
    let root = 1.0 - 1.0 / (9.0 * shape) + normal::quantile(p) / (3.0 * shape.sqrt());
    (shape * root.max(0.01).powi(3)).max(f64::MIN_POSITIVE)
}

/// Probabilities of a difference between two runs of one machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chances {
    /// Probability that chance gives the second run at least the observed surplus of events.
    pub more: f64,
    /// Probability that chance gives the second run at least the observed shortfall of events.
    pub fewer: f64,
}

impl Chances {
    /// The probabilities for the events of two runs; `None` without releases, without events, or if all releases are
    /// events.
    pub fn of(first: &Events, second: &Events, effect: &DesignEffect) -> Option<Self> {
        let (all, of) = (first.count + second.count, first.of + second.of);
        if first.of <= 0.0 || second.of <= 0.0 || all <= 0.0 || all >= of {
            return None;
        }
        let rate = all / of;
        if rate > RARE || all > EXACT_MAX {
            let difference = second.rate() - first.rate();
            let variance = |a: f64, b: f64| rate * (1.0 - rate) * (a / first.of + b / second.of);
            let more = effect.mean(|a, b| normal::below(-difference / variance(a, b).sqrt()));
            return Some(Self { more, fewer: 1.0 - more });
        }
        let share = second.of / of;
        Some(Self {
            more: effect.mean(|a, b| falls(second.count / a.max(b), all / a.max(b), share)),
            fewer: effect.mean(|a, b| falls(first.count / a.max(b), all / a.max(b), 1.0 - share)),
        })
    }
}

/// Probability that at least `count` of `all` events fall to a run that has this share of the activations (Przyborowski
/// and Wilenski 1940). The counts are numbers of clusters and need not be whole.
fn falls(count: f64, all: f64, share: f64) -> f64 {
    if count <= 0.0 {
        return 1.0;
    }
    beta::beta_reg(count, (all - count).max(0.0) + 1.0, share)
}

/// Limits of the rate of the second run over that of the first, by Clopper and Pearson (1934) on the share of the
/// second. The upper limit is infinite if the first run has no events.
pub fn ratio_limits(first: &Events, second: &Events, effect: &DesignEffect, risk: f64) -> Option<(f64, f64)> {
    let (a, b) = effect.for_limits(risk);
    let thinned = |count: f64| count / a.max(b);
    let (x, y) = (thinned(first.count), thinned(second.count));
    if first.of <= 0.0 || second.of <= 0.0 || x + y <= 0.0 {
        return None;
    }
    let odds = first.of / second.of;
    let most = |own: f64, other: f64| upper_share(own, other, risk);
    let high = if x > 0.0 { share_to_odds(most(y, x)) * odds } else { f64::INFINITY };
    let low = if y > 0.0 { odds / share_to_odds(most(x, y)) } else { 0.0 };
    // For very many events the error of the incomplete beta function exceeds the width of the interval.
    let seen = if first.count > 0.0 { second.rate() / first.rate() } else { f64::INFINITY };
    Some((low.min(seen), high.max(seen)))
}

/// The upper limit of a run's share of events, if `own` events fell to it and `other` did not.
fn upper_share(own: f64, other: f64, risk: f64) -> f64 {
    if other <= 0.0 {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if beta::beta_reg(own + 1.0, other, middle) < 1.0 - risk { low = middle } else { high = middle }
    }
    high
}

fn share_to_odds(share: f64) -> f64 {
    share / (1.0 - share).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests;
