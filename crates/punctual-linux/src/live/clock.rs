//! Cost and resolution of reading the clock, which are not in any file.

use rustix::time::{ClockId, clock_getres};

pub(super) fn resolution_ns() -> u64 {
    let finest = clock_getres(ClockId::Monotonic);
    let (seconds, rest) = (u64::try_from(finest.tv_sec).unwrap_or(0), u64::try_from(finest.tv_nsec).unwrap_or(0));
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

/// Cost of reading the clock once, from the fastest of several series of readings, so that interruptions do not count.
pub(super) fn read_cost_ns() -> u64 {
    const READINGS: u64 = 64;
    let series = || {
        let start = punctual_rt::now();
        let end = (0..READINGS).fold(start, |_, _| punctual_rt::now());
        end.since(start).as_ns() / READINGS
    };
    (0..16).map(|_| series()).min().unwrap_or(0)
}
