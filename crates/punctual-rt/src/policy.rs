//! Scheduling policies, checked when made.

use crate::Error;
use punctual_hist::Nanos;

/// The highest priority handed out. The kernel's migration and watchdog threads live above.
pub const PRIORITY_MAX: u8 = 95;

/// A scheduling policy with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_OTHER`.
    Other,
    /// `SCHED_FIFO` at this priority.
    Fifo(u8),
    /// `SCHED_RR` at this priority.
    RoundRobin(u8),
    /// `SCHED_DEADLINE`: so much run time in each period, deadline at its end.
    Deadline {
        /// Run time per period.
        runtime: Nanos,
        /// Period and relative deadline.
        period: Nanos,
    },
}

impl Policy {
    /// Refuses priorities outside 1..=95.
    ///
    /// # Errors
    /// [`Error::Priority`].
    ///
    /// # Real-time
    /// Pure.
    pub const fn checked(self) -> Result<Self, Error> {
        match self {
            Self::Fifo(p) | Self::RoundRobin(p) if p == 0 || p > PRIORITY_MAX => Err(Error::Priority(p)),
            _ => Ok(self),
        }
    }

    /// Whether the policy outranks ordinary tasks.
    pub const fn is_real_time(self) -> bool {
        !matches!(self, Self::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_of_the_kernels_own_threads_are_refused() {
        for p in [0, 96, 99, 255] {
            assert_eq!(Policy::Fifo(p).checked(), Err(Error::Priority(p)));
        }
        assert_eq!(Policy::RoundRobin(95).checked(), Ok(Policy::RoundRobin(95)));
    }
}
