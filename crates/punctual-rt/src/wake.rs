//! The outcome of one wait, which is passed to the body and to the statistics.

use punctual_hist::{Delta, MonoTime, Nanos};

/// The class of an activation, which states what made it late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// The thread woke within the tolerance.
    #[default]
    OnTime = 0,
    /// The release was already past when the wait began: the body took too long, or the thread could not run.
    PastOnArrival = 1,
    /// The kernel's sleep returned after the release, because of timer, idle state or scheduling.
    LateFromSleep = 2,
    /// The thread lost time while it polled; the cause is unknown.
    HitWhilePolling = 3,
    /// While the thread polled, the kernel ran another thread on this CPU, or throttled this one.
    Preempted = 4,
    /// While the thread polled, an interrupt, the firmware or the hypervisor took the CPU; no other thread ran.
    Interrupted = 5,
    /// The thread woke before the release, which [`Wait::Anticipate`](crate::Wait::Anticipate) allows.
    Early = 6,
    /// The outside event did not happen in time.
    TimedOut = 7,
}

impl Class {
    /// All classes, each at the index of its number.
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

/// One activation, as seen by the wait that led to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    /// Number of the release, counted from 0 and including missed ones. If a wait for an outside event gave up before a
    /// release was due, this is the number of that release, which is still to come.
    pub index: u64,
    /// The instant at which the activation was due.
    pub release: MonoTime,
    /// When the thread read the clock after its wait.
    pub woke: MonoTime,
    /// Time from the previous release, run or missed, to this one: the period, plus the distance by which this release
    /// was steered.
    pub interval: Nanos,
    /// Number of releases that will not be run: later ones that had also passed when the thread woke. With outside
    /// events, the earlier ones for which no event came.
    pub missed: u64,
    /// Class of the activation.
    pub class: Class,
    /// By how much longer than requested the kernel's sleep took; `None` if there was no sleep.
    pub overshoot: Option<Nanos>,
    /// Time spent polling.
    pub polled: Nanos,
}

impl Wake {
    /// `woke` minus `release`; negative if the thread woke early.
    pub const fn error(&self) -> Delta {
        self.woke.signed_since(self.release)
    }

    /// `woke` minus `release`; zero if the thread woke early.
    pub const fn latency(&self) -> Nanos {
        self.woke.since(self.release)
    }
}
