//! Long gaps, set aside for judgement.
//!
//! When a thread wakes a tenth of a second late, it cannot know whether it was starved or whether the whole machine
//! stood still (suspended, a paused virtual machine). So the activation is put aside here instead of into the
//! histograms, and whoever reads the statistics decides: a latency after all, or one event of the machine.

use punctual_hist::{Activation, Nanos};

/// How many gaps may wait for judgement; the loop records further ones as latencies.
pub(super) const SLOTS: usize = 64;

/// A very late activation and the releases that were skipped after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gap {
    pub activation: Activation,
    /// Releases skipped after the activation.
    pub skipped: u64,
    /// Time from the last skipped release to the wake-up.
    pub last_skipped_late: Nanos,
    /// Time since the wake-up before. It is in no [`Block`](super::Block).
    pub since_last_wake: Nanos,
}

impl Gap {
    pub fn due(&self) -> u64 {
        self.skipped.saturating_add(1)
    }
}
