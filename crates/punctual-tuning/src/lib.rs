//! What stands between a machine and real time, and what to do about it: facts become findings, findings become a plan.
//!
//! Modules in reading order: what we know ([`knobs`]), what follows for one machine ([`audit`]), what differs between two
//! ([`diff`]), what a later audit may ask for ([`capture`]), and what to change ([`plan`]). This crate cannot reach the
//! machine, and knows nothing of recordings.

#![forbid(unsafe_code)]

pub mod audit;
pub mod capture;
pub mod diff;
pub mod knobs;
mod own_files;
pub mod plan;
pub mod presets;
pub mod programs;
