//! Long gaps, set aside for judgement.
//!
//! When a thread wakes a tenth of a second late, it cannot know whether it was starved or whether the whole machine
//! stood still (suspended, a paused virtual machine). So the activation is put aside here instead of into the
//! histograms, and whoever reads the statistics decides: a latency after all, or one event of the machine.

use punctual_hist::{Activation, Nanos};

/// Gaps that may wait for judgement; when there are more, the loop records them as latencies itself.
pub(super) const SLOTS: usize = 64;

/// An activation that came very late, with the releases skipped meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gap {
    pub activation: Activation,
    /// Releases skipped after it.
    pub skipped: u64,
    /// Time from the last skipped release to the wake-up.
    pub last_skipped_late: Nanos,
    /// Time since the thread woke before that; in no [`Block`](super::Block) either.
    pub since_last_wake: Nanos,
}

impl Gap {
    /// Releases that were due in it.
    pub fn due(&self) -> u64 {
        self.skipped.saturating_add(1)
    }
}
