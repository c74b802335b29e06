//! Probes and readers that several families share.
//!
//! A family uses this module and no other family, so that it can be read, changed and removed alone.

pub(super) mod frequency;
pub(super) mod groups;
pub(super) mod idle;
pub(super) mod isolation;
pub(super) mod links;
pub(super) mod uncore;
mod units;

/// Whether a list of tracers has osnoise and timerlat, which name what took the CPU.
pub(crate) fn has_tracers(names: &str) -> bool {
    ["osnoise", "timerlat"].iter().all(|name| names.split_whitespace().any(|word| word == *name))
}
