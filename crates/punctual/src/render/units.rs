//! Numbers with their units, as people read them.
//!
//! Digits are grouped, and joined to their unit, by [`THIN`], a narrow no-break space. No renderer breaks a line there,
//! and each replaces the character by one that its medium can show. Must not know what a number stands for.

use super::lang::{filled, text, tr, translated};
use punctual_hist::Nanos;
use punctual_numbers::recording::RecTime;

/// A narrow no-break space, which joins the groups of digits of a number, and a number with its unit.
pub const THIN: char = '\u{202f}';

pub const ABSENT: &str = "-";

/// A count with its digits in groups of three: `3 600 000`.
pub fn count(n: u64) -> String {
    grouped(&n.to_string())
}

/// A whole number, which may have a sign, with its digits in groups of three.
pub fn grouped(number: &str) -> String {
    let mut text = String::with_capacity(number.len() * 2);
    for (i, c) in number.char_indices() {
        if (number.len() - i) % 3 == 0 && text.ends_with(|before: char| before.is_ascii_digit()) {
            text.push(THIN);
        }
        text.push(c);
    }
    text
}

/// A count with its noun: `1 release`, `2 releases`.
pub fn counted(n: u64, noun: &str) -> String {
    // The catalogue has one text for all numbers, because Chinese has no plural. Its key is the noun after a place.
    if let Some(pattern) = translated(&format!("{{n}} {noun}")) {
        return filled(pattern, &[("n", &count(n))]);
    }
    let ending = match n {
        1 => "",
        _ if noun.ends_with("ch") || noun.ends_with("ss") => "es",
        _ if noun.ends_with("expiry") => return format!("{}{THIN}expiries", count(n)),
        _ => "s",
    };
    format!("{}{THIN}{noun}{ending}", count(n))
}

/// A latency in the unit that suits it: `850 ns`, `12.3 us`, `20.43 ms`, `1.5 s`. It is rounded up, because a latency
/// above a limit must not be shown as equal to it.
pub fn latency(length: Nanos) -> String {
    let ns = length.as_ns();
    let (unit, per_unit, decimals) = match ns {
        0..1_000 => ("ns", 1, 0),
        1_000..1_000_000 => ("us", 1_000, 1),
        1_000_000..1_000_000_000 => ("ms", 1_000_000, 2),
        _ => ("s", 1_000_000_000, 2),
    };
    format!("{}{THIN}{unit}", shorter(&decimal_up(ns, per_unit, decimals)))
}

/// A period in the unit that suits it: `250 us`, `1.333 ms`. It is rounded to three decimals and not up, because a period
/// is what was asked for and no measured latency.
pub fn period(length: Nanos) -> String {
    let ns = length.as_ns();
    let (unit, per_unit) = match ns {
        0..1_000 => ("ns", 1),
        1_000..1_000_000 => ("us", 1_000),
        1_000_000..1_000_000_000 => ("ms", 1_000_000),
        _ => ("s", 1_000_000_000),
    };
    let thousandths = (u128::from(ns) * 1_000 + per_unit / 2) / per_unit;
    let decimals = format!(".{:03}", thousandths % 1_000);
    let whole = count(u64::try_from(thousandths / 1_000).unwrap_or(u64::MAX));
    format!("{whole}{}{THIN}{unit}", decimals.trim_end_matches('0').trim_end_matches('.'))
}

/// A latency in microseconds, rounded up, without the unit: for columns whose heading names it. Example: `12.3`.
pub fn column_us(length: Option<Nanos>) -> String {
    length.map_or_else(|| ABSENT.to_owned(), |l| decimal_up(l.as_ns(), 1_000, 1))
}

/// A latency of an activation that came early by this time, in microseconds without the unit: `-1.3`.
pub fn early_us(by: Nanos) -> String {
    format!("-{}", column_us(Some(by)))
}

/// A latency in microseconds to the nanosecond, without the unit: `12.345`.
pub fn exact_us(length: Option<Nanos>) -> String {
    length.map_or_else(|| ABSENT.to_owned(), |l| decimal_up(l.as_ns(), 1_000, 3))
}

/// An estimated latency, given in nanoseconds, as microseconds without the unit: `12.3`, `1 204`.
pub fn column_us_of(ns: f64) -> String {
    let us = ns / 1e3;
    if us.abs() < 1e3 { format!("{us:.1}") } else { grouped(&format!("{us:.0}")) }
}

/// A change of a latency, given in nanoseconds, as microseconds with its sign and without the unit: `+1.2`, `-30.0`. A
/// dash for an infinite change.
pub fn signed_us(ns: f64) -> String {
    if !ns.is_finite() {
        return ABSENT.to_owned();
    }
    let us = ns / 1e3;
    let text = if us.abs() < 1e3 { format!("{us:+.1}") } else { grouped(&format!("{us:+.0}")) };
    // A change that is rounded to zero gets a plus, because it has no direction.
    if text == "-0.0" { "+0.0".to_owned() } else { text }
}

/// A length of time, in at most two units: `250 ms`, `30 s`, `1 h 12 min`, `8 d 19 h`.
pub fn duration(length: Nanos) -> String {
    let seconds = length.as_ns() / 1_000_000_000;
    let two = |a: u64, a_unit: &str, b: u64, b_unit: &str| {
        let rest = if b == 0 { String::new() } else { format!(" {b}{THIN}{b_unit}") };
        format!("{}{THIN}{a_unit}{rest}", count(a))
    };
    match seconds {
        0..60 => latency(length),
        60..3_600 => two(seconds / 60, "min", seconds % 60, "s"),
        3_600..86_400 => two(seconds / 3_600, "h", seconds / 60 % 60, "min"),
        _ => two(seconds / 86_400, "d", seconds / 3_600 % 24, "h"),
    }
}

/// A moment of the run, counted from its start, to the millisecond: `17.312 s`, `4 min 07.312 s`, `3 h 04 min 07 s`.
pub fn moment(at: RecTime) -> String {
    let ms = at.as_ns() / 1_000_000;
    let (seconds, ms) = (ms / 1_000, ms % 1_000);
    let (h, m, s) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match seconds {
        0..60 => format!("{s}.{ms:03}{THIN}s"),
        60..3_600 => format!("{m}{THIN}min {s:02}.{ms:03}{THIN}s"),
        3_600..86_400 => format!("{h}{THIN}h {m:02}{THIN}min {s:02}{THIN}s"),
        _ => format!("{}{THIN}d {}{THIN}h {m:02}{THIN}min {s:02}{THIN}s", count(h / 24), h % 24),
    }
}

/// The share of `part` in `whole`, in percent, with enough decimals to differ from 100 %. It is rounded down, so that
/// only equal numbers give `100 %`. `None` if `whole` is 0.
pub fn share(part: u64, whole: u64) -> Option<String> {
    if whole == 0 {
        return None;
    }
    if part >= whole {
        return Some(format!("100{THIN}%"));
    }
    let scaled = |decimals: u32| u128::from(part) * 10u128.pow(decimals + 2) / u128::from(whole);
    let two_digits_below = |decimals: &u32| 10u128.pow(decimals + 2).saturating_sub(scaled(*decimals)) >= 10;
    let decimals = (1..=12).find(two_digits_below).unwrap_or(12);
    let one = 10u128.pow(decimals);
    let value = scaled(decimals);
    Some(format!("{}.{:0width$}{THIN}%", value / one, value % one, width = decimals as usize))
}

/// A share from 0 to 1 that may be very small, in percent with three decimals: `0.059 %`.
pub fn small_portion(share: f64) -> String {
    format!("{:.3}{THIN}%", share * 100.0)
}

/// A share from 0 to 1 in percent, rounded down: `61 %`, `4.5 %`, `< 0.1 %`. Only a share of 1 gives `100 %`.
pub fn portion(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p.is_nan() => ABSENT.to_owned(),
        p if p <= 0.0 => format!("0{THIN}%"),
        p if p < 0.1 => format!("<{THIN}0.1{THIN}%"),
        p if p < 10.0 => format!("{:.1}{THIN}%", (p * 10.0).floor() / 10.0),
        p => format!("{:.0}{THIN}%", p.min(100.0).floor()),
    }
}

/// Above this probability a bound is told in percent, and below as odds.
const PERCENT_ABOVE: f64 = 0.1;

/// What was seen of a probability, in the unit in which [`at_most`] tells its upper bound `upper`, so that the two can be
/// compared: `1 in 98 releases`, `7.9 % of releases`. Odds are rounded to the nearest whole number. `None` if `part` is 0.
#[allow(clippy::cast_precision_loss, reason = "a share is shown with two digits")]
pub fn seen(part: u64, whole: u64, upper: f64, nouns: &str) -> Option<String> {
    let one_in = whole.saturating_add(part / 2).checked_div(part)?;
    Some(if upper <= PERCENT_ABOVE {
        tr!("1 in {n} {nouns}", n = count(one_in), nouns = text(nouns))
    } else {
        tr!("{share} of {nouns}", share = portion(part as f64 / whole as f64), nouns = text(nouns))
    })
}

/// An upper bound of a probability as odds, which are rounded so that they claim no more than the bound: `fewer than 1
/// in 20 000 releases`. A large bound is a percentage: `fewer than 54 % of releases`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the range of the type")]
pub fn at_most(probability: f64, nouns: &str) -> String {
    if !probability.is_finite() || probability >= 1.0 {
        return tr!("up to {percent} of {nouns}", percent = format!("100{THIN}%"), nouns = text(nouns));
    }
    if probability > PERCENT_ABOVE {
        let percent = (probability * 100.0).ceil().clamp(0.0, 100.0) as u64;
        let percent = format!("{percent}{THIN}%");
        return tr!("fewer than {percent} of {nouns}", percent, nouns = text(nouns));
    }
    let odds = (1.0 / probability.max(1e-18)).floor().clamp(1.0, 1e18) as u64;
    tr!("fewer than 1 in {n} {nouns}", n = count(two_leading_digits(odds)), nouns = text(nouns))
}

/// The ratio of `whole` to `part`: `0.82x`, `1.04x`, `3.4x`, `358x`. Only equal numbers give `1.00x`: a latency just
/// above the budget must not seem to meet it, nor one just below to use it up.
#[allow(clippy::cast_precision_loss, reason = "shown with two or three digits")]
pub fn times(whole: Nanos, part: Nanos) -> Option<String> {
    let ratio = whole.as_ns() as f64 / (part != Nanos::ZERO).then(|| part.as_ns() as f64)?;
    Some(match ratio {
        r if r < 1.0 => format!("{:.2}x", r.min(0.99)),
        1.0 => "1.00x".to_owned(),
        r if r < 2.0 => format!("{:.2}x", r.max(1.01)),
        r if r < 10.0 => format!("{r:.1}x"),
        r => format!("{r:.0}x"),
    })
}

pub fn capitalised(phrase: &str) -> String {
    let mut characters = phrase.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// A rate per second: `1 234/s`, `12.3 M/s`. `None` if no time passed.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the range of the type")]
#[allow(clippy::cast_precision_loss, reason = "a rate is shown with three digits")]
pub fn rate(operations: u64, time: Nanos) -> Option<String> {
    if time == Nanos::ZERO {
        return None;
    }
    let per_second = operations as f64 / time.as_secs_f64();
    Some(match per_second {
        r if r < 10.0 => format!("{r:.1}/s"),
        r if r < 1e6 => format!("{}/s", count(r.round() as u64)),
        r if r < 1e9 => format!("{:.1}{THIN}M/s", r / 1e6),
        r => format!("{:.1}{THIN}G/s", r / 1e9),
    })
}

/// A moment in the format of mails, which rt-tests uses: `Sun, 22 Nov 2026 01:25:13 +0000`.
pub fn mail_date(unix_ns: u64) -> Option<String> {
    let stamp = jiff::Timestamp::from_nanosecond(i128::from(unix_ns)).ok()?;
    Some(stamp.strftime("%a, %d %b %Y %H:%M:%S +0000").to_string())
}

/// A wall-clock instant in UTC: `2026-11-21 09:41:17 UTC`. A dash if the instant lies outside the calendar.
pub fn date(unix_ns: u64) -> String {
    let stamp = jiff::Timestamp::from_nanosecond(i128::from(unix_ns));
    stamp.map_or_else(|_| ABSENT.to_owned(), |t| t.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// The day of a wall-clock instant, in UTC: `2026-11-21`.
pub fn day(unix_ns: u64) -> String {
    let stamp = jiff::Timestamp::from_nanosecond(i128::from(unix_ns));
    stamp.map_or_else(|_| ABSENT.to_owned(), |t| t.strftime("%Y-%m-%d").to_string())
}

/// A number of bytes, rounded up: `812 bytes`, `14 KiB`, `2.4 MiB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => counted(bytes, "byte"),
        1_024..1_048_576 => format!("{}{THIN}KiB", count(bytes.div_ceil(1_024))),
        _ => format!("{}{THIN}MiB", shorter(&decimal_up(bytes, 1_048_576, 1))),
    }
}

/// The current local date and time, as part of a file name.
pub fn file_stamp() -> String {
    jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string()
}

pub fn utc_stamp() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// `value / per_unit` with this many decimals, rounded up.
fn decimal_up(value: u64, per_unit: u64, decimals: u32) -> String {
    let one = 10u128.pow(decimals);
    let scaled = (u128::from(value) * one).div_ceil(u128::from(per_unit));
    let whole = count(u64::try_from(scaled / one).unwrap_or(u64::MAX));
    if decimals == 0 { whole } else { format!("{whole}.{:0width$}", scaled % one, width = decimals as usize) }
}

/// The number without its decimals if all of them are zero. The caller passes exact values, for which zeros add
/// nothing.
fn shorter(decimal: &str) -> &str {
    match decimal.split_once('.') {
        Some((whole, rest)) if rest.bytes().all(|b| b == b'0') => whole,
        _ => decimal,
    }
}

/// `n` with all but its two leading digits set to zero.
pub fn two_leading_digits(n: u64) -> u64 {
    let mut unit = 1;
    while n / unit >= 100 {
        unit *= 10;
    }
    n / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::clean::ascii as plain;

    #[test]
    fn counts_are_grouped() {
        for (n, text) in [(0, "0"), (999, "999"), (1_000, "1 000"), (3_600_000, "3 600 000")] {
            assert_eq!(plain(&count(n)), text);
        }
        assert_eq!(plain(&count(u64::MAX)), "18 446 744 073 709 551 615");
        assert_eq!(plain(&counted(1, "release")), "1 release");
        assert_eq!(plain(&counted(0, "switch")), "0 switches");
    }

    #[test]
    fn a_period_is_as_it_was_asked_for() {
        let cases = [
            (500, "500 ns"),
            (62_500, "62.5 us"),
            (250_000, "250 us"),
            (999_999, "999.999 us"),
            (1_000_000, "1 ms"),
            (1_333_000, "1.333 ms"),
            (1_333_333, "1.333 ms"),
            (2_666_667, "2.667 ms"),
            (60_000_000_000, "60 s"),
        ];
        for (ns, text) in cases {
            assert_eq!(plain(&period(Nanos::from_ns(ns))), text);
        }
    }

    #[test]
    fn a_latency_is_never_understated() {
        let cases = [
            (0, "0 ns"),
            (850, "850 ns"),
            (1_000, "1 us"),
            (12_340, "12.4 us"),
            (50_000, "50 us"),
            (50_001, "50.1 us"),
            (999_999, "1 000 us"),
            (20_430_000, "20.43 ms"),
            (1_500_000_000, "1.50 s"),
            (30_000_000_000, "30 s"),
        ];
        for (ns, text) in cases {
            assert_eq!(plain(&latency(Nanos::from_ns(ns))), text, "{ns}");
        }
        assert!(!latency(Nanos::MAX).is_empty());
    }

    #[test]
    fn changes_have_a_sign_and_no_more_digits_than_they_are_worth() {
        let cases = [(1_240.0, "+1.2"), (-30_000.0, "-30.0"), (-20.0, "+0.0"), (1_347_300.0, "+1 347")];
        for (ns, text) in cases {
            assert_eq!(plain(&signed_us(ns)), text);
        }
        assert_eq!((signed_us(f64::NEG_INFINITY), signed_us(f64::NAN)), (ABSENT.to_owned(), ABSENT.to_owned()));
        assert_eq!(
            (column_us_of(12_340.0), plain(&column_us_of(1_204_000.0))),
            ("12.3".to_owned(), "1 204".to_owned())
        );
    }

    #[test]
    fn only_what_is_equal_is_once() {
        let ratio = |ns| times(Nanos::from_ns(ns), Nanos::from_us(72)).unwrap();
        let told = [75_000, 72_001, 72_000, 71_999, 36_000, 144_000, 720_000].map(ratio);
        assert_eq!(told, ["1.04x", "1.01x", "1.00x", "0.99x", "0.50x", "2.0x", "10x"]);
        assert_eq!(times(Nanos::from_ns(1), Nanos::ZERO), None);
    }

    #[test]
    fn absent_is_a_dash_and_never_zero() {
        assert_eq!(column_us(None), "-");
        assert_eq!(exact_us(None), "-");
        assert_eq!(column_us(Some(Nanos::ZERO)), "0.0");
        assert_eq!(exact_us(Some(Nanos::from_ns(12_345))), "12.345");
    }

    #[test]
    fn lengths_and_moments() {
        assert_eq!(plain(&duration(Nanos::from_ms(250))), "250 ms");
        assert_eq!(plain(&duration(Nanos::from_secs(30))), "30 s");
        assert_eq!(plain(&duration(Nanos::from_secs(4_320))), "1 h 12 min");
        assert_eq!(plain(&duration(Nanos::from_secs(759_600))), "8 d 19 h");
        assert_eq!(plain(&moment(RecTime::after_epoch(Nanos::from_ms(17_312)))), "17.312 s");
        assert_eq!(plain(&moment(RecTime::after_epoch(Nanos::from_ms(247_312)))), "4 min 07.312 s");
        assert_eq!(plain(&moment(RecTime::from_secs(11_047))), "3 h 04 min 07 s");
    }

    #[test]
    fn a_share_is_100_percent_only_when_it_is_all() {
        assert_eq!(share(1, 0), None);
        assert_eq!(plain(&share(60_000, 60_000).unwrap()), "100 %");
        assert_eq!(plain(&share(59_999, 60_000).unwrap()), "99.9983 %");
        assert_eq!(plain(&share(29_000, 30_000).unwrap()), "96.6 %");
        assert_eq!(plain(&share(0, 30_000).unwrap()), "0.0 %");
        assert!(share(u64::MAX - 1, u64::MAX).unwrap().starts_with("99.99"));
    }

    #[test]
    fn a_portion_is_rounded_down() {
        let cases =
            [(1.0, "100 %"), (0.9999, "99 %"), (0.61, "61 %"), (0.0456, "4.5 %"), (0.0001, "< 0.1 %"), (0.0, "0 %")];
        for (share, text) in cases {
            assert_eq!(plain(&portion(share)), text);
        }
        assert_eq!(portion(f64::NAN), "-");
    }

    #[test]
    fn odds_never_claim_more_than_the_bound() {
        assert_eq!(plain(&at_most(8.32148e-7, "releases")), "fewer than 1 in 1 200 000 releases");
        assert_eq!(plain(&at_most(4.99e-5, "releases")), "fewer than 1 in 20 000 releases");
        assert_eq!(plain(&at_most(0.531, "releases")), "fewer than 54 % of releases");
        for p in [1.0, 2.0, f64::NAN] {
            assert_eq!(plain(&at_most(p, "releases")), "up to 100 % of releases");
        }
        assert!(at_most(0.0, "releases").starts_with("fewer than 1 in "));
    }

    #[test]
    fn what_was_seen_has_the_unit_of_its_bound() {
        let both = |part, whole, upper| {
            plain(&format!("{}; {}", seen(part, whole, upper, "releases").unwrap(), at_most(upper, "releases")))
        };
        assert_eq!(both(833, 8_000, 0.107), "10 % of releases; fewer than 11 % of releases");
        assert_eq!(both(3, 8_000, 0.107), "< 0.1 % of releases; fewer than 11 % of releases");
        assert_eq!(both(8, 8, 1.0), "100 % of releases; up to 100 % of releases");
        assert_eq!(both(204, 20_000, 0.0114), "1 in 98 releases; fewer than 1 in 87 releases");
        assert_eq!(both(1_606, 8_000, f64::NAN), "20 % of releases; up to 100 % of releases");
        assert_eq!(seen(0, 8_000, 0.2, "releases"), None);
    }

    #[test]
    fn rates() {
        assert_eq!(rate(5, Nanos::ZERO), None);
        assert_eq!(plain(&rate(12_345, Nanos::from_secs(10)).unwrap()), "1 235/s");
        assert_eq!(plain(&rate(50_000_000, Nanos::from_secs(10)).unwrap()), "5.0 M/s");
        assert_eq!(plain(&rate(5, Nanos::from_secs(10)).unwrap()), "0.5/s");
    }

    #[test]
    fn dates() {
        assert_eq!(date(1_763_718_077_000_000_000), "2025-11-21 09:41:17 UTC");
        assert!(!date(u64::MAX).is_empty());
    }
}
