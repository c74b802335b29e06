//! Types for lengths of time and instants, so that a microsecond is never added to a nanosecond by mistake.
//!
//! All arithmetic saturates, by operators and by methods: a silent overflow gives a wrong latency, and a panic in a
//! control loop is worse. The methods `plus`, `minus` and `times` do what the operators do, and can be used in
//! constants.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};
use core::time::Duration;

/// A length of time in nanoseconds, up to 584 years. Arithmetic saturates.
///
/// ```
/// use punctual_hist::Nanos;
/// use std::time::Duration;
///
/// let period = Nanos::from_ms(1);
/// assert_eq!(period / 4 + Nanos::from_us(50), Nanos::from_us(300));
/// assert_eq!(Nanos::from_us(2) - period, Nanos::ZERO);
/// assert_eq!(Nanos::from(Duration::from_millis(1)), period);
/// assert_eq!(Duration::from(period * 2), Duration::from_millis(2));
/// assert_eq!(format!("{period}, a third of it {:.1}", period / 3), "1ms, a third of it 333.3µs");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline, description = ""))]
pub struct Nanos(u64);

impl Nanos {
    /// A length of zero.
    pub const ZERO: Self = Self(0);
    /// The longest length that can be represented.
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

    /// The length in seconds. Use it for ratios and rates, not to compute instants, because it is rounded to 53 bits.
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

    /// `self - other`; `None` if `other` is larger.
    pub const fn checked_minus(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(rest) => Some(Self(rest)),
            None => None,
        }
    }

    /// `self * n`, saturating.
    #[must_use]
    pub const fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }

    /// This length as a positive [`Delta`]; at most 292 years.
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

    /// How many whole `step`s fit into this length; zero when `step` is zero.
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

/// Prints what [`Duration`] prints with `{:?}`: in the largest unit in which the value is at least 1, for example
/// `1.5ms`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&Duration::from(*self), f)
    }
}

impl From<Nanos> for Duration {
    fn from(length: Nanos) -> Self {
        Self::from_nanos(length.0)
    }
}

/// A duration of more than 584 years becomes [`Nanos::MAX`].
impl From<Duration> for Nanos {
    fn from(length: Duration) -> Self {
        Self(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Self>>(lengths: I) -> Self {
        lengths.fold(Self::ZERO, Self::plus)
    }
}

/// An instant of `CLOCK_MONOTONIC`, in nanoseconds since its (arbitrary) origin. Arithmetic saturates.
///
/// ```
/// use punctual_hist::{Delta, MonoTime, Nanos};
///
/// let release = MonoTime::from_ns(2_000_000);
/// let woke = release + Nanos::from_us(12);
/// assert_eq!(woke - release, Nanos::from_us(12));
/// assert_eq!(release - woke, Nanos::ZERO);
/// assert_eq!(release.signed_since(woke), Delta::from_ns(-12_000));
/// assert_eq!(woke + Delta::from_ns(-12_000), release);
/// assert_eq!(woke.to_string(), "0.002012000 s");
/// ```
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

    /// Time from `earlier` to this instant; zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// This instant moved by `delta`, saturating at either end.
    const fn moved(self, delta: Delta) -> Self {
        Self(self.0.saturating_add_signed(delta.0))
    }

    /// Time from `other` to this instant, negative when `other` is later; saturating.
    pub const fn signed_since(self, other: Self) -> Delta {
        if self.0 >= other.0 { self.since(other).ahead() } else { Delta(other.since(self).ahead().0.saturating_neg()) }
    }
}

impl fmt::Debug for MonoTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}ns", self.0)
    }
}

/// Prints seconds since the clock's origin, in the form of the kernel's log.
impl fmt::Display for MonoTime {
    #[allow(clippy::arithmetic_side_effects, reason = "the divisor is a constant and not 0")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// A signed length of time in nanoseconds: the distance by which an instant is moved, or by which two instants differ.
/// Arithmetic saturates.
///
/// ```
/// use punctual_hist::Delta;
///
/// let by = Delta::from_ns(-1_500);
/// assert_eq!((-by).as_ns(), 1_500);
/// assert_eq!(format!("{by} {:+}", -by), "-1.5µs +1.5µs");
/// ```
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

    /// The length of this difference, without its sign.
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

    /// This difference, limited to `limit` in either direction.
    #[must_use]
    pub const fn within(self, limit: Nanos) -> Self {
        let limit = limit.ahead().0;
        if self.0 > limit {
            Self(limit)
        } else if self.0 < limit.saturating_neg() {
            Self(limit.saturating_neg())
        } else {
            self
        }
    }
}

impl fmt::Debug for Delta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:+}ns", self.0)
    }
}

/// Prints what [`Nanos`] prints, preceded by the sign.
impl fmt::Display for Delta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match f.sign_plus() {
            _ if self.0 < 0 => f.write_str("-")?,
            true => f.write_str("+")?,
            false => {}
        }
        match f.precision() {
            Some(digits) => write!(f, "{:.digits$}", self.length()),
            None => write!(f, "{}", self.length()),
        }
    }
}

impl Neg for Delta {
    type Output = Self;

    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

macro_rules! operators {
    ($($(#[$doc:meta])* $left:ty, $operator:ident $method:ident $right:ty => $outcome:ty: $act:expr;)*) => {$(
        $(#[$doc])*
        impl $operator<$right> for $left {
            type Output = $outcome;

            fn $method(self, right: $right) -> $outcome {
                $act(self, right)
            }
        }
    )*};
    (@assign $($left:ty, $operator:ident $method:ident $right:ty: $act:tt;)*) => {$(
        impl $operator<$right> for $left {
            fn $method(&mut self, right: $right) {
                *self = <$left>::$act(*self, right);
            }
        }
    )*};
}

operators! {
    Nanos, Add add Nanos => Nanos: Nanos::plus;
    /// Zero when the right side is larger.
    Nanos, Sub sub Nanos => Nanos: Nanos::minus;
    Nanos, Mul mul u64 => Nanos: Nanos::times;
    /// Rounded down; zero when the divisor is zero.
    Nanos, Div div u64 => Nanos: Nanos::divided_by;
    MonoTime, Add add Nanos => MonoTime: MonoTime::plus;
    /// The result is never before the clock's origin.
    MonoTime, Sub sub Nanos => MonoTime: MonoTime::minus;
    /// As with `std::time::Instant`: zero when the right side is later.
    MonoTime, Sub sub MonoTime => Nanos: MonoTime::since;
    MonoTime, Add add Delta => MonoTime: MonoTime::moved;
    Delta, Add add Delta => Delta: Delta::plus;
    Delta, Sub sub Delta => Delta: Delta::minus;
}

operators! { @assign
    Nanos, AddAssign add_assign Nanos: plus;
    Nanos, SubAssign sub_assign Nanos: minus;
    MonoTime, AddAssign add_assign Nanos: plus;
    MonoTime, AddAssign add_assign Delta: moved;
    Delta, AddAssign add_assign Delta: plus;
    Delta, SubAssign sub_assign Delta: minus;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    #[test]
    fn operators_saturate_at_both_ends() {
        let (most, some) = (Nanos::MAX, Nanos::from_ns(7));
        assert_eq!((most + some, some - most, most * 2, some / 0), (most, Nanos::ZERO, most, Nanos::ZERO));
        assert_eq!([most, some].into_iter().sum::<Nanos>(), most);
        let (origin, end) = (MonoTime::from_ns(0), MonoTime::from_ns(u64::MAX));
        assert_eq!((end + some, origin - some, origin - end), (end, origin, Nanos::ZERO));
        let (least, largest) = (Delta::from_ns(i64::MIN), Delta::from_ns(i64::MAX));
        assert_eq!((-least, least - largest, largest + largest), (largest, least, largest));
        assert_eq!((Nanos::from(Duration::MAX), Duration::from(most)), (most, Duration::from_nanos(u64::MAX)));
    }

    #[test]
    fn lengths_and_instants_are_printed_with_their_unit() {
        assert_eq!(format!("{} {} {}", Nanos::ZERO, Nanos::from_us(250), Nanos::from_ms(1_500)), "0ns 250µs 1.5s");
        assert_eq!(format!("{:>8.2}|", Nanos::from_ns(1_234_567)), "  1.23ms|");
        assert_eq!(format!("{}", MonoTime::from_ns(12_000_000_345)), "12.000000345 s");
        assert_eq!(format!("{:.0} {:+}", Delta::from_ns(-2_600), Delta::from_ns(1)), "-3µs +1ns");
    }

    #[test]
    fn signed_differences_saturate_and_undo_moves() {
        let (early, late) = (MonoTime::from_ns(5), MonoTime::from_ns(12));
        assert_eq!(late.signed_since(early), Delta::from_ns(7));
        assert_eq!(early.signed_since(late), Delta::from_ns(-7));
        assert_eq!(early + late.signed_since(early), late);
        assert_eq!(early + Delta::from_ns(-9), MonoTime::from_ns(0));
        assert_eq!(MonoTime::from_ns(u64::MAX).signed_since(early), Delta::from_ns(i64::MAX));
        assert_eq!(early.signed_since(MonoTime::from_ns(u64::MAX)), Delta::from_ns(-i64::MAX));
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
