//! A report for the terminal: ASCII, wrapped to a width, coloured only when asked.
//!
//! ASCII because the machines this runs on are read over serial consoles. Must not compute: it picks, orders and lays
//! out what the report holds.

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

/// What `--full` prints: all of the recording that fits a table, and the answer at the end.
pub fn full(report: &Report, reader: &Reader, paths: [Option<&Path>; 2], style: Style) -> String {
    full::full(report, reader, paths, style)
}
