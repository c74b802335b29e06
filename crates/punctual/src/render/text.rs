//! A report as text for the terminal: ASCII, wrapped to a width, coloured only if the caller asks for it.
//!
//! The text is ASCII because many real-time machines are used over serial consoles. Must not compute: this module
//! selects, orders and lays out the values of the report.

mod full;
mod imported;
mod merged;
mod section;
mod short;

pub use imported::imported;
pub use merged::merged;
pub use short::{Opening, ahead, opening, results, short};

use super::sheet::Style;
use super::words::next::Reader;
use punctual_numbers::report::Report;
use std::path::Path;

/// The text that `--full` prints: every value of the report that fits a table, and the answer at the end.
pub fn full(report: &Report, reader: &Reader, paths: [Option<&Path>; 2], style: Style) -> String {
    full::full(report, reader, paths, style)
}
