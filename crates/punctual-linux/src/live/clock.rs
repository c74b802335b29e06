//! What reading the clock costs and how fine it is: facts that are no files.

use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};

fn nanoseconds(time: Timespec) -> u64 {
    let (seconds, rest) = (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_nsec).unwrap_or(0));
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

pub(super) fn resolution_ns() -> u64 {
    nanoseconds(clock_getres(ClockId::Monotonic))
}

/// Nanoseconds since the machine was booted, sleep included.
pub(super) fn since_boot_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Boottime))
}

/// Cost of reading the clock: the best of several short series, so that an interruption does not count.
pub(super) fn read_cost_ns() -> u64 {
    const READINGS: u64 = 64;
    let now = || nanoseconds(clock_gettime(ClockId::Monotonic));
    let series = || {
        let start = now();
        let end = (0..READINGS).fold(start, |_, _| now());
        end.saturating_sub(start) / READINGS
    };
    (0..16).map(|_| series()).min().unwrap_or(0)
}
