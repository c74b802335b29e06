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
