//! Values of one CPU in cells, without times: from a file of another program, or from a recording compared with one.
//!
//! A histogram without times does not show how activations depend on each other, so a degree of dependence is assumed:
//! see [`TOGETHER`]. A list of values has an order, which shows how counts vary from stretch to stretch.

use super::arm::{Arm, Cells, Place, float};
use super::rows::{self, Missed};
use super::{Basis, Group};
use crate::claims::{self, Refusal};
use crate::foreign::{ForeignRun, Quantity, Series, StatedPercentile};
use crate::recording::Recording;
use crate::stats::blocks::{BLOCKS_MIN, Blocks, OrderLimits, clustering};
use crate::stats::stretches::{self, CUTS};
use punctual_hist::Nanos;

/// Number of activations that count as one in a file without times, because late activations come in bursts. Bursts of
/// up to about this size are then not called a difference. Changes from minute to minute are not allowed for.
pub const TOGETHER: f64 = 50.0;

/// A list of fewer independent parts than this saw too few moods of its machine to be compared. Another list may differ
/// because it met other moods.
const PARTS_MIN: f64 = 10.0;
/// Number of stretches a list is cut into, to see whether successive stretches resemble each other.
const STRETCHES: usize = 32;
/// Percentiles for which stretches are compared. Moods show in frequent values.
const BODY: [f64; 3] = [0.5, 0.9, 0.99];

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
    /// All releases due as histograms, one for each block of time; a file is one block.
    blocks: Blocks,
    /// All releases due in stretches of equal length, for each number of stretches; empty if the file has no order.
    cuts: Vec<Stretches>,
    /// The measurements with times; `None` for a file of another program.
    arm: Option<Arm>,
}

/// A list of values, cut into stretches of equal length.
#[derive(Clone, Debug)]
struct Stretches {
    blocks: Blocks,
    /// By stretch, then by cell: number of values.
    counts: Vec<Vec<f64>>,
}

impl Stretches {
    /// For each stretch: (values in cells from `first` on, all values).
    fn beyond(&self, first: usize) -> Vec<(f64, f64)> {
        let part = |counts: &Vec<f64>| (counts.iter().skip(first).sum::<f64>(), counts.iter().sum::<f64>());
        self.counts.iter().map(part).collect()
    }
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
    let counts: Vec<f64> = due.iter().map(|cell| cell.2).collect();
    Distribution {
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
        blocks: Blocks::new(due.iter().map(|cell| (cell.0, cell.1)).collect(), &[counts]),
        cuts: CUTS.into_iter().filter_map(|stretches| cut(series, &due, stretches)).collect(),
        cells,
        ..Distribution::default()
    }
}

/// The values of a list, cut into this number of stretches. Missing values are spread evenly, because their place is
/// not known.
fn cut(series: &Series, due: &[Filled], stretches: usize) -> Option<Stretches> {
    let highs: Vec<Nanos> = series.cells.iter().map(|cell| cell.high).collect();
    let mut counts = series.order.as_ref()?.groups(stretches, &highs, series.grain)?;
    let missing = float(series.missing()) / float(stretches as u64);
    for stretch in counts.iter_mut().filter(|_| due.len() > highs.len()) {
        stretch.push(missing);
    }
    let cells = due.iter().map(|cell| (cell.0, cell.1)).collect();
    Some(Stretches { blocks: Blocks::new(cells, &counts), counts })
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
    let blocks = arm.histograms(&Cells::of([&arm, &arm]));
    let cells = filled(&Series::of_counts(String::new(), None, &arm.ran));
    Distribution {
        group: place.group.clone(),
        period: Some(arm.period),
        budget: arm.budget,
        skipped: Some(arm.due.count().saturating_sub(arm.ran.count())),
        due: arm.due.count(),
        cells,
        blocks,
        arm: Some(arm),
        ..Distribution::default()
    }
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
        self.is_counted() && self.blocks.samples() * (1.0 - share) < self.missing()
    }

    /// A percentile in nanoseconds as the file states it, for a file that has percentiles instead of counts.
    pub(super) fn told(&self, ppm: u32) -> Option<f64> {
        self.points.iter().find(|stated| stated.ppm == ppm).map(|stated| float(stated.value.as_ns()))
    }

    /// A percentile with its limits. `None` without counts, or if the percentile lies among values that are in no cell.
    /// Also `None` if less than one value lies beyond the percentile, because it would be the maximum then.
    pub(super) fn limits(&self, share: f64) -> Option<OrderLimits<'_>> {
        if self.blocks.samples() * (1.0 - share) < 1.0 {
            return None;
        }
        let limits = self.blocks.order_limits(share).filter(|limits| limits.seen.is_finite())?;
        if self.arm.is_some() {
            return Some(if self.blocks.len() < BLOCKS_MIN { limits.together(TOGETHER) } else { limits });
        }
        let place = self.place_above(limits.seen);
        let unknown = self.missing() / self.blocks.samples();
        match self.widest(place) {
            Some((stretches, effect)) => Some(stretches.blocks.order_limits(share)?.together(effect).coarse(unknown)),
            None => Some(limits.coarse(unknown).together(TOGETHER)),
        }
    }

    /// What the limits know about the dependence of values on each other.
    pub(super) fn basis(&self) -> Basis {
        match (&self.arm, self.cuts.is_empty()) {
            (Some(_), _) => Basis::Times,
            (None, false) => Basis::Order,
            (None, true) => Basis::Independent,
        }
    }

    /// Whether the values of a list change so slowly that it has too few independent parts.
    pub(super) fn has_few_moods(&self) -> bool {
        let Some(cut) = self.cuts.iter().find(|cut| cut.counts.len() <= STRETCHES) else { return false };
        let parts = |share: &f64| {
            let level = self.blocks.quantile(*share)?;
            Some(stretches::independent(&cut.beyond(self.place_above(level))))
        };
        BODY.iter().filter_map(parts).fold(f64::INFINITY, f64::min)
            < PARTS_MIN.min(float(cut.counts.len() as u64) / 2.0)
    }

    /// Index of the first cell above the one that contains this value or ends at it.
    fn place_above(&self, value: f64) -> usize {
        self.cells.partition_point(|cell| cell.1 < value).saturating_add(1)
    }

    /// The cut that gives the widest limits of the share in cells from `first` on, and the number of values that count
    /// as one under that cut.
    fn widest(&self, first: usize) -> Option<(&Stretches, f64)> {
        let of = |stretches: usize| self.cuts.iter().find(|cut| cut.counts.len() == stretches);
        let cut = stretches::widest(|stretches| Some(of(stretches)?.beyond(first)))?;
        Some((of(cut.stretches)?, cut.effect))
    }

    /// Misses: activations later than the budget and, if the file states them, skipped releases.
    pub(super) fn missed(&self, budget: Option<Nanos>) -> Missed {
        let Some(arm) = &self.arm else { return self.missed_by_cells(budget) };
        let blocks = rows::missed(arm, budget, budget == arm.budget);
        let seen = clustering(&[&blocks], self.blocks.body());
        let together = if blocks.len() < BLOCKS_MIN { seen.max(TOGETHER) } else { seen };
        Missed::of(&blocks, together)
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
        let place = self.cells.partition_point(|cell| limit.is_none_or(|limit| cell.0 <= limit));
        let parts = |stretches: usize| Some(self.cuts.iter().find(|cut| cut.counts.len() == stretches)?.beyond(place));
        let together = stretches::widest(parts).map_or(TOGETHER, |cut| cut.worth);
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
            (distribution.blocks.samples(), distribution.due, distribution.beyond),
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
