//! The C ABI of the run-time library: `libpunctual_rt` with `punctual_rt.h`.
//!
//! It translates and decides nothing: what a task is and how it is paced is `punctual-rt`'s business. Here live the
//! promises that only C needs: a handle that was closed is recognised, a structure may be of another age than the
//! library, every refusal is a number, nothing unwinds into C. Each `extern` function is a contract written down in the
//! header, which is generated from these files: a pointer is NULL or valid, and no more is believed of it.
//!
//! Functions for the loop neither allocate nor lock nor panic, whatever they are given.

#![warn(missing_docs)]
#![allow(unsafe_code, reason = "a C ABI consists of pointers from elsewhere; each block says what is relied upon")]
#![allow(non_camel_case_types, reason = "the names are C's")]
#![allow(clippy::missing_safety_doc, reason = "the contract is one for all, above, and its readers read C")]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::cast_possible_truncation, clippy::cast_sign_loss))]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("a handle needs 64 bits");

/// Says of an opaque type of the header what its handles stand for, and the number of its kind, which no other has.
macro_rules! handled {
    ($name:ident, $kind:literal: $value:ty) => {
        impl crate::handle::Handled for $name {
            const KIND: u8 = $kind;
            type Value = $value;
        }
    };
}

mod config;
mod cyclic;
mod error;
mod finding;
mod group;
mod handle;
mod latest;
mod log;
mod mutex;
mod queue;
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
pub use cyclic::*;
pub use error::*;
pub use finding::*;
pub use group::*;
pub use latest::*;
pub use log::*;
pub use mutex::*;
pub use queue::*;
pub use servo::*;
pub use signal::*;
pub use stats::*;
pub use task::*;
pub use time::*;
pub use wake::*;
pub use watchdog::*;
