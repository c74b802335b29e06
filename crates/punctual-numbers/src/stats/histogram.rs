//! Percentiles of a histogram, with limits that hold whatever the distribution is.
//!
//! Limits are order statistics. Neighbouring values depend on each other, so that the ranks of the limits are counted
//! in clusters: the design effect says how many values count as one.

use super::normal;

/// Counts in cells that are adjacent or apart, never overlapping.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// Lower and upper edge of each cell, ascending.
    cells: Vec<(f64, f64)>,
    /// By cell: number of samples in this cell or below.
    cumulative: Vec<f64>,
}

impl Histogram {
    /// Builds the histogram from cells in ascending order, each as (lower edge, upper edge, number of samples).
    pub fn new(cells: impl Iterator<Item = (f64, f64, f64)>) -> Self {
        let mut histogram = Self::default();
        for (low, high, n) in cells {
            histogram.cumulative.push(histogram.samples() + n);
            histogram.cells.push((low, high));
        }
        histogram
    }

    pub fn samples(&self) -> f64 {
        self.cumulative.last().copied().unwrap_or(0.0)
    }

    /// Index of the cell that holds this share of all samples or its last part; `None` without samples.
    fn place(&self, share: f64) -> Option<usize> {
        let wanted = self.samples() * share.clamp(0.0, 1.0);
        let place = self.cumulative.partition_point(|sum| *sum < wanted).min(self.cells.len().saturating_sub(1));
        (self.samples() > 0.0).then_some(place)
    }

    /// The value below which this share of all samples lies, interpolated inside its cell; `None` without samples.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let place = self.place(share)?;
        let (low, high) = self.cells.get(place).copied()?;
        let below = place.checked_sub(1).and_then(|before| self.cumulative.get(before)).copied().unwrap_or(0.0);
        let inside = self.cumulative.get(place).copied().unwrap_or(0.0) - below;
        let wanted = self.samples() * share.clamp(0.0, 1.0);
        let part = if inside > 0.0 { ((wanted - below) / inside).clamp(0.0, 1.0) } else { 1.0 };
        Some(low + (high - low) * part)
    }

    /// A percentile, ready for limits by ranks if each `effect` samples, the design effect, count as one. `None`
    /// without samples.
    pub fn order_limits(&self, share: f64, effect: f64) -> Option<OrderLimits<'_>> {
        let seen = self.quantile(share)?;
        Some(OrderLimits {
            histogram: self,
            share,
            seen,
            clusters: self.samples() / effect.max(1.0),
            grain: (0.0, 0.0),
        })
    }

    /// The edges of the cell in which a percentile lies.
    fn cell_of(&self, share: f64) -> Option<(f64, f64)> {
        self.cells.get(self.place(share)?).copied()
    }
}

/// A percentile that has limits by ranks.
#[derive(Clone, Copy, Debug)]
pub struct OrderLimits<'a> {
    histogram: &'a Histogram,
    share: f64,
    pub seen: f64,
    /// Number of independent samples that the run is worth.
    pub clusters: f64,
    /// How far the true percentile may lie below and above the observed one because cells are wide, whatever the number
    /// of samples.
    grain: (f64, f64),
}

impl OrderLimits<'_> {
    /// The same percentile, for samples of which only the cell is known. A share `unknown` of all samples is in no
    /// cell: they were counted among the largest and may belong anywhere.
    #[must_use]
    pub fn coarse(mut self, unknown: f64) -> Self {
        let high = self.histogram.cell_of(self.share).map_or(self.seen, |cell| cell.1);
        let low = self.histogram.cell_of(self.share - unknown).map_or(self.seen, |cell| cell.0);
        self.grain = ((self.seen - low).max(0.0), (high - self.seen).max(0.0));
        self
    }

    /// Lower and upper limit, each passed by the true percentile with probability `risk`; `None` if no rank is far
    /// enough out.
    pub fn at(&self, risk: f64) -> (Option<f64>, Option<f64>) {
        let (fewest, most) = beyond_limits(self.clusters, 1.0 - self.share, risk);
        let share = |beyond: f64| 1.0 - beyond / self.clusters;
        let upper = fewest.and_then(|fewest| self.histogram.quantile(share(fewest)));
        let lower = (most < self.clusters).then(|| self.histogram.quantile(share(most))).flatten();
        (lower.map(|low| low.min(self.seen)), upper.map(|high| high.max(self.seen)))
    }
}

/// Lower and upper limit of the number of `n` samples above the level that a share `p` of all values exceeds, each
/// passed with probability `risk`. There is no lower limit if the probability of no such sample is above `risk`.
///
/// Half of the probability of a number counts as below it (Lancaster 1961), and numbers are interpolated. Limits of
/// whole ranks would be too wide.
fn beyond_limits(n: f64, p: f64, risk: f64) -> (Option<f64>, f64) {
    let mean = n * p;
    if mean > 400.0 {
        let z = -normal::quantile(risk);
        let (error, skew) = ((mean * (1.0 - p)).sqrt(), (1.0 - 2.0 * p) * (z * z - 1.0) / 6.0);
        return (Some((mean - z * error + skew).max(0.0)), mean + z * error + skew);
    }
    let odds = p / (1.0 - p);
    let mut term = (n * (-p).ln_1p()).exp();
    let (mut below, mut k, mut fewest) = (term / 2.0, 0.0, None);
    if below > risk && below >= 1.0 - risk {
        return (None, 0.0);
    }
    let can = below <= risk;
    while k < n && k < 2_000.0 {
        let next = term * (n - k).max(0.0) / (k + 1.0) * odds;
        let step = f64::midpoint(term, next);
        let at = |wanted: f64| k + if step > 0.0 { ((wanted - below) / step).clamp(0.0, 1.0) } else { 1.0 };
        if can && fewest.is_none() && below + step > risk {
            fewest = Some(at(risk));
        }
        if below + step >= 1.0 - risk {
            return (fewest, at(1.0 - risk));
        }
        (below, term, k) = (below + step, next, k + 1.0);
    }
    (fewest, k)
}

/// Limits of `second - times * first` from limits of both percentiles (Zou and Donner 2008), which need not be
/// symmetric. A limit is infinite if it depends on one that a percentile lacks.
pub fn difference_limits(first: &OrderLimits<'_>, second: &OrderLimits<'_>, times: f64, risk: f64) -> (f64, f64) {
    let (of_first, of_second) = (first.at(risk), second.at(risk));
    let seen = second.seen - times * first.seen;
    let distance = |limit: Option<f64>, seen: f64| limit.map_or(f64::INFINITY, |limit| (limit - seen).abs());
    let down = distance(of_second.0, second.seen).hypot(times * distance(of_first.1, first.seen));
    let up = distance(of_second.1, second.seen).hypot(times * distance(of_first.0, first.seen));
    // The error from the width of cells does not average out, so it is added and not squared.
    let (grain_down, grain_up) = (second.grain.0 + times * first.grain.1, second.grain.1 + times * first.grain.0);
    (seen - down - grain_down, seen + up + grain_up)
}

/// The odds of a difference this far above 0 by chance: the risk at which the lower limit of [`difference_limits`] is
/// 0.
pub fn chance_of_larger(first: &OrderLimits<'_>, second: &OrderLimits<'_>, times: f64) -> f64 {
    risk_where(|risk| difference_limits(first, second, times, risk).0 > 0.0)
}

/// The odds of a difference this far below 0 by chance: the risk at which the upper limit of [`difference_limits`] is
/// 0.
pub fn chance_of_smaller(first: &OrderLimits<'_>, second: &OrderLimits<'_>, times: f64) -> f64 {
    risk_where(|risk| difference_limits(first, second, times, risk).1 < 0.0)
}

/// The smallest risk at which `convinced` is true, at least 1e-8; 1 if it is false even at 0.5.
fn risk_where(convinced: impl Fn(f64) -> bool) -> f64 {
    if !convinced(0.5) {
        return 1.0;
    }
    let (mut low, mut high) = (1e-8f64.ln(), 0.5f64.ln());
    if convinced(low.exp()) {
        return low.exp();
    }
    for _ in 0..24 {
        let middle = f64::midpoint(low, high);
        if convinced(middle.exp()) { high = middle } else { low = middle }
    }
    high.exp()
}

#[cfg(test)]
mod tests;
