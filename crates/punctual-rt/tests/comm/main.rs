//! Tests of communication between threads: queue, latest value, signal, lock, log, watchdog.

#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(unsafe_code, reason = "processes, signals and an allocator, to test against")]

mod channel;
mod latest;
mod log;
mod pi_mutex;
#[cfg(not(miri))]
mod quiet;
mod signal;
mod trace;
#[cfg(not(miri))]
mod watchdog;

/// Held by each test that occupies a CPU at real-time priority, so that they run one at a time.
static ONE_CPU: std::sync::Mutex<()> = std::sync::Mutex::new(());
