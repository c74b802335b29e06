//! Pictures of a report as inline SVG: the ruler, histograms, the run over time.
//!
//! Each function takes numbers and returns one `<svg>`; colours and strokes are classes that the page's style sheet
//! gives, so that a picture follows the reader's light or dark. Must not know the page around it.

mod axis;
mod cells;
mod effects;
mod exceedance;
mod histogram;
mod lanes;
mod ruler;
mod shape;
mod timeline;

pub use axis::{LogScale, Times, as_f64, moment_label, round_moments};
pub use cells::{cells, columns, counts};
pub use effects::{Bar, effects};
pub use exceedance::{exceedance, limits};
pub use histogram::{Series, histogram, histogram_of, legend_has_skips};
pub use lanes::{colour_of, lanes};
pub use ruler::ruler;
pub use shape::{Shape, by_context, is_drawn, of_run, range};
pub use timeline::{reach, timeline, times};

use crate::render::text::clean::visible;
use crate::render::units::THIN;

/// Colours repeat after so many CPUs; the dash of the line then tells them apart.
pub const COLOURS: usize = 8;

/// `text` for a page: the real micro sign, which a terminal need not have.
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

/// Classes of the series with this number.
pub fn series(number: usize) -> String {
    format!("c{} d{}", number % COLOURS, number / COLOURS % 3)
}

/// A coordinate, short: a tenth of a pixel is finer than any screen.
fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Where a picture draws, inside its margins.
#[derive(Clone, Copy, Debug)]
struct Plot {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

#[cfg(test)]
mod tests;
