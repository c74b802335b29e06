//! Tests the library's promises for everything between two waits: no allocation, no system call except the wait, no
//! page fault.
//!
//! Each promise is tested with every way to wait and everything that a body may call. Each test is itself tested with a
//! body that breaks the promise and must be caught. Nothing here depends on how long anything takes.

#![allow(clippy::unwrap_used, reason = "what a test cannot set up is a failed test, wherever it is written")]

mod allocation;
mod faults;
#[allow(unsafe_code, reason = "an allocator, a filter for system calls, and calls that must be caught")]
mod sys;
mod system_calls;
mod users;
mod ways;
