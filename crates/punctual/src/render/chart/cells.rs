//! How often which value occurred where values lie in cells of any width: counts over them, both axes logarithmic.
//!
//! A cell is drawn from edge to edge, since nothing says where in it its values lie; cells too narrow to be seen are drawn
//! as one. What was only counted is drawn apart, up to the largest value that is known.

use super::axis::{self, LogScale, as_f64};
use super::histogram::{budget_zone, hit};
use super::shape::{Shape, above, range};
use super::{Plot, escaped, px, series as class_of};
use crate::render::units;
use punctual_hist::Nanos;
use punctual_numbers::foreign::Cell;
use std::fmt::Write as _;

/// Cells are joined until there are at most about so many columns.
const COLUMNS: f64 = 110.0;

/// Cells that are drawn as one: from the lower edge of the first up to that of the one after the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The smallest value in it.
    pub low: u64,
    /// The smallest above it.
    pub above: u64,
}

/// The picture; `None` where there is nothing to draw.
pub fn cells(shapes: &[Shape], budget: Option<Nanos>) -> Option<String> {
    let (low, high) = range(shapes, budget)?;
    let plot = Plot { left: 74.0, top: 20.0, right: 886.0, bottom: 330.0 };
    let x = LogScale::new(as_f64(low), as_f64(high), plot.left, plot.right);
    let columns = columns(shapes, (low, high), COLUMNS);
    let counted: Vec<Vec<u64>> = shapes.iter().map(|shape| counts(&columns, shape)).collect();
    let aparts = shapes.iter().filter_map(|shape| shape.apart.map(|apart| apart.count));
    let most = counted.iter().flatten().copied().chain(aparts).max()?;
    let y = LogScale::new(0.6, as_f64(most) * 1.4, plot.bottom, plot.top);

    let names: Vec<&str> = shapes.iter().map(|shape| shape.name.as_str()).collect();
    let says = escaped(&format!("Histogram of {}; both axes logarithmic", names.join(", ")));
    let mut out =
        format!(r#"<svg class="histogram" viewBox="0 0 900 360" role="img" tabindex="0" aria-label="{says}">"#);
    budget_zone(&mut out, &x, plot, budget);
    axis::latencies_below(&mut out, &x, plot);
    axis::counts_left(&mut out, &y, plot);
    for (shape, counts) in shapes.iter().zip(&counted) {
        let fill = if shapes.len() == 1 { " filled" } else { "" };
        let class = class_of(shape.number);
        let _ = write!(out, r#"<path class="ran {class}{fill}" d="{}"/>"#, steps(&columns, counts, &x, &y, plot));
        if let Some(apart) = shape.apart {
            let [from, to] = [apart.from.as_ns(), apart.end()].map(|at| px(x.at(as_f64(at))));
            let (top, bottom) = (px(y.at(as_f64(apart.count))), px(plot.bottom));
            let _ = write!(out, r#"<path class="skipped {class}" d="M{from} {bottom}V{top}H{to}V{bottom}"/>"#);
        }
    }
    let _ = write!(out, r#"<path class="axis" d="M{} {}H{}"/>"#, px(plot.left), px(plot.bottom), px(plot.right));
    hits(&mut out, &columns, &names, &counted, &x, plot);
    out.push_str("</svg>");
    Some(out)
}

/// Columns for all cells, about so many of them from the lowest value to the highest.
pub fn columns(shapes: &[Shape], (low, high): (u64, u64), most: f64) -> Vec<Column> {
    let mut cells: Vec<&Cell> = shapes.iter().flat_map(|shape| &shape.cells).collect();
    cells.sort_by_key(|cell| cell.low);
    let wide = (as_f64(high) / as_f64(low)).max(1.0).powf(1.0 / most);
    let mut columns: Vec<Column> = Vec::new();
    for cell in cells {
        let (from, to) = (cell.low.as_ns(), above(cell));
        match columns.last_mut() {
            Some(last) if from < last.above || as_f64(to) < as_f64(last.low.max(1)) * wide => {
                last.above = last.above.max(to);
            }
            _ => columns.push(Column { low: from, above: to }),
        }
    }
    columns
}

/// How many values of a shape lie in each of the columns of all.
pub fn counts(columns: &[Column], shape: &Shape) -> Vec<u64> {
    let mut counts = vec![0u64; columns.len()];
    for cell in &shape.cells {
        let place = columns.partition_point(|column| column.low <= cell.low.as_ns()).checked_sub(1);
        if let Some(count) = place.and_then(|place| counts.get_mut(place)) {
            *count = count.saturating_add(cell.count);
        }
    }
    counts
}

fn edges(column: Column, x: &LogScale) -> (f64, f64) {
    (x.at(as_f64(column.low)), x.at(as_f64(column.above)))
}

/// The outline; where nothing was counted it lies on the base line.
fn steps(columns: &[Column], counts: &[u64], x: &LogScale, y: &LogScale, plot: Plot) -> String {
    let mut path = String::new();
    let mut at = None;
    for (column, count) in columns.iter().zip(counts).filter(|(_, count)| **count > 0) {
        let (left, right) = edges(*column, x);
        let top = px(y.at(as_f64(*count)));
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

/// Invisible columns that say what they hold when pointed at.
fn hits(out: &mut String, columns: &[Column], names: &[&str], counted: &[Vec<u64>], x: &LogScale, plot: Plot) {
    out.push_str(r#"<g class="hits">"#);
    for (place, column) in columns.iter().enumerate() {
        let of = |counts: &Vec<u64>| counts.get(place).copied().unwrap_or(0);
        let held = names.iter().zip(counted).map(|(name, counts)| (name, of(counts))).filter(|(_, count)| *count > 0);
        let lines: Vec<String> = held.map(|(name, count)| format!("{name}: {}", units::count(count))).collect();
        hit(out, edges(*column, x), (column.low, column.above.saturating_sub(1)), &lines, plot);
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
        let columns = columns(from_ref(&one), (250, 41_000), COLUMNS);
        let edges: Vec<(u64, u64)> = columns.iter().map(|column| (column.low, column.above)).collect();
        assert_eq!(edges, [(0, 1_000), (1_000, 2_000), (40_000, 41_000)]);
        assert_eq!(counts(&columns, &one), [5, 7, 1]);
    }

    #[test]
    fn nothing_counted_is_no_picture_and_nothing_known_of_what_is_beyond_is_drawn_all_the_same() {
        assert_eq!(cells(&[Shape::default()], None), None);
        let apart = Some(Apart { from: Nanos::from_us(400), to: None, count: 3 });
        let picture = cells(&[Shape { number: 2, apart, ..shape(&[(3, 9)]) }], None).unwrap();
        assert!(picture.contains(r#"class="skipped c2"#) && !picture.contains("NaN"), "{picture}");
        let alone = cells(&[Shape { apart, ..Shape::default() }], None).unwrap();
        assert!(alone.contains(r#"class="skipped c0"#) && !alone.contains("NaN"), "{alone}");
    }

    proptest! {
        #[test]
        fn whatever_is_counted_is_in_a_column(cells in prop::collection::btree_map(0u64..1_000_000, 1u64..1000, 1..300)) {
            let cells: Vec<(u64, u64)> = cells.into_iter().collect();
            let one = shape(&cells);
            let columns = columns(from_ref(&one), range(from_ref(&one), None).unwrap(), COLUMNS);
            prop_assert!(columns.windows(2).all(|pair| pair[0].above <= pair[1].low));
            prop_assert!(columns.len() <= 222, "{}", columns.len());
            prop_assert_eq!(counts(&columns, &one).iter().sum::<u64>(), one.count());
        }
    }
}
