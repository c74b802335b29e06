//! Decides. Facts become findings, recordings become statistics and verdicts, and all of it is values in, values out.
//!
//! This crate cannot reach the machine: everything it knows of one comes through [`tree::Tree`] or through the frames
//! of a recording. It opens no file, reads no clock, starts no thread and prints nothing.
//!
//! Modules in reading order: what is read ([`tree`], [`fact`], [`cpu_set`], [`machine`], [`cmdline`]), what is wanted
//! ([`profile`]), what we know ([`knobs`]), what follows ([`finding`], [`audit`], [`diff`]); then what is measured
//! ([`scenario`]), what came out ([`recording`], [`stats`]), what it means ([`report`]) and whether it is better than
//! before ([`compare`]).

#![forbid(unsafe_code)]

pub mod audit;
pub mod capture;
pub mod claims;
pub mod cmdline;
pub mod compare;
pub mod cpu_set;
pub mod diff;
pub mod explain;
pub mod export;
pub mod fact;
pub mod finding;
pub mod foreign;
pub mod knobs;
pub mod machine;
pub mod optimize;
mod own_files;
pub mod placement;
pub mod plan;
pub mod profile;
pub mod recording;
pub mod report;
pub mod scenario;
pub mod stats;
pub mod trace;
pub mod tree;

// What tests of all kinds begin with names this crate as those outside of it do.
#[cfg(test)]
extern crate self as punctual_core;
#[cfg(test)]
#[path = "../tests/header/mod.rs"]
mod made_up;
