//! Kernels side by side, as text, a page and JSON.
//!
//! Every value shown comes from the table of the kernels. Nothing here may judge.

mod bisect;
mod gate;
mod html;
mod json;
#[cfg(test)]
mod tests;
mod text;
mod words;

pub use bisect::{
    BisectStep, Bisected, Culprit, Need, bisect_brief, bisect_json, bisect_text, build_ended, building, does_not_tell,
    no_image, not_as_asked, not_built,
};
pub use gate::{gate_brief, gate_junit, gate_text, missing, saved};
pub use html::html;
#[cfg(test)]
pub(in crate::render) use json::Document as Published;
pub use json::json;
pub use text::{brief, text};
pub use words::{not_measured, progress};

use punctual_hist::Nanos;
use punctual_numbers::kernels::SideBySide;
use serde::Serialize;

/// Everything that the forms of a comparison of kernels show.
pub struct Shown<'a> {
    pub clock: GuestClock,
    /// The loads, as measure takes them.
    pub load: String,
    pub period: Nanos,
    /// Length of one measurement.
    pub duration: Nanos,
    pub seeds: &'a [u64],
    pub table: SideBySide,
    pub not_measured: Vec<&'a NotMeasured>,
    pub refused: Vec<RefusedMode>,
}

/// The source of time in the guests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GuestClock {
    /// The number of executed instructions, eight nanoseconds each. Two runs give the same numbers.
    Virtual,
    /// The time of the host that emulates. The numbers are no measure of a kernel.
    Host,
}

/// A kernel of which a measurement is missing.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotMeasured {
    /// The kernel as the user named it.
    pub name: String,
    pub why: String,
    /// The last lines on the guest's console; empty if they do not tell why.
    pub last_lines: Vec<String>,
}

impl NotMeasured {
    pub fn because(name: &str, why: &str) -> Self {
        Self { name: name.to_owned(), why: why.to_owned(), last_lines: Vec::new() }
    }
}

/// A mode of pre-emption that was asked for and is not in force.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RefusedMode {
    /// The kernel as the user named it.
    pub name: String,
    /// The mode that was asked for.
    pub asked: String,
    /// The mode in force; `None` if the kernel does not tell.
    pub in_force: Option<String>,
}
