//! Lengths of time and instants, as types, so that a microsecond is never added to a nanosecond.

use core::fmt;

/// A length of time in nanoseconds, up to 584 years. Arithmetic saturates: in this trade a silent wrap is a wrong
/// latency, and a panic in a control loop is worse.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline, description = ""))]
pub struct Nanos(u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest length.
    pub const MAX: Self = Self(u64::MAX);

    /// `n` nanoseconds.
    pub const fn from_ns(n: u64) -> Self {
        Self(n)
    }

    /// `n` microseconds, saturating.
    pub const fn from_us(n: u64) -> Self {
        Self(n.saturating_mul(1_000))
    }

    /// `n` milliseconds, saturating.
    pub const fn from_ms(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000))
    }

    /// `n` seconds, saturating.
    pub const fn from_secs(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000_000))
    }

    /// The number of nanoseconds.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// The number of seconds, for ratios and rates; never for arithmetic on instants.
    #[allow(clippy::cast_precision_loss, reason = "a ratio needs no more than 53 bits")]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `self + other`, saturating.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// `self - other`, or zero.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self * n`, saturating.
    #[must_use]
    pub const fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }

    /// Forward in time by so much, saturating at 292 years.
    #[allow(clippy::cast_possible_wrap, reason = "compared before")]
    pub const fn ahead(self) -> Delta {
        Delta(if self.0 > i64::MAX as u64 { i64::MAX } else { self.0 as i64 })
    }

    /// `self / n`, rounded down; zero when `n` is zero.
    #[must_use]
    pub const fn divided_by(self, n: u64) -> Self {
        match self.0.checked_div(n) {
            Some(part) => Self(part),
            None => Self::ZERO,
        }
    }

    /// How many whole `step`s fit; zero when `step` is zero.
    pub const fn whole(self, step: Self) -> u64 {
        match self.0.checked_div(step.0) {
            Some(n) => n,
            None => 0,
        }
    }
}

impl fmt::Debug for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ns", self.0)
    }
}

/// An instant of `CLOCK_MONOTONIC`, in nanoseconds since its (arbitrary) origin.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline, description = ""))]
pub struct MonoTime(u64);

impl MonoTime {
    /// The instant `n` nanoseconds after the clock's origin.
    pub const fn from_ns(n: u64) -> Self {
        Self(n)
    }

    /// Nanoseconds since the clock's origin.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// This instant moved later by `length`, saturating.
    #[must_use]
    pub const fn plus(self, length: Nanos) -> Self {
        Self(self.0.saturating_add(length.0))
    }

    /// This instant moved earlier by `length`, but not before the origin.
    #[must_use]
    pub const fn minus(self, length: Nanos) -> Self {
        Self(self.0.saturating_sub(length.0))
    }

    /// Time from `earlier` to here; zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// From `other` to here with its sign, saturating.
    pub const fn minus_instant(self, other: Self) -> Delta {
        if self.0 >= other.0 { self.since(other).ahead() } else { other.since(self).ahead().reversed() }
    }

    /// This instant moved by `delta`, saturating at either end.
    #[must_use]
    pub const fn moved(self, delta: Delta) -> Self {
        Self(self.0.saturating_add_signed(delta.0))
    }
}

impl fmt::Debug for MonoTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}ns", self.0)
    }
}

/// A signed length of time in nanoseconds: by how much an instant is moved, or by how much one differs from another.
/// Arithmetic saturates.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline, description = ""))]
pub struct Delta(i64);

impl Delta {
    /// No difference.
    pub const ZERO: Self = Self(0);

    /// `n` nanoseconds, negative for earlier.
    pub const fn from_ns(n: i64) -> Self {
        Self(n)
    }

    /// The number of nanoseconds.
    pub const fn as_ns(self) -> i64 {
        self.0
    }

    /// Its length, without the sign.
    pub const fn length(self) -> Nanos {
        Nanos(self.0.unsigned_abs())
    }

    /// `self + other`, saturating.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// `self - other`, saturating.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The nearest value no longer than `limit` in either direction.
    #[must_use]
    pub const fn within(self, limit: Nanos) -> Self {
        let limit = limit.ahead();
        if self.0 > limit.0 {
            limit
        } else if self.0 < limit.reversed().0 {
            limit.reversed()
        } else {
            self
        }
    }

    /// As far in the other direction, saturating.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl fmt::Debug for Delta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:+}ns", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_differences_saturate_and_undo_moves() {
        let (early, late) = (MonoTime::from_ns(5), MonoTime::from_ns(12));
        assert_eq!(late.minus_instant(early), Delta::from_ns(7));
        assert_eq!(early.minus_instant(late), Delta::from_ns(-7));
        assert_eq!(early.moved(late.minus_instant(early)), late);
        assert_eq!(early.moved(Delta::from_ns(-9)), MonoTime::from_ns(0));
        assert_eq!(MonoTime::from_ns(u64::MAX).minus_instant(early), Delta::from_ns(i64::MAX));
        assert_eq!(early.minus_instant(MonoTime::from_ns(u64::MAX)), Delta::from_ns(-i64::MAX));
    }

    #[test]
    fn a_limit_holds_in_both_directions() {
        let limit = Nanos::from_ns(5);
        assert_eq!(Delta::from_ns(9).within(limit), Delta::from_ns(5));
        assert_eq!(Delta::from_ns(-9).within(limit), Delta::from_ns(-5));
        assert_eq!(Delta::from_ns(-4).within(limit), Delta::from_ns(-4));
        assert_eq!(Delta::from_ns(i64::MIN).within(Nanos::MAX), Delta::from_ns(-i64::MAX));
        assert_eq!(Delta::from_ns(i64::MIN).length(), Nanos::from_ns(1 << 63));
    }
}
