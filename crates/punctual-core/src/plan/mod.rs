//! From findings to changes: which CPUs, and what is printed for people who build images.
//!
//! Decides and writes text; it touches no machine.

pub mod choice;
pub mod print;
