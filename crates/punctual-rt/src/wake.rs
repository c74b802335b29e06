//! The outcome of one wait: the value that the wait hands to the body and to the statistics.

use punctual_hist::{Delta, MonoTime, Nanos};

/// How an activation came about, for telling what made it late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// Woke within the wait's own resolution.
    #[default]
    OnTime = 0,
    /// The release was past before the wait began: the body, or what kept the thread away, took too long.
    PastOnArrival = 1,
    /// The kernel's sleep returned after the release: timer, idle state, scheduling.
    LateFromSleep = 2,
    /// While polling for the release, time was taken from the thread; by whom is not known.
    HitWhilePolling = 3,
    /// While polling, the kernel ran another thread on this CPU (or throttled this one).
    Preempted = 4,
    /// While polling, an interrupt, the firmware or the hypervisor took the CPU; no other thread did.
    Interrupted = 5,
    /// Woke before the release, as anticipation may.
    Early = 6,
    /// The outside event did not happen in time; the wait gave up.
    TimedOut = 7,
}

impl Class {
    /// Each class at the place of its number.
    pub(crate) const ALL: [Self; 8] = [
        Self::OnTime,
        Self::PastOnArrival,
        Self::LateFromSleep,
        Self::HitWhilePolling,
        Self::Preempted,
        Self::Interrupted,
        Self::Early,
        Self::TimedOut,
    ];
}

/// One activation, as the wait that led to it saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    /// Number of the release, counting missed ones, from 0. A wait for an outside event that gave up before a release was
    /// due has the number of that one, which is still to come.
    pub index: u64,
    /// The planned instant.
    pub release: MonoTime,
    /// When the thread read the clock after its wait.
    pub woke: MonoTime,
    /// Time from the former release that was run, or missed, to this one: the period with what it was steered by.
    pub interval: Nanos,
    /// Releases that will not be run: those after this one that had passed as well when the thread was back. Where an
    /// event from outside came, those before it for which none did.
    pub missed: u64,
    /// How the activation came about.
    pub class: Class,
    /// By how much the kernel's sleep was longer than asked for; `None` when there was none.
    pub overshoot: Option<Nanos>,
    /// Time spent polling.
    pub polled: Nanos,
}

impl Wake {
    /// Woke minus release; negative when early.
    pub const fn error(&self) -> Delta {
        self.woke.signed_since(self.release)
    }

    /// Woke minus release; zero when early.
    pub const fn latency(&self) -> Nanos {
        self.woke.since(self.release)
    }
}
