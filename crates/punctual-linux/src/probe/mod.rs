//! Measuring threads, and the collecting of what they recorded.

mod collect;
mod wakeup;

pub use collect::{Collector, Stretch};
pub use wakeup::{Go, Probe, ProbeError, RunControl};
