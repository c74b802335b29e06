//! Parses the values of options: times with a unit, CPU lists, load phases.

use punctual_facts::cpu_set::{CPU_LIMIT, CpuSet};
use punctual_facts::machine::Version;
use punctual_hist::Nanos;
use punctual_linux::trace::BUFFER_BYTES_MIN;
use punctual_numbers::scenario::{Amount, LoadPhase};
use std::collections::BTreeMap;

/// Default `SCHED_FIFO` priority of the measuring threads.
pub const PRIORITY: u8 = 90;
/// Load phases of a check unless others are asked for, with their weights.
pub const CHECK_LOADS: &str = "idle:1,cpu+memory+io-write+switch+net:2";

/// A time with its unit: `50us`, `1.5ms`, `30s`, `10m`, `211h`, `3d`.
pub fn parse_duration(text: &str) -> Result<Nanos, String> {
    const UNITS: [(&str, u64); 8] = [
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
    ];
    let wrong = || format!("'{text}' is not a time: write a number and a unit, as in 50us, 1ms, 30s, 10m, 3d");
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = UNITS.iter().find(|(name, _)| *name == unit.trim()).map(|(_, scale)| *scale).ok_or_else(wrong)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let too_long = || format!("'{text}' is too long a time");
    let ns =
        whole.checked_mul(scale).and_then(|ns| ns.checked_add(fraction_of(fraction, scale)?)).ok_or_else(too_long)?;
    Ok(Nanos::from_ns(ns))
}

/// The decimals as a number of units, `scale` of which make a whole: `5` with a scale of 1000 is 500.
fn fraction_of(digits: &str, scale: u64) -> Option<u64> {
    if digits.is_empty() {
        return Some(0);
    }
    let power = 10u128.checked_pow(u32::try_from(digits.len()).ok()?)?;
    let value: u128 = digits.parse().ok()?;
    u64::try_from(value.checked_mul(u128::from(scale))? / power).ok()
}

/// A moment of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Time since the start of the run.
    IntoRun(Nanos),
    /// Wall-clock time, in nanoseconds since 1970.
    Wall(u64),
}

/// Parses a moment: of the run, as in `+1h30m`, or of the calendar, as in `2026-11-22T10:00`, in UTC or with an offset.
pub fn parse_when(text: &str) -> Result<When, String> {
    if let Some(into) = text.strip_prefix('+') {
        return parse_lengths(into).map(When::IntoRun);
    }
    let wrong = |_| {
        format!(
            "'{text}' is not a time: write +1h30m for a time since the start of the run, or 2026-11-22T10:00 for a \
            time of day (UTC)"
        )
    };
    let utc = |at: jiff::civil::DateTime| at.to_zoned(jiff::tz::TimeZone::UTC).map(|zoned| zoned.timestamp());
    let stamp = text.parse::<jiff::Timestamp>().or_else(|_| text.parse::<jiff::civil::DateTime>().and_then(utc));
    let ns = stamp.map_err(wrong)?.as_nanosecond();
    u64::try_from(ns).map(When::Wall).map_err(|_| format!("'{text}' is before 1970"))
}

/// A day of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhichDay {
    /// Counted from 1.
    Number(u64),
    /// Midnight at which it begins in UTC, in nanoseconds since 1970.
    From(u64),
}

pub fn parse_day(text: &str) -> Result<WhichDay, String> {
    let wrong = || format!("'{text}' is no day: write its number, as in 5, or its date, as in 2026-11-22");
    if let Ok(number) = text.parse() {
        return if number == 0 { Err(wrong()) } else { Ok(WhichDay::Number(number)) };
    }
    let date: jiff::civil::Date = text.parse().map_err(|_| wrong())?;
    let midnight = date.to_zoned(jiff::tz::TimeZone::UTC).map_err(|_| wrong())?.timestamp().as_nanosecond();
    u64::try_from(midnight).map(WhichDay::From).map_err(|_| wrong())
}

/// One or more times in a row: `1h30m`.
fn parse_lengths(text: &str) -> Result<Nanos, String> {
    let mut sum = Nanos::ZERO;
    let mut rest = text;
    loop {
        let unit = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (_, after) = rest.split_at(unit);
        let next = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (one, more) = rest.split_at(unit + next);
        sum = sum.plus(parse_duration(one)?);
        if more.is_empty() {
            return Ok(sum);
        }
        rest = more;
    }
}

/// A percentage as a share: `10` or `10%` is 0.1.
pub fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let share = number.parse::<f64>().ok().map(|percent| percent / 100.0).filter(|share| (0.0..10.0).contains(share));
    share.ok_or_else(|| format!("'{text}' is no percentage from 0 to below 1000: write a number, as in 10"))
}

/// Parses a number of bytes, with an optional K, M or G for powers of 1024.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let upper = text.to_ascii_uppercase();
    let (digits, shift) = match upper.strip_suffix('K').map(|d| (d, 10)) {
        Some(pair) => pair,
        None => match (upper.strip_suffix('M'), upper.strip_suffix('G')) {
            (Some(digits), _) => (digits, 20),
            (_, Some(digits)) => (digits, 30),
            _ => (upper.as_str(), 0),
        },
    };
    let bytes =
        digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift)).filter(|n| (1..=1 << 40).contains(n));
    bytes.ok_or_else(|| format!("'{text}' is no size: write a number, and K, M or G if it is not bytes, as in 16M"))
}

/// Parses the size of a trace buffer. A size too small for a useful trace is refused.
pub fn parse_trace_buffer(text: &str) -> Result<u64, String> {
    let bytes = parse_size(text)?;
    let least = BUFFER_BYTES_MIN >> 10;
    if bytes >= BUFFER_BYTES_MIN { Ok(bytes) } else { Err(format!("'{text}' is too small: at least {least}K")) }
}

/// Parses the length of a measurement: a time, or a bare number of activations.
pub fn parse_amount(text: &str) -> Result<Amount, String> {
    match text.parse() {
        Ok(count) => Ok(Amount::Activations(count)),
        Err(_) => parse_duration(text).map(Amount::Time),
    }
}

pub fn parse_cpus(text: &str) -> Result<CpuSet, String> {
    // Groups such as `0-7:1/2` are accepted. `N` and `all` are not, because their meaning depends on the machine, which
    // is unknown here.
    let has_groups = text.contains(':') && !text.contains(['N', 'a']);
    let list = if has_groups { CpuSet::parse_kernel(text, CPU_LIMIT) } else { CpuSet::parse_list(text) };
    let cpus = list.map_err(|e| e.to_string())?;
    if cpus.is_empty() { Err("the list names no CPU: write for example 2-3".to_owned()) } else { Ok(cpus) }
}

/// Parses a kernel's version from a version or a whole release string.
pub fn parse_version(text: &str) -> Result<Version, String> {
    let digit_first = text.starts_with(|c: char| c.is_ascii_digit());
    let version = Version::parse(text).filter(|_| digit_first);
    version.ok_or_else(|| format!("'{text}' is no kernel version: write for example 6.12"))
}

/// One period for all CPUs, or one each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Period {
    All(Nanos),
    ByCpu(BTreeMap<u32, Nanos>),
}

/// Parses `1ms`, or `0=1ms,1=500us` with a period for each CPU.
pub fn parse_period(text: &str) -> Result<Period, String> {
    if !text.contains('=') {
        return parse_duration(text).map(Period::All);
    }
    let pair = |part: &str| {
        let (cpu, time) = part.split_once('=').ok_or_else(|| format!("'{part}' is not CPU=TIME"))?;
        let cpu = cpu.trim().parse().map_err(|_| format!("'{cpu}' is not a CPU number"))?;
        Ok((cpu, parse_duration(time.trim())?))
    };
    let pairs = text.split(',').map(pair).collect::<Result<Vec<_>, String>>()?;
    let periods: BTreeMap<u32, Nanos> = pairs.iter().copied().collect();
    if periods.len() < pairs.len() {
        return Err(format!("'{text}' names a CPU twice"));
    }
    Ok(Period::ByCpu(periods))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loads(pub Vec<LoadPhase>);

impl Loads {
    pub fn or_idle(typed: Option<&Self>) -> Vec<LoadPhase> {
        typed.map_or_else(|| vec![LoadPhase { loads: Vec::new(), parts: 1 }], |loads| loads.0.clone())
    }
}

impl std::fmt::Display for Loads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (place, phase) in self.0.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            let is_program = phase.loads.iter().any(|load| load.starts_with("cmd:"));
            let parts = if is_program { String::new() } else { format!(":{}", phase.parts) };
            write!(f, "{comma}{}{parts}", phase.name())?;
        }
        Ok(())
    }
}

/// Parses load phases: `idle:1,cpu+memory:2`. Commas separate phases, `+` joins the loads of a phase, and a number
/// after a colon is the weight of the phase. An outside program (`cmd:…`) is a phase of its own, and everything up to
/// the next comma is its command line.
pub fn parse_loads(text: &str) -> Result<Loads, String> {
    if text == "none" {
        return Ok(Loads(vec![LoadPhase { loads: Vec::new(), parts: 1 }]));
    }
    text.split(',').map(parse_phase).collect::<Result<_, _>>().map(Loads)
}

fn parse_phase(text: &str) -> Result<LoadPhase, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("a load phase is empty: write for example idle,cpu+memory".to_owned());
    }
    if text.starts_with("cmd:") {
        return Ok(LoadPhase { loads: vec![text.to_owned()], parts: 1 });
    }
    let (names, parts) = match text.rsplit_once(':') {
        Some((names, weight)) => {
            let parts = weight.parse().map_err(|_| format!("'{weight}' in '{text}' is not a weight: write idle:1"))?;
            (names, parts)
        }
        None => (text, 1),
    };
    if parts == 0 {
        return Err(format!("'{text}' has weight 0: it would never run"));
    }
    let loads: Vec<String> = names.split('+').map(|name| name.trim().to_owned()).collect();
    match loads.as_slice() {
        [only] if only == "idle" => Ok(LoadPhase { loads: Vec::new(), parts }),
        names if names.iter().any(|n| n == "idle" || n.is_empty()) => {
            Err(format!("'{text}': idle cannot be joined with a load"))
        }
        _ => Ok(LoadPhase { loads, parts }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_need_a_unit_and_may_have_a_point() {
        let ns = |text| parse_duration(text).map(Nanos::as_ns);
        assert_eq!(ns("50us"), Ok(50_000));
        assert_eq!(ns("1.5ms"), Ok(1_500_000));
        assert_eq!(ns("3d"), Ok(259_200_000_000_000));
        for wrong in ["", "5", "ms", "-1ms", "1.2.3s", "1e3us", "99999999999d", "1 parsec"] {
            assert!(ns(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn trace_buffers_have_units_and_a_least_size() {
        assert_eq!(parse_trace_buffer("16M"), Ok(16 << 20));
        assert_eq!(parse_trace_buffer("64k"), Ok(64 << 10));
        assert_eq!(parse_trace_buffer("65536"), Ok(64 << 10));
        for small in ["1", "1k", "65535"] {
            assert!(parse_trace_buffer(small).is_err_and(|error| error.contains("at least 64K")), "{small}");
        }
        for wrong in ["", "1T", "-1", "1.5G", "G", "99999999G"] {
            assert!(parse_trace_buffer(wrong).is_err_and(|error| error.contains("K, M or G")), "{wrong}");
        }
    }

    #[test]
    fn loads_in_turn_and_together() {
        let Loads(phases) = parse_loads("idle:1,cpu+io-copy:2").unwrap();
        assert_eq!((phases[0].name(), phases[0].parts), ("idle".to_owned(), 1));
        assert_eq!((phases[1].name(), phases[1].parts), ("cpu+io-copy".to_owned(), 2));
        assert_eq!(parse_loads("none").unwrap().0[0].name(), "idle");
        assert_eq!(parse_loads("cmd:sleep 5: x").unwrap().0[0].loads, ["cmd:sleep 5: x"]);
        for wrong in ["", "cpu,,memory", "idle+cpu", "cpu:0", "cpu:x", "cpu+"] {
            assert!(parse_loads(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn periods_by_cpu() {
        let by_cpu = BTreeMap::from([(0, Nanos::from_ms(1)), (1, Nanos::from_us(500))]);
        assert_eq!(parse_period("0=1ms,1=500us"), Ok(Period::ByCpu(by_cpu)));
        assert!(parse_period("0=1ms,x").is_err());
        assert!(parse_period("0=1ms,0=2ms").is_err());
    }

    #[test]
    fn an_empty_cpu_list_is_refused() {
        assert!(parse_cpus("").is_err());
        assert!(parse_cpus("3-1").is_err());
    }
}
