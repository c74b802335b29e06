//! Histograms: counts over latency, both axes logarithmic, so that one activation in a million is as visible as the
//! million.
//!
//! A cell is drawn from its lower to its upper edge, because the positions of its values within it are unknown. Cells
//! too narrow to be seen are drawn as one column. Values that lie in no cell and were only counted are drawn
//! separately, up to the largest value if it is known.

use super::axis::{self, LogScale};
use super::shape::{Shape, above, range};
use super::{Plot, opened, path, px, rect, series as class_of, text};
use crate::render::lang::tr;
use crate::render::units;
use punctual_hist::Nanos;
use punctual_numbers::foreign::Cell;
use punctual_numbers::stats::float::float;
use std::fmt::Write as _;

/// Neighbouring cells are joined into columns of about this width, in units of the picture.
const COLUMN: f64 = 10.0;

/// A column of the picture: one cell, or several cells that are drawn as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The smallest value that the column can hold.
    pub low: u64,
    /// The first value above the column.
    pub above: u64,
}

/// A histogram of the shapes whose indices are in `shown`. Its axes fit all shapes, so that pictures of different
/// shapes can be compared. `None` if nothing was counted.
pub fn histogram(shapes: &[Shape], shown: &[usize], budget: Option<Nanos>, small: bool) -> Option<String> {
    let (low, high) = range(shapes, budget)?;
    let (width, height) = if small { (440.0, 246.0) } else { (900.0, super::HEIGHT) };
    let plot = Plot::of(width, height);
    let x = LogScale::new(float(low), float(high), plot.left, plot.right);
    let columns = columns(shapes, (low, high), (plot.right - plot.left) / COLUMN);
    let counted = |shape: &Shape| [counts(&columns, &shape.cells), counts(&columns, &shape.skipped)];
    let counted: Vec<[Vec<u64>; 2]> = shapes.iter().map(counted).collect();
    let aparts = shapes.iter().filter_map(|shape| shape.apart.map(|apart| apart.count));
    let most = counted.iter().flatten().flatten().copied().chain(aparts).max()?;
    let y = LogScale::new(0.6, float(most) * 1.4, plot.bottom, plot.top);
    let shown: Vec<_> = shown.iter().filter_map(|place| shapes.get(*place).zip(counted.get(*place))).collect();

    let names: Vec<&str> = shown.iter().map(|(shape, _)| shape.name.as_str()).collect();
    let says = format!("Histogram of latency, {}; both axes logarithmic", names.join(", "));
    let mut out = opened("histogram", width, height, &says);
    if let Some(budget) = budget {
        rect(&mut out, "beyond", (x.at_ns(budget), plot.top), (plot.right, plot.bottom), None);
    }
    axis::latencies_below(&mut out, &x, plot);
    axis::counts_left(&mut out, &y, plot, tr!("activations"));
    budget_line(&mut out, &x, plot, budget);
    for (shape, [ran, skipped]) in &shown {
        let fill = if shown.len() == 1 { " filled" } else { "" };
        let class = class_of(shape.number);
        path(&mut out, &format!("ran {class}{fill}"), steps(&columns, ran, &x, &y, plot));
        let class = format!("skipped {class}");
        if !shape.skipped.is_empty() {
            path(&mut out, &class, steps(&columns, skipped, &x, &y, plot));
        }
        if let Some(apart) = shape.apart {
            let [from, to] = [apart.from.as_ns(), apart.end()].map(|at| px(x.at(float(at))));
            let (top, bottom) = (px(y.at(float(apart.count))), px(plot.bottom));
            path(&mut out, &class, format_args!("M{from} {bottom}V{top}H{to}V{bottom}"));
        }
    }
    path(&mut out, "axis", plot.level(plot.bottom));
    hits(&mut out, &columns, &shown, &x, plot);
    out.push_str("</svg>");
    Some(out)
}

/// The columns that hold all cells. Their width is chosen so that about `most` columns reach from the lowest to the
/// highest value.
pub fn columns(shapes: &[Shape], (low, high): (u64, u64), most: f64) -> Vec<Column> {
    let mut cells: Vec<&Cell> = shapes.iter().flat_map(Shape::drawn).collect();
    cells.sort_by_key(|cell| cell.low);
    let wide = (float(high) / float(low)).max(1.0).powf(1.0 / most);
    let mut columns: Vec<Column> = Vec::new();
    for cell in cells {
        let (from, to) = (cell.low.as_ns(), above(cell));
        match columns.last_mut() {
            Some(last) if from < last.above || float(to) < float(last.low.max(1)) * wide => {
                last.above = last.above.max(to);
            }
            _ => columns.push(Column { low: from, above: to }),
        }
    }
    columns
}

pub fn counts(columns: &[Column], cells: &[Cell]) -> Vec<u64> {
    let mut counts = vec![0u64; columns.len()];
    for cell in cells {
        let place = columns.partition_point(|column| column.low <= cell.low.as_ns()).checked_sub(1);
        if let Some(count) = place.and_then(|place| counts.get_mut(place)) {
            *count = count.saturating_add(cell.count);
        }
    }
    counts
}

fn edges(column: Column, x: &LogScale) -> (f64, f64) {
    (x.at(float(column.low)), x.at(float(column.above)))
}

/// Draws the budget as a vertical line with its name beside it.
pub(super) fn budget_line(out: &mut String, x: &LogScale, plot: Plot, budget: Option<Nanos>) {
    let Some(budget) = budget else { return };
    let at = x.at_ns(budget);
    path(out, "limit", format_args!("M{} {}V{}", px(at), px(plot.top - 6.0), px(plot.bottom)));
    let (x, edge) = if at > plot.right - 100.0 { (at - 6.0, "end") } else { (at + 6.0, "start") };
    text(
        out,
        &format!("limit-name {edge}"),
        (x, plot.top - 7.0),
        &tr!("budget {budget}", budget = units::latency(budget)),
    );
}

/// The outline of the histogram. Columns without values have no outline.
fn steps(columns: &[Column], counts: &[u64], x: &LogScale, y: &LogScale, plot: Plot) -> String {
    let mut path = String::new();
    let mut at = None;
    for (column, count) in columns.iter().zip(counts).filter(|(_, count)| **count > 0) {
        let (left, right) = edges(*column, x);
        let top = px(y.at(float(*count)));
        if at != Some(column.low) {
            if at.is_some() {
                let _ = write!(path, "V{}", px(plot.bottom));
            }
            let _ = write!(path, "M{} {}", px(left), px(plot.bottom));
        }
        let _ = write!(path, "V{top}H{}", px(right));
        at = Some(column.above);
    }
    if at.is_some() {
        let _ = write!(path, "V{}", px(plot.bottom));
    }
    path
}

/// Invisible rectangles over the columns: a pointer over one shows the counts of the column.
fn hits(out: &mut String, columns: &[Column], shown: &[(&Shape, &[Vec<u64>; 2])], x: &LogScale, plot: Plot) {
    out.push_str(r#"<g class="hits">"#);
    for (place, column) in columns.iter().enumerate() {
        let mut lines = String::new();
        for (shape, counted) in shown {
            let [ran, skipped] = counted.each_ref().map(|counts| counts.get(place).copied().unwrap_or(0));
            if ran > 0 || skipped > 0 {
                let _ = write!(lines, "\n{}: {}", shape.name, units::count(ran));
            }
            if skipped > 0 {
                let _ = write!(lines, ", and {} skipped", units::count(skipped));
            }
        }
        if !lines.is_empty() {
            let [low, high] = [column.low, column.above.saturating_sub(1)].map(Nanos::from_ns).map(units::latency);
            let (left, right) = edges(*column, x);
            let says = tr!("{low} to {high}{lines}", low, high, lines);
            rect(out, "hit", (left, plot.top), (right, plot.bottom), Some(&says));
        }
    }
    out.push_str("</g>");
}

#[cfg(test)]
mod tests {
    use super::super::shape::Apart;
    use super::*;
    use proptest::prelude::*;
    use std::slice::from_ref;

    fn shape(cells: &[(u64, u64)]) -> Shape {
        let cells = cells.iter().map(|(us, count)| Cell::of_width(*us, Nanos::from_us(1), *count)).collect();
        Shape { name: "a".to_owned(), cells, ..Shape::default() }
    }

    #[test]
    fn a_cell_that_can_be_seen_keeps_its_edges() {
        let one = shape(&[(0, 5), (1, 7), (40, 1)]);
        assert_eq!(range(from_ref(&one), None), Some((250, 41_000)));
        let columns = columns(from_ref(&one), (250, 41_000), 110.0);
        let edges: Vec<(u64, u64)> = columns.iter().map(|column| (column.low, column.above)).collect();
        assert_eq!(edges, [(0, 1_000), (1_000, 2_000), (40_000, 41_000)]);
        assert_eq!(counts(&columns, &one.cells), [5, 7, 1]);
    }

    #[test]
    fn nothing_counted_is_no_picture_and_nothing_known_of_what_is_beyond_is_drawn_all_the_same() {
        let drawn = |shape: Shape| histogram(&[shape], &[0], None, false);
        assert_eq!(drawn(Shape::default()), None);
        let apart = Some(Apart { from: Nanos::from_us(400), to: None, count: 3 });
        let picture = drawn(Shape { number: 2, apart, ..shape(&[(3, 9)]) }).unwrap();
        assert!(picture.contains(r#"class="skipped c2"#) && !picture.contains("NaN"), "{picture}");
        let alone = drawn(Shape { apart, ..Shape::default() }).unwrap();
        assert!(alone.contains(r#"class="skipped c0"#) && !alone.contains("NaN"), "{alone}");
    }

    proptest! {
        #[test]
        fn whatever_is_counted_is_in_a_column(cells in prop::collection::btree_map(0u64..1_000_000, 1u64..1000, 1..300)) {
            let cells: Vec<(u64, u64)> = cells.into_iter().collect();
            let one = shape(&cells);
            let columns = columns(from_ref(&one), range(from_ref(&one), None).unwrap(), 110.0);
            prop_assert!(columns.windows(2).all(|pair| pair[0].above <= pair[1].low));
            prop_assert!(columns.len() <= 222, "{}", columns.len());
            prop_assert_eq!(counts(&columns, &one.cells).iter().sum::<u64>(), one.count());
        }
    }
}
