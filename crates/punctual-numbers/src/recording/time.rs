//! The type for instants of a recording.

use punctual_hist::{MonoTime, Nanos};
use std::fmt;

/// An instant of a recording: nanoseconds since the header's epoch. On the machine that measured, the same instant is a
/// [`MonoTime`], which means nothing on another machine or after a boot.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline, description = ""))]
pub struct RecTime(Nanos);

impl RecTime {
    pub const EPOCH: Self = Self(Nanos::ZERO);

    pub const fn after_epoch(length: Nanos) -> Self {
        Self(length)
    }

    pub const fn from_secs(n: u64) -> Self {
        Self(Nanos::from_secs(n))
    }

    /// The instant `at` of the monotonic clock in a recording whose epoch is `epoch`. Instants before the epoch become
    /// the epoch.
    pub const fn of(at: MonoTime, epoch: MonoTime) -> Self {
        Self(at.since(epoch))
    }

    pub const fn since_epoch(self) -> Nanos {
        self.0
    }

    pub const fn as_ns(self) -> u64 {
        self.0.as_ns()
    }

    /// This instant moved later by `length`, saturating.
    #[must_use]
    pub const fn plus(self, length: Nanos) -> Self {
        Self(self.0.plus(length))
    }

    /// This instant moved earlier by `length`, but not before the epoch.
    #[must_use]
    pub const fn minus(self, length: Nanos) -> Self {
        Self(self.0.minus(length))
    }

    /// Time from `earlier` to here; zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Nanos {
        self.0.minus(earlier.0)
    }
}

impl fmt::Debug for RecTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
