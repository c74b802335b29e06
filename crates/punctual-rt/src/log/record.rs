//! One record: fixed in size, free of pointers to anything that could go away.

use crate::sys::now;
use punctual_hist::{Delta, MonoTime, Nanos};
use std::fmt;

/// Values a record can carry.
pub const VALUES_MAX: usize = 4;

/// What a record tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Something happened.
    Message,
    /// Something of this name begins in this thread.
    Begin,
    /// What last began in this thread ends.
    End,
    /// A quantity of this name has its first value from now on.
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
    /// The number of nanoseconds.
    Unsigned of Nanos: Nanos::as_ns;
    /// The number of nanoseconds.
    Signed of Delta: Delta::as_ns;
    /// The number of nanoseconds on `CLOCK_MONOTONIC`.
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

/// What a loop stores: when, what, and up to four numbers. Text is made of it later, elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogRecord {
    /// When it happened.
    pub at: MonoTime,
    /// What it tells of.
    pub kind: Kind,
    /// Its text or name. In a message each `{}` stands for the next value.
    pub text: &'static str,
    /// Its numbers; those unused are [`LogValue::None`].
    pub values: [LogValue; VALUES_MAX],
}

impl LogRecord {
    /// A record of this moment.
    ///
    /// # Real-time
    /// Reads the clock.
    #[inline]
    pub fn now(kind: Kind, text: &'static str, values: [LogValue; VALUES_MAX]) -> Self {
        Self { at: now(), kind, text, values }
    }
}

/// How many values a message's text has a place for.
///
/// # Real-time
/// Pure; meant to be done by the compiler.
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
/// The text is a literal in which each `{}` stands for one of up to four numbers (integers, floats, `bool`, lengths of
/// time and instants, which are shown in nanoseconds). That they are as many is checked when compiling:
///
/// ```compile_fail,E0080
/// # let mut drain = punctual_rt::log::Drain::new();
/// # let mut log = drain.writer("a", 1);
/// punctual_rt::rt_log!(log, "{} and {}", 1);
/// ```
///
/// # Real-time
/// Reads the clock and copies one record: wait-free, allocates nothing. When the log is full, the record is lost and
/// counted. The text is made later, by the drain.
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
