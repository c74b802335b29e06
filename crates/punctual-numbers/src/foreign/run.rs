//! One run as a value, whoever measured it: cells with their edges, and what the file says beside them.
//!
//! Everything that is imported becomes this, and everything that is exported is made from it. Edges are exact, so that
//! a cell is never taken for a point. Must not know how any format is written.

use super::Format;
use punctual_hist::{Counts, Nanos};

/// What was measured once: one series for each CPU, thread or context.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ForeignRun {
    /// What the file is.
    pub format: Format,
    /// The program that measured, with its version where it says so.
    pub program: Option<String>,
    /// How it was called.
    pub command: Option<String>,
    /// When it began, in the file's own words.
    pub started: Option<String>,
    /// For how long it measured, by its own word.
    pub duration: Option<Stated>,
    /// What the file says of the machine: (name, value).
    #[serde(serialize_with = "crate::published::map")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, String>"))]
    pub machine: Vec<(String, String)>,
    /// The numbers.
    #[serde(skip)]
    pub series: Vec<Series>,
    /// What was repaired, doubted or lost, as sentences.
    pub notes: Vec<String>,
}

/// A length of time that was written down with so many digits and no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stated {
    /// The length.
    #[serde(rename = "length_ns")]
    pub length: Nanos,
    /// By how much it may be off: one unit of its last digit.
    #[serde(rename = "grain_ns")]
    pub grain: Nanos,
}

/// What the values of a series are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Woke minus release.
    #[default]
    Latency,
    /// Time that was taken away from a thread that never sleeps: one value for each time it was interrupted, or for each
    /// turn of its loop.
    Noise,
}

/// Why the cells of a series do not speak for all that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unfit {
    /// They contradict what the file says beside them, so that no share of them can be relied upon.
    Doubted,
    /// They hold only what was above a threshold.
    Censored,
}

/// Values of one CPU, thread or context.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// What the file calls it: `thread 0`, `CPU 1 IRQ`.
    pub label: String,
    /// The CPU, where the file says it.
    pub cpu: Option<u32>,
    /// What of an activation was measured, where a file has several: `IRQ`, `Thr`, `Usr`; or under which load.
    pub context: Option<String>,
    /// What the values are.
    pub quantity: Quantity,
    /// Time between releases.
    #[serde(rename = "period_ns")]
    pub period: Option<Nanos>,
    /// Cells that hold something, ascending.
    pub cells: Vec<Cell>,
    /// Values that are beyond the last cell of the tool, and are in none.
    pub beyond: Option<Beyond>,
    /// Releases that passed without running.
    pub skipped: Option<u64>,
    /// How long it took from each of these until the thread ran; empty where the file does not say.
    #[serde(skip)]
    pub waits: Vec<Cell>,
    /// What ran later than a budget, where it was counted value by value: (the budget, how many).
    #[serde(skip)]
    pub over_budget: Option<(Nanos, u64)>,
    /// The smallest value, by the file's word.
    #[serde(skip)]
    pub min: Option<Nanos>,
    /// The mean, by the file's word.
    #[serde(skip)]
    pub mean: Option<Nanos>,
    /// The largest value, by the file's word.
    #[serde(skip)]
    pub max: Option<Nanos>,
    /// To what minimum, mean and maximum are rounded down.
    #[serde(rename = "grain_ns")]
    pub grain: Nanos,
    /// How many values there are, by the file's word.
    pub stated_count: Option<u64>,
    /// Percentiles that the file tells instead of cells: (parts per million, value).
    #[serde(skip)]
    pub points: Vec<(u32, Nanos)>,
    /// Why nothing follows from the cells; `None`: they speak for all that was measured.
    #[serde(skip)]
    pub unfit: Option<Unfit>,
}

/// So many values from `low` to `high`, both of which belong to the cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// The smallest value that falls into it.
    #[serde(rename = "low_ns")]
    pub low: Nanos,
    /// The largest.
    #[serde(rename = "high_ns")]
    pub high: Nanos,
    /// How many did.
    pub count: u64,
}

/// Values that a tool has counted and not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Beyond {
    /// None is smaller than this.
    #[serde(rename = "from_ns")]
    pub from: Nanos,
    pub count: u64,
}

impl ForeignRun {
    /// Lets nothing follow from any of its cells.
    pub(super) fn doubt(&mut self) {
        for series in &mut self.series {
            series.unfit = series.unfit.or(Some(Unfit::Doubted));
        }
    }
}

impl Cell {
    /// The cell of whole units number `index`, each `width` long.
    pub fn of_width(index: u64, width: Nanos, count: u64) -> Self {
        let low = width.times(index);
        Self { low, high: low.plus(width.minus(Nanos::from_ns(1))), count }
    }

    /// Up to where its values can lie: to its upper edge, or to the largest of all where that lies below it.
    pub fn end(&self, largest: Option<Nanos>) -> Nanos {
        largest.filter(|largest| *largest >= self.low).map_or(self.high, |largest| self.high.min(largest))
    }
}

impl Series {
    /// Values in cells, and those beyond.
    pub fn counted(&self) -> u64 {
        let cells = self.cells.iter().fold(0u64, |sum, cell| sum.saturating_add(cell.count));
        cells.saturating_add(self.beyond.map_or(0, |beyond| beyond.count))
    }

    /// Values that the file states and has in no cell; none where it has no cells at all.
    pub fn lost(&self) -> u64 {
        let stated = self.stated_count.filter(|_| self.counted() > 0);
        stated.map_or(0, |stated| stated.saturating_sub(self.counted()))
    }

    /// What came due and is in no cell: releases that were skipped, and values that were lost.
    pub fn missing(&self) -> u64 {
        self.lost().saturating_add(self.skipped.unwrap_or(0))
    }

    /// How many values there are, as far as is known: what was counted, or else what the file says.
    pub fn count(&self) -> Option<u64> {
        if self.cells.is_empty() && self.beyond.is_none() { self.stated_count } else { Some(self.counted()) }
    }

    /// A percentile, in parts per million: what the file says, or the upper edge of the cell it falls into, so never
    /// understated. `None` with too few values, of what only lies above a threshold, and where it lies beyond the cells
    /// and no maximum is known.
    pub fn percentile_ppm(&self, ppm: u32) -> Option<Nanos> {
        if let Some((_, value)) = self.points.iter().find(|(at, _)| *at == ppm) {
            return Some(*value);
        }
        if self.unfit == Some(Unfit::Censored) {
            return None;
        }
        let count = self.counted();
        let above = 1_000_000u128.saturating_sub(u128::from(ppm));
        if u128::from(count).saturating_mul(above) < 1_000_000 {
            return None;
        }
        let rank = u128::from(count).saturating_mul(u128::from(ppm)).div_ceil(1_000_000).max(1);
        self.value_at_rank(u64::try_from(rank).ok()?)
    }

    /// A percentile of all that came due: what was skipped counts with the time until its thread ran. `None` where that
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

    /// The upper edge of the cell that holds the value number `rank`, counted from 1; never more than the maximum.
    pub fn value_at_rank(&self, rank: u64) -> Option<Nanos> {
        let (mut seen, mut high) = (0u64, Nanos::ZERO);
        for cell in &self.cells {
            seen = seen.saturating_add(cell.count);
            // Cells of several series may overlap.
            high = high.max(cell.high);
            if seen >= rank {
                return Some(Cell { high, ..*cell }.end(self.max));
            }
        }
        // Where the maximum contradicts the cells, it is the one to be wrong.
        let beyond = self.beyond.filter(|_| rank <= self.counted())?;
        let last = self.cells.last().map_or(Nanos::ZERO, |cell| cell.high);
        self.max.map(|max| max.max(beyond.from).max(last))
    }

    /// The smallest value: by the file's word where its cells allow it, or the lower edge of the first cell.
    pub fn smallest(&self) -> Option<Nanos> {
        let first = self.cells.first();
        self.min.filter(|min| first.is_none_or(|cell| *min <= cell.high)).or(first.map(|cell| cell.low))
    }

    /// The largest value: by the file's word, or the upper edge of the last cell if nothing is beyond.
    pub fn largest(&self) -> Option<Nanos> {
        self.max.or(self.cells.last().filter(|_| self.beyond.is_none()).map(|cell| cell.high))
    }

    /// The smallest and the largest mean that values in these cells can have; `None` where the sum is not bounded.
    pub fn mean_between(&self) -> Option<(f64, f64)> {
        let count = self.counted();
        if count == 0 || self.beyond.is_some() {
            return None;
        }
        let lowest = |cell: &Cell| self.min.map_or(cell.low, |min| cell.low.max(min.min(cell.high)));
        let sum = |edge: &dyn Fn(&Cell) -> Nanos| -> f64 {
            self.cells.iter().map(|cell| as_f64(edge(cell).as_ns()) * as_f64(cell.count)).sum()
        };
        Some((sum(&lowest) / as_f64(count), sum(&|cell| cell.high) / as_f64(count)))
    }

    /// Cells of a histogram of ours whose values were rounded down to `grain` before they were counted: no cell is
    /// narrower, or begins or ends between two grains.
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

    /// Cells of a histogram of ours, with its exact extremes and mean.
    pub fn of_counts(label: String, cpu: Option<u32>, counts: &Counts) -> Self {
        let cell = |(index, count)| Cell {
            low: Nanos::from_ns(punctual_hist::bucket_low(index)),
            high: Nanos::from_ns(punctual_hist::bucket_high(index)),
            count,
        };
        Self {
            label,
            cpu,
            cells: counts.nonzero().map(cell).collect(),
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
