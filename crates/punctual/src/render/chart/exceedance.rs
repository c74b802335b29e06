//! Exceedance curves: the share of activations with more than each latency, on two logarithmic axes, for several
//! results in one plot. The horizontal distance of two curves is the difference in latency at that share.

use super::axis::{self, LogScale};
use super::histogram::budget_line;
use super::shape::{Shape, range};
use super::{Plot, escaped, opened, path, px, series};
use crate::render::lang::tr;
use crate::render::units;
use punctual_hist::Nanos;
use punctual_numbers::stats::binomial;
use punctual_numbers::stats::float::float;
use std::fmt::Write as _;

/// The limits of a share are exact if at most this number of values exceeds the latency. For more values the normal
/// approximation is used: its error is smaller than the width of the curve.
const EXACT_MAX: u64 = 1_000;

pub fn exceedance(shapes: &[Shape], budget: Option<Nanos>) -> Option<String> {
    let (low, high) = range(shapes, budget)?;
    let shapes: Vec<&Shape> = shapes.iter().filter(|shape| shape.count() > 0).collect();
    let most = shapes.iter().map(|shape| shape.count()).max()?;
    // The left margin is wide, because labels such as "1 in 1 000 000" stand there.
    let plot = Plot { left: 122.0, ..Plot::of(900.0, super::HEIGHT) };
    let x = LogScale::new(float(low), float(high), plot.left, plot.right);
    // Shares are scaled up, because a `LogScale` begins at 0.1.
    let least = (0.5e6 / float(most)).max(1e-6);
    let scale = 0.1 / least.min(0.1);
    let y = LogScale::new(least * scale, 1e6 * scale, plot.bottom, plot.top);
    let level = |share: f64| y.at(share * 1e6 * scale);
    let names: Vec<&str> = shapes.iter().map(|shape| shape.name.as_str()).collect();
    let says = format!("Share of activations later than a latency: {}", names.join(", "));
    let mut out = opened("exceedance", 900.0, super::HEIGHT, &says);
    axis::latencies_below(&mut out, &x, plot);
    shares_left(&mut out, &y, least, scale, plot);
    budget_line(&mut out, &x, plot, budget);
    // All bands are drawn first, so that none covers a curve.
    let of_many = if shapes.len() > 1 { " of-many" } else { "" };
    for shape in &shapes {
        path(&mut out, &format!("band{of_many} {}", series(shape.number)), band(shape, &x, level, plot));
    }
    for shape in shapes {
        let (curve, apart) = steps(shape, &x, level, plot);
        let (title, class) = (escaped(&shape.name), series(shape.number));
        let _ = write!(out, r#"<path class="ran {class}" d="{curve}"><title>{title}</title></path>"#);
        if let Some(apart) = apart {
            let _ = write!(out, r#"<path class="skipped {class}" d="{apart}"><title>{title}</title></path>"#);
        }
    }
    path(&mut out, "axis", plot.level(plot.bottom));
    out.push_str("</svg>");
    Some(out)
}

/// The coordinates at which the curve falls, each with the number of values that are larger.
fn falls(shape: &Shape, x: &LogScale) -> Vec<(String, u64)> {
    let mut beyond = shape.count();
    let mut falls: Vec<(String, u64)> = Vec::new();
    for (at, count) in shape.falls() {
        beyond = beyond.saturating_sub(count);
        let at = px(x.at_ns(at));
        match falls.last_mut() {
            Some(last) if last.0 == at => last.1 = beyond,
            _ => falls.push((at, beyond)),
        }
    }
    falls
}

/// The path of the curve and, if some values were only counted, the path of a dashed line over the range that holds
/// these values.
fn steps(shape: &Shape, x: &LogScale, y: impl Fn(f64) -> f64, plot: Plot) -> (String, Option<String>) {
    let all = float(shape.count());
    let mut level = px(y(1.0));
    let mut path = format!("M{} {level}", px(plot.left));
    for (at, beyond) in falls(shape, x) {
        level = px(if beyond > 0 { y(float(beyond) / all) } else { plot.bottom });
        let _ = write!(path, "H{at}V{level}");
    }
    let Some((apart, [from, to])) = shape.apart.zip(apart(shape, x)) else { return (path, None) };
    let _ = write!(path, "H{from}");
    // If the largest value is unknown, the end of the curve is unknown too.
    let end = if apart.to.is_some() { format!("V{}", px(plot.bottom)) } else { String::new() };
    (path, Some(format!("M{from} {level}H{to}{end}")))
}

/// Left and right coordinate of the range of values that were only counted. The range begins no further left than the
/// end of the last cell.
fn apart(shape: &Shape, x: &LogScale) -> Option<[String; 2]> {
    let apart = shape.apart?;
    let cells_end = shape.falls().last().map_or(0, |(at, _)| at.as_ns());
    Some([apart.from.as_ns(), apart.end()].map(|at| px(x.at(float(at.max(cells_end))))))
}

/// The 95 % confidence limits of one share, after Clopper and Pearson, for activations that do not depend on each
/// other.
pub fn limits(beyond: u64, all: u64) -> (f64, f64) {
    let upper = |k: u64| binomial::upper_bound(k, all, 0.975).unwrap_or(1.0);
    if beyond <= EXACT_MAX {
        let low = if beyond == 0 { 0.0 } else { 1.0 - upper(all.saturating_sub(beyond)) };
        return (low, upper(beyond));
    }
    let (k, n) = (float(beyond), float(all.max(1)));
    let half = 1.96 * (k * (1.0 - k / n).max(0.0)).sqrt() / n;
    (k / n - half, k / n + half)
}

/// The outline of the area between the confidence limits: to the right along the upper limits, then back along the
/// lower ones.
fn band(shape: &Shape, x: &LogScale, y: impl Fn(f64) -> f64, plot: Plot) -> String {
    let all = shape.count();
    let mut path = format!("M{} {}", px(plot.left), px(y(1.0)));
    let mut lower = vec![(px(plot.left), y(1.0))];
    for (at, beyond) in falls(shape, x) {
        let (low, high) = limits(beyond, all);
        let _ = write!(path, "H{at}V{}", px(y(high)));
        lower.push((at, if low > 0.0 { y(low) } else { plot.bottom }));
    }
    if let Some([_, to]) = apart(shape, x) {
        let _ = write!(path, "H{to}");
    }
    for (from, level) in lower.iter().rev() {
        let _ = write!(path, "V{}H{from}", px(*level));
    }
    path.push('Z');
    path
}

/// Vertical axis of shares, with a label at each power of ten: "all", "1 in 10", "1 in 100".
fn shares_left(out: &mut String, y: &LogScale, least: f64, scale: f64, plot: Plot) {
    let mut millionths = 1e6;
    let mut one_in = 1u64;
    while millionths >= least {
        let label = if one_in == 1 { tr!("all").to_owned() } else { format!("1 in {}", units::count(one_in)) };
        axis::grid_left(out, plot, y.at(millionths * scale), &label);
        millionths /= 10.0;
        one_in = one_in.saturating_mul(10);
    }
    axis::title_left(out, plot, tr!("share of activations later than that"));
}
