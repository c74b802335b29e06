//! What was measured and what it means: frames become a recording, a recording becomes a report.
//!
//! Modules in reading order: what is measured ([`scenario`], [`placement`]), what came out ([`recording`], [`trace`],
//! [`foreign`]), numbers alone ([`stats`]), who made it late ([`explain`]), what one run can claim ([`claims`]), what it
//! means ([`report`]), whether it is better than before ([`compare`]) and how others read it ([`export`]). This crate
//! cannot reach the machine, and knows knobs only by their ids.

#![forbid(unsafe_code)]

pub mod claims;
pub mod compare;
pub mod explain;
pub mod export;
pub mod foreign;
pub mod placement;
mod published;
pub mod recording;
pub mod report;
pub mod scenario;
pub mod stats;
pub mod trace;

// Unit tests and integration tests share modules, which refer to this crate by the name that integration tests use.
#[cfg(test)]
extern crate self as punctual_numbers;
#[cfg(test)]
#[path = "../tests/header/mod.rs"]
mod made_up;
