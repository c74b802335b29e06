//! The causes of late activations, as people and programs read them: text, a page, JSON, and a trace for the Perfetto
//! viewer.
//!
//! Everything shown is a value of the explanation in a report. This module must not search for causes.

mod html;
pub mod json;
#[cfg(test)]
mod packets;
mod perfetto;
#[cfg(test)]
pub(in crate::render) mod sample;
#[cfg(test)]
mod tests;
mod text;

pub(in crate::render) use html::section;
pub use perfetto::perfetto;
pub(in crate::render) use text::short;
pub use text::{Show, explain};

use punctual_hist::Nanos;
use punctual_numbers::explain::Ranked;

/// Whether a cause gets its details, by its place counted from 1: the first three do, those with a share of 1 % or
/// more, and those whose time is not known. Other causes get one line; JSON has the details of all.
fn is_told_in_full(place: usize, ranked: &Ranked) -> bool {
    place <= 3 || ranked.share >= 0.01 || ranked.total == Nanos::ZERO
}
