//! A report for the terminal: ASCII, wrapped to a width, coloured only when asked.
//!
//! ASCII because the machines this runs on are read over serial consoles. Must not compute: it picks, orders and lays
//! out what the report holds.

mod full;
mod imported;
mod merged;
pub(super) mod section;
pub(super) mod sheet;
mod short;
pub(super) mod table;

pub use imported::imported;
pub use merged::merged;
pub use short::{Opening, ahead, opening, results, short};

use super::words::answer::Reader;
use punctual_numbers::report::Report;
use std::path::Path;

/// How the text is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether to emit colour codes.
    pub colour: bool,
}

impl Default for Style {
    /// What is readable everywhere: 80 columns, no colour codes.
    fn default() -> Self {
        Self { width: 80, colour: false }
    }
}

/// What `--full` prints: all of the recording that fits a table, and the answer at the end.
pub fn full(report: &Report, reader: &Reader, paths: [Option<&Path>; 2], style: Style) -> String {
    full::full(report, reader, paths, style)
}
