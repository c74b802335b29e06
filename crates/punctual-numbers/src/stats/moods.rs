//! The moods of a machine: how long they last, and by how much they make counts vary from run to run. Claims about one
//! run and comparisons of two use this one estimate.
//!
//! A mood is a stretch of time in which a machine behaves alike: a neighbour on the host, a warm processor, a nightly
//! job. The number of moods, and not the number of activations, limits what a run shows. The design effect says by how
//! much more counts vary from run to run than counts of independent events. A single estimate of the design effect is
//! uncertain, and on average too small if a run holds few moods. Therefore many models of the moods are weighed by how
//! well they explain the first cosine transforms of the runs (Whittle 1953; Mueller 2014; Lazarus, Lewis, Stock and
//! Watson 2018). Every probability is the mean over the models.
//!
//! A model has moods of one strength whose correlation falls exponentially with the time `tau`, and independent
//! clusters of events. A mood much longer than the runs cannot be seen in them.

mod likelihood;
mod places;

pub use places::{Cell, Excursions, PLACES_MIN, spread_over};

use super::float::float;
use super::normal;
use likelihood::{Powers, cluster_sizes, evidence, of_all_sizes, of_mean};
use std::f64::consts::PI;

/// Number of cosine transforms of one run. They show moods longer than about a 128th of the run. Shorter ones affect all
/// transforms alike and count as clusters.
const TRANSFORMS: usize = 128;
/// Values of `tau` that are tried, as parts of the longest run. Above half of the run, a longer `tau` has a lower prior
/// probability.
const LENGTHS: [f64; 10] = [0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.2, 2.5];
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
/// Models with a smaller posterior probability than this are left out.
const NEGLIGIBLE: f64 = 1e-5;

/// Events of one run, such as activations beyond a threshold.
#[derive(Clone, Debug, Default)]
pub struct Events {
    pub count: f64,
    /// Number of activations, each of which could have been an event.
    pub of: f64,
    /// Length of the run, in any unit that all runs of one estimate share.
    length: f64,
    /// Squares of the cosine transforms. Each is 1 in the mean for independent events.
    powers: Vec<f64>,
    cells: Vec<Cell>,
}

impl Events {
    /// Builds the events from cells of time in their order.
    pub fn new(cells: &[Cell], length: f64) -> Self {
        let (count, of) = cells.iter().fold((0.0, 0.0), |sum, cell| (sum.0 + cell.0, sum.1 + cell.1));
        let events = Self { count, of, length, powers: Vec::new(), cells: cells.to_vec() };
        let (rate, variance) = (events.rate(), events.variance());
        if variance <= 0.0 {
            return events;
        }
        let mut sums = vec![0.0; TRANSFORMS.min(cells.len() / 2)];
        let mut before = 0.0;
        for (n, of_cell) in cells {
            let cosine = (PI * (before + of_cell / 2.0) / of).cos();
            before += of_cell;
            let rest = n - rate * of_cell;
            // The cosine of each multiple of the angle follows from the two before it.
            let (mut last, mut now) = (1.0, cosine);
            for sum in &mut sums {
                *sum += rest * now;
                (last, now) = (now, 2.0 * cosine * now - last);
            }
        }
        Self { powers: sums.iter().map(|sum| 2.0 * sum * sum / variance).collect(), ..events }
    }

    /// The share of activations that are events.
    pub fn rate(&self) -> f64 {
        if self.of > 0.0 { self.count / self.of } else { 0.0 }
    }

    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The events of the usual cells alone.
    #[must_use]
    pub fn without(&self, excursions: &Excursions) -> Self {
        let cells = excursions.without(&self.cells);
        let of: f64 = cells.iter().map(|cell| cell.1).sum();
        Self::new(&cells, self.length * of / self.of.max(1.0))
    }

    /// Variance of the count if events were independent.
    fn variance(&self) -> f64 {
        self.count * (1.0 - self.rate())
    }
}

/// One model of the moods of a machine, with its posterior probability.
#[derive(Clone, Debug)]
struct Model {
    odds: f64,
    /// Length and strength of moods; both are 0 without moods.
    tau: f64,
    strength: f64,
    /// Equally probable numbers of events that come as one cluster.
    sizes: Vec<f64>,
}

impl Model {
    /// The factor by which moods enlarge the variance of the count of a run of this length.
    fn of_moods(&self, length: f64) -> f64 {
        1.0 + self.strength * of_mean(self.tau / length.max(f64::MIN_POSITIVE))
    }

    /// The mean over the sizes of clusters of a function of the size.
    fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.sizes.iter().map(|size| of(*size)).sum::<f64>() / float(self.sizes.len())
    }
}

/// The models of the moods that one or more runs leave possible.
#[derive(Clone, Debug)]
pub struct Moods {
    models: Vec<Model>,
    /// Variance of the counts of all runs if events were independent.
    variance: f64,
    /// The probability that there are moods.
    pub odds: f64,
    /// Length of a mood in the unit of the length of the runs: the geometric mean of `tau` over the models with moods;
    /// 0 without moods.
    pub tau: f64,
}

impl Moods {
    /// Estimates the moods from the events of runs that are taken to have moods of one kind. `body` is the estimate
    /// from more frequent events of the same runs: rare events have moods at least as strong, which few events cannot
    /// show.
    pub fn of(runs: &[&Events], body: Option<&Self>) -> Self {
        let variance = runs.iter().map(|run| run.variance()).sum();
        let longest = runs.iter().map(|run| run.length).fold(0.0, f64::max);
        let runs: Vec<Powers<'_>> = runs.iter().map(|run| (run.length, run.powers.as_slice())).collect();
        let n: f64 = runs.iter().map(|(_, powers)| float(powers.len())).sum();
        let independent = evidence(&runs, 0.0, 0.0).0;
        let [alone, clustered] = without_moods(body);
        let mut models =
            vec![Model { odds: alone.ln() - independent / 2.0, tau: 0.0, strength: 0.0, sizes: vec![1.0] }];
        let moody = with_moods(longest, body, variance);
        models.extend(std::iter::once((clustered, 0.0, 0.0)).chain(moody).map(|(prior, tau, strength)| {
            let (squares, logarithm) = evidence(&runs, tau, strength);
            let odds = prior.ln() + logarithm + of_all_sizes(squares, n);
            // The sizes of clusters are computed for the models that are kept; until then the sum stands for them.
            Model { odds, tau, strength, sizes: vec![squares] }
        }));
        let best = models.iter().map(|model| model.odds).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = models.iter().map(|model| (model.odds - best).exp()).sum();
        for model in &mut models {
            model.odds = (model.odds - best).exp() / total;
        }
        for model in models.iter_mut().skip(1) {
            let squares = model.sizes.first().copied().unwrap_or_default();
            model.sizes = if model.odds < NEGLIGIBLE { Vec::new() } else { cluster_sizes(squares, n) };
        }
        models.retain(|model| model.odds >= NEGLIGIBLE);
        let moody = || models.iter().filter(|model| model.tau > 0.0);
        let odds: f64 = moody().map(|model| model.odds).sum::<f64>().min(1.0);
        let length: f64 = moody().map(|model| model.odds * model.tau.ln()).sum();
        let tau = if odds > 0.0 { (length / odds).exp() } else { 0.0 };
        Self { models, variance, odds, tau }
    }

    /// The probability that there are moods with a `tau` above this length.
    pub fn longer_than(&self, length: f64) -> f64 {
        self.models.iter().filter(|model| model.tau > length).map(|model| model.odds).sum()
    }

    /// The mean over the models of a function of the design effects of two runs.
    pub fn mean(&self, first: &Events, second: &Events, of: impl Fn(f64, f64) -> f64) -> f64 {
        let total: f64 = self.models.iter().map(|model| model.odds).sum();
        let of_model = |model: &Model| {
            let (a, b) = (model.of_moods(first.length), model.of_moods(second.length));
            model.odds * model.mean(|size| of(size * a, size * b))
        };
        self.models.iter().map(of_model).sum::<f64>() / total
    }

    /// The design effect, 1 or more, that gives normal limits of this run with `risk` on each side the width that the
    /// mixture of all models needs.
    pub fn effect(&self, run: &Events, risk: f64) -> f64 {
        let normal = -normal::quantile(risk);
        let beyond = |z: f64| self.mean(run, run, |effect, _| normal::below(-z / effect.sqrt()));
        let (mut low, mut high) = (normal, 1e6f64);
        // An error of a thousandth changes no limit that is printed.
        while high > low * 1.001 {
            let middle = (low * high).sqrt();
            if beyond(middle) > risk { low = middle } else { high = middle }
        }
        (low / normal).powi(2)
    }
}

/// Prior probabilities that events are independent, and that they come in clusters without moods.
fn without_moods(body: Option<&Moods>) -> [f64; 2] {
    let part = body.map_or(1.0, |body| 1.0 - OF_BODY + OF_BODY * (1.0 - body.odds) / (INDEPENDENT + CLUSTERS));
    [INDEPENDENT * part, CLUSTERS * part]
}

/// (probability, `tau`, strength) of each model with moods before the runs are seen. The longest run is `longest` long.
fn with_moods(longest: f64, body: Option<&Moods>, variance: f64) -> Vec<(f64, f64, f64)> {
    let part = if body.is_some() { 1.0 - OF_BODY } else { 1.0 };
    let each = part * (1.0 - INDEPENDENT - CLUSTERS) / float(LENGTHS.len() * STRENGTHS.len());
    let prior = |length: f64| each * (0.5 / length).min(1.0).powi(2);
    let all = LENGTHS.iter().flat_map(|length| STRENGTHS.map(|strength| (prior(*length), length * longest, strength)));
    let mut all: Vec<(f64, f64, f64)> = all.collect();
    if let Some(body) = body {
        let scale = variance / body.variance.max(f64::MIN_POSITIVE);
        for model in body.models.iter().filter(|model| model.tau > 0.0) {
            let each = OF_BODY * model.odds / float(STRONGER.len());
            all.extend(STRONGER.map(|stronger| (each, model.tau, model.strength * scale * stronger)));
        }
    }
    all
}

#[cfg(test)]
mod tests;
