//! The rows that recordings and audits of many machines become, and what is decided about such a fleet.
//!
//! ```text
//! Recording -> Packed (runs, latencies, findings, settings, causes)   2x2 counts by candidate -> Shared (lift, odds)
//!              rows                                                   shared, answer
//! ```
//! A row of [`LatencyRow`] is one CPU in one load phase with its exact cells, so merging rows loses nothing. Runs and
//! configurations are named by [`identity`]. This module must not know how tables are stored, nor which engine is asked.

mod answer;
pub mod identity;
mod rows;
pub mod shared;
#[cfg(test)]
mod tests;

pub use answer::{AgedRun, Answer, Brought, FleetNewest, GroupRow, MachineRow, Newest};
pub use rows::{CauseRow, FindingRow, LatencyRow, Origin, Packed, RunKind, RunRow, SettingRow, of_audit, of_recording};
