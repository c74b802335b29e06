//! A log record. It has a fixed size, and its only pointer is to a `&'static str`.

use crate::sys::now;
use punctual_hist::{Delta, MonoTime, Nanos};
use std::fmt;

/// Largest number of values in a record.
pub const VALUES_MAX: usize = 4;

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Something happened once; the text describes it.
    Message,
    /// An operation with this name begins in this thread.
    Begin,
    /// The operation that began last in this thread ends.
    End,
    /// The quantity with this name has the record's first value from now on.
    Counter,
}

/// A number in a record.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum LogValue {
    /// No number.
    #[default]
    None,
    /// A signed integer.
    Signed(i64),
    /// An unsigned integer.
    Unsigned(u64),
    /// A floating-point number.
    Float(f64),
}

macro_rules! value_from {
    ($($(#[$doc:meta])* $kind:ident of $($number:ty),+: $convert:expr;)+) => {$(
        value_from!(@ [$(#[$doc])*] $kind $convert => $($number)+);
    )+};
    (@ $doc:tt $kind:ident $convert:expr => $($number:ty)+) => {$(
        value_from!(# $doc $kind $convert, $number);
    )+};
    (# [$(#[$doc:meta])*] $kind:ident $convert:expr, $number:ty) => {
        $(#[$doc])*
        impl From<$number> for LogValue {
            #[inline]
            fn from(number: $number) -> Self {
                Self::$kind($convert(number))
            }
        }
    };
}

value_from! {
    Signed of i8, i16, i32, i64: i64::from;
    Signed of isize: |number| number as i64;
    Unsigned of u8, u16, u32, u64, bool: u64::from;
    Unsigned of usize: |number| number as u64;
    Float of f32, f64: f64::from;
    /// Logged as a number of nanoseconds.
    Unsigned of Nanos: Nanos::as_ns;
    /// Logged as a number of nanoseconds.
    Signed of Delta: Delta::as_ns;
    /// Logged as a number of nanoseconds on `CLOCK_MONOTONIC`.
    Unsigned of MonoTime: MonoTime::as_ns;
}

impl fmt::Display for LogValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Signed(number) => number.fmt(f),
            Self::Unsigned(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
        }
    }
}

/// A record that a loop stores: time, kind, and up to four numbers. The drain turns it into text later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogRecord {
    /// When the record was made.
    pub at: MonoTime,
    /// Kind of the record.
    pub kind: Kind,
    /// Text of a message, or a name. In a message each `{}` stands for the next value.
    pub text: &'static str,
    /// Numbers of the record; unused ones are [`LogValue::None`].
    pub values: [LogValue; VALUES_MAX],
}

impl LogRecord {
    /// Makes a record with the current time.
    ///
    /// # Real-time
    /// Reads the clock.
    #[inline]
    pub fn now(kind: Kind, text: &'static str, values: [LogValue; VALUES_MAX]) -> Self {
        Self { at: now(), kind, text, values }
    }
}

/// Number of placeholders in the text of a message.
///
/// # Real-time
/// Only computes; usually evaluated at compile time.
pub const fn placeholders(text: &str) -> usize {
    let (mut rest, mut found) = (text.as_bytes(), 0usize);
    while let Some((first, after)) = rest.split_first() {
        if matches!((first, after), (b'{', [b'}', ..])) {
            found = found.saturating_add(1);
        }
        rest = after;
    }
    found
}

/// Logs a message from a loop: `rt_log!(writer, "phase {} ns, {} late", phase_ns, late)`.
///
/// The text is a literal in which each `{}` stands for one of up to four numbers: integers, floats, `bool`, and lengths
/// of time and instants, which are shown in nanoseconds. The compiler checks that the number of values matches:
///
/// ```compile_fail,E0080
/// # let mut drain = punctual_rt::log::Drain::new();
/// # let mut log = drain.writer("a", 1);
/// punctual_rt::rt_log!(log, "{} and {}", 1);
/// ```
///
/// # Real-time
/// Reads the clock and copies one record: wait-free, allocates nothing. If the log is full, the record is lost and
/// counted. The drain formats the text later.
#[macro_export]
macro_rules! rt_log {
    ($writer:expr, $text:literal $(, $value:expr)* $(,)?) => {{
        const {
            let values: &[&str] = &[$(stringify!($value)),*];
            assert!(values.len() <= $crate::log::VALUES_MAX, "a message carries at most four values");
            assert!($crate::log::placeholders($text) == values.len(), "each {{}} needs one value, each value one {{}}");
        }
        $writer.message($text, &[$($crate::log::LogValue::from($value)),*])
    }};
}
