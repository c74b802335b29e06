//! System calls that no safe crate offers, each behind a safe function.
//!
//! The only module of this crate that may use `unsafe`. It knows nothing of loads, probes or recordings.

pub mod process;
