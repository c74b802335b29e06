//! When a thread was released and when it ran, for those who look for what made it late.

use super::cycles::Cycle;
use punctual_hist::{MonoTime, Nanos};

/// A release of a thread, and its return from the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeUp {
    pub release: MonoTime,
    pub woke: MonoTime,
    /// The CPU on which the thread returned.
    pub cpu: u32,
}

impl WakeUp {
    /// `None` if the cycle has no release of its own.
    pub fn of(cycle: &Cycle) -> Option<Self> {
        Some(Self { release: cycle.release?, woke: cycle.woke, cpu: cycle.cpu })
    }

    pub fn latency(&self) -> Nanos {
        self.woke.since(self.release)
    }
}
