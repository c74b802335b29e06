//! Fits a generalised Pareto law to the values above a threshold, and finds the level exceeded once in a given time.
//!
//! Data are values, counts in bins, or the largest value of each block. The largest of a block is the largest of an
//! unknown number of clusters, which is Poisson distributed with mean `several`. Then `P(Y > y) = (1 - exp(-several
//! w(y))) / (1 - exp(-several))`, with `w` the survival function of the Pareto law. With `several` near 0 this is the
//! peaks-over-threshold model; with a large one it is the law of block maxima (GEV) above the threshold. So one model
//! serves both.
//!
//! Intervals are by profile likelihood, because intervals by standard errors are much too short for a few hundred
//! values. Coles, An Introduction to Statistical Modeling of Extreme Values, 2001, chapters 3 and 4. Shapes below -1/2
//! have no regular likelihood (Smith 1985) and are not searched.

use super::optimum::{crossing, near, simplex};
use crate::stats::float::float;
use std::cell::Cell;

/// Lowest and highest shape that is searched.
pub const SHAPES: (f64, f64) = (-0.5, 1.0);
/// Quantile of the chi-squared distribution with one degree of freedom at 95 %. A parameter lies in its two-sided 95 %
/// interval if twice its profile log-likelihood is at most this much below the maximum.
const CHI_95: f64 = 3.841_458_820_694_124;

/// Values above a threshold, as distances from it in any unit.
#[derive(Clone, Debug, Default)]
pub struct Exceedances {
    values: Vec<f64>,
    /// (lower edge, upper edge, number of values).
    bins: Vec<(f64, f64, f64)>,
    several: f64,
    size: f64,
    mean: f64,
    max: f64,
}

/// A generalised Pareto law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    /// Scale, in the unit of the data; above 0.
    pub scale: f64,
    /// Shape: below 0 the law has an end, at 0 it is exponential, above 0 it is heavy.
    pub shape: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    pub law: Law,
    pub ln_likelihood: f64,
}

/// A value with its 95 % confidence interval. A limit that the data do not give is infinite.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Law {
    /// The logarithm of P(Y > y).
    fn ln_survival(&self, y: f64) -> f64 {
        if y <= 0.0 {
            return 0.0;
        }
        let reduced = y / self.scale;
        if self.shape.abs() < 1e-8 {
            return -reduced;
        }
        let grown = self.shape * reduced;
        if grown <= -1.0 { f64::NEG_INFINITY } else { -grown.ln_1p() / self.shape }
    }

    pub fn survival(&self, y: f64) -> f64 {
        self.ln_survival(y).exp()
    }

    /// The level that is exceeded with probability `1/times`, so once in `times` exceedances.
    pub fn level(&self, times: f64) -> f64 {
        self.scale * stretch(self.shape, times)
    }
}

/// The level, (times^shape - 1) / shape, that a law of scale 1 exceeds once in `times` exceedances.
fn stretch(shape: f64, times: f64) -> f64 {
    let ln = times.ln();
    if (shape * ln).abs() < 1e-8 { ln } else { (shape * ln).exp_m1() / shape }
}

impl Exceedances {
    /// Builds the data from the distances of values from the threshold. Distances that are not positive and finite are
    /// left out.
    pub fn of_values(values: impl IntoIterator<Item = f64>, several: f64) -> Self {
        let mut values: Vec<f64> = values.into_iter().filter(|y| y.is_finite() && *y > 0.0).collect();
        values.sort_by(f64::total_cmp);
        Self { values, several: several.max(0.0), ..Self::default() }.summed()
    }

    /// Builds the data from counts in bins, (lower edge, upper edge, count), as distances from the threshold. The upper
    /// edge may be infinite.
    pub fn of_bins(bins: impl IntoIterator<Item = (f64, f64, u64)>, several: f64) -> Self {
        let sane = |(from, to, n): &(f64, f64, u64)| from.is_finite() && *from >= 0.0 && to > from && *n > 0;
        let mut bins: Vec<(f64, f64, f64)> =
            bins.into_iter().filter(sane).map(|(from, to, n)| (from, to, float(n))).collect();
        bins.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { bins, several: several.max(0.0), ..Self::default() }.summed()
    }

    /// The same data, in which the `left_out` largest are only known to lie above all others. In bins, they are only
    /// known to lie above the lower edge of the lowest bin that holds one of them.
    #[must_use]
    pub fn censored(&self, left_out: usize) -> Self {
        if self.values.is_empty() {
            return self.censored_bins(left_out);
        }
        let keep = self.values.len().saturating_sub(left_out);
        let (kept, largest) = self.values.split_at_checked(keep).unwrap_or((&self.values, &[]));
        let above = kept.last().copied().unwrap_or_default();
        let bin = (above, f64::INFINITY, float(largest.len()));
        let bins = (!largest.is_empty()).then_some(bin).into_iter().collect();
        Self { values: kept.to_vec(), bins, several: self.several, ..Self::default() }.summed()
    }

    fn censored_bins(&self, left_out: usize) -> Self {
        let wanted = (float(left_out)).min(self.size);
        let (mut bins, mut taken, mut above) = (self.bins.clone(), 0.0, 0.0);
        while let Some(bin) = bins.last_mut().filter(|_| taken < wanted) {
            above = bin.0;
            let more = bin.2.min(wanted - taken);
            (taken, bin.2) = (taken + more, bin.2 - more);
            if bin.2 <= 0.0 {
                bins.pop();
            }
        }
        bins.extend((taken > 0.0).then_some((above, f64::INFINITY, taken)));
        Self { bins, several: self.several, ..Self::default() }.summed()
    }

    /// The value number `place` from the top, where the largest has number 1. In bins, the lower edge of its bin.
    pub fn largest(&self, place: usize) -> Option<f64> {
        if let Some(place) = self.values.len().checked_sub(place) {
            return self.values.get(place).copied();
        }
        let mut above = 0.0;
        let holds = |bin: &&(f64, f64, f64)| {
            above += bin.2;
            above >= float(place)
        };
        self.bins.iter().rev().find(holds).map(|bin| bin.0)
    }

    /// The values in ascending order.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    fn summed(mut self) -> Self {
        let middle = |(from, to, _): &(f64, f64, f64)| if to.is_finite() { f64::midpoint(*from, *to) } else { *from };
        let values = float(self.values.len());
        self.size = values + self.bins.iter().map(|bin| bin.2).sum::<f64>();
        let sum = self.values.iter().sum::<f64>() + self.bins.iter().map(|bin| middle(bin) * bin.2).sum::<f64>();
        self.mean = if self.size > 0.0 { sum / self.size } else { 0.0 };
        // The largest value may lie anywhere in its bin, so the law must reach at least to the bin's lower edge.
        self.max = self.bins.iter().map(|bin| bin.0).chain(self.values.last().copied()).fold(0.0, f64::max);
        self
    }

    pub fn size(&self) -> f64 {
        self.size
    }

    /// P(Y > y) for one of the fitted values, under `law`.
    pub fn survival(&self, law: &Law, y: f64) -> f64 {
        let w = law.survival(y);
        if self.several < 1e-9 { w } else { (-self.several * w).exp_m1() / (-self.several).exp_m1() }
    }

    pub fn ln_likelihood(&self, law: &Law) -> f64 {
        let sane = law.scale > 0.0 && law.scale.is_finite() && law.shape.is_finite();
        if !sane || law.shape * self.max / law.scale <= -1.0 {
            return f64::NEG_INFINITY;
        }
        let block = if self.several < 1e-9 { 0.0 } else { (self.several / -(-self.several).exp_m1()).ln() };
        let density = |y: &f64| {
            let ln_w = law.ln_survival(*y);
            let crowd = if self.several < 1e-9 { 0.0 } else { self.several * ln_w.exp() };
            (1.0 + law.shape) * ln_w - crowd
        };
        let common = float(self.values.len()) * (block - law.scale.ln());
        let values: f64 = self.values.iter().map(density).sum();
        let bin = |(from, to, n): &(f64, f64, f64)| n * (self.survival(law, *from) - self.survival(law, *to)).ln();
        common + values + self.bins.iter().map(bin).sum::<f64>()
    }

    /// The most likely law. `None` with fewer than 10 exceedances, or if the likelihood has no finite maximum.
    pub fn fit(&self) -> Option<Fit> {
        if self.size < 10.0 || self.mean <= 0.0 {
            return None;
        }
        let law = |[ln_scale, shape]: [f64; 2]| Law { scale: ln_scale.exp() * self.mean, shape };
        let inside = |shape: f64| (SHAPES.0..=SHAPES.1).contains(&shape);
        let height = |x: [f64; 2]| if inside(x[1]) { self.ln_likelihood(&law(x)) } else { f64::NEG_INFINITY };
        let (best, ln_likelihood) = simplex(height, [0.0, 0.05], [0.2, 0.1]);
        ln_likelihood.is_finite().then(|| Fit { law: law(best), ln_likelihood })
    }

    /// The largest log-likelihood among the laws of this shape. The search for the logarithm of the scale begins at
    /// `near_by`, which is then set to the logarithm that was found.
    fn of_shape(&self, shape: f64, near_by: &Cell<f64>) -> f64 {
        let scale = |ln: f64| Law { scale: ln.exp(), shape };
        let around = near_by.get();
        let (ln, height) = near(|ln| self.ln_likelihood(&scale(ln)), around, 0.05, around - 3.0, around + 3.0);
        if height.is_finite() {
            near_by.set(ln);
        }
        height
    }

    /// The shape with its interval, which ends at the limits of the search.
    pub fn shape(&self, fit: &Fit) -> Estimate {
        let limit = |end: f64| {
            let near_by = Cell::new(fit.law.scale.ln());
            let inside = |shape: f64| self.of_shape(shape, &near_by) - fit.ln_likelihood + CHI_95 / 2.0;
            if inside(end) > 0.0 { end } else { crossing(inside, fit.law.shape, end) }
        };
        Estimate { value: fit.law.shape, low: limit(SHAPES.0), high: limit(SHAPES.1) }
    }

    /// Twice the difference between the maximum of the log-likelihood and its maximum among the laws that exceed
    /// `level` once in `times` exceedances.
    pub fn drop(&self, fit: &Fit, times: f64, level: f64) -> f64 {
        self.drop_near(fit, times, level, &Cell::new(fit.law.shape))
    }

    /// The same as [`Self::drop`]. The search for the shape begins at `near_by`, which is then set to the shape that
    /// was found.
    fn drop_near(&self, fit: &Fit, times: f64, level: f64, near_by: &Cell<f64>) -> f64 {
        let at = |shape: f64| self.ln_likelihood(&Law { scale: level / stretch(shape, times), shape });
        let (shape, height) = near(at, near_by.get(), 0.05, SHAPES.0, SHAPES.1);
        if height.is_finite() {
            near_by.set(shape);
        }
        2.0 * (fit.ln_likelihood - height)
    }

    /// The number N such that a level exceeded by an exceedance with this probability is exceeded by one cluster in N.
    pub fn times(&self, probability: f64) -> f64 {
        if self.several < 1e-9 {
            return 1.0 / probability;
        }
        -self.several / (probability * (-self.several).exp_m1()).ln_1p()
    }

    /// The level that is exceeded by one in `times` clusters, with its interval by profile likelihood. `wider` scales
    /// the allowed drop of the profile; 1 gives the textbook's 95 % interval, which is right if there are many
    /// values.
    pub fn level(&self, fit: &Fit, times: f64, wider: f64) -> Option<Estimate> {
        if times <= 1.0 || !times.is_finite() {
            return None;
        }
        let value = fit.law.level(times);
        let beyond = |factor: f64| {
            let near_by = Cell::new(fit.law.shape);
            let inside = |level: f64| wider * CHI_95 - self.drop_near(fit, times, level, &near_by);
            let mut reach = value;
            for _ in 0..40 {
                let next = reach * factor;
                if inside(next) <= 0.0 {
                    return Some(crossing(inside, reach, next));
                }
                reach = next;
            }
            None
        };
        let (low, high) = (beyond(1.0 / 1.25).unwrap_or(0.0), beyond(1.25).unwrap_or(f64::INFINITY));
        (value.is_finite() && value > 0.0).then_some(Estimate { value, low, high })
    }
}
