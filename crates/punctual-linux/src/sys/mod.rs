//! System calls that no safe crate offers, each behind a safe function.
//!
//! The only module of this crate that may use `unsafe`. It does not know loads, probes or recordings.

#![allow(unsafe_code, reason = "the one place for system calls that no safe crate offers")]

pub mod clocks;
pub mod core_driver;
pub mod ethtool;
mod evl;
pub mod files;
mod kernel_log;
pub mod mortal;
pub mod pages;
pub mod perf;
pub mod posix_timer;
pub mod process;
pub mod registers;
pub mod samples;
pub mod sched;
pub mod shared_words;
pub mod signals;
pub mod usage;

pub use evl::abi_base;
pub use kernel_log::kernel_log;
