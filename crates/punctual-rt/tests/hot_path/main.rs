//! What the library promises of everything between two waits: no allocation, no system call but the wait, no page fault.
//!
//! Each promise is tested on every way to wait and on everything a body may call, and each test is itself tested: a body
//! that breaks the promise is caught. Nothing here depends on how long anything takes.

#![allow(clippy::unwrap_used, reason = "what a test cannot set up is a failed test, wherever it is written")]

mod allocation;
mod faults;
#[allow(unsafe_code, reason = "an allocator, a filter for system calls, and calls that must be caught")]
mod sys;
mod system_calls;
mod users;
mod ways;
