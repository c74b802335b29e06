//! Measuring threads, and the collecting of what they recorded.

mod collect;
mod wakeup;

pub use collect::Collector;
pub use wakeup::{Go, Probe, ProbeError, RunControl};
