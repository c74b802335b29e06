//! Counts of values in cells, from our own or another program's measurement: the data of histograms and curves.
//!
//! Of a cell only the edges and the count are known, not the values. Values that lie beyond the last cell of a file are
//! kept in [`Apart`]: their number, and the range that holds them. Must not know how shapes are drawn.

use punctual_hist::{Counts, Nanos};
use punctual_numbers::foreign::{Beyond, Cell, ForeignRun, Series, total};
use punctual_numbers::report::CpuRow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// If a file has more series than this, only the series with the largest values are drawn.
const DRAWN_MAX: usize = 16;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    /// Index among all shapes, which gives the colour.
    pub number: usize,
    pub name: String,
    /// Cells with a count above zero.
    pub cells: Vec<Cell>,
    /// Times from a skipped release to the thread's next wake-up. Only histograms draw them.
    pub skipped: Vec<Cell>,
    pub largest: Option<Nanos>,
    /// Values beyond the last cell, if there are any.
    pub apart: Option<Apart>,
}

/// Values that are in no cell: only their number and the range that holds all of them are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Apart {
    /// Lower end of the range that holds these values.
    pub from: Nanos,
    /// The largest of these values, if known.
    pub to: Option<Nanos>,
    pub count: u64,
}

impl Apart {
    fn of(beyond: Beyond, largest: Option<Nanos>) -> Self {
        // A largest value below `from` contradicts the count, so it is ignored.
        Self { from: beyond.from, to: largest.filter(|largest| *largest >= beyond.from), count: beyond.count }
    }

    /// End of the range that is drawn: 10 % above its beginning if the largest value is unknown.
    pub fn end(&self) -> u64 {
        let from = self.from.as_ns();
        self.to.map_or(from.saturating_add(from / 10), Nanos::as_ns).saturating_add(1)
    }
}

impl Shape {
    pub fn of_counts(number: usize, name: String, counts: &Counts) -> Self {
        Self::of_series(number, &Series::of_counts(name, None, counts))
    }

    pub fn of_cpus(rows: &[CpuRow]) -> Vec<Self> {
        let one = |(number, row): (usize, &CpuRow)| {
            Self::of_counts(number, format!("CPU {}", row.cpu), &row.ran).with_skipped(&row.skipped)
        };
        rows.iter().enumerate().map(one).collect()
    }

    pub fn with_skipped(self, skipped: &Counts) -> Self {
        Self { skipped: Series::of_counts(String::new(), None, skipped).cells, ..self }
    }

    pub fn of_series(number: usize, series: &Series) -> Self {
        Self {
            number,
            name: series.label.clone(),
            cells: series.cells.clone(),
            largest: series.max,
            apart: series.beyond.map(|beyond| Apart::of(beyond, series.max)),
            skipped: Vec::new(),
        }
    }

    pub fn drawn(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().chain(&self.skipped)
    }

    pub fn count(&self) -> u64 {
        let counts = self.cells.iter().map(|cell| cell.count).chain(self.apart.map(|apart| apart.count));
        counts.fold(0, u64::saturating_add)
    }

    /// The steps of the exceedance curve: (latency, number of values by which the curve falls there). A step is at the
    /// end of its cell, so that no share is understated.
    pub fn falls(&self) -> Vec<(Nanos, u64)> {
        let mut falls: Vec<(Nanos, u64)> = self.cells.iter().map(|cell| (cell.end(self.largest), cell.count)).collect();
        // Cells of several series may overlap.
        falls.sort_by_key(|(at, _)| *at);
        falls
    }
}

pub fn above(cell: &Cell) -> u64 {
    cell.high.as_ns().saturating_add(1)
}

/// The range of latencies that holds all cells, all values that were only counted, and the budget; `None` without
/// values.
pub fn range(shapes: &[Shape], budget: Option<Nanos>) -> Option<(u64, u64)> {
    let all = || {
        let cells = shapes.iter().flat_map(Shape::drawn).map(|cell| (cell.low.as_ns(), above(cell)));
        cells.chain(shapes.iter().filter_map(|shape| shape.apart).map(|apart| (apart.from.as_ns(), apart.end())))
    };
    let (first, end) = all().min()?;
    // A logarithmic axis has no zero.
    let low = if first == 0 { (end / 4).max(1) } else { first };
    let high = all().map(|(_, above)| above).max()?;
    let budget = budget.map(Nanos::as_ns);
    Some((low.min(budget.unwrap_or(low)), high.max(budget.unwrap_or(high))))
}

/// The series of a file that are drawn, in the order of the file: at most `DRAWN_MAX`.
pub fn of_run(run: &ForeignRun) -> Vec<Shape> {
    let mut all: Vec<(usize, &Series)> = run.series.iter().enumerate().filter(|(_, one)| is_drawn(one)).collect();
    // A series whose largest value is unknown may hold the largest of all, so it is sorted to the front.
    all.sort_by_key(|(_, series)| Reverse(series.largest().unwrap_or(Nanos::MAX)));
    all.truncate(DRAWN_MAX);
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(number, series)| Shape::of_series(number, series)).collect()
}

pub fn is_drawn(series: &Series) -> bool {
    !series.cells.is_empty() || series.beyond.is_some()
}

/// One shape for each context of a file: the series of a context are added up. A file with a single context gives a
/// shape with the file's name.
pub fn by_context(name: &str, run: &ForeignRun) -> Vec<Shape> {
    let mut contexts: BTreeMap<Option<&str>, Vec<Series>> = BTreeMap::new();
    for series in run.series.iter().filter(|series| is_drawn(series)) {
        contexts.entry(series.context.as_deref()).or_default().push(series.clone());
    }
    let parts: Vec<Series> = contexts.into_iter().flat_map(|(context, series)| whole(context, series)).collect();
    let alone = parts.len() == 1;
    let named = |part: &Series| {
        let name = if alone { name.to_owned() } else { format!("{name}: {}", part.label) };
        Shape { name, ..Shape::of_series(0, part) }
    };
    parts.iter().map(named).collect()
}

/// The sum of the series, under the name of their context. Series that cannot be added, because they are of different
/// kinds, are returned unchanged.
fn whole(context: Option<&str>, series: Vec<Series>) -> Vec<Series> {
    match total(&series) {
        Some(all) => vec![Series { label: context.map_or(all.label.clone(), str::to_owned), ..all }],
        None => series,
    }
}
