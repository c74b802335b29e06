//! One run as a value, whatever program measured it: cells with their edges, and what the file tells beside them.
//!
//! Every import makes this value, and every export is made from it. Edges are exact, so that a cell is never taken for a
//! point. Must not know how any format is written.

use super::Format;
use super::sequence::{Order, Sequence};
use crate::stats::float::whole;
use punctual_facts::machine::MachineLine;
use punctual_hist::{Counts, Nanos, bucket_high, bucket_low};

/// The result of one measurement, with a series for each CPU, thread or context.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ForeignRun {
    pub format: Format,
    /// The program that measured, with its version if the file tells it.
    pub program: Option<String>,
    /// The command line of the program.
    pub command: Option<String>,
    /// When the run began, as the file writes it.
    pub started: Option<String>,
    /// Length of the run as the file states it.
    pub duration: Option<Stated>,
    /// Facts about the machine that the file tells, by name.
    #[serde(serialize_with = "crate::published::lines")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, String>"))]
    pub machine: Vec<MachineLine>,
    #[serde(skip)]
    pub series: Vec<Series>,
    /// Sentences that tell what was repaired, doubted or lost.
    pub notes: Vec<String>,
}

/// In a copy written by punctual, minimum and mean may lie below the cells by one part in this number: two buckets.
pub(super) const COPIED: f64 = 32.0;

/// A length of time that a file states with limited precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stated {
    #[serde(rename = "length_ns")]
    pub length: Nanos,
    /// Possible error of the length: one unit of its last digit.
    #[serde(rename = "grain_ns")]
    pub grain: Nanos,
}

/// What the values of a series are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Time from the release to the wake-up.
    #[default]
    Latency,
    /// Time taken away from a thread that never sleeps: one value for each interruption, or for each turn of its loop.
    Noise,
}

/// Why the cells of a series are not a fair picture of everything that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unfit {
    /// The cells contradict other numbers of the file, so that no share of them can be relied upon.
    Doubted,
    /// The cells hold only values above a threshold.
    Censored,
}

/// Values of one CPU, thread or context.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// The name of the series in the file: `thread 0`, `CPU 1 IRQ`.
    pub label: String,
    pub cpu: Option<u32>,
    /// The part of an activation that was measured, where a file has several (`IRQ`, `Thr`, `Usr`), or the load.
    pub context: Option<String>,
    pub quantity: Quantity,
    /// Time between releases, in nanoseconds.
    #[serde(rename = "period_ns")]
    pub period: Option<Nanos>,
    /// Cells that hold something, ascending.
    pub cells: Vec<Cell>,
    /// Values beyond the last cell of the program, which are in no cell.
    pub beyond: Option<Beyond>,
    /// Releases at which the thread did not run; `None` if the file does not tell.
    pub skipped: Option<u64>,
    /// Time from each skipped release until the thread ran; empty if the file does not tell it.
    #[serde(skip)]
    pub waits: Vec<Cell>,
    /// A budget and the number of activations that ran later, where they were counted one by one.
    #[serde(skip)]
    pub over_budget: Option<(Nanos, u64)>,
    /// Smallest value, mean and largest value as the file states them.
    #[serde(skip)]
    pub min: Option<Nanos>,
    #[serde(skip)]
    pub mean: Option<Nanos>,
    #[serde(skip)]
    pub max: Option<Nanos>,
    /// Minimum, mean and maximum are rounded down to multiples of this.
    #[serde(rename = "grain_ns")]
    pub grain: Nanos,
    /// Minimum and maximum are rounded up instead, as oslat does it.
    #[serde(skip)]
    pub rounded_up: bool,
    /// The file is a copy by punctual: values of a bucket, 1.6 % wide, were counted in the row where it ends, while minimum
    /// and mean are exact.
    #[serde(skip)]
    pub copied: bool,
    /// Only values above this are in cells; `None` where all values are.
    #[serde(skip)]
    pub threshold: Option<Nanos>,
    /// Time in which the program looked; `None` where it looked all the time.
    #[serde(skip)]
    pub observed: Option<Nanos>,
    /// Releases that the stated duration makes due, and that are neither counted nor said to be skipped.
    #[serde(skip)]
    pub unaccounted: u64,
    /// Number of values as the file states it.
    pub stated_count: Option<u64>,
    /// Percentiles that the file states instead of cells: (parts per million, value).
    #[serde(skip)]
    pub points: Vec<(u32, Nanos)>,
    /// `None`: the cells are a fair picture of everything that was measured.
    #[serde(skip)]
    pub unfit: Option<Unfit>,
    /// Histograms of consecutive stretches; `None` where the file does not tell in which order its values came.
    #[serde(skip)]
    pub order: Option<Order>,
}

/// The number of values from `low_ns` to `high_ns`, both of which belong to the cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    #[serde(rename = "low_ns")]
    pub low: Nanos,
    #[serde(rename = "high_ns")]
    pub high: Nanos,
    pub count: u64,
}

/// Values that a program has counted and not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Beyond {
    /// None of the values is smaller than this.
    #[serde(rename = "from_ns")]
    pub from: Nanos,
    pub count: u64,
}

impl ForeignRun {
    pub(super) fn doubt(&mut self) {
        for series in &mut self.series {
            series.unfit = series.unfit.or(Some(Unfit::Doubted));
        }
    }
}

impl Cell {
    /// The cell with number `index`, if each cell is `width` long.
    pub fn of_width(index: u64, width: Nanos, count: u64) -> Self {
        let low = width.times(index);
        Self { low, high: low.plus(width.minus(Nanos::from_ns(1))), count }
    }

    pub fn of_bucket((bucket, count): (usize, u64)) -> Self {
        Self { low: Nanos::from_ns(bucket_low(bucket)), high: Nanos::from_ns(bucket_high(bucket)), count }
    }

    /// The largest value that the cell can hold: its upper edge, or the largest value of all if that is smaller.
    pub fn end(&self, largest: Option<Nanos>) -> Nanos {
        largest.filter(|largest| *largest >= self.low).map_or(self.high, |largest| self.high.min(largest))
    }
}

impl Series {
    /// The number of values in cells and beyond them.
    pub fn counted(&self) -> u64 {
        let cells = self.cells.iter().fold(0u64, |sum, cell| sum.saturating_add(cell.count));
        cells.saturating_add(self.beyond.map_or(0, |beyond| beyond.count))
    }

    /// The number of values that the file states and has in no cell; 0 if it has no cells at all.
    pub fn lost(&self) -> u64 {
        let stated = self.stated_count.filter(|_| self.counted() > 0);
        stated.map_or(0, |stated| stated.saturating_sub(self.counted()))
    }

    /// The number of releases that are in no cell: skipped ones, those whose value was lost, and those that nothing in the
    /// file accounts for.
    pub fn missing(&self) -> u64 {
        self.lost().max(self.unaccounted).saturating_add(self.skipped.unwrap_or(0))
    }

    /// The smallest and the largest value that the file's rounding makes of a stated extreme.
    pub fn rounded(&self, stated: Nanos) -> (Nanos, Nanos) {
        if self.rounded_up {
            (stated.minus(self.grain), stated)
        } else {
            (stated, stated.plus(self.grain.minus(Nanos::from_ns(1))))
        }
    }

    /// How far below the cells minimum and mean may lie: two buckets where the file is a copy by punctual.
    pub(super) fn slack(&self, low: Nanos) -> Nanos {
        if self.copied { Nanos::from_ns(whole(as_f64(low.as_ns()) / COPIED)) } else { Nanos::ZERO }
    }

    /// The largest value that rounds to the stated maximum.
    pub fn top(&self) -> Option<Nanos> {
        self.max.map(|max| self.rounded(max).1)
    }

    /// A lower bound for a percentile (in parts per million) that lies among values beyond the last cell, which are
    /// only counted. `None` if the percentile lies in a cell or is stated.
    pub fn percentile_at_least(&self, ppm: u32) -> Option<Nanos> {
        let beyond = self.beyond.filter(|_| self.points.is_empty() && self.unfit != Some(Unfit::Censored))?;
        let rank = self.rank_of(ppm)?;
        let in_cells = self.counted().saturating_sub(beyond.count);
        (rank > in_cells).then_some(beyond.from)
    }

    /// The rank of a percentile, counted from 1; `None` where less than one value lies beyond it.
    fn rank_of(&self, ppm: u32) -> Option<u64> {
        let count = u128::from(self.counted());
        let above = 1_000_000u128.saturating_sub(u128::from(ppm));
        if count.saturating_mul(above) < 1_000_000 {
            return None;
        }
        u64::try_from(count.saturating_mul(u128::from(ppm)).div_ceil(1_000_000).max(1)).ok()
    }

    /// The number of values: what was counted, or else what the file states.
    pub fn count(&self) -> Option<u64> {
        if self.cells.is_empty() && self.beyond.is_none() { self.stated_count } else { Some(self.counted()) }
    }

    /// A percentile, in parts per million: what the file states, or the upper edge of the cell it falls into, so that it is
    /// never understated. `None` with too few values, if only values above a threshold are known, and if the percentile lies
    /// beyond the cells and no maximum is known.
    pub fn percentile_ppm(&self, ppm: u32) -> Option<Nanos> {
        if let Some((_, value)) = self.points.iter().find(|(at, _)| *at == ppm) {
            return Some(*value);
        }
        if self.unfit == Some(Unfit::Censored) {
            return None;
        }
        self.value_at_rank(self.rank_of(ppm)?)
    }

    /// A percentile of all releases: a skipped one counts with the time until its thread ran. `None` if that time is not
    /// known.
    pub fn due_percentile_ppm(&self, ppm: u32) -> Option<Nanos> {
        if self.skipped? == 0 {
            return self.percentile_ppm(ppm);
        }
        let waited = self.waits.last()?.high;
        let mut cells: Vec<Cell> = self.cells.iter().chain(&self.waits).copied().collect();
        cells.sort_by_key(|cell| (cell.low, cell.high));
        let max = self.largest().map(|largest| largest.max(waited));
        Self { cells, max, points: Vec::new(), ..self.clone() }.percentile_ppm(ppm)
    }

    /// The upper edge of the cell that holds the value number `rank`, counted from 1; never more than the stated maximum
    /// allows.
    pub fn value_at_rank(&self, rank: u64) -> Option<Nanos> {
        let (mut seen, mut high) = (0u64, Nanos::ZERO);
        for cell in &self.cells {
            seen = seen.saturating_add(cell.count);
            // Cells of several series may overlap.
            high = high.max(cell.high);
            if seen >= rank {
                return Some(Cell { high, ..*cell }.end(self.top()));
            }
        }
        // A maximum that contradicts the cells is taken to be wrong.
        let beyond = self.beyond.filter(|_| rank <= self.counted())?;
        let last = self.cells.last().map_or(Nanos::ZERO, |cell| cell.high);
        self.top().map(|top| top.max(beyond.from).max(last))
    }

    /// The smallest value as the file states it, if the cells allow it, or the lower edge of the first cell.
    pub fn smallest(&self) -> Option<Nanos> {
        let first = self.cells.first();
        self.min.filter(|min| first.is_none_or(|cell| *min <= cell.high)).or(first.map(|cell| cell.low))
    }

    /// The largest value as the file states it, or the upper edge of the last cell if nothing is beyond.
    pub fn largest(&self) -> Option<Nanos> {
        self.max.or(self.cells.last().filter(|_| self.beyond.is_none()).map(|cell| cell.high))
    }

    /// The smallest and the largest mean that these values can have; `None` if their sum has no bound.
    pub fn mean_between(&self) -> Option<(f64, f64)> {
        let count = self.counted();
        let (from_beyond, to_beyond) = match (self.beyond, self.max) {
            (None, _) => (0.0, 0.0),
            (Some(Beyond { from, count }), Some(max)) => {
                (as_f64(from.as_ns()) * as_f64(count), as_f64(max.max(from).as_ns()) * as_f64(count))
            }
            (Some(_), None) => return None,
        };
        if count == 0 {
            return None;
        }
        let lowest = |cell: &Cell| self.min.map_or(cell.low, |min| cell.low.max(min.min(cell.high)));
        let sum = |edge: &dyn Fn(&Cell) -> Nanos| -> f64 {
            self.cells.iter().map(|cell| as_f64(edge(cell).as_ns()) * as_f64(cell.count)).sum()
        };
        let (low, high) = (sum(&lowest) + from_beyond, sum(&|cell| cell.high) + to_beyond);
        Some((low / as_f64(count), high / as_f64(count)))
    }

    /// Makes the last cell one without an upper edge: the program counts there whatever is later than its histogram.
    pub(super) fn open_last(&mut self) {
        if let Some(last) = self.cells.pop() {
            self.beyond = Some(Beyond { from: last.low, count: last.count });
        }
    }

    /// Cells of a histogram of ours whose values were rounded down to `grain` before they were counted: each cell is a
    /// number of whole grains.
    pub(super) fn of_rounded(label: String, counts: &Counts, grain: Nanos) -> Self {
        let grain = grain.max(Nanos::from_ns(1));
        let exact = Self::of_counts(label, None, counts);
        let mut cells: Vec<Cell> = Vec::new();
        for cell in &exact.cells {
            // The values in the cell are whole grains: the first is at or above its lower edge.
            let first = cell.low.plus(grain.minus(Nanos::from_ns(1))).whole(grain).min(cell.high.whole(grain));
            let (low, high) =
                (grain.times(first), grain.times(cell.high.whole(grain)).plus(grain.minus(Nanos::from_ns(1))));
            match cells.last_mut() {
                Some(last) if last.high >= low => {
                    (last.high, last.count) = (last.high.max(high), last.count.saturating_add(cell.count));
                }
                _ => cells.push(Cell { low, high, count: cell.count }),
            }
        }
        Self { cells, grain, ..exact }
    }

    /// Cells of values that were rounded down to `grain`, with their order.
    pub(crate) fn of_sequence(label: String, sequence: &Sequence, grain: Nanos) -> Self {
        Self { order: sequence.order(), ..Self::of_rounded(label, &sequence.counts, grain) }
    }

    /// Cells of a histogram of ours, with its exact extremes and mean.
    pub fn of_counts(label: String, cpu: Option<u32>, counts: &Counts) -> Self {
        Self {
            label,
            cpu,
            cells: counts.nonzero().map(Cell::of_bucket).collect(),
            min: counts.min(),
            mean: counts.mean(),
            max: counts.max(),
            ..Self::default()
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "a mean needs no more than 53 bits")]
pub(super) fn as_f64(n: u64) -> f64 {
    n as f64
}
