//! Converts numbers as other programs write them to nanoseconds, exactly.
//!
//! Floating point is never used: `1.078` microseconds are 1078 ns. A comma is accepted as the decimal point and
//! reported as a repair. Nothing is rounded up, and a number that exceeds 64 bits of nanoseconds is refused.

use super::{ImportRemedy, Problem};
use punctual_hist::Nanos;
use std::fmt;

/// A unit of time in which the numbers of a file may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Ns,
    Us,
    Ms,
    S,
}

impl Unit {
    pub const fn ns(self) -> u64 {
        10u64.pow(self.decimals())
    }

    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ns" | "nsec" | "nanoseconds" => Self::Ns,
            "us" | "usec" | "\u{b5}s" | "\u{3bc}s" | "microseconds" => Self::Us,
            "ms" | "msec" | "milliseconds" => Self::Ms,
            "s" | "sec" | "seconds" => Self::S,
            _ => return None,
        })
    }

    /// The number of decimal places of this unit down to one nanosecond, such as 9 for seconds.
    const fn decimals(self) -> u32 {
        match self {
            Self::Ns => 0,
            Self::Us => 3,
            Self::Ms => 6,
            Self::S => 9,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ns => "ns",
            Self::Us => "us",
            Self::Ms => "ms",
            Self::S => "s",
        })
    }
}

/// A signed number of nanoseconds, and the form in which it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    pub ns: i64,
    /// Whether a comma stands for the decimal point.
    pub comma: bool,
    pub decimals: u32,
}

/// Reads a decimal number in `unit`. `None` for anything else, and for more than 64 bits of nanoseconds. Digits below the
/// nanosecond are dropped.
pub fn number(text: &[u8], unit: Unit) -> Option<Number> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let point = digits.iter().position(|byte| matches!(byte, b'.' | b','));
    let (whole, fraction) = digits.split_at(point.unwrap_or(digits.len()));
    let comma = fraction.first() == Some(&b',');
    let fraction = fraction.get(1..).unwrap_or_default();
    if whole.is_empty() && fraction.is_empty() || point.is_some() && fraction.is_empty() {
        return None;
    }
    let mut ns = decimal(whole)?.checked_mul(unit.ns())?;
    let keep = unit.decimals() as usize;
    let kept = fraction.get(..keep).unwrap_or(fraction);
    if !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let scale = 10u64.pow(u32::try_from(keep.saturating_sub(kept.len())).ok()?);
    ns = ns.checked_add(decimal(kept)?.checked_mul(scale)?)?;
    let ns = i64::try_from(ns).ok()?;
    Some(Number { ns: if negative { -ns } else { ns }, comma, decimals: u32::try_from(fraction.len()).ok()? })
}

fn decimal(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |value, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Reads a length that is not negative and has no decimal comma.
pub fn length(text: &str, unit: Unit) -> Option<Nanos> {
    let number = number(text.trim().as_bytes(), unit).filter(|number| !number.comma)?;
    u64::try_from(number.ns).ok().map(Nanos::from_ns)
}

/// Refuses numbers that can hardly be microseconds, from a program that counts in microseconds, or with `-N` in
/// nanoseconds. No machine is a millisecond late in every activation, so these numbers are probably nanoseconds.
pub fn is_in_microseconds(unit: Option<Unit>, smallest: Option<Nanos>, program: &str) -> Result<(), Problem> {
    match smallest.filter(|smallest| unit.is_none() && *smallest >= Nanos::from_ms(1)) {
        None => Ok(()),
        Some(smallest) => Err(Problem::new(format!(
            "the smallest latency is {} of something, and the file does not say of what: of nanoseconds, as {program} -N \
             counts, or of microseconds",
            smallest.whole(Nanos::from_us(1))
        ))
        .with(ImportRemedy::SayUnit(&[Unit::Ns, Unit::Us]))),
    }
}

/// Refuses milliseconds and seconds for a program that counts in microseconds, or with `-N` in nanoseconds.
pub fn refuse_coarse(unit: Option<Unit>, program: &str) -> Result<(), Problem> {
    if matches!(unit, Some(Unit::Ms | Unit::S)) {
        let what = format!("{program} counts in microseconds, or with -N in nanoseconds");
        return Err(Problem::new(what).with(ImportRemedy::SayUnit(&[Unit::Us, Unit::Ns])));
    }
    Ok(())
}

/// Returns the unit that the file states; refuses a different unit from the user.
pub fn own_unit(line: u64, own: Unit, told: Option<Unit>) -> Result<Option<Unit>, Problem> {
    match told.filter(|told| *told != own) {
        Some(told) => {
            let what = format!("the file is in {own} by its own word, not in {told}");
            Err(Problem::at(line, what).with(ImportRemedy::LeaveUnitOut))
        }
        None => Ok(Some(own)),
    }
}

pub const UNITS: &[Unit] = &[Unit::Ns, Unit::Us, Unit::Ms, Unit::S];

pub fn count(text: &str) -> Option<u64> {
    let text = text.trim();
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Reads `h:mm:ss`, with any number of hours.
pub fn clock(text: &str) -> Option<Nanos> {
    let mut parts = text.trim().split(':').map(count);
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() || minutes > 59 || seconds > 59 {
        return None;
    }
    hours.checked_mul(3_600)?.checked_add(minutes * 60 + seconds).map(Nanos::from_secs)
}

pub(super) fn no_number(line: u64, field: &[u8]) -> Problem {
    Problem::at(line, format!("`{}` is no number that can be a time", shown(field)))
}

/// The field as text for a message, cut to 40 characters.
pub(super) fn shown(field: &[u8]) -> String {
    String::from_utf8_lossy(field).chars().take(40).collect()
}

/// Formats a length in microseconds, with the nanoseconds as decimals.
pub(super) fn us(length: Nanos) -> String {
    let (whole, ns) = (length.as_ns() / 1_000, length.as_ns() % 1_000);
    if ns == 0 { format!("{whole} us") } else { format!("{whole}.{ns:03} us") }
}

/// Formats a length of the order of a run in a unit that is easy to read.
pub(super) fn span(length: Nanos) -> String {
    let seconds = length.as_secs_f64();
    if seconds < 120.0 {
        format!("{seconds:.1} s")
    } else if seconds < 7_200.0 {
        format!("{:.2} minutes", seconds / 60.0)
    } else if seconds < 172_800.0 {
        format!("{:.2} hours", seconds / 3_600.0)
    } else {
        format!("{:.2} days", seconds / 86_400.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_become_nanoseconds_exactly() {
        let ns = |text: &str, unit| number(text.as_bytes(), unit).map(|number| number.ns);
        assert_eq!(ns("1.078", Unit::Us), Some(1_078));
        assert_eq!(ns("-0.5", Unit::Us), Some(-500));
        assert_eq!(ns("1792301.000000001", Unit::S), Some(1_792_301_000_000_001));
        assert_eq!(ns("44.07", Unit::Us), Some(44_070));
        assert_eq!(ns("12.9999", Unit::Ns), Some(12), "digits below a nanosecond are dropped");
        assert_eq!(number(b"1,5", Unit::Ms), Some(Number { ns: 1_500_000, comma: true, decimals: 1 }));
        for wrong in ["", "-", ".", "1.", "1e6", "0x1", "1.2.3", "1 2", "99999999999", "nan", "--1"] {
            assert_eq!(ns(wrong, Unit::S), None, "{wrong}");
        }
    }

    #[test]
    fn clocks_and_counts() {
        assert_eq!(clock("211:04:55"), Some(Nanos::from_secs(759_895)));
        assert_eq!((clock("1:60:00"), clock("1:00"), clock("1:0:0:0")), (None, None, None));
        assert_eq!((length("1.5", Unit::Us), length("1,5", Unit::Us)), (Some(Nanos::from_ns(1_500)), None));
        assert_eq!((count(" 007 "), count("-1"), count("")), (Some(7), None, None));
    }
}
