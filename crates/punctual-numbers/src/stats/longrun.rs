//! How much more the number of events of a run varies from run to run than that of independent events would: the design
//! effect, when the machine has moods.
//!
//! A mood is a stretch of time in which a machine behaves alike: a neighbour on the host, a warm processor, a nightly job.
//! The number of independent stretches, and not the number of activations, says what a run is worth. No estimate of one
//! number is enough for that: with few moods a run the estimate is itself uncertain, and always too small. Therefore
//! many models of the moods are weighed by how well they explain the slow part of the run, which is its first cosine transforms
//! (Mueller 2014, Lazarus, Lewis, Stock and Watson 2018), and every probability is the mean over the models.
//!
//! Each model has moods that are forgotten exponentially after `tau`, of a strength, over independent clusters of events.
//! A mood much longer than the run cannot be seen in it: the longest `tau` is that of the run itself.

use super::normal;
use statrs::function::{beta, gamma};

/// How many cosine transforms are taken of one run. They show moods from a twentieth part of the run on; what is shorter
/// is the same in all of them and belongs to the clusters.
const TRANSFORMS: usize = 24;
/// Lengths of moods, as parts of the longest run. Those longer than half of it are believed the less beforehand the longer
/// they are, because the run could not show weak ones.
const LENGTHS: [f64; 8] = [0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.2, 2.5];
/// Strengths of moods: by how much the variance of an endless run is larger than without.
const STRENGTHS: [f64; 8] = [1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 10_000.0];
/// What is believed beforehand: that events are independent, and that they come in clusters without moods. The rest is
/// shared by all models with moods.
const INDEPENDENT: f64 = 0.35;
const CLUSTERS: f64 = 0.4;
/// How much of what is believed of rare events comes from the frequent ones of the same runs; and how much stronger moods
/// may be in rare ones.
const OF_BODY: f64 = 0.8;
const STRONGER: [f64; 2] = [1.0, 5.0];
/// Into how many equally likely values the size of clusters is divided.
const SIZES: usize = 16;
/// Sizes of clusters from 1 to 10 000 are believed alike, each power of e as likely as another.
const SIZES_RANGE: f64 = 2.220_327;
/// With such odds or less of as little power the approximation of quantiles is no longer good.
const EVEN: f64 = 1e-3;
/// Odds below this are beyond what the functions used here can tell.
const LEAST: f64 = 1e-12;
/// Models with less than this part of the odds are left out.
const NEGLIGIBLE: f64 = 1e-6;
/// Counts up to this are compared exactly. Above it the normal distribution is as good.
const EXACT_MAX: f64 = 2_000.0;
/// Events that are more frequent than this are not rare: the number of all that could happen matters, too.
const RARE: f64 = 0.01;

#[allow(clippy::cast_precision_loss, reason = "numbers of slices are small")]
fn float(n: usize) -> f64 {
    n as f64
}

/// Events of one run, such as activations beyond a threshold.
#[derive(Clone, Debug, Default)]
pub struct Events {
    /// How many there are.
    pub count: f64,
    /// How many there could have been.
    pub of: f64,
    /// Length of the run, in any unit that both runs of a comparison share.
    length: f64,
    /// Squares of the cosine transforms. Each is 1 in the mean for independent events.
    powers: Vec<f64>,
}

impl Events {
    /// From slices of time in their order, each as (events, of how many).
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

    /// The share of what could have happened.
    pub fn rate(&self) -> f64 {
        if self.of > 0.0 { self.count / self.of } else { 0.0 }
    }

    /// Variance of the count if events were independent.
    fn variance(&self) -> f64 {
        self.count * (1.0 - self.rate())
    }
}

/// One model, and what it makes of the design effects of the runs.
#[derive(Clone, Copy, Debug)]
struct Model {
    odds: f64,
    /// Design effect of the first run and of the second.
    effects: (f64, f64),
}

/// What is believed of moods before the events are looked at.
struct Beforehand {
    independent: f64,
    clusters: f64,
    /// Each with its odds, length and strength.
    moods: Vec<(f64, f64, f64)>,
}

impl Beforehand {
    /// For events of this variance in runs of which the longest is `longest`. Where the frequent events of the same runs have
    /// moods, rare events have them too, and at least as strong, though too few of them may be there to show it.
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

/// How well moods of one length and strength explain two runs.
#[derive(Clone, Copy, Debug)]
struct Explained {
    tau: f64,
    strength: f64,
    squares: f64,
    /// First as a logarithm.
    odds: f64,
}

/// The design effect of two runs, as a probability for each model.
#[derive(Clone, Debug)]
pub struct DesignEffect {
    models: Vec<Model>,
    /// Moods that explain the runs, each with its odds, length and strength.
    moods: Vec<(f64, f64, f64)>,
    /// Variance of the counts of both runs if events were independent.
    variance: f64,
    /// The odds that there are moods at all.
    pub moody: f64,
    /// How long a mood is, in the unit of the length of the runs: the mean of the logarithms over the models that have
    /// moods.
    pub mood: f64,
}

impl DesignEffect {
    /// From the events of two runs, which have the same moods if nothing differs. `body` is the design effect of more
    /// frequent events of the same runs.
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

    /// The mean over the models of what follows from the design effects of both runs.
    pub fn mean(&self, of: impl Fn(f64, f64) -> f64) -> f64 {
        let total: f64 = self.models.iter().map(|model| model.odds).sum();
        self.models.iter().map(|model| model.odds * of(model.effects.0, model.effects.1)).sum::<f64>() / total
    }

    /// For limits with odds of `risk` on each side: the design effects that give limits of the normal distribution the
    /// width that all models together have.
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

/// The variance of the mean of a run through moods, for each unit of strength: 1 for a long run, less for one that sees a
/// part of a mood only. `part` is the length of a mood over that of the run.
fn of_mean(part: f64) -> f64 {
    1.0 - part * (1.0 - (-1.0 / part).exp())
}

/// The same for the k-th cosine transform.
fn at_wave(k: f64, part: f64) -> f64 {
    1.0 / (1.0 + (std::f64::consts::PI * k * part).powi(2))
}

/// How well moods of this length and strength explain the transforms: the sum of their squares over what the model expects,
/// and the logarithm of the rest of the likelihood.
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

/// The logarithm of how well a model explains a sum of `n` squares, over all sizes of clusters from 1 on.
fn of_all_sizes(squares: f64, n: f64) -> f64 {
    let (shape, half) = (n / 2.0, squares / 2.0);
    if n <= 0.0 {
        return -SIZES_RANGE;
    }
    // Events that come more evenly than chance would have them say of the size of clusters only that it is small.
    if squares <= 0.0 {
        return -shape.max(1.0).ln() - SIZES_RANGE;
    }
    let most = gamma::gamma_lr(shape, half);
    if most < LEAST {
        return -half - (shape + 1.0).ln() - SIZES_RANGE;
    }
    gamma::ln_gamma(shape) - shape * half.ln() + most.ln() - SIZES_RANGE
}

/// Equally likely sizes of clusters, 1 or more, given a sum of `n` squares.
fn cluster_sizes(squares: f64, n: f64) -> Vec<f64> {
    let (shape, half) = (n / 2.0, squares / 2.0);
    if n <= 0.0 || squares <= 0.0 {
        return vec![1.0];
    }
    // The size is `half` over a gamma variate, which is at most `half` because a size is at least 1.
    let most = gamma::gamma_lr(shape, half);
    let part = |i: usize| (float(i) + 0.5) / float(SIZES);
    // Events come more evenly than chance would have them: sizes fall off from 1 by a power.
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

/// Odds of a difference between two runs, where nothing differs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chances {
    /// Odds that the second has at least as many more.
    pub more: f64,
    /// Odds that the second has at least as many fewer.
    pub fewer: f64,
}

impl Chances {
    /// Of the events of two runs.
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

/// Odds that at least `count` of `all` events fall to a run that has this share of everything (Przyborowski and Wilenski
/// 1940). Both may be parts of a cluster.
fn falls(count: f64, all: f64, share: f64) -> f64 {
    if count <= 0.0 {
        return 1.0;
    }
    beta::beta_reg(count, (all - count).max(0.0) + 1.0, share)
}

/// Limits of the ratio of the rates, second to first, by Clopper and Pearson (1934) on the share of the second; infinite
/// above without events of the first.
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
    // Of very many events the incomplete beta function has fewer digits than the limits are apart.
    let seen = if first.count > 0.0 { second.rate() / first.rate() } else { f64::INFINITY };
    Some((low.min(seen), high.max(seen)))
}

/// The largest share at which no more than `own` of all would still fall to a run with odds of `risk`.
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
