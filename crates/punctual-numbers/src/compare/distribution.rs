//! Values of one CPU in cells, without times: from a file of another program, or from a recording compared with one.
//!
//! A histogram without times does not show how activations depend on each other, so a degree of dependence is assumed:
//! see [`TOGETHER`]. A list of values has an order, which shows how counts vary from stretch to stretch.

use super::arm::{Arm, Place, float};
use super::rows::Missed;
use super::{Basis, Group, series};
use crate::claims::{self, Refusal};
use crate::foreign::{ForeignRun, Quantity, Series, StatedPercentile};
use crate::recording::Recording;
use crate::stats::float::whole;
use crate::stats::histogram::{Histogram, OrderLimits};
use crate::stats::moods::{Cell, Events, Moods};
use punctual_hist::{Nanos, bucket_index};

/// Number of activations that count as one in a file without times, because late activations come in bursts. Bursts of
/// up to about this size are then not called a difference. Changes from minute to minute are not allowed for.
pub const TOGETHER: f64 = 50.0;

/// Fewer stretches than this do not show moods.
const STRETCHES_MIN: usize = 8;
/// The percentile whose events show the moods, and the least number of these events.
const SHOWING: f64 = 0.99;
const SHOWING_MIN: f64 = 50.0;
/// Risk on each side of an interval.
const RISK: f64 = 0.025;

/// A cell: lower edge, upper edge (the first value beyond it), number of values in it.
type Filled = (f64, f64, f64);

#[derive(Clone, Debug, Default)]
pub(super) struct Distribution {
    pub group: Group,
    pub quantity: Quantity,
    pub context: Option<String>,
    pub period: Option<Nanos>,
    pub budget: Option<Nanos>,
    /// Number of skipped releases; `None` if it is not stated.
    pub skipped: Option<u64>,
    /// Why the cells do not stand for everything that was measured; `None` if they do.
    pub unfit: Option<Refusal>,
    /// Number of values that the file counts in its total but has in no cell.
    lost: u64,
    /// Number of releases due. If the file does not state how many were skipped, this is the number of those that ran.
    pub due: u64,
    /// Latency from which on values are counted but not placed in cells.
    pub beyond: Option<Nanos>,
    /// Percentiles that a file has instead of counts: (parts per million, value).
    points: Vec<StatedPercentile>,
    /// Cells of the activations that ran.
    cells: Vec<Filled>,
    histogram: Histogram,
    /// For each stretch of a list of values, the number of values due in each cell; empty if the file has no order.
    stretches: Vec<Vec<f64>>,
    /// The measurements with times; `None` for a file of another program.
    arm: Option<Arm>,
    /// The moods that frequent late values show; `None` if nothing shows them.
    moods: Option<Moods>,
}

/// One distribution for each series of a file of another program.
pub(super) fn of_run(run: &ForeignRun) -> Vec<Distribution> {
    run.series.iter().map(of_series).collect()
}

pub(super) fn group_of(series: &Series) -> Group {
    Group { cpu: series.cpu, series: Some(series.label.clone()), ..Group::default() }
}

fn of_series(series: &Series) -> Distribution {
    let cells = filled(series);
    let due = with_missing(cells.clone(), float(series.missing()));
    let distribution = Distribution {
        group: group_of(series),
        quantity: series.quantity,
        context: series.context.clone(),
        period: series.period,
        skipped: series.skipped,
        unfit: claims::unfit(series),
        lost: series.lost(),
        due: series.count().unwrap_or(0).saturating_add(series.missing()),
        beyond: series.beyond.filter(|beyond| beyond.count > 0).map(|beyond| beyond.from),
        points: series.points.clone(),
        stretches: stretches(series, due.len()).unwrap_or_default(),
        histogram: Histogram::new(due.into_iter()),
        cells,
        ..Distribution::default()
    };
    distribution.with_moods()
}

/// The values of a list, stretch by stretch. Missing values are spread evenly, because their place is not known. There
/// are `cells` cells; a last one that the series does not have holds the missing values.
fn stretches(series: &Series, cells: usize) -> Option<Vec<Vec<f64>>> {
    let highs: Vec<Nanos> = series.cells.iter().map(|cell| cell.high).collect();
    let order = series.order.as_ref().filter(|order| order.stretches() >= STRETCHES_MIN)?;
    let mut counts = order.groups(order.stretches(), &highs, series.grain)?;
    let missing = float(series.missing()) / float(counts.len() as u64);
    for stretch in counts.iter_mut().filter(|_| cells > highs.len()) {
        stretch.push(missing);
    }
    Some(counts)
}

/// The cells of a series, and one more without an upper edge for the values beyond them.
fn filled(series: &Series) -> Vec<Filled> {
    let edge = |ns: Nanos| float(ns.as_ns());
    let past = |ns: Nanos| float(ns.as_ns().saturating_add(1));
    let mut cells: Vec<Filled> =
        series.cells.iter().map(|cell| (edge(cell.low), past(cell.high), float(cell.count))).collect();
    if let Some(beyond) = series.beyond.filter(|beyond| beyond.count > 0) {
        let from = cells.last().map_or(0.0, |last| last.1).max(edge(beyond.from));
        cells.push((from, f64::INFINITY, float(beyond.count)));
    }
    cells
}

/// Puts the values that are in no cell above all others, because they may be larger. [`Distribution::limits`] also
/// allow for smaller ones.
fn with_missing(mut cells: Vec<Filled>, missing: f64) -> Vec<Filled> {
    let end = cells.last().map_or(0.0, |last| last.1);
    match cells.last_mut().filter(|last| last.1.is_infinite()) {
        Some(last) => last.2 += missing,
        None if missing > 0.0 => cells.push((end, f64::INFINITY, missing)),
        None => {}
    }
    cells
}

pub(super) fn of_place(recording: &Recording, place: &Place) -> Distribution {
    let arm = Arm::of(recording, place);
    let cells = filled(&Series::of_counts(String::new(), None, &arm.ran));
    let distribution = Distribution {
        group: place.group.clone(),
        period: Some(arm.period),
        budget: arm.budget,
        skipped: Some(arm.due.count().saturating_sub(arm.ran.count())),
        due: arm.due.count(),
        cells,
        histogram: arm.histogram(),
        arm: Some(arm),
        ..Distribution::default()
    };
    distribution.with_moods()
}

impl Distribution {
    pub(super) fn is_counted(&self) -> bool {
        !self.cells.is_empty()
    }

    /// Whether nothing of the file can be compared, because its cells contradict it or hold only the largest values.
    pub(super) fn is_refused(&self) -> bool {
        matches!(self.unfit, Some(Refusal::Doubted | Refusal::Censored))
    }

    /// Number of due releases that are in no cell; 0 for a recording.
    fn missing(&self) -> f64 {
        if self.arm.is_some() { 0.0 } else { float(self.lost) + self.skipped.map_or(0.0, float) }
    }

    /// Whether a percentile may lie among the values that are in no cell.
    pub(super) fn is_missing(&self, share: f64) -> bool {
        self.is_counted() && self.histogram.samples() * (1.0 - share) < self.missing()
    }

    /// A percentile in nanoseconds as the file states it, for a file that has percentiles instead of counts.
    pub(super) fn told(&self, ppm: u32) -> Option<f64> {
        self.points.iter().find(|stated| stated.ppm == ppm).map(|stated| float(stated.value.as_ns()))
    }

    /// A percentile with its limits. `None` without counts, or if the percentile lies among values that are in no cell.
    /// Also `None` if less than one value lies beyond the percentile, because it would be the maximum then.
    pub(super) fn limits(&self, share: f64) -> Option<OrderLimits<'_>> {
        if self.histogram.samples() * (1.0 - share) < 1.0 {
            return None;
        }
        let seen = self.histogram.quantile(share).filter(|seen| seen.is_finite())?;
        let limits = self.histogram.order_limits(share, self.effect(self.beyond(seen).as_ref()))?;
        let unknown = self.missing() / self.histogram.samples();
        Some(if self.arm.is_some() { limits } else { limits.coarse(unknown) })
    }

    /// The same distribution, with its moods.
    fn with_moods(mut self) -> Self {
        let late = self.histogram.quantile(SHOWING).and_then(|level| self.beyond(level));
        self.moods = late.filter(|late| late.count >= SHOWING_MIN).map(|late| Moods::of(&[&late], None));
        self
    }

    /// The values beyond this one, stretch by stretch; `None` if the file has no order or too few stretches. A cell
    /// that holds the value is left out.
    pub(super) fn beyond(&self, value: f64) -> Option<Events> {
        let cells: Vec<Cell> = if let Some(arm) = &self.arm {
            let edge = bucket_index(whole((value - 1.0).max(0.0))).saturating_add(1);
            series::beyond(arm, &[edge]).first()?.cells().to_vec()
        } else {
            let first = self.cells.partition_point(|cell| cell.0 < value);
            let of = |counts: &Vec<f64>| (counts.iter().skip(first).sum(), counts.iter().sum());
            self.stretches.iter().map(of).collect()
        };
        let due: f64 = cells.iter().map(|cell| cell.1).sum();
        (cells.len() >= STRETCHES_MIN).then(|| Events::new(&cells, due))
    }

    /// Number of these events that count as one.
    fn effect(&self, events: Option<&Events>) -> f64 {
        let Some(events) = events else { return TOGETHER };
        let moods = Moods::of(&[events], self.moods.as_ref());
        if events.count > 0.0 && events.count < events.of { moods.effect(events, RISK) } else { TOGETHER }
    }

    /// What the limits know about the dependence of values on each other.
    pub(super) fn basis(&self) -> Basis {
        match (&self.arm, self.stretches.is_empty()) {
            (Some(_), _) => Basis::Times,
            (None, false) => Basis::Order,
            (None, true) => Basis::Independent,
        }
    }

    /// Misses: activations later than the budget and, if the file states them, skipped releases.
    pub(super) fn missed(&self, budget: Option<Nanos>) -> Missed {
        let Some(arm) = &self.arm else { return self.missed_by_cells(budget) };
        let missed = series::missed(arm, budget, budget == arm.budget);
        let together = self.effect(Some(&missed).filter(|missed| missed.cells().len() >= STRETCHES_MIN));
        Missed { least: missed.count, most: missed.count, due: missed.of, together }
    }

    /// Misses by cells. The values of a cell that holds the budget may all be misses or none, and so may the lost
    /// values.
    fn missed_by_cells(&self, budget: Option<Nanos>) -> Missed {
        let skipped = self.skipped.map_or(0.0, float);
        let limit = budget.map(|budget| float(budget.as_ns()));
        let missed = |edge: fn(&Filled) -> f64| {
            let late = self.cells.iter().filter(|cell| limit.is_some_and(|limit| edge(cell) > limit));
            late.map(|cell| cell.2).sum::<f64>() + skipped
        };
        let lost = float(self.lost);
        let (least, most) = (missed(|cell| cell.0), missed(|cell| cell.1 - 1.0) + lost);
        let together = self.effect(limit.and_then(|limit| self.beyond(limit + 1.0)).as_ref());
        Missed { least, most, due: self.ran_count() + skipped + lost, together }
    }

    fn ran_count(&self) -> f64 {
        self.cells.iter().map(|cell| cell.2).sum()
    }

    /// Cliff's delta of two sides, whose values count as equal if their cells overlap.
    pub(super) fn delta(&self, second: &Self) -> Option<f64> {
        let pairs = self.ran_count() * second.ran_count();
        if pairs <= 0.0 {
            return None;
        }
        let mut sum = 0.0;
        let mut running: Vec<f64> = vec![0.0];
        for cell in &self.cells {
            running.push(running.last().copied().unwrap_or(0.0) + cell.2);
        }
        let before = |place: usize| running.get(place).copied().unwrap_or(0.0);
        for (low, high, n) in &second.cells {
            let below = before(self.cells.partition_point(|cell| cell.1 <= *low));
            let not_above = before(self.cells.partition_point(|cell| cell.0 < *high));
            sum += n * f64::midpoint(below, not_above.max(below));
        }
        Some((2.0 * sum / pairs - 1.0).clamp(-1.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foreign::{Beyond, Cell};

    fn series(cells: &[(u64, u64)]) -> Series {
        let cell = |(us, n): &(u64, u64)| Cell::of_width(*us, Nanos::from_us(1), *n);
        Series { label: "thread 0".to_owned(), cells: cells.iter().map(cell).collect(), ..Series::default() }
    }

    #[test]
    fn a_percentile_is_known_to_its_cell_and_what_is_only_counted_has_none() {
        let cut = Series { beyond: Some(Beyond { from: Nanos::from_us(9), count: 3 }), ..series(&[(5, 60), (7, 37)]) };
        let distribution = of_series(&cut);
        assert_eq!(
            (distribution.histogram.samples(), distribution.due, distribution.beyond),
            (100.0, 100, Some(Nanos::from_us(9)))
        );
        let median = distribution.limits(0.5).unwrap();
        assert!((5_000.0..6_000.0).contains(&median.seen), "{}", median.seen);
        assert!(distribution.limits(0.98).is_none(), "among the three that are only counted");
        let known = Series { max: Some(Nanos::from_us(40)), ..cut };
        assert!(of_series(&known).limits(0.98).is_none(), "the largest says nothing of the others");
    }

    #[test]
    fn a_budget_that_cuts_a_cell_gives_limits() {
        let distribution = of_series(&series(&[(5, 60), (7, 37), (9, 3)]));
        let missed = |ns: u64| {
            let missed = distribution.missed(Some(Nanos::from_ns(ns)));
            (missed.least, missed.most)
        };
        // 7999 ns is the last value of the cell of 7 us, so only the values in the next cells are later.
        assert_eq!((missed(7_999), missed(7_500), missed(20_000)), ((3.0, 3.0), (3.0, 40.0), (0.0, 0.0)));
        let skipping = Series { skipped: Some(4), period: Some(Nanos::from_ms(1)), ..series(&[(5, 60)]) };
        let skips = of_series(&skipping).missed(None);
        assert_eq!((skips.least, skips.most, skips.due), (4.0, 4.0, 64.0));
    }

    /// Computed by hand: in two of the four pairs the value of the second side is later, and in two both values lie in
    /// one cell.
    #[test]
    fn values_in_one_cell_are_equal() {
        let (a, b) = (of_series(&series(&[(5, 2)])), of_series(&series(&[(5, 1), (6, 1)])));
        assert_eq!((a.delta(&b), b.delta(&a), a.delta(&a)), (Some(0.5), Some(-0.5), Some(0.0)));
    }
}
