//! Probes and readers that several families of knobs share.
//!
//! A family uses this module but no other family, so that each family can be read, changed and removed alone.

pub(super) mod frequency;
pub(super) mod groups;
pub(super) mod idle;
pub(super) mod isolation;
pub(super) mod links;
pub(super) mod uncore;
mod units;

/// Whether a list of tracers contains osnoise and timerlat, which show what took CPU time from a thread.
pub(crate) fn has_tracers(names: &str) -> bool {
    ["osnoise", "timerlat"].iter().all(|name| names.split_whitespace().any(|word| word == *name))
}
