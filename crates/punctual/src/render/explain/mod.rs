//! Who made it late, as people and programs read it: text, a page, JSON, and a trace for the Perfetto viewer.
//!
//! All of it is drawn from the explanation in a report; must not find causes, only tell them.

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

/// Whether all is told of the cause in this place, counted from 1: of the first three, of those that took a hundredth
/// or more, and of those whose time is not known. The rest are told in a line; JSON has all of all.
fn is_told_in_full(place: usize, ranked: &Ranked) -> bool {
    place <= 3 || ranked.share >= 0.01 || ranked.total == Nanos::ZERO
}
