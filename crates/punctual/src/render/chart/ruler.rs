//! The whole run on one logarithmic ruler: where its percentiles lie, and where the budget is.

use super::axis::{LogScale, as_f64};
use super::{Plot, escaped, px};
use crate::render::units;
use punctual_core::report::Percentiles;
use punctual_hist::Nanos;
use std::fmt::Write as _;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 118.0;
const PLOT: Plot = Plot { left: 24.0, top: 66.0, right: WIDTH - 24.0, bottom: 80.0 };
/// Rough width of a character of a label.
const CHARACTER: f64 = 7.0;
const ROWS: usize = 3;

/// The ruler; `None` when there is nothing to put on it.
pub fn ruler(points: &Percentiles, budget: Option<Nanos>, says: &str) -> Option<String> {
    let (min, max) = (points.min?, points.max?);
    let low = as_f64(min.as_ns().min(budget.map_or(u64::MAX, Nanos::as_ns))) / 1.25;
    let high = as_f64(max.max(budget.unwrap_or_default()).as_ns()) * 1.25;
    let scale = LogScale::new(low, high, PLOT.left, PLOT.right);
    let mut out =
        format!(r#"<svg class="ruler" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}">"#, escaped(says));
    zones(&mut out, &scale, budget);
    graduation(&mut out, &scale);
    markers(&mut out, &scale, points, budget);
    if let Some(budget) = budget {
        let (x, text) = (scale.at_ns(budget), escaped(&format!("budget {}", units::latency(budget))));
        let side = if x > WIDTH - 130.0 { ("end", -6.0) } else { ("start", 6.0) };
        let _ = write!(out, r#"<path class="limit" d="M{} {}V{}"/>"#, px(x), px(PLOT.top - 4.0), px(HEIGHT - 2.0));
        let (x, y, class) = (px(x + side.1), px(HEIGHT - 3.0), side.0);
        let _ = write!(out, r#"<text class="limit-name {class}" x="{x}" y="{y}">{text}</text>"#);
    }
    out.push_str("</svg>");
    Some(out)
}

/// The bar of the ruler, in two shades where there is a budget.
fn zones(out: &mut String, scale: &LogScale, budget: Option<Nanos>) {
    let end = budget.map_or(PLOT.right, |b| scale.at_ns(b));
    let mut zone = |class: &str, from: f64, to: f64| {
        let (x, y, width, height) = (px(from), px(PLOT.top), px((to - from).max(0.0)), px(PLOT.bottom - PLOT.top));
        let _ = write!(out, r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}"/>"#);
    };
    zone("zone within", PLOT.left, end);
    if budget.is_some() {
        zone("zone beyond", end, PLOT.right);
    }
}

fn graduation(out: &mut String, scale: &LogScale) {
    for (value, labelled) in scale.ticks() {
        let (x, y) = (px(scale.at(value)), px(PLOT.bottom));
        let _ = write!(out, r#"<path class="graduation" d="M{x} {y}v{}"/>"#, if labelled { 7 } else { 4 });
        if labelled {
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a tick is whole and not negative"
            )]
            let text = escaped(&units::latency(Nanos::from_ns(value.round() as u64)));
            let _ = write!(out, r#"<text class="tick mid" x="{x}" y="{}">{text}</text>"#, px(PLOT.bottom + 20.0));
        }
    }
}

/// Names over the ruler, in as many rows as it takes that none covers another.
fn markers(out: &mut String, scale: &LogScale, points: &Percentiles, budget: Option<Nanos>) {
    let named = [
        ("min", points.min),
        ("p50", points.p50),
        ("p99", points.p99),
        ("p99.9", points.p99_9),
        ("p99.99", points.p99_99),
        ("largest", points.max),
    ];
    let mut taken_to = [f64::MIN; ROWS];
    for (name, point) in named {
        let Some(point) = point else { continue };
        let text = format!("{name} {}", units::latency(point));
        let width = as_f64(text.chars().count() as u64) * CHARACTER;
        let at = scale.at_ns(point);
        let middle = at.clamp(width / 2.0, WIDTH - width / 2.0);
        let free = (0..ROWS).find(|row| taken_to.get(*row).is_some_and(|to| middle - width / 2.0 > *to));
        let row = free.unwrap_or(ROWS - 1);
        if let Some(to) = taken_to.get_mut(row) {
            *to = middle + width / 2.0 + 8.0;
        }
        let y = PLOT.top - 12.0 - 19.0 * as_f64(row as u64);
        let over = if budget.is_some_and(|b| point > b) { " over" } else { "" };
        let _ = write!(out, r#"<path class="marker{over}" d="M{} {}V{}"/>"#, px(at), px(y + 4.0), px(PLOT.bottom));
        let (x, y) = (px(middle), px(y));
        let (name, value) = (escaped(name), escaped(&units::latency(point)));
        let _ = write!(
            out,
            r#"<text class="mark mid{over}" x="{x}" y="{y}"><tspan class="mark-name">{name}</tspan> {value}</text>"#
        );
    }
}
