//! Computes how long before the release the kernel's sleep should end, and learns from each sleep.

use super::recent::Recent;
use punctual_hist::{Delta, Nanos};

/// Added to the quantile, for sleeps that are longer than any in the window.
const RESERVE: Nanos = Nanos::from_us(2);
/// The longest margin, whatever the period is. A longer wake-up delay is an outage, which polling should not
/// compensate.
const LONGEST: Nanos = Nanos::from_us(500);
/// The largest margin before any sleep was observed.
const FIRST: Nanos = Nanos::from_us(100);
/// The margin stays at its upper bound until this number of sleeps was observed.
const LEARNED: u16 = 16;

/// How long before the release polling begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Margin {
    /// Follows the wake-up delays of recent sleeps: up at once, down slowly, 0.5 ms at most.
    Auto {
        /// The largest share of the CPU's time spent polling, in millionths, averaged over some hundred releases. A
        /// burst of long sleeps may use what quiet releases left over. If irregular sleeps need more than this, some
        /// activations are late from sleep, and are counted in that class.
        spin_ppm: u32,
    },
    /// A constant margin, but at most three quarters of a period, so that there is always a sleep.
    Fixed(Nanos),
}

impl Margin {
    /// The automatic margin, with at most 5 % of the CPU's time spent polling.
    pub const AUTO: Self = Self::Auto { spin_ppm: 50_000 };
}

/// A margin, with what it has learned from sleeps.
pub(super) struct MarginTracker {
    kind: Margin,
    recent: Recent,
    now: Nanos,
    /// Mean time by which recent releases stayed below their share of polling; negative if they exceeded it.
    spare: Delta,
}

impl MarginTracker {
    pub(super) const fn new(kind: Margin) -> Self {
        // The rank 253 of 256: one sleep in 85 may be longer, before a quarter and the reserve are added.
        Self { kind, recent: Recent::new(253), now: Nanos::MAX, spare: Delta::ZERO }
    }

    /// The margin for the next sleep of a task with this period.
    pub(super) fn get(&self, period: Nanos) -> Nanos {
        match self.kind {
            Margin::Fixed(margin) => margin.min(period - period / 4),
            Margin::Auto { spin_ppm } => self.now.min(self.bound(period, spin_ppm)),
        }
    }

    /// Learns from a sleep that was `overshoot` longer than requested.
    ///
    /// # Real-time
    /// Only computes, in a few dozen instructions.
    pub(super) fn learn(&mut self, overshoot: Nanos) {
        self.recent.add(overshoot);
        if self.recent.filled() < LEARNED {
            return;
        }
        let high = self.recent.high();
        let wanted = high + Nanos::from_ns(high.as_ns() >> 2) + RESERVE;
        self.now = if wanted >= self.now || self.now == Nanos::MAX {
            wanted
        } else {
            let step = ((self.now - wanted).as_ns() >> 6).max(1);
            self.now - Nanos::from_ns(step)
        };
    }

    /// Learns from the time that was polled before a release. The mean of the unused share follows by 1/256 of the
    /// difference each time.
    ///
    /// The lower limit is small: unavoidable polling, because a body left no time to sleep, must not be compensated
    /// later at the price of late activations.
    ///
    /// # Real-time
    /// Only computes; one division.
    pub(super) fn spent(&mut self, polled: Nanos, period: Nanos) {
        let Margin::Auto { spin_ppm } = self.kind else { return };
        let share = share_of(period, spin_ppm);
        let left = share.ahead() - polled.ahead();
        let step = (left - self.spare).as_ns() >> 8;
        let least = -Delta::from_ns(share.ahead().as_ns() >> 3);
        self.spare = (self.spare + Delta::from_ns(step)).max(least);
    }

    /// The upper bound: half the time between releases, half a millisecond, or as long as polling stays within its
    /// share. A typical sleep returns `margin - median` early. Time that recent releases left unused may be polled
    /// soon, and time that they used in excess is saved later.
    fn bound(&self, period: Nanos, spin_ppm: u32) -> Nanos {
        let share = share_of(period, spin_ppm);
        if self.recent.filled() < LEARNED {
            return (share * 2).min(FIRST).min(period / 2);
        }
        let typical = self.recent.median();
        let owed = Delta::from_ns(self.spare.as_ns().saturating_mul(4));
        let most = ((share + typical).ahead() + owed).max(Delta::ZERO).length();
        most.min(period / 2).min(LONGEST)
    }
}

/// The part of a period that may be polled.
fn share_of(period: Nanos, spin_ppm: u32) -> Nanos {
    (period * spin_ppm.into()) / 1_000_000
}

/// The time that [`Wait::Anticipate`](super::Wait::Anticipate) subtracts: the median of recent wake-up delays, followed
/// slowly.
///
/// Subtracting the *latest* error instead would be a feedback loop with its pole at -1, which oscillates for ever.
pub(super) struct Offset {
    recent: Recent,
    now: Nanos,
}

impl Offset {
    pub(super) const fn new() -> Self {
        Self { recent: Recent::new(253), now: Nanos::ZERO }
    }

    pub(super) fn get(&self) -> Nanos {
        self.now
    }

    pub(super) fn learn(&mut self, overshoot: Nanos) {
        self.recent.add(overshoot);
        if self.recent.filled() < LEARNED {
            return;
        }
        let away = self.recent.median().ahead() - self.now.ahead();
        let first = self.now == Nanos::ZERO;
        let step = if first { away.as_ns() } else { away.as_ns() >> 5 };
        self.now = Nanos::from_ns(self.now.as_ns().saturating_add_signed(step));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;

    const MS: Nanos = Nanos::from_ms(1);

    /// Replays sleeps with these overshoots. Returns the share of late ones, and the share of time polled.
    fn replay(overshoots: impl Iterator<Item = u64>) -> (f64, f64) {
        let mut tracker = MarginTracker::new(Margin::AUTO);
        let (mut late, mut polled, mut n) = (0u32, 0u64, 0u32);
        for ns in overshoots {
            let margin = tracker.get(MS).as_ns();
            late += u32::from(ns > margin);
            polled += margin.saturating_sub(ns);
            n += 1;
            tracker.learn(Nanos::from_ns(ns));
            tracker.spent(Nanos::from_ns(margin.saturating_sub(ns)), MS);
        }
        (f64::from(late) / f64::from(n), Nanos::from_ns(polled).as_secs_f64() / (f64::from(n) * 1e-3))
    }

    #[test]
    fn steady_sleeps_cost_little_and_are_never_late() {
        let mut noise = Noise::new(1);
        let (late, polled) = replay((0..20_000).map(|_| 12_000 + noise.below(6_000)));
        assert!(late == 0.0 && polled < 0.014, "late {late}, polled {polled}");
    }

    #[test]
    fn sleeps_of_two_kinds_are_both_covered() {
        let mut noise = Noise::new(1);
        let (late, polled) = replay((0..20_000).map(|_| if noise.below(10) == 0 { 35_000 } else { 5_000 }));
        assert!(late < 0.001 && polled <= 0.05, "late {late}, polled {polled}");
    }

    #[test]
    fn a_burst_of_long_sleeps_is_followed_up_at_once_and_down_slowly() {
        let (late, polled) = replay((0..40_000).map(|k| if k / 2_000 % 2 == 1 { 45_000 } else { 5_000 }));
        assert!(late < 0.005, "each burst is late until it is one in 85: {late}");
        assert!(polled <= 0.05, "{polled}");
    }

    #[test]
    fn after_a_burst_the_margin_comes_down_slowly() {
        let mut tracker = MarginTracker::new(Margin::AUTO);
        (0..300).for_each(|_| tracker.learn(Nanos::from_us(40)));
        assert!(tracker.now >= Nanos::from_us(52), "{:?}", tracker.now);
        // As many values as the window holds, so that the window has forgotten the burst.
        (0..256).for_each(|_| tracker.learn(Nanos::from_us(5)));
        assert!(tracker.now >= Nanos::from_us(45), "all at once: {:?}", tracker.now);
        (0..44).for_each(|_| tracker.learn(Nanos::from_us(5)));
        assert!((Nanos::from_us(25)..Nanos::from_us(35)).contains(&tracker.now), "half of the way: {:?}", tracker.now);
        (0..500).for_each(|_| tracker.learn(Nanos::from_us(5)));
        assert!(tracker.now < Nanos::from_us(10), "{:?}", tracker.now);
        tracker.learn(Nanos::from_us(40));
        (0..4).for_each(|_| tracker.learn(Nanos::from_us(40)));
        assert!(tracker.now >= Nanos::from_us(50), "up at once: {:?}", tracker.now);
    }

    #[test]
    fn rare_outages_do_not_move_the_margin() {
        let mut noise = Noise::new(1);
        let (late, polled) = replay((0..20_000).map(|_| if noise.below(300) == 0 { 5_000_000 } else { 10_000 }));
        assert!(late < 0.005 && polled < 0.02, "late {late}, polled {polled}");
    }

    #[test]
    fn where_sleeps_are_hopeless_polling_stays_within_its_share() {
        let mut noise = Noise::new(1);
        let (late, polled) = replay((0..20_000).map(|_| noise.below(400_000)));
        assert!(late > 0.1 && polled <= 0.1, "late {late}, polled {polled}");
    }

    #[test]
    fn where_the_share_decides_it_is_kept_and_used() {
        let mut noise = Noise::new(1);
        let (late, polled) = replay((0..40_000).map(|_| if noise.below(10) < 3 { 75_000 } else { 20_000 }));
        assert!(late < 0.002, "the mean allows for both kinds, the median would not: {late}");
        assert!((0.04..=0.05).contains(&polled), "{polled}");
        let (late, polled) = replay((0..40_000).map(|_| 10_000 + noise.below(90_000)));
        assert!(late < 0.005 && (0.045..=0.0505).contains(&polled), "late {late}, polled {polled}");
    }

    #[test]
    fn polling_that_could_not_be_helped_is_not_paid_for_by_latency() {
        let mut tracker = MarginTracker::new(Margin::AUTO);
        (0..100).for_each(|_| tracker.learn(Nanos::from_us(10)));
        // The body left half a millisecond, too little for a sleep, so all of it was polled.
        (0..5_000).for_each(|_| tracker.spent(Nanos::from_us(500), MS));
        assert!(tracker.get(MS) >= Nanos::from_us(14), "{:?}", tracker.get(MS));
    }

    #[test]
    fn a_slow_task_polls_no_longer_than_a_quick_one() {
        for period in [Nanos::from_ms(10), Nanos::from_secs(1), Nanos::from_secs(10), Nanos::from_secs(3600)] {
            let mut tracker = MarginTracker::new(Margin::AUTO);
            assert!(tracker.get(period) <= FIRST, "nothing is known yet: {:?} of {period:?}", tracker.get(period));
            for k in 0..300 {
                tracker.learn(Nanos::from_us(if k % 3 == 0 { 40_000 } else { 30 }));
                tracker.spent(Nanos::from_us(50), period);
                assert!(tracker.get(period) <= LONGEST, "{:?} of {period:?}", tracker.get(period));
            }
        }
    }

    #[test]
    fn a_fixed_margin_is_what_was_said_and_leaves_room_for_a_sleep() {
        let mut tracker = MarginTracker::new(Margin::Fixed(Nanos::from_us(50)));
        tracker.learn(Nanos::from_ms(3));
        assert_eq!(tracker.get(MS), Nanos::from_us(50));
        assert_eq!(tracker.get(Nanos::from_us(40)), Nanos::from_us(30), "the period was set while running");
    }

    #[test]
    fn the_offset_settles_on_the_median_and_outliers_do_not_move_it() {
        let mut offset = Offset::new();
        let mut noise = Noise::new(1);
        for k in 0..5_000 {
            offset.learn(Nanos::from_ns(if k % 50 == 0 { 3_000_000 } else { 13_000 + noise.below(1_000) }));
        }
        let ns = offset.get().as_ns();
        assert!((13_000..15_500).contains(&ns), "{ns}");
    }
}
