//! Rungs L1 and L3: limits of misses and percentiles that need no model of the distribution and allow for clusters.

#![allow(clippy::cast_precision_loss, reason = "numbers of samples beyond 2^53 lose nothing that matters to a bound")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, and NaN is 0")]

use super::{CONFIDENCE, Misses, Percentile};
use crate::foreign::Series;
use crate::stats::{binomial, order};
use punctual_hist::{Counts, Nanos};

/// The percentiles to report: for each number, the latency that one value in that number exceeds. Runs long enough for
/// more than the last one are rare.
const ONE_IN: [u64; 6] = [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];
/// The strongest claim about misses that is aimed at: one in this number. At one release per millisecond it takes 95
/// years.
const ONE_IN_MAX: u64 = 1_000_000_000_000;

/// How many independent values a run is worth at one level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Worth {
    pub(super) n: u64,
    /// Design effect: the variance of counts over that of independent values, 1 or more. `None` if limits are withheld,
    /// because they would not hold for the next run.
    pub(super) spread: Option<f64>,
    /// Length of the measurement that gave the `n` values.
    pub(super) time: Nanos,
    /// Additional time to measure if limits are withheld; `None` if more time does not help.
    pub(super) longer: Option<Nanos>,
}

impl Worth {
    fn effect(&self) -> f64 {
        self.spread.unwrap_or(f64::INFINITY)
    }

    /// Number of independent values that would give limits of the same width as the `n` values.
    fn independent(&self) -> u64 {
        (self.n as f64 / self.effect()) as u64
    }

    /// Number of clusters that hold this number of values.
    fn clusters(&self, values: u64) -> u64 {
        ((values as f64 / self.effect()).ceil() as u64).min(self.independent())
    }

    /// Converts the rank of an upper limit among independent values to a rank among all values, both counted from the
    /// top. The result is the rank of the largest value of a cluster.
    fn upper_rank(&self, independent: u64) -> u64 {
        let before = (independent.saturating_sub(1) as f64 * self.effect()) as u64;
        before.saturating_add(1).min(self.n.max(1))
    }

    /// Converts the rank of a lower limit in the same way. The result is the rank of the smallest value of a cluster.
    fn lower_rank(&self, independent: u64) -> u64 {
        ((independent as f64 * self.effect()).ceil() as u64).clamp(1, self.n.max(1))
    }

    /// Additional time to measure until the run is worth this number of independent values.
    fn more(&self, independent: u64) -> Option<Nanos> {
        let Some(effect) = self.spread else { return self.longer };
        let missing = independent as f64 * effect - self.n as f64;
        let each = self.time.as_ns() as f64 / self.n as f64;
        (self.n > 0 && each > 0.0).then(|| Nanos::from_ns((missing.max(0.0) * each) as u64))
    }
}

/// Sorted values that are known only by the edges of the cells they lie in.
pub(super) trait Ranked {
    /// The upper edge of the cell that holds the value of this rank, counted from the smallest, which has rank 1.
    fn at_most(&self, rank: u64) -> Option<Nanos>;
    /// The lower edge of the cell that holds the value of this rank.
    fn at_least(&self, rank: u64) -> Option<Nanos>;
}

impl Ranked for Counts {
    fn at_most(&self, rank: u64) -> Option<Nanos> {
        self.value_at_rank(rank)
    }

    /// The lower edge of the bucket, or an exact extreme if that is nearer to the value.
    fn at_least(&self, rank: u64) -> Option<Nanos> {
        let mut seen = 0u64;
        for (index, n) in self.nonzero() {
            seen = seen.saturating_add(n);
            if seen >= rank {
                let edge = Nanos::from_ns(punctual_hist::bucket_low(index));
                return Some(edge.max(self.min()?).min(self.max()?));
            }
        }
        None
    }
}

impl Ranked for Series {
    fn at_most(&self, rank: u64) -> Option<Nanos> {
        self.value_at_rank(rank)
    }

    fn at_least(&self, rank: u64) -> Option<Nanos> {
        // A series joined from several files may end below cells of the others. A value beyond such an end is only
        // known to be at least as large as the end.
        let beyond = self.beyond.map(|beyond| (beyond.from, beyond.count));
        let mut below = self.cells.iter().filter(|cell| beyond.is_none_or(|(from, _)| cell.low < from));
        let above = self.cells.iter().filter(|cell| beyond.is_some_and(|(from, _)| cell.low >= from));
        let mut edges = below
            .by_ref()
            .map(|cell| (cell.low, cell.count))
            .chain(beyond)
            .chain(above.map(|cell| (cell.low, cell.count)));
        let mut seen = 0u64;
        edges.find_map(|(low, count)| {
            seen = seen.saturating_add(count);
            (seen >= rank).then_some(low)
        })
    }
}

/// Percentiles with their limits, up to the first for which the run is too short. `worth_of` takes the number of values
/// above a percentile, because the size of clusters depends on the level.
pub(super) fn percentiles(n: u64, due: &impl Ranked, worth_of: impl Fn(u64) -> Worth) -> Vec<Percentile> {
    let mut list: Vec<Percentile> = Vec::new();
    for one_in in ONE_IN {
        let percentile = percentile(due, &worth_of(n / one_in), one_in);
        // Without limits, percentiles are listed only as far as the sample has enough values for them.
        let (is_withheld, is_last) = (percentile.independent.is_none(), percentile.more.is_some());
        if is_withheld && percentile.value.is_none() && !list.is_empty() {
            break;
        }
        list.push(percentile);
        if is_last && !is_withheld {
            break;
        }
    }
    list
}

fn percentile(due: &impl Ranked, worth: &Worth, one_in: u64) -> Percentile {
    let above = 1.0 / one_in as f64;
    let one_sided = f64::midpoint(CONFIDENCE, 1.0);
    let of_top = |rank: u64| (worth.n + 1).checked_sub(rank);
    let independent = worth.independent();
    let high = order::upper(independent, above, one_sided).map(|rank| worth.upper_rank(rank));
    let low = order::lower(independent, above, one_sided).map(|rank| worth.lower_rank(rank));
    let value = (worth.n >= one_in).then(|| worth.n - worth.n / one_in);
    let wanted = order::wanted(0, above, CONFIDENCE).filter(|wanted| *wanted > independent);
    Percentile {
        one_in,
        value: value.and_then(|rank| due.at_most(rank)),
        low: low.and_then(of_top).and_then(|rank| due.at_least(rank)),
        high: high.and_then(of_top).and_then(|rank| due.at_most(rank)),
        more: wanted.and_then(|wanted| worth.more(wanted)),
        independent: worth.spread.map(|_| independent),
    }
}

/// The upper limit of the probability of a miss, at 95 %, which the verdict and the claims share. `None` without a
/// design effect, because limits are withheld then.
pub(crate) fn miss_upper(missed: u64, due: u64, spread: Option<f64>) -> Option<f64> {
    let worth = Worth { n: due, spread: Some(spread?), time: Nanos::ZERO, longer: None };
    binomial::upper_bound(worth.clusters(missed), worth.independent(), CONFIDENCE)
}

/// The upper limit of the probability of a miss, and the additional time for which the next power of ten can be
/// claimed. `None` without releases.
pub(super) fn misses(budget: Nanos, missed: u64, worth: &Worth) -> Option<Misses> {
    let clusters = worth.clusters(missed);
    let upper = miss_upper(missed, worth.n, worth.spread);
    let claims = std::iter::successors(Some(1_000u64), |claim| claim.checked_mul(10));
    let is_open = |claim: &u64| upper.is_none_or(|upper| upper > 1.0 / *claim as f64);
    let wanted_one_in = claims.take_while(|claim| *claim <= ONE_IN_MAX).find(is_open).unwrap_or(ONE_IN_MAX);
    let above = 1.0 / wanted_one_in as f64;
    // If misses are more frequent than half of what the claim allows, a longer run would not support it either.
    let hopeless = missed as f64 / worth.n as f64 > above / 2.0;
    let wanted = order::wanted(clusters, above, CONFIDENCE).filter(|_| !hopeless);
    (worth.n > 0).then_some(Misses {
        budget,
        missed,
        spread: worth.spread.unwrap_or(1.0),
        upper,
        independent: upper.map(|_| worth.independent()),
        wanted_one_in,
        more: wanted.and_then(|wanted| worth.more(wanted)),
    })
}
