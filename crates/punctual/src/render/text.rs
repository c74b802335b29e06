//! A report for the terminal: ASCII, wrapped to a width, coloured only when asked.
//!
//! ASCII because the machines this runs on are read over serial consoles. Must not compute: it picks, orders and lays
//! out what the report holds.

mod check;
pub(super) mod clean;
mod full;
mod imported;
mod merged;
pub(super) mod section;
pub(super) mod sheet;
pub(super) mod table;

pub use imported::imported;
pub use merged::merged;
pub(super) use section::shortened;

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

/// What `punctual check` prints at its end: the machine, what stands in its way, the numbers, the verdict and whether
/// it can be trusted.
pub fn check(report: &Report, recording: Option<&Path>, html: Option<&Path>, style: Style) -> String {
    check::check(report, recording, html, style)
}

/// What `punctual report --text` prints: all of the recording, including what `check` leaves out.
pub fn full(report: &Report, recording: Option<&Path>, html: Option<&Path>, style: Style) -> String {
    full::full(report, recording, html, style)
}
