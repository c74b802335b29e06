//! Scheduling policies and the check of their parameters.

use crate::{ConfigError, Error};
use punctual_hist::Nanos;
use std::fmt;

/// The highest priority that this crate sets. The kernel's migration and watchdog threads run above it.
pub const PRIORITY_MAX: u8 = 95;

/// A scheduling policy with its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_OTHER`.
    #[default]
    Other,
    /// `SCHED_FIFO` with this priority.
    Fifo(u8),
    /// `SCHED_RR` with this priority.
    RoundRobin(u8),
    /// `SCHED_DEADLINE`: the kernel reserves run time in each period, to be granted before the deadline. The
    /// reservation does not decide when releases are; the [`Grid`](crate::Grid) does.
    Deadline {
        /// Run time per period, at least 1024 ns.
        runtime: Nanos,
        /// Relative deadline, from `runtime` to `period`.
        deadline: Nanos,
        /// Interval in which the run time is granted.
        period: Nanos,
    },
}

/// The kernel refuses reservations with less run time.
const RUNTIME_MIN: Nanos = Nanos::from_ns(1024);

impl Policy {
    /// Refuses priorities outside 1..=95, and reservations that no kernel accepts.
    ///
    /// # Errors
    /// [`ConfigError::Priority`]; [`ConfigError::Reservation`] unless 1024 ns <= runtime <= deadline <= period.
    pub const fn checked(self) -> Result<Self, Error> {
        match self {
            Self::Fifo(p) | Self::RoundRobin(p) if p == 0 || p > PRIORITY_MAX => {
                Err(Error::Config(ConfigError::Priority(p)))
            }
            Self::Deadline { runtime, deadline, period }
                if runtime.as_ns() < RUNTIME_MIN.as_ns()
                    || runtime.as_ns() > deadline.as_ns()
                    || deadline.as_ns() > period.as_ns() =>
            {
                Err(Error::Config(ConfigError::Reservation))
            }
            _ => Ok(self),
        }
    }

    /// Whether the policy outranks ordinary tasks.
    pub const fn is_real_time(self) -> bool {
        !matches!(self, Self::Other)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other => f.write_str("SCHED_OTHER"),
            Self::Fifo(priority) => write!(f, "SCHED_FIFO {priority}"),
            Self::RoundRobin(priority) => write!(f, "SCHED_RR {priority}"),
            Self::Deadline { runtime, deadline, period } => {
                write!(f, "SCHED_DEADLINE {runtime:?} within {deadline:?} of every {period:?}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_of_the_kernels_own_threads_are_refused() {
        for p in [0, 96, 99, 255] {
            assert_eq!(Policy::Fifo(p).checked(), Err(Error::Config(ConfigError::Priority(p))));
        }
        assert_eq!(Policy::RoundRobin(95).checked(), Ok(Policy::RoundRobin(95)));
    }

    #[test]
    fn reservations_that_no_kernel_takes_are_refused() {
        let reserve = |runtime, deadline, period| {
            let ns = Nanos::from_ns;
            Policy::Deadline { runtime: ns(runtime), deadline: ns(deadline), period: ns(period) }.checked()
        };
        assert!(reserve(1024, 1024, 1024).is_ok());
        for (runtime, deadline, period) in [(1023, 5000, 5000), (5001, 5000, 6000), (2000, 6001, 6000), (0, 0, 0)] {
            assert_eq!(reserve(runtime, deadline, period), Err(Error::Config(ConfigError::Reservation)));
        }
    }
}
