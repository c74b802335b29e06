//! Processes what was measured: frames become a recording, and a recording becomes a report.
//!
//! Modules in reading order: the definition of a measurement ([`scenario`], [`placement`]), its results ([`recording`],
//! [`trace`], [`foreign`]), statistics ([`stats`]), the causes of latency ([`explain`]), claims about one run
//! ([`claims`]), the report ([`report`]), the comparison of runs ([`compare`]) and of kernels ([`kernels`]), what a
//! [`watch`] keeps of months, a series of runs ([`trend`]), the rows of a fleet ([`fleet`]), what users share
//! ([`atlas`]) and the formats of other programs ([`export`]). This crate has no access to the machine, and knows knobs only by their ids.

#![forbid(unsafe_code)]

pub mod atlas;
pub mod claims;
pub mod compare;
pub mod explain;
pub mod export;
pub mod fleet;
pub mod foreign;
pub mod inspect;
pub mod kernels;
pub mod placement;
mod published;
pub mod recording;
pub mod report;
pub mod scenario;
pub mod stats;
pub mod trace;
pub mod trend;
pub mod watch;

// Unit tests and integration tests share modules, which refer to this crate by the name that integration tests use.
#[cfg(test)]
extern crate self as punctual_numbers;
#[cfg(test)]
#[path = "../tests/header/mod.rs"]
mod made_up;
