//! Pictures of a report as inline SVG: the ruler, histograms, the run over time.
//!
//! Each function takes numbers and returns one `<svg>`. Colours and strokes are classes of the page's style sheet, so
//! that a picture follows the reader's light or dark mode. Must not know the page around it.

mod axis;
mod effects;
mod exceedance;
mod histogram;
mod lanes;
mod ruler;
mod runs;
mod shape;
mod timeline;

pub use axis::{LogScale, Times, moment_label, round_moments};
pub use effects::{Bar, effects};
pub use exceedance::{exceedance, limits};
pub use histogram::{columns, counts, histogram};
pub use lanes::{colour_of, lanes};
pub use ruler::ruler;
pub use runs::{Line, runs};
pub use shape::{Shape, by_context, is_drawn, of_run, range};
pub use timeline::{Reach, TIMELINE_HEIGHT, reach, timeline, times};

use crate::render::clean::visible;
use crate::render::units::THIN;
use punctual_numbers::stats::float::float;
use std::fmt::{Display, Write as _};

/// Number of colours for series. Series beyond it reuse the colours and differ in the dashes of their lines.
pub const COLOURS: usize = 8;

/// The size of a picture as wide as the page.
pub const WIDTH: f64 = 900.0;
pub const HEIGHT: f64 = 376.0;

/// `text` with `us` written as the micro sign and s, which a page can show and a terminal may not.
pub fn typeset(text: &str) -> String {
    text.replace(&format!("{THIN}us"), &format!("{THIN}\u{b5}s"))
}

/// `text` typeset and safe inside markup and attributes.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in typeset(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' => safe.push('\n'),
            c => safe.push(visible(c)),
        }
    }
    safe
}

/// Classes of the style sheet that give the series with this number its colour and dashes.
pub fn series(number: usize) -> String {
    format!("c{} d{}", number % COLOURS, number / COLOURS % 3)
}

/// A coordinate with one decimal at most: a tenth of a pixel is finer than any screen.
fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// The opening tag of a picture. `says` is the text that a screen reader reads out for the picture.
fn opened(class: &str, width: f64, height: f64, says: &str) -> String {
    let says = escaped(says);
    format!(r#"<svg class="{class}" viewBox="0 0 {} {}" role="img" aria-label="{says}">"#, px(width), px(height))
}

fn path(out: &mut String, class: &str, d: impl Display) {
    let _ = write!(out, r#"<path class="{class}" d="{d}"/>"#);
}

fn text(out: &mut String, class: &str, (x, y): (f64, f64), said: &str) {
    let _ = write!(out, r#"<text class="{class}" x="{}" y="{}">{}</text>"#, px(x), px(y), escaped(said));
}

/// A rectangle between two opposite corners. `says` is shown when the pointer is over the rectangle.
fn rect(out: &mut String, class: &str, (left, top): (f64, f64), (right, bottom): (f64, f64), says: Option<&str>) {
    let (width, height) = (px((right - left).max(0.0)), px(bottom - top));
    let title = says.map_or_else(String::new, |says| format!("<title>{}</title>", escaped(says)));
    let _ = write!(
        out,
        r#"<rect class="{class}" x="{}" y="{}" width="{width}" height="{height}">{title}</rect>"#,
        px(left),
        px(top)
    );
}

/// Roughly how wide a text is, in the units of a picture.
fn wide(text: &str) -> f64 {
    float(text.chars().count()) * 6.8
}

/// Edges of the drawing inside the margins of a picture, in its units.
#[derive(Clone, Copy, Debug)]
struct Plot {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Plot {
    /// Leaves room for labels and titles of both axes.
    fn of(width: f64, height: f64) -> Self {
        Self { left: 92.0, top: 20.0, right: width - 14.0, bottom: height - 46.0 }
    }

    fn upright(self, x: f64) -> String {
        format!("M{} {}V{}", px(x), px(self.top), px(self.bottom))
    }

    fn level(self, y: f64) -> String {
        format!("M{} {}H{}", px(self.left), px(y), px(self.right))
    }
}

#[cfg(test)]
mod tests;
