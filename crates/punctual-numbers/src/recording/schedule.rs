//! How often a measurement writes an interval: every second at first, and every minute after two hours.
//!
//! A crash loses at most one interval, and each interval is one point of the time line. The number of intervals decides
//! the size of the file. Exact maxima are kept for every second, however long the intervals are.

use punctual_hist::Nanos;

/// Length of the blocks of time for each of which the exact maximum is kept.
pub const BLOCK: Nanos = Nanos::from_secs(1);

/// How long the interval that starts `elapsed` after the epoch should be.
pub const fn interval_length(elapsed: Nanos) -> Nanos {
    const MINUTES_10: u64 = Nanos::from_secs(600).as_ns();
    const HOURS_2: u64 = Nanos::from_secs(7200).as_ns();
    match elapsed.as_ns() {
        0..MINUTES_10 => Nanos::from_secs(1),
        MINUTES_10..HOURS_2 => Nanos::from_secs(10),
        _ => Nanos::from_secs(60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_lengthen_and_hold_whole_blocks() {
        let mut at = Nanos::ZERO;
        let mut before = Nanos::ZERO;
        let mut intervals = 0;
        while at < Nanos::from_secs(211 * 3600) {
            let length = interval_length(at);
            assert!(length >= before && length.as_ns() % BLOCK.as_ns() == 0);
            (at, before, intervals) = (at.plus(length), length, intervals + 1);
        }
        assert_eq!(intervals, 600 + 660 + 209 * 60);
    }
}
