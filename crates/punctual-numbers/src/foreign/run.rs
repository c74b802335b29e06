//! The result of a run of any measuring program: cells with their edges, and the other facts of the file.
//!
//! Every import makes a [`ForeignRun`], and every export is made from one. Edges are exact, so that a cell is never
//! taken for a point. This module must not know how any format is written.

use super::Format;
use super::sequence::{Order, Sequence};
use crate::stats::float::{float, whole};
use punctual_facts::machine::MachineLine;
use punctual_hist::{Counts, Nanos, bucket_high, bucket_low};

/// The result of one measurement, with a series for each CPU, thread or context.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ForeignRun {
    pub format: Format,
    /// The program that measured, with its version if the file states it.
    pub program: Option<String>,
    /// The command line of the program.
    pub command: Option<String>,
    /// When the run began, as the file writes it.
    pub started: Option<String>,
    /// Length of the run as the file states it.
    pub duration: Option<Stated>,
    /// Facts about the machine that the file states, by name.
    #[serde(serialize_with = "crate::published::lines")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, String>"))]
    pub machine: Vec<MachineLine>,
    #[serde(skip)]
    pub series: Vec<Series>,
    /// Sentences about what was repaired, is doubtful or was lost.
    pub notes: Vec<String>,
}

/// In a file written by punctual, minimum and mean may lie below the cells by up to their value divided by this number,
/// which is the width of two buckets.
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

/// The quantity that the values of a series measure.
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

/// Why the cells of a series do not represent everything that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unfit {
    /// The cells contradict other numbers of the file, so shares computed from them are not reliable.
    Doubted,
    /// The cells hold only values above a threshold.
    Censored,
}

/// The values of one CPU, thread or context.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// The name of the series in the file: `thread 0`, `CPU 1 IRQ`.
    pub label: String,
    pub cpu: Option<u32>,
    /// The part of an activation that was measured, if a file has several (`IRQ`, `Thr`, `Usr`), or the load.
    pub context: Option<String>,
    pub quantity: Quantity,
    /// Time between releases, in nanoseconds.
    #[serde(rename = "period_ns")]
    pub period: Option<Nanos>,
    /// The non-empty cells in ascending order.
    pub cells: Vec<Cell>,
    /// Values above the program's histogram, which are in no cell.
    pub beyond: Option<Beyond>,
    /// Number of releases at which the thread did not run; `None` if the file does not state it.
    pub skipped: Option<u64>,
    /// Histogram of the time from each skipped release until the thread ran; empty if the file does not state it.
    #[serde(skip)]
    pub waits: Vec<Cell>,
    /// A budget and the exact number of activations with a larger latency, if the program counted them.
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
    /// Whether minimum and maximum are rounded up instead, as by oslat.
    #[serde(skip)]
    pub rounded_up: bool,
    /// Whether punctual wrote the file from a recording. Then all values of a bucket, which is 1.6 % wide, are counted
    /// in the row where it ends, while minimum and mean are exact.
    #[serde(skip)]
    pub copied: bool,
    /// Only values above this are in cells; `None` if all values are in cells.
    #[serde(skip)]
    pub threshold: Option<Nanos>,
    /// Time in which the program watched for interruptions; `None` if it watched all the time.
    #[serde(skip)]
    pub observed: Option<Nanos>,
    /// Number of releases that were due in the stated duration but are neither counted nor stated as skipped.
    #[serde(skip)]
    pub unaccounted: u64,
    /// Number of values as the file states it.
    pub stated_count: Option<u64>,
    /// Percentiles that the file states instead of cells.
    #[serde(skip)]
    pub points: Vec<StatedPercentile>,
    /// Why the cells do not represent everything that was measured; `None` if they do.
    #[serde(skip)]
    pub unfit: Option<Unfit>,
    /// Histograms of consecutive stretches of values; `None` if the file does not show the order of its values.
    #[serde(skip)]
    pub order: Option<Order>,
}

/// A percentile that a file states. `ppm` is its rank in parts per million: 990000 for p99.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatedPercentile {
    pub ppm: u32,
    pub value: Nanos,
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

/// Values above the histogram, which a program only counted.
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

    /// The largest value that the cell can hold: its upper edge, or the largest value of the series if that is smaller.
    pub fn end(&self, largest: Option<Nanos>) -> Nanos {
        largest.filter(|largest| *largest >= self.low).map_or(self.high, |largest| self.high.min(largest))
    }
}

impl Series {
    /// The number of values in the cells and above the histogram.
    pub fn counted(&self) -> u64 {
        let cells = self.cells.iter().fold(0u64, |sum, cell| sum.saturating_add(cell.count));
        cells.saturating_add(self.beyond.map_or(0, |beyond| beyond.count))
    }

    /// How many more values the file states than it has in cells and above the histogram; 0 if it has no cells.
    pub fn lost(&self) -> u64 {
        let stated = self.stated_count.filter(|_| self.counted() > 0);
        stated.map_or(0, |stated| stated.saturating_sub(self.counted()))
    }

    /// The number of releases without a counted value: skipped releases, and either lost values or unaccounted
    /// releases, whichever are more.
    pub fn missing(&self) -> u64 {
        self.lost().max(self.unaccounted).saturating_add(self.skipped.unwrap_or(0))
    }

    /// The smallest and the largest exact value that the file would round to `stated`.
    pub fn rounded(&self, stated: Nanos) -> (Nanos, Nanos) {
        if self.rounded_up {
            (stated.minus(self.grain), stated)
        } else {
            (stated, stated.plus(self.grain.minus(Nanos::from_ns(1))))
        }
    }

    /// How far below the cells the minimum may lie: the width of two buckets if punctual wrote the file, else nothing.
    pub(super) fn slack(&self, low: Nanos) -> Nanos {
        if self.copied { Nanos::from_ns(whole(float(low.as_ns()) / COPIED)) } else { Nanos::ZERO }
    }

    /// The largest value that rounds to the stated maximum.
    pub fn top(&self) -> Option<Nanos> {
        self.max.map(|max| self.rounded(max).1)
    }

    /// A lower bound for a percentile (in parts per million) that lies among the values above the histogram, which are
    /// only counted. `None` if the percentile lies in a cell or the file states percentiles.
    pub fn percentile_at_least(&self, ppm: u32) -> Option<Nanos> {
        let beyond = self.beyond.filter(|_| self.points.is_empty() && self.unfit != Some(Unfit::Censored))?;
        let rank = self.rank_of(ppm)?;
        let in_cells = self.counted().saturating_sub(beyond.count);
        (rank > in_cells).then_some(beyond.from)
    }

    /// The rank of a percentile, counted from 1; `None` if less than one value lies above it.
    fn rank_of(&self, ppm: u32) -> Option<u64> {
        let count = u128::from(self.counted());
        let above = 1_000_000u128.saturating_sub(u128::from(ppm));
        if count.saturating_mul(above) < 1_000_000 {
            return None;
        }
        u64::try_from(count.saturating_mul(u128::from(ppm)).div_ceil(1_000_000).max(1)).ok()
    }

    /// The number of values, counted from the cells, or else as the file states it.
    pub fn count(&self) -> Option<u64> {
        if self.cells.is_empty() && self.beyond.is_none() { self.stated_count } else { Some(self.counted()) }
    }

    /// The value of a percentile, given in parts per million: the stated value, or the upper edge of the cell in which
    /// the percentile lies, so that it is never understated. `None` if there are too few values, if only values above a
    /// threshold are known, or if the percentile lies above the cells and no maximum is known.
    pub fn percentile_ppm(&self, ppm: u32) -> Option<Nanos> {
        if let Some(stated) = self.points.iter().find(|stated| stated.ppm == ppm) {
            return Some(stated.value);
        }
        if self.unfit == Some(Unfit::Censored) {
            return None;
        }
        self.value_at_rank(self.rank_of(ppm)?)
    }

    /// A percentile over all releases: a skipped release counts with the time until its thread ran. `None` if that time
    /// is not known.
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
            // If cells of several series were put together, they may overlap.
            high = high.max(cell.high);
            if seen >= rank {
                return Some(Cell { high, ..*cell }.end(self.top()));
            }
        }
        // A maximum that contradicts the cells is ignored.
        let beyond = self.beyond.filter(|_| rank <= self.counted())?;
        let last = self.cells.last().map_or(Nanos::ZERO, |cell| cell.high);
        self.top().map(|top| top.max(beyond.from).max(last))
    }

    /// The smallest value as the file states it, if the cells allow it, or the lower edge of the first cell.
    pub fn smallest(&self) -> Option<Nanos> {
        let first = self.cells.first();
        self.min.filter(|min| first.is_none_or(|cell| *min <= cell.high)).or(first.map(|cell| cell.low))
    }

    /// The largest value as the file states it, or the upper edge of the last cell if no values lie above the
    /// histogram.
    pub fn largest(&self) -> Option<Nanos> {
        self.max.or(self.cells.last().filter(|_| self.beyond.is_none()).map(|cell| cell.high))
    }

    /// The smallest and the largest mean that these values can have; `None` if their sum has no bound.
    pub fn mean_between(&self) -> Option<(f64, f64)> {
        let count = self.counted();
        let (from_beyond, to_beyond) = match (self.beyond, self.max) {
            (None, _) => (0.0, 0.0),
            (Some(Beyond { from, count }), Some(max)) => {
                (float(from.as_ns()) * float(count), float(max.max(from).as_ns()) * float(count))
            }
            (Some(_), None) => return None,
        };
        if count == 0 {
            return None;
        }
        let lowest = |cell: &Cell| self.min.map_or(cell.low, |min| cell.low.max(min.min(cell.high)));
        let sum = |edge: &dyn Fn(&Cell) -> Nanos| -> f64 {
            self.cells.iter().map(|cell| float(edge(cell).as_ns()) * float(cell.count)).sum()
        };
        let (low, high) = (sum(&lowest) + from_beyond, sum(&|cell| cell.high) + to_beyond);
        Some((low / float(count), high / float(count)))
    }

    /// Turns the last cell into `beyond`, because the program also counts all larger values there.
    pub(super) fn open_last(&mut self) {
        if let Some(last) = self.cells.pop() {
            self.beyond = Some(Beyond { from: last.low, count: last.count });
        }
    }

    /// Cells of one of our histograms whose values were rounded down to `grain` before they were counted. The edges of
    /// each cell are therefore moved to multiples of `grain`.
    pub(super) fn of_rounded(label: String, counts: &Counts, grain: Nanos) -> Self {
        let grain = grain.max(Nanos::from_ns(1));
        let exact = Self::of_counts(label, None, counts);
        let mut cells: Vec<Cell> = Vec::new();
        for cell in &exact.cells {
            // The values in the cell are multiples of `grain`; `first` is the smallest multiple at or above the lower
            // edge.
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

    /// Like [`Self::of_rounded`], and with the order of the values.
    pub(crate) fn of_sequence(label: String, sequence: &Sequence, grain: Nanos) -> Self {
        Self { order: sequence.order(), ..Self::of_rounded(label, &sequence.counts, grain) }
    }

    /// Cells of one of our histograms, with its exact extremes and mean.
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
