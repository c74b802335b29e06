//! The whole run on one logarithmic ruler: where its percentiles lie, and where the budget is.

use super::axis::{LogScale, as_f64};
use super::{Plot, escaped, px};
use crate::render::units;
use punctual_hist::Nanos;
use punctual_numbers::report::Percentiles;
use std::fmt::Write as _;

/// Rough width of a character of a label.
const CHARACTER: f64 = 7.0;

/// What differs between a wide screen and a phone.
#[derive(Clone, Copy)]
struct Format {
    width: f64,
    height: f64,
    /// Rows of names over the ruler.
    rows: usize,
    plot: Plot,
}

impl Format {
    fn of(small: bool) -> Self {
        let (width, rows) = if small { (440.0, 4) } else { (900.0, 3) };
        let top = 9.0 + 19.0 * as_f64(rows as u64);
        let plot = Plot { left: 12.0, top, right: width - 12.0, bottom: top + 14.0 };
        Self { width, height: plot.bottom + 28.0, rows, plot }
    }
}

/// The ruler; `None` when there is nothing to put on it.
pub fn ruler(points: &Percentiles, budget: Option<Nanos>, says: &str, small: bool) -> Option<String> {
    let format = Format::of(small);
    let (width, height, plot) = (format.width, format.height, format.plot);
    let (min, max) = (points.min?, points.max?);
    let low = as_f64(min.as_ns().min(budget.map_or(u64::MAX, Nanos::as_ns))) / 1.25;
    let high = as_f64(max.max(budget.unwrap_or_default()).as_ns()) * 1.25;
    let scale = LogScale::new(low, high, plot.left, plot.right);
    let mut out =
        format!(r#"<svg class="ruler" viewBox="0 0 {width} {height}" role="img" aria-label="{}">"#, escaped(says));
    zones(&mut out, &scale, budget, plot);
    graduation(&mut out, &scale, budget, format);
    markers(&mut out, &scale, points, budget, format);
    out.push_str("</svg>");
    Some(out)
}

/// The bar of the ruler, in two shades where there is a budget.
fn zones(out: &mut String, scale: &LogScale, budget: Option<Nanos>, plot: Plot) {
    let end = budget.map_or(plot.right, |b| scale.at_ns(b));
    let mut zone = |class: &str, from: f64, to: f64| {
        let (x, y, width, height) = (px(from), px(plot.top), px((to - from).max(0.0)), px(plot.bottom - plot.top));
        let _ = write!(out, r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}"/>"#);
    };
    zone("zone within", plot.left, end);
    if budget.is_some() {
        zone("zone beyond", end, plot.right);
    }
}

/// Graduation under the ruler; the budget takes the place of marks it would cover.
fn graduation(out: &mut String, scale: &LogScale, budget: Option<Nanos>, Format { width, plot, .. }: Format) {
    let y = plot.bottom + 20.0;
    let name = budget.map(|b| format!("budget {}", units::latency(b))).unwrap_or_default();
    let half = as_f64(name.chars().count() as u64) * CHARACTER / 2.0;
    let name_at = budget.map(|b| scale.at_ns(b).clamp(half, width - half));
    for (value, labelled) in scale.ticks() {
        let at = scale.at(value);
        let x = px(at);
        let _ =
            write!(out, r#"<path class="graduation" d="M{x} {}v{}"/>"#, px(plot.bottom), if labelled { 7 } else { 4 });
        if labelled && name_at.is_none_or(|name_at| (at - name_at).abs() > half + 24.0) {
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a tick is whole and not negative"
            )]
            let text = escaped(&units::latency(Nanos::from_ns(value.round() as u64)));
            let _ = write!(out, r#"<text class="tick mid" x="{x}" y="{}">{text}</text>"#, px(y));
        }
    }
    if let (Some(budget), Some(name_at)) = (budget, name_at) {
        let (x, top, bottom) = (px(scale.at_ns(budget)), px(plot.top - 5.0), px(plot.bottom + 8.0));
        let _ = write!(out, r#"<path class="limit" d="M{x} {top}V{bottom}"/>"#);
        let (x, y, name) = (px(name_at), px(y), escaped(&name));
        let _ = write!(out, r#"<text class="limit-name mid" x="{x}" y="{y}">{name}</text>"#);
    }
}

/// Names over the ruler, in as many rows as it takes that none covers another.
fn markers(out: &mut String, scale: &LogScale, points: &Percentiles, budget: Option<Nanos>, format: Format) {
    let plot = format.plot;
    let named = [
        ("min", points.min),
        ("p50", points.p50),
        ("p99", points.p99),
        ("p99.9", points.p99_9),
        ("p99.99", points.p99_99),
        ("largest", points.max),
    ];
    let mut taken_to = vec![f64::MIN; format.rows];
    let mut texts = String::new();
    for (name, point) in named {
        let Some(point) = point else { continue };
        let text = format!("{name} {}", units::latency(point));
        let width = as_f64(text.chars().count() as u64) * CHARACTER;
        let at = scale.at_ns(point);
        let middle = at.clamp(width / 2.0, format.width - width / 2.0);
        let free = (0..format.rows).find(|row| taken_to.get(*row).is_some_and(|to| middle - width / 2.0 > *to));
        let row = free.unwrap_or(format.rows - 1);
        if let Some(to) = taken_to.get_mut(row) {
            *to = middle + width / 2.0 + 8.0;
        }
        let y = plot.top - 12.0 - 19.0 * as_f64(row as u64);
        let over = if budget.is_some_and(|b| point > b) { " over" } else { "" };
        let _ = write!(out, r#"<path class="marker{over}" d="M{} {}V{}"/>"#, px(at), px(y + 4.0), px(plot.bottom));
        let (x, y) = (px(middle), px(y));
        let (name, value) = (escaped(name), escaped(&units::latency(point)));
        let _ = write!(
            texts,
            r#"<text class="mark mid{over}" x="{x}" y="{y}"><tspan class="mark-name">{name}</tspan> {value}</text>"#
        );
    }
    out.push_str(&texts);
}
