//! Long gaps that are set aside to be judged.
//!
//! A thread that wakes a tenth of a second late cannot know whether it was starved or the whole machine stood still
//! (suspended, or a paused virtual machine). So the activation is put here instead of into the histograms. The reader
//! of the statistics decides whether it is a latency or part of an event of the machine.

use punctual_hist::{Activation, Nanos};

/// Number of gaps that can wait. The loop records further ones as latencies.
pub(super) const SLOTS: usize = 64;

/// A very late activation, and the releases that were skipped after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gap {
    pub activation: Activation,
    /// Number of releases skipped after the activation.
    pub skipped: u64,
    /// Time from the last skipped release to the wake-up.
    pub last_skipped_late: Nanos,
    /// Time since the previous wake-up. It is not part of any [`Block`](super::Block).
    pub since_last_wake: Nanos,
}

impl Gap {
    pub fn due(&self) -> u64 {
        self.skipped.saturating_add(1)
    }
}
