//! Judges machines and plans changes: from facts about a machine it makes findings, and from findings a plan.
//!
//! Modules in reading order: the catalogue ([`knobs`]), the findings about one machine ([`audit`]), the differences
//! between two machines ([`diff`]), the files that a later audit needs ([`capture`]), and the changes ([`plan`]). This
//! crate has no access to the machine itself, and does not depend on the recordings of measurements.

#![forbid(unsafe_code)]

pub mod audit;
pub mod capture;
pub mod diff;
pub mod knobs;
mod own_files;
mod pattern;
pub mod plan;
pub mod presets;
pub mod programs;
mod rk3568;
