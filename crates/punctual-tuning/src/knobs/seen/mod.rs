//! What several families ask of a machine, each thing read and judged in one place.
//!
//! Families use what is here and not one another: a family can be read, changed and removed alone.

pub(super) mod frequency;
pub(super) mod groups;
pub(super) mod idle;
pub(super) mod isolation;
pub(super) mod links;
pub(super) mod uncore;
mod units;

/// Whether a list of tracers has those that name what took the CPU.
pub(crate) fn has_tracers(names: &str) -> bool {
    ["osnoise", "timerlat"].iter().all(|name| names.split_whitespace().any(|word| word == *name))
}
