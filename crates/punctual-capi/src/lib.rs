//! The C ABI of the run-time library: `libpunctual_rt` with `punctual_rt.h`.
//!
//! This crate only translates; `punctual-rt` does the work. It adds what C callers need: a closed handle is recognised,
//! structures of older and newer headers are accepted, every error is a number, and no panic unwinds into C. The header
//! is generated from the doc comments of these files. Each `extern` function trusts that a pointer is NULL or valid,
//! and checks everything else.
//!
//! Functions marked "For the loop" neither allocate nor lock nor panic, whatever arguments they get.

#![warn(missing_docs)]
#![allow(unsafe_code, reason = "a C ABI consists of pointers from elsewhere; each block says what is relied upon")]
#![allow(non_camel_case_types, reason = "the names are C's")]
#![allow(clippy::missing_safety_doc, reason = "the contract is one for all, above, and its readers read C")]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::cast_possible_truncation, clippy::cast_sign_loss))]

/// Declares which type of value the handles of an opaque C type stand for, and the unique number of this kind.
macro_rules! handled {
    ($name:ident, $kind:literal: $value:ty) => {
        impl crate::handle::Handled for $name {
            const KIND: u8 = $kind;
            type Value = $value;
        }
    };
}

mod config;
mod core_thread;
mod cyclic;
mod error;
mod finding;
mod group;
mod handle;
mod latest;
mod log;
mod mutex;
mod queue;
mod semaphore;
mod servo;
mod signal;
mod stats;
mod task;
mod text;
mod time;
mod versioned;
mod wake;
mod watchdog;

pub use config::*;
pub use core_thread::*;
pub use cyclic::*;
pub use error::*;
pub use finding::*;
pub use group::*;
pub use latest::*;
pub use log::*;
pub use mutex::*;
pub use queue::*;
pub use semaphore::*;
pub use servo::*;
pub use signal::*;
pub use stats::*;
pub use task::*;
pub use time::*;
pub use wake::*;
pub use watchdog::*;
