//! What threads hand to each other: queue, latest value, signal, lock, log, heartbeat.

#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(unsafe_code, reason = "shared memory and fork, to test what crosses processes")]

mod channel;
mod latest;
mod pi_mutex;
mod signal;
