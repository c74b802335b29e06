//! The percentiles of a run and its budget as marks on one logarithmic ruler.

use super::axis::LogScale;
use super::{Plot, escaped, opened, path, px, rect, text, wide};
use crate::render::lang::tr;
use crate::render::units;
use punctual_hist::Nanos;
use punctual_numbers::report::Percentiles;
use punctual_numbers::stats::float::{self, float};
use std::fmt::Write as _;

/// Height of a row of names over the ruler.
const ROW: f64 = 19.0;

/// A percentile as a vertical line with its name beside the upper end of the line.
#[derive(Clone, Copy, Debug)]
struct Flag {
    name: &'static str,
    value: Nanos,
    /// Horizontal coordinate of the line.
    at: f64,
    width: f64,
    row: usize,
    /// Whether the name stands at the left of the line.
    is_left: bool,
}

impl Flag {
    fn span(&self) -> (f64, f64) {
        if self.is_left { (self.at - self.width, self.at) } else { (self.at, self.at + self.width) }
    }

    /// Whether two names cover each other, or the line of one goes through the name of the other.
    fn is_in_the_way(&self, other: &Self) -> bool {
        let ((left, right), (from, to)) = (self.span(), other.span());
        let crossed = |pole: &Self, (from, to): (f64, f64), row| pole.row >= row && pole.at > from && pole.at < to;
        (self.row == other.row && left < to && from < right)
            || crossed(self, (from, to), other.row)
            || crossed(other, (left, right), self.row)
    }
}

/// The ruler; `None` if no smallest or no largest value is known.
pub fn ruler(points: &Percentiles, budget: Option<Nanos>, says: &str, small: bool) -> Option<String> {
    let width = if small { 440.0 } else { super::WIDTH };
    let (min, max) = (points.min?, points.max?);
    let low = min.min(budget.unwrap_or(min)).as_ns();
    let high = max.max(budget.unwrap_or(max)).as_ns();
    let (left, right) = (12.0, width - 12.0);
    let scale = LogScale::new(float(low) / 1.25, float(high) * 1.25, left, right);
    let flags = placed(&scale, points, width);
    let rows = flags.iter().map(|flag| flag.row + 1).max().unwrap_or(1);
    let top = 9.0 + ROW * float(rows);
    let plot = Plot { left, top, right, bottom: top + 14.0 };
    let mut out = opened("ruler", width, plot.bottom + 28.0, says);
    let end = budget.map_or(plot.right, |b| scale.at_ns(b));
    rect(&mut out, "zone within", (plot.left, plot.top), (end, plot.bottom), None);
    if budget.is_some() {
        rect(&mut out, "zone beyond", (end, plot.top), (plot.right, plot.bottom), None);
    }
    graduation(&mut out, &scale, budget, width, plot);
    for flag in &flags {
        drawn(&mut out, flag, budget, plot);
    }
    out.push_str("</svg>");
    Some(out)
}

/// Draws the scale under the ruler. Marks that the name of the budget would cover are left out.
fn graduation(out: &mut String, scale: &LogScale, budget: Option<Nanos>, width: f64, plot: Plot) {
    let y = plot.bottom + 20.0;
    let name = budget.map(|b| tr!("budget {b}", b = units::latency(b))).unwrap_or_default();
    let half = wide(&name) / 2.0;
    let name_at = budget.map(|b| scale.at_ns(b).clamp(half, width - half));
    for (value, labelled) in scale.ticks() {
        let at = scale.at(value);
        path(out, "graduation", format_args!("M{} {}v{}", px(at), px(plot.bottom), if labelled { 7 } else { 4 }));
        if labelled && name_at.is_none_or(|name_at| (at - name_at).abs() > half + 24.0) {
            text(out, "tick mid", (at, y), &units::latency(Nanos::from_ns(float::whole(value.round()))));
        }
    }
    if let (Some(budget), Some(name_at)) = (budget, name_at) {
        let (x, top, bottom) = (px(scale.at_ns(budget)), px(plot.top - 5.0), px(plot.bottom + 8.0));
        path(out, "limit", format_args!("M{x} {top}V{bottom}"));
        text(out, "limit-name mid", (name_at, y), &name);
    }
}

/// All flags, in the smallest number of rows in which no line goes through a name. One row for each name is always
/// enough.
fn placed(scale: &LogScale, points: &Percentiles, width: f64) -> Vec<Flag> {
    let named = [
        ("min", points.min),
        ("p50", points.p50),
        ("p99", points.p99),
        ("p99.9", points.p99_9),
        ("p99.99", points.p99_99),
        ("largest", points.max),
    ];
    let flag = |(name, value): (&'static str, Option<Nanos>)| {
        let value = value?;
        let text = format!("{name} {}", units::latency(value));
        Some(Flag { name, value, at: scale.at_ns(value), width: wide(&text) + 12.0, row: 0, is_left: false })
    };
    let flags: Vec<Flag> = named.into_iter().filter_map(flag).collect();
    let in_rows = |rows| {
        let mut tried = flags.clone();
        place(&mut tried, 0, rows, width).then_some(tried)
    };
    (1..=flags.len()).find_map(in_rows).unwrap_or(flags)
}

/// Finds a row and a side for each flag from this one on, without moving those before it.
fn place(flags: &mut [Flag], from: usize, rows: usize, width: f64) -> bool {
    let Some(flag) = flags.get(from).copied() else { return true };
    for (row, is_left) in (0..rows).flat_map(|row| [(row, false), (row, true)]) {
        let tried = Flag { row, is_left, ..flag };
        let (left, right) = tried.span();
        let is_free = left >= 0.0 && right <= width && flags.iter().take(from).all(|other| !tried.is_in_the_way(other));
        if is_free {
            if let Some(slot) = flags.get_mut(from) {
                *slot = tried;
            }
            if place(flags, from + 1, rows, width) {
                return true;
            }
        }
    }
    false
}

fn drawn(out: &mut String, flag: &Flag, budget: Option<Nanos>, plot: Plot) {
    let y = plot.top - 8.0 - ROW * float(flag.row);
    let over = if budget.is_some_and(|b| flag.value > b) { " over" } else { "" };
    path(out, &format!("marker{over}"), format_args!("M{} {}V{}", px(flag.at), px(y - 10.0), px(plot.bottom)));
    let (x, edge) = if flag.is_left { (flag.at - 5.0, "end") } else { (flag.at + 5.0, "start") };
    let (x, y, name, value) = (px(x), px(y), flag.name, escaped(&units::latency(flag.value)));
    let _ = write!(
        out,
        r#"<text class="mark {edge}{over}" x="{x}" y="{y}"><tspan class="mark-name">{name}</tspan> {value}</text>"#
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_goes_through_a_name_wherever_the_percentiles_lie() {
        let spread = [
            [10_900, 25_400, 92_200, 5_640_000, 13_110_000, 15_590_000],
            [2_000, 2_000, 2_000, 2_000, 2_000, 2_000],
            [2_000, 19_000_000, 19_100_000, 19_200_000, 19_300_000, 20_000_000],
            [2_000, 2_100, 2_200, 2_300, 2_400, 20_000_000],
        ];
        for (ns, small) in spread.iter().flat_map(|ns| [(ns, false), (ns, true)]) {
            let [min, p50, p99, p99_9, p99_99, max] = ns.map(|ns| Some(Nanos::from_ns(ns)));
            let points = Percentiles { min, mean: None, p50, p99, p99_9, p99_99, max };
            let width = if small { 440.0 } else { 900.0 };
            let scale = LogScale::new(1_600.0, 25_000_000.0, 12.0, width - 12.0);
            let flags = placed(&scale, &points, width);
            assert_eq!(flags.len(), 6);
            for (place, flag) in flags.iter().enumerate() {
                let clear = flags.iter().take(place).all(|other| !flag.is_in_the_way(other));
                assert!(clear && flag.span().0 >= 0.0 && flag.span().1 <= width, "{ns:?} {small}: {flag:?}");
            }
        }
    }
}
