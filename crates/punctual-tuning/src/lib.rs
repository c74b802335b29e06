//! Judges machines and plans changes: facts become findings, and findings become a plan.
//!
//! Modules in reading order: the catalogue ([`knobs`]), the findings about one machine ([`audit`]), the differences
//! between two machines ([`diff`]), the files that a later audit needs ([`capture`]), and the changes ([`plan`]). This
//! crate cannot reach the machine, and knows nothing of recordings.

#![forbid(unsafe_code)]

pub mod audit;
pub mod capture;
pub mod diff;
pub mod knobs;
mod own_files;
pub mod plan;
pub mod presets;
pub mod programs;
