//! What threads hand to each other: queue, latest value, signal, lock, log, heartbeat.

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

/// Held by tests that occupy a CPU at real-time priority: one at a time.
static ONE_CPU: std::sync::Mutex<()> = std::sync::Mutex::new(());
