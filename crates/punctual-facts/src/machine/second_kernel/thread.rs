//! Threads of a real-time core, and how often each was sent back to Linux.

/// A user-space thread that the core schedules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreThread {
    pub name: String,
    pub pid: u32,
    pub cpu: u32,
    /// How often the thread left the core for Linux (in-band switches of EVL, mode switches of Cobalt).
    pub in_band_switches: u64,
    pub context_switches: u64,
}

/// This many switches are taken for the thread's start, when it attaches, reads the clock for the first time and so on.
const AT_START: u64 = 10;
/// One switch in this many context switches is taken for a habit of the thread's loop, not for its start.
const RARE: u64 = 100;

impl CoreThread {
    /// Whether the thread leaves the core over and over, and not only while it starts.
    pub fn strays(&self) -> bool {
        self.in_band_switches > AT_START && self.in_band_switches > self.context_switches / RARE
    }
}
