//! What each candidate does to one number: a dot for the change, a bar for its limits, a line where nothing changes.

use super::{Plot, escaped, px};
use std::fmt::Write as _;

/// One candidate in a picture.
#[derive(Clone, Debug)]
pub struct Bar<'a> {
    /// How it is called.
    pub name: &'a str,
    /// The change, as a factor.
    pub seen: f64,
    /// Its lower limit; 0 where nobody knows.
    pub low: f64,
    /// Its upper limit; infinite where nobody knows.
    pub high: f64,
    /// What is said of it.
    pub says: String,
}

const ROW: f64 = 26.0;
/// Room of a label of the axis.
const LABEL: f64 = 34.0;
/// A picture reaches so far at least: half and double.
const REACH_LEAST: f64 = 2.0;
/// And at most; what is beyond is drawn at the edge.
const REACH_MOST: f64 = 100.0;

/// The picture; nothing where there is nothing to draw.
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
    let mut out = format!(
        r#"<svg class="effects" viewBox="0 0 900 {}" role="img" tabindex="0" aria-label="{}">"#,
        px(height + 28.0),
        escaped(title)
    );
    // From the middle outwards: a label that has no room is left out, its line stays.
    let mut taken: Vec<f64> = Vec::new();
    for factor in [1.0, 2.0, 0.5, 5.0, 0.2, 10.0, 0.1, 20.0, 0.05, 50.0, 0.02, 100.0, 0.01, 1.25, 0.8] {
        if factor > reach || factor < 1.0 / reach {
            continue;
        }
        let x = at(factor);
        let class = if (0.99..1.01).contains(&factor) { "axis" } else { "grid" };
        let _ = write!(out, r#"<path class="{class}" d="M{} {}V{}"/>"#, px(x), px(plot.top), px(plot.bottom));
        if taken.iter().all(|other| (other - x).abs() > LABEL) {
            taken.push(x);
            let y = px(plot.bottom + 18.0);
            let _ = write!(out, r#"<text class="tick mid" x="{}" y="{y}">{factor}&#215;</text>"#, px(x));
        }
    }
    for (row, bar) in bars.iter().enumerate() {
        #[allow(clippy::cast_precision_loss, reason = "a number of rows")]
        let middle = plot.top + ROW * (row as f64 + 0.5);
        let (y, base) = (px(middle), px(middle + 4.0));
        let (low, high) = (px(at(bar.low)), px(at(bar.high)));
        let _ = write!(out, "<g><title>{}</title>", escaped(&bar.says));
        let _ = write!(
            out,
            r#"<text class="tick end" x="{}" y="{base}">{}</text>"#,
            px(plot.left - 8.0),
            escaped(bar.name)
        );
        let _ = write!(out, r#"<path class="ran c0 d0" d="M{low} {y}H{high}"/>"#);
        let _ = write!(out, r#"<circle class="dot c0" cx="{}" cy="{y}" r="4"/></g>"#, px(at(bar.seen)));
    }
    out.push_str("</svg>");
    Some(out)
}
