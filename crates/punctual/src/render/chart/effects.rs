//! The effect of each candidate on one metric: a dot for the measured change, a bar between its confidence limits, and
//! a vertical line at "no change".

use super::{Plot, axis, escaped, opened, path, px, text};
use crate::render::lang::tr;
use std::fmt::Write as _;

#[derive(Clone, Debug)]
pub struct Bar<'a> {
    pub name: &'a str,
    /// The measured change, as a factor: 1 is no change.
    pub seen: f64,
    /// Lower confidence limit of the change; 0 if unknown.
    pub low: f64,
    /// Upper confidence limit of the change; infinite if unknown.
    pub high: f64,
    /// The text that is shown when the pointer is over the bar.
    pub says: String,
}

const ROW: f64 = 26.0;
/// Room that one label of the axis needs, in units of the picture.
const LABEL: f64 = 34.0;
/// The axis of factors reaches at least from 1/2 to 2 and at most from 1/100 to 100. What is beyond is drawn at the
/// edge.
const REACH_LEAST: f64 = 2.0;
const REACH_MOST: f64 = 100.0;

pub fn effects(title: &str, bars: &[Bar<'_>]) -> Option<String> {
    if bars.is_empty() {
        return None;
    }
    let far = |factor: f64| if factor.is_finite() && factor > 0.0 { factor.max(1.0 / factor) } else { 1.0 };
    let reach = bars.iter().flat_map(|bar| [bar.seen, bar.low, bar.high]).map(far).fold(REACH_LEAST, f64::max);
    let reach = reach.min(REACH_MOST) * 1.1;
    #[allow(clippy::cast_precision_loss, reason = "a number of rows")]
    let height = 24.0 + ROW * bars.len() as f64;
    let plot = Plot { left: 260.0, top: 24.0, right: 886.0, bottom: height };
    let at = |factor: f64| {
        let share = factor.max(1.0 / reach).min(reach).ln() / reach.ln();
        f64::midpoint(plot.left, plot.right) + share * (plot.right - plot.left) / 2.0
    };
    let mut out = opened("effects", 900.0, height + 44.0, title);
    // Labels are placed from the middle outwards. A label that would cover another one is left out, but its grid line
    // is drawn.
    let mut taken: Vec<f64> = Vec::new();
    for factor in [1.0, 2.0, 0.5, 5.0, 0.2, 10.0, 0.1, 20.0, 0.05, 50.0, 0.02, 100.0, 0.01, 1.25, 0.8] {
        if factor > reach || factor < 1.0 / reach {
            continue;
        }
        let x = at(factor);
        let class = if (0.99..1.01).contains(&factor) { "axis" } else { "grid" };
        path(&mut out, class, plot.upright(x));
        if taken.iter().all(|other| (other - x).abs() > LABEL) {
            taken.push(x);
            text(&mut out, "tick mid", (x, plot.bottom + 18.0), &factor.to_string());
        }
    }
    axis::title_below(&mut out, plot, tr!("latency after the change, as a multiple of before"));
    for (row, bar) in bars.iter().enumerate() {
        #[allow(clippy::cast_precision_loss, reason = "a number of rows")]
        let middle = plot.top + ROW * (row as f64 + 0.5);
        let (y, low, high) = (px(middle), px(at(bar.low)), px(at(bar.high)));
        let _ = write!(out, "<g><title>{}</title>", escaped(&bar.says));
        text(&mut out, "tick end", (plot.left - 8.0, middle + 4.0), bar.name);
        path(&mut out, "ran c0 d0", format_args!("M{low} {y}H{high}"));
        let _ = write!(out, r#"<circle class="dot c0" cx="{}" cy="{y}" r="4"/></g>"#, px(at(bar.seen)));
    }
    out.push_str("</svg>");
    Some(out)
}
