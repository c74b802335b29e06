//! The output formats of the causes of late activations: text, HTML page, JSON, and a trace for the Perfetto viewer.
//!
//! Every value shown comes from the explanation in a report. This module must not search for causes.

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

/// Whether the text and the page show the details of a cause: they do for the first three causes (`place` counts from
/// 1), for causes with a share of 1 % or more, and for causes of unknown time. Other causes get one line; JSON has the
/// details of all.
fn is_told_in_full(place: usize, ranked: &Ranked) -> bool {
    place <= 3 || ranked.share >= 0.01 || ranked.total == Nanos::ZERO
}
