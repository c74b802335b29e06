//! Acts: reads the live machine, runs loads and probes, writes recordings.
//!
//! The only crate of the tool that touches the machine. It decides nothing: what to do arrives as values of
//! `punctual-core`, and what happened leaves as such.

pub mod load;
#[allow(unsafe_code, reason = "the one place for system calls that no safe crate offers")]
mod sys;
