//! What threads hand to each other: queue, latest value, signal, lock, log, heartbeat.

#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(unsafe_code, reason = "shared memory and fork, to test what crosses processes")]

mod channel;
mod latest;
mod log;
mod pi_mutex;
mod signal;
mod trace;
mod watchdog;

/// Held by tests that occupy a CPU at real-time priority: one at a time.
static ONE_CPU: std::sync::Mutex<()> = std::sync::Mutex::new(());
