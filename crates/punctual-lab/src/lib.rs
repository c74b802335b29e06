//! Boots kernels in QEMU and brings back what programs in them found.
//!
//! ```text
//! what a user names -> Choice -> Subject -> archive -> Computer -> QEMU -> lines -> answers
//!                      choice    packages   cpio       qemu                wire     run
//!                                image                        inside (in the guest)
//! ```
//! This crate does not know what the programs measure. It prints nothing: what takes long is told to a function that the
//! caller gives.

pub mod choice;
pub mod config;
pub mod cpio;
pub mod image;
pub mod inside;
pub mod kernel;
pub mod key;
pub mod packages;
pub mod program;
pub mod qemu;
pub mod run;
pub mod search;
pub mod wire;
