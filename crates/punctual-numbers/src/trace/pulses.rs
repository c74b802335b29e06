//! Finds how long all our threads stood still. A pulse is an instant at which one of our threads was seen running; a
//! standstill is the longest time between two pulses.
//!
//! A pulse shows that its CPU ran. A missing pulse means something only if pulses usually come more often. This module
//! must not know which threads give the pulses.

use punctual_hist::{MonoTime, Nanos};
use std::collections::VecDeque;

/// Pulses older than `REACH` are forgotten, and the oldest ones when there are more than `MOST`.
const REACH: Nanos = Nanos::from_secs(30);
const MOST: usize = 16_384;
/// Largest and smallest number of earlier distances from which the usual distance is computed.
const LEARNT_FROM: usize = 256;
const LEARNT_FROM_AT_LEAST: usize = 8;

/// The instants at which any of our threads was seen running, in order.
#[derive(Clone, Debug, Default)]
pub struct Pulses {
    at: VecDeque<MonoTime>,
}

impl Pulses {
    /// Notes that one of our threads ran at this instant. Instants may come in any order.
    pub fn saw(&mut self, at: MonoTime) {
        let place = self.at.iter().rposition(|earlier| *earlier <= at).map_or(0, |place| place + 1);
        self.at.insert(place, at);
        let newest = self.at.back().copied().unwrap_or(at);
        while self.at.len() > MOST || self.at.front().is_some_and(|oldest| newest.since(*oldest) > REACH) {
            self.at.pop_front();
        }
    }

    /// The longest time without a pulse between `from` and `to`. `None` if pulses are usually at least as far apart as
    /// `from` and `to`, if there are too few pulses before `from`, or if there is none after `to`.
    pub fn standstill(&self, from: MonoTime, to: MonoTime) -> Option<Nanos> {
        let (first, last) = (self.at.partition_point(|at| *at <= from), self.at.partition_point(|at| *at < to));
        if last == self.at.len() || self.usual_distance(first)? >= to.since(from) {
            return None;
        }
        let within = self.at.range(first..last.max(first)).copied();
        let mut before = from;
        let mut longest = Nanos::ZERO;
        for at in within.chain([to]) {
            longest = longest.max(at.since(before));
            before = at;
        }
        Some(longest)
    }

    /// The median distance of the pulses before index `place`; `None` if there are too few.
    fn usual_distance(&self, place: usize) -> Option<Nanos> {
        let from = place.saturating_sub(LEARNT_FROM);
        let before = self.at.range(from..place);
        let mut distances: Vec<Nanos> = before.clone().zip(before.skip(1)).map(|(a, b)| b.since(*a)).collect();
        if distances.len() < LEARNT_FROM_AT_LEAST {
            return None;
        }
        let middle = distances.len() / 2;
        Some(*distances.select_nth_unstable(middle).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> MonoTime {
        MonoTime::from_ns(us * 1_000)
    }

    fn every(step: u64, from: u64, to: u64, pulses: &mut Pulses) {
        (from..=to).step_by(usize::try_from(step).unwrap()).for_each(|at| pulses.saw(us(at)));
    }

    #[test]
    fn nothing_of_ours_in_all_of_it() {
        let mut pulses = Pulses::default();
        every(1_000, 0, 100_000, &mut pulses);
        every(1_000, 130_000, 140_000, &mut pulses);
        assert_eq!(pulses.standstill(us(102_000), us(128_000)), Some(Nanos::from_us(26_000)));
        assert_eq!(pulses.standstill(us(99_500), us(130_500)), Some(Nanos::from_us(30_000)), "clipped to both");
        assert_eq!(pulses.standstill(us(50_300), us(60_300)), Some(Nanos::from_us(1_000)), "we ran as usual");
    }

    #[test]
    fn what_is_shorter_than_usual_or_has_no_pulse_on_both_sides_says_nothing() {
        let mut pulses = Pulses::default();
        assert_eq!(pulses.standstill(us(0), us(10)), None);
        every(10_000, 0, 1_000_000, &mut pulses);
        assert_eq!(pulses.standstill(us(500_100), us(500_900)), None);
        assert_eq!(pulses.standstill(us(500_000), us(510_000)), None);
        assert_eq!(pulses.standstill(us(500_000), us(530_000)), Some(Nanos::from_us(10_000)));
        let mut pulses = Pulses::default();
        every(1_000, 10_000, 30_000, &mut pulses);
        assert_eq!(pulses.standstill(us(29_000), us(60_000)), None, "no pulse after");
        assert_eq!(pulses.standstill(us(5_000), us(20_000)), None, "none before");
        assert_eq!(pulses.standstill(us(20_000), us(5_000)), None, "backwards");
    }

    #[test]
    fn order_does_not_matter_and_memory_is_bounded() {
        let (mut there, mut back) = (Pulses::default(), Pulses::default());
        every(100, 0, 1_000_000, &mut there);
        (0..=10_000).rev().for_each(|at| back.saw(us(at * 100)));
        assert_eq!(there.at, back.at);
        every(100, 1_000_000, 40_000_000, &mut there);
        assert!(there.at.len() <= MOST);
    }
}
