//! How often which latency occurred: counts over latency, both logarithmic, so that one activation in a million is
//! as visible as the million.

use super::axis::{self, LogScale, as_f64};
use super::{Plot, escaped, px, series};
use crate::render::units;
use punctual_hist::{BUCKETS, Counts, Nanos, bucket_high, bucket_index, bucket_low};
use punctual_numbers::report::CpuRow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Buckets are joined until there are at most so many columns.
const COLUMNS: usize = 110;

/// What is drawn: a CPU, or a recording.
#[derive(Clone, Debug)]
pub struct Series<'a> {
    /// What it is called.
    pub name: String,
    /// Latency of what ran.
    pub ran: &'a Counts,
    /// Time from skipped releases to the next wake-up.
    pub skipped: &'a Counts,
}

impl<'a> Series<'a> {
    /// One of each CPU.
    pub fn of_cpus(rows: &'a [CpuRow]) -> Vec<Self> {
        let one = |row: &'a CpuRow| Self { name: format!("CPU {}", row.cpu), ran: &row.ran, skipped: &row.skipped };
        rows.iter().map(one).collect()
    }
}

/// Columns of joined buckets, the same for all CPUs of a report so that pictures can be compared.
#[derive(Clone, Copy, Debug)]
struct Columns {
    /// Buckets in a column.
    width: usize,
    first: usize,
    last: usize,
}

impl Columns {
    fn of(rows: &[Series<'_>], budget: Option<Nanos>) -> Option<Self> {
        let all =
            || rows.iter().flat_map(|row| row.ran.nonzero().chain(row.skipped.nonzero())).map(|(bucket, _)| bucket);
        let budget = || budget.map(|b| bucket_index(b.as_ns()));
        let low = all().min()?.min(budget().unwrap_or(BUCKETS));
        let high = all().max()?.max(budget().unwrap_or(0));
        let mut width = 1;
        while high / width - low / width >= COLUMNS {
            width *= 2;
        }
        Some(Self { width, first: low / width, last: high / width })
    }

    fn counts(&self, counts: &Counts) -> BTreeMap<usize, u64> {
        let mut columns = BTreeMap::new();
        for (bucket, n) in counts.nonzero() {
            let column = columns.entry(bucket / self.width).or_insert(0u64);
            *column = column.saturating_add(n);
        }
        columns
    }

    fn low(&self, column: usize) -> u64 {
        bucket_low(column * self.width)
    }

    fn high(&self, column: usize) -> u64 {
        bucket_high(column * self.width + self.width - 1)
    }

    fn edges(&self, column: usize, scale: &LogScale) -> (f64, f64) {
        (scale.at(as_f64(self.low(column))), scale.at(as_f64(self.high(column).saturating_add(1))))
    }
}

/// Whether any of these CPUs skipped a release, so that the picture has lines for that.
pub fn legend_has_skips(rows: &[CpuRow]) -> bool {
    rows.iter().any(|row| !row.skipped.is_empty())
}

/// A histogram of the CPUs with these places in `rows`; its axes fit all of `rows`. `None` when nothing was counted.
pub fn histogram(rows: &[CpuRow], shown: &[usize], budget: Option<Nanos>, small: bool) -> Option<String> {
    histogram_of(&Series::of_cpus(rows), shown, budget, small)
}

/// The same of anything with latencies.
pub fn histogram_of(rows: &[Series<'_>], shown: &[usize], budget: Option<Nanos>, small: bool) -> Option<String> {
    let columns = Columns::of(rows, budget)?;
    let (width, height) = if small { (440.0, 230.0) } else { (900.0, 360.0) };
    let plot = Plot { left: 74.0, top: 20.0, right: width - 14.0, bottom: height - 30.0 };
    let (low, high) = (as_f64(columns.low(columns.first)).max(1.0), as_f64(columns.high(columns.last)) + 1.0);
    let x = LogScale::new(low, high, plot.left, plot.right);
    let most =
        rows.iter().flat_map(|row| [row.ran, row.skipped]).flat_map(|c| columns.counts(c).into_values()).max()?;
    let y = LogScale::new(0.6, as_f64(most) * 1.4, plot.bottom, plot.top);

    let names: Vec<&str> = shown.iter().filter_map(|i| rows.get(*i)).map(|row| row.name.as_str()).collect();
    let says = escaped(&format!("Histogram of latency, {}; both axes logarithmic", names.join(", ")));

    let mut out = format!(
        r#"<svg class="histogram" viewBox="0 0 {width} {height}" role="img" tabindex="0" aria-label="{says}">"#
    );
    budget_zone(&mut out, &x, plot, budget);
    axis::latencies_below(&mut out, &x, plot);
    axis::counts_left(&mut out, &y, plot);
    for (number, row) in shown.iter().filter_map(|i| rows.get(*i).map(|row| (*i, row))) {
        let fill = if shown.len() == 1 { " filled" } else { "" };
        let class = series(number);
        let ran = steps(&columns, &columns.counts(row.ran), &x, &y, plot);
        let _ = write!(out, r#"<path class="ran {class}{fill}" d="{ran}"/>"#);
        if !row.skipped.is_empty() {
            let skipped = steps(&columns, &columns.counts(row.skipped), &x, &y, plot);
            let _ = write!(out, r#"<path class="skipped {class}" d="{skipped}"/>"#);
        }
    }
    let _ = write!(out, r#"<path class="axis" d="M{} {}H{}"/>"#, px(plot.left), px(plot.bottom), px(plot.right));
    hits(&mut out, &columns, rows, shown, &x, plot);
    out.push_str("</svg>");
    Some(out)
}

/// What is beyond the budget, and where it begins.
pub(super) fn budget_zone(out: &mut String, x: &LogScale, plot: Plot, budget: Option<Nanos>) {
    let Some(budget) = budget else { return };
    let at = x.at_ns(budget);
    let (left, top, width, height) = (px(at), px(plot.top), px((plot.right - at).max(0.0)), px(plot.bottom - plot.top));
    let _ = write!(out, r#"<rect class="beyond" x="{left}" y="{top}" width="{width}" height="{height}"/>"#);
    let _ = write!(out, r#"<path class="limit" d="M{left} {}V{}"/>"#, px(plot.top - 6.0), px(plot.bottom));
    let text = escaped(&format!("budget {}", units::latency(budget)));
    let (x, class) = if at > plot.right - 100.0 { (px(at - 6.0), "end") } else { (px(at + 6.0), "start") };
    let _ = write!(out, r#"<text class="limit-name {class}" x="{x}" y="{}">{text}</text>"#, px(plot.top - 7.0));
}

/// The outline of a histogram; empty columns lie on the base line.
fn steps(columns: &Columns, counts: &BTreeMap<usize, u64>, x: &LogScale, y: &LogScale, plot: Plot) -> String {
    let mut path = String::new();
    let mut previous = None;
    for (column, n) in counts {
        let (left, right) = columns.edges(*column, x);
        let top = px(y.at(as_f64(*n)));
        if previous == Some(*column) {
            let _ = write!(path, "V{top}H{}", px(right));
        } else {
            if previous.is_some() {
                let _ = write!(path, "V{}", px(plot.bottom));
            }
            let _ = write!(path, "M{} {}V{top}H{}", px(left), px(plot.bottom), px(right));
        }
        previous = Some(column + 1);
    }
    if previous.is_some() {
        let _ = write!(path, "V{}", px(plot.bottom));
    }
    path
}

/// Invisible columns that say what they hold when pointed at.
fn hits(out: &mut String, columns: &Columns, rows: &[Series<'_>], shown: &[usize], x: &LogScale, plot: Plot) {
    let shown: Vec<&Series<'_>> = shown.iter().filter_map(|i| rows.get(*i)).collect();
    let counted: Vec<_> =
        shown.iter().map(|row| (row.name.as_str(), columns.counts(row.ran), columns.counts(row.skipped))).collect();
    out.push_str(r#"<g class="hits">"#);
    for column in columns.first..=columns.last {
        let mut lines = Vec::new();
        for (name, ran, skipped) in &counted {
            let (ran, skipped) = (ran.get(&column), skipped.get(&column));
            if ran.is_none() && skipped.is_none() {
                continue;
            }
            let mut line = format!("{name}: {}", units::count(ran.copied().unwrap_or(0)));
            if let Some(skipped) = skipped {
                let _ = write!(line, ", and {} skipped", units::count(*skipped));
            }
            lines.push(line);
        }
        if lines.is_empty() {
            continue;
        }
        hit(out, columns.edges(column, x), (columns.low(column), columns.high(column)), &lines, plot);
    }
    out.push_str("</g>");
}

/// One such column between two edges, of these nanoseconds.
pub(super) fn hit(out: &mut String, (left, right): (f64, f64), (low, high): (u64, u64), lines: &[String], plot: Plot) {
    let [low, high] = [low, high].map(|ns| units::latency(Nanos::from_ns(ns)));
    let title = escaped(&format!("{low} to {high}\n{}", lines.join("\n")));
    let (at, top, width, height) = (px(left), px(plot.top), px(right - left), px(plot.bottom - plot.top));
    let _ = write!(
        out,
        r#"<rect class="hit" x="{at}" y="{top}" width="{width}" height="{height}"><title>{title}</title></rect>"#
    );
}
