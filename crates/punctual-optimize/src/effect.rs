//! The effect of one candidate on one metric. It is computed from ranks within rounds, so that neither a single run nor
//! drift decides.
//!
//! If the candidate has no effect, the rank of its run among the baselines of its round is uniformly distributed,
//! because the order is random. Over several rounds this gives the test of van Elteren (1960), which is exact here
//! because every round has the same size. The confidence limits are the changes at which the test would just not reject
//! (Hodges and Lehmann 1963). Ties count against a change in either direction.

use super::Response;
use punctual_numbers::stats::float::float;
use serde::Serialize;

pub const CONFIDENCE: f64 = 0.95;
/// "No difference" is concluded if the confidence limits exclude changes of this number of margins.
const TOLD_MARGINS: f64 = 2.5;

/// Approximate width of the limits that a verdict needs, relative to limits of [`CONFIDENCE`]. A verdict needs wider
/// ones, because all tests share one error rate.
const VERDICT_WIDTH: f64 = 1.6;

/// The numbers of a measurement that campaigns compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Metric {
    /// The median of the latency.
    #[serde(rename = "p50")]
    P50,
    /// The latency that 99.9 % of the releases did not exceed.
    #[serde(rename = "p99.9")]
    P99_9,
    /// Misses per million releases.
    #[serde(rename = "misses")]
    Misses,
}

impl Metric {
    pub const ALL: [Self; 3] = [Self::P50, Self::P99_9, Self::Misses];

    /// The value that tests compare. For times it is the logarithm, so that differences of values are factors of times.
    fn of(self, response: &Response) -> f64 {
        match self {
            Self::P50 => float(response.p50.as_ns().max(1)).ln(),
            Self::P99_9 => float(response.p99_9.as_ns().max(1)).ln(),
            Self::Misses => 1e6 * float(response.missed) / float(response.due.max(1)),
        }
    }

    /// The value for sums over metrics, which is the logarithm for every metric. One miss per million is added, so that
    /// zero misses have a logarithm.
    pub(super) fn logarithm(self, response: &Response) -> f64 {
        match self {
            Self::Misses => self.of(response).ln_1p(),
            _ => self.of(response),
        }
    }
}

/// The effect of a candidate on a metric. For times it is a factor (0.8 is a fifth less), for misses a difference per
/// million.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effect {
    pub metric: Metric,
    /// Value of the unchanged machine, in nanoseconds or misses per million: the median over rounds of the median of a
    /// round's baselines.
    pub baseline: f64,
    /// Median of the change over all pairs of candidate and baseline.
    pub seen: f64,
    /// Lower confidence limit of the change; `None` where there are too few rounds.
    pub low: Option<f64>,
    /// Upper confidence limit of the change; `None` where there are too few rounds.
    pub high: Option<f64>,
    /// Probability that chance alone shows an increase beyond the margin at least as clear as this one.
    pub odds_up: f64,
    /// Probability that chance alone shows a decrease beyond the margin at least as clear as this one.
    pub odds_down: f64,
    /// Whether the confidence limits exclude every change that matters, so that "no difference" can be concluded.
    pub told: bool,
    /// Estimated factor by which the number of rounds must grow to show a change or to exclude one; `None` if that is
    /// unknown.
    pub longer: Option<f64>,
}

/// One round for one candidate: the runs of the baseline, and the run with the candidate.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stratum {
    pub baselines: Vec<Response>,
    pub with: Response,
}

impl Effect {
    /// The effect over these rounds; `None` if there are none.
    pub(super) fn of(metric: Metric, rounds: &[Stratum], margin: f64) -> Option<Self> {
        let pairs: Vec<(Vec<f64>, f64)> = rounds
            .iter()
            .map(|round| (round.baselines.iter().map(|response| metric.of(response)).collect(), metric.of(&round.with)))
            .collect();
        let medians: Vec<f64> = pairs.iter().filter_map(|(baselines, _)| median(baselines)).collect();
        let baseline = median(&medians)?;
        let mut differences: Vec<f64> =
            pairs.iter().flat_map(|(baselines, with)| baselines.iter().map(move |b| with - b)).collect();
        differences.sort_by(f64::total_cmp);
        let distribution = wins(rounds.len(), pairs.first()?.0.len());
        let (low, high) = limits(&differences, &distribution);
        let seen = median(&differences)?;
        let beyond = match metric {
            Metric::Misses => margin * baseline,
            _ => margin.ln_1p(),
        };
        // A pair that differs by no more than the margin counts against both a decrease and an increase.
        let against_smaller = differences.iter().filter(|d| **d >= -beyond).count();
        let against_larger = differences.iter().filter(|d| **d <= beyond).count();
        let room = match metric {
            Metric::Misses => TOLD_MARGINS * beyond,
            _ => (TOLD_MARGINS * margin).ln_1p(),
        };
        let shown = |change: f64| if metric == Metric::Misses { change } else { change.exp() };
        Some(Self {
            metric,
            baseline: shown(baseline),
            seen: shown(seen),
            low: Some(low).filter(|low| low.is_finite()).map(shown),
            high: Some(high).filter(|high| high.is_finite()).map(shown),
            odds_up: at_most(&distribution, against_larger),
            odds_down: at_most(&distribution, against_smaller),
            told: low >= -room && high <= room,
            longer: longer(seen, (low, high), beyond, room),
        })
    }

    /// The direction of the change that is significant at this error rate: `Some(true)` for an increase, `Some(false)`
    /// for a decrease, `None` for neither.
    pub(super) fn shown(&self, odds: f64) -> Option<bool> {
        match (self.odds_up <= odds, self.odds_down <= odds) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    /// The change as the logarithm of a factor, for ranking.
    pub(super) fn size(&self) -> f64 {
        match self.metric {
            // One miss per million is added to both values, so that zero has a logarithm.
            Metric::Misses => (((self.baseline + self.seen).max(0.0) + 1.0) / (self.baseline + 1.0)).ln(),
            _ => self.seen.max(f64::MIN_POSITIVE).ln(),
        }
    }
}

/// The factor by which the number of rounds must grow until the limits either exclude a change that matters or lie
/// beyond the margin as a whole. The width of the limits falls with the square root of the number of rounds.
fn longer(seen: f64, (low, high): (f64, f64), beyond: f64, room: f64) -> Option<f64> {
    let width = (high - seen).max(seen - low);
    let times = |width: f64, left: f64| if left > 0.0 { (width / left).powi(2).max(1.0) } else { f64::INFINITY };
    let times = times(width, room - seen.abs()).min(times(VERDICT_WIDTH * width, seen.abs() - beyond));
    Some(times).filter(|times| times.is_finite())
}

/// The distribution of the number of wins: pairs of candidate and baseline in which the candidate ranks higher, over
/// `rounds` rounds of `baselines` baselines, if it has no effect.
fn wins(rounds: usize, baselines: usize) -> Vec<f64> {
    let each = 1.0 / float(baselines + 1);
    let mut all = vec![1.0];
    for _ in 0..rounds {
        let mut next = vec![0.0; all.len() + baselines];
        for (place, probability) in all.iter().enumerate() {
            for slot in next.iter_mut().skip(place).take(baselines + 1) {
                *slot += probability * each;
            }
        }
        all = next;
    }
    all
}

fn at_most(distribution: &[f64], count: usize) -> f64 {
    distribution.iter().take(count + 1).sum::<f64>().min(1.0)
}

/// The limits of [`CONFIDENCE`] for the median difference; infinite if there are too few rounds.
fn limits(sorted: &[f64], distribution: &[f64]) -> (f64, f64) {
    let beyond = (1.0 - CONFIDENCE) / 2.0;
    let mut sum = 0.0;
    let within = |probability: &&f64| {
        sum += **probability;
        sum <= beyond
    };
    let outside = distribution.iter().take_while(within).count();
    match outside.checked_sub(1).and_then(|k| Some((sorted.get(k)?, sorted.get(sorted.len().checked_sub(1 + k)?)?))) {
        Some((low, high)) => (*low, *high),
        None => (f64::NEG_INFINITY, f64::INFINITY),
    }
}

pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    let is_odd = sorted.len() % 2 == 1;
    Some(if is_odd { upper } else { f64::midpoint(*sorted.get(middle - 1)?, upper) })
}
