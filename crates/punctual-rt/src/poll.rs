//! Polls the clock for a release: the last part of a wait, because a sleep would end too late.
//!
//! The clock decides when polling ends, not the CPU's counter, whose conversion to time is only approximate. The
//! counter is used for short rests (`TPAUSE`, `WFET`) that end before the release; each is computed from a new clock
//! reading. This module does not know the purpose of a wait.

use crate::sys::{self, TimedPause};
use punctual_hist::{MonoTime, Nanos};

/// Source of time; tests use a simulated one.
pub(crate) trait Clock {
    fn now(&mut self) -> MonoTime;
}

/// A CPU that can wait for its own counter; tests use a simulated one.
pub(crate) trait Rest {
    fn counter(&mut self) -> u64;
    /// Waits until the counter reaches `tick`; may return early.
    fn until(&mut self, tick: u64);
}

/// The time before the release that is polled without rests: longer than a rest takes to end plus the error of the
/// learned rate.
const GUARD: Nanos = Nanos::from_us(2);
/// The time before the release that is polled without any hint to the CPU, because a hint takes 25 to 45 ns on x86.
const BARE: Nanos = Nanos::from_us(1);
/// The longest rest. Within this time, the error of the learned rate is less than half of [`GUARD`].
const REST_MAX: Nanos = Nanos::from_us(200);
/// Rests shorter than this are not worth the time that beginning and ending them takes.
const REST_MIN: Nanos = Nanos::from_ns(500);
/// A clock reading takes longer than this on every CPU. So if the clock works, one reading for each 4 ns suffices to
/// reach the release.
const READ_AT_LEAST_NS: u64 = 4;
/// Number of readings allowed in addition to one for each 4 ns.
const READINGS_SPARE: u64 = 1_000;

/// The state of a polling, and in the end its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Polled {
    /// The latest reading of the clock. At the end it is at or after the release, unless the clock stood still or ran
    /// backwards.
    pub at: MonoTime,
    /// Number of clock readings so far, and the allowed number.
    iterations: u64,
    limit: u64,
}

/// Polls the clock, with the most economical way of resting that the CPU has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Poller {
    pause: Option<TimedPause>,
    rate: Rate,
}

impl Poller {
    /// Detects what this CPU supports.
    ///
    /// # Real-time
    /// `CPUID` causes an exit from a virtual machine: call before the loop.
    ///
    /// # Kernel
    /// On arm64, Linux 6.0 and later report whether `WFET` may be used. On earlier kernels the poller does not rest.
    pub fn detect() -> Self {
        Self { pause: TimedPause::detect(), rate: Rate::UNKNOWN }
    }

    /// A poller that never rests, whatever the CPU supports.
    #[cfg(test)]
    pub(crate) const fn plain() -> Self {
        Self { pause: None, rate: Rate::UNKNOWN }
    }

    /// Name of the way of polling: `"tpause"`, `"wfet"`, or `"pause"` and `"isb"` for a mere hint to the CPU.
    pub const fn name(&self) -> &'static str {
        match self.pause {
            Some(TimedPause::Tpause) => "tpause",
            Some(TimedPause::Wfet) => "wfet",
            None if cfg!(target_arch = "aarch64") => "isb",
            None => "pause",
        }
    }

    /// Polls `CLOCK_MONOTONIC` until `release`.
    ///
    /// The number of readings is bounded, so that a clock that stands still or runs backwards cannot hang a real-time
    /// thread. Only in this case is [`Polled::at`] before the release. If the release is past, the clock is read once.
    ///
    /// # Real-time
    /// Allocates nothing, and does not enter the kernel if the clock is in the vDSO. Bounded by the time to the
    /// release, and by one clock reading (20-70 ns) for each 4 ns of it.
    #[inline]
    pub fn poll_until(&mut self, release: MonoTime) -> Polled {
        match self.pause {
            Some(pause) => poll_resting(&mut System, &mut Cpu(pause), &mut self.rate, release),
            None => poll_plainly(&mut System, release),
        }
    }
}

struct System;

impl Clock for System {
    #[inline]
    fn now(&mut self) -> MonoTime {
        sys::now()
    }
}

struct Cpu(TimedPause);

impl Rest for Cpu {
    #[inline]
    fn counter(&mut self) -> u64 {
        sys::time_stamp_counter().unwrap_or(0)
    }

    #[inline]
    fn until(&mut self, tick: u64) {
        self.0.until(tick);
    }
}

/// Polls without rests.
#[inline]
pub(crate) fn poll_plainly<C: Clock>(clock: &mut C, release: MonoTime) -> Polled {
    Polled::begun(clock.now(), release).plainly(clock, release)
}

/// Rests while the release is more than [`GUARD`] away and the rate is known, then polls.
#[inline]
pub(crate) fn poll_resting<C: Clock, R: Rest>(
    clock: &mut C,
    cpu: &mut R,
    rate: &mut Rate,
    release: MonoTime,
) -> Polled {
    // The counter is always read before the clock: an interruption between the readings makes a rest too short, never
    // too long.
    let first = cpu.counter();
    let began = clock.now();
    rate.observe(first, began);
    let mut polled = Polled::begun(began, release);
    let whole = rate.ticks(release - began).unwrap_or(0);
    let mut tick = first;
    // The counter limits resting too, so that a clock that stands still causes one rest and not one at each reading.
    while tick.wrapping_sub(first) < whole && polled.may_read(release) {
        let rest = (release - polled.at - GUARD).min(REST_MAX);
        let Some(ticks) = rate.ticks(rest) else { break };
        if rest < REST_MIN {
            break;
        }
        cpu.until(tick.wrapping_add(ticks));
        tick = cpu.counter();
        polled.read(clock);
    }
    polled.plainly(clock, release)
}

impl Polled {
    #[inline]
    fn begun(at: MonoTime, release: MonoTime) -> Self {
        let limit = ((release - at).as_ns() / READ_AT_LEAST_NS).saturating_add(READINGS_SPARE);
        Self { at, iterations: 1, limit }
    }

    #[inline]
    fn may_read(&self, release: MonoTime) -> bool {
        self.at < release && self.iterations < self.limit
    }

    #[inline]
    fn read<C: Clock>(&mut self, clock: &mut C) {
        self.at = clock.now();
        self.iterations = self.iterations.saturating_add(1);
    }

    #[inline]
    fn plainly<C: Clock>(mut self, clock: &mut C, release: MonoTime) -> Self {
        while self.may_read(release) {
            if release - self.at > BARE {
                core::hint::spin_loop();
            }
            self.read(clock);
        }
        self
    }
}

/// Counter ticks per nanosecond, learned from pairs of counter and clock readings that polling makes anyway.
///
/// Each estimate spans two calls. If the counter stops, is reset or is not steady, estimates disagree and the rate
/// becomes unknown. Then there are no rests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    before: Option<(u64, MonoTime)>,
    /// Ticks per 2^24 ns.
    scaled: u64,
    agreed: u8,
}

/// Number of bits by which `scaled` is shifted.
const SCALE: u32 = 24;
/// Number of estimates that must agree before the rate is used.
const KNOWN: u8 = 3;
/// Upper limit of the count of agreeing estimates. It is above [`KNOWN`], so that one disturbed estimate does not make
/// the rate unknown.
const CERTAIN: u8 = 8;
/// Number of bits of agreement: two estimates agree if they differ by less than 1/256.
const AGREE: u32 = 8;
/// As a power of two: each estimate changes the rate by 1/8 of the difference.
const SMOOTH: u32 = 3;
/// An estimate over a span shorter than this would be dominated by the errors of the readings.
const SPAN_MIN: Nanos = Nanos::from_us(100);
/// During a span longer than this the machine may have been suspended.
const SPAN_MAX: Nanos = Nanos::from_secs(10);

impl Rate {
    pub(crate) const UNKNOWN: Self = Self { before: None, scaled: 0, agreed: 0 };

    /// Adds a pair of readings; the counter was read before the clock.
    #[inline]
    pub(crate) fn observe(&mut self, tick: u64, at: MonoTime) {
        let Some((tick_before, before)) = self.before else {
            self.before = Some((tick, at));
            return;
        };
        let span = at - before;
        if span < SPAN_MIN && at >= before {
            return;
        }
        self.before = Some((tick, at));
        if span < SPAN_MIN || span > SPAN_MAX {
            return;
        }
        let ticks = tick.wrapping_sub(tick_before);
        let estimate = ticks.checked_mul(1 << SCALE).and_then(|t| t.checked_div(span.as_ns()));
        self.learn(estimate.unwrap_or(0));
    }

    #[inline]
    fn learn(&mut self, estimate: u64) {
        if self.agreed == 0 {
            (self.scaled, self.agreed) = (estimate, 1);
            return;
        }
        if estimate.abs_diff(self.scaled) <= self.scaled >> AGREE {
            let step = estimate.abs_diff(self.scaled) >> SMOOTH;
            self.scaled = if estimate > self.scaled {
                self.scaled.saturating_add(step)
            } else {
                self.scaled.saturating_sub(step)
            };
            self.agreed = self.agreed.saturating_add(1).min(CERTAIN);
        } else {
            self.agreed = self.agreed.saturating_sub(1);
        }
    }

    /// Number of ticks in `length`, if the rate is known.
    #[inline]
    pub(crate) fn ticks(&self, length: Nanos) -> Option<u64> {
        if self.agreed < KNOWN || self.scaled == 0 {
            return None;
        }
        let scaled = u128::from(length.as_ns()).saturating_mul(u128::from(self.scaled));
        Some(u64::try_from(scaled >> SCALE).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    /// A simulated machine in which time passes only by readings and rests.
    struct Machine {
        true_ns: Cell<u64>,
        reading_ns: u64,
        /// Counter ticks per microsecond.
        ticks_per_us: u64,
        /// What the clock shows at a true time.
        shows: fn(u64) -> u64,
        /// By how much longer than requested a rest takes, for example because of an interrupt at its end.
        rest_late_ns: u64,
        /// The longest time after which a rest ends, which the kernel limits.
        rest_cap_ns: u64,
        rests: Cell<u64>,
    }

    impl Machine {
        fn new(shows: fn(u64) -> u64) -> Self {
            let (true_ns, rests) = (Cell::new(1_000_000_000), Cell::new(0));
            Self { true_ns, reading_ns: 25, ticks_per_us: 3_000, shows, rest_late_ns: 0, rest_cap_ns: u64::MAX, rests }
        }

        fn pass(&self, ns: u64) {
            self.true_ns.set(self.true_ns.get() + ns);
        }

        fn shown(&self) -> MonoTime {
            MonoTime::from_ns((self.shows)(self.true_ns.get()))
        }

        fn in_us(&self, us: u64) -> MonoTime {
            self.shown() + Nanos::from_us(us)
        }

        fn poll_resting(&self, rate: &mut Rate, release: MonoTime) -> Polled {
            poll_resting(&mut { self }, &mut { self }, rate, release)
        }

        /// Polls for a release in `us` microseconds. Returns how late the poll ended (negative if early), and its cost.
        fn poll_in(&self, rate: &mut Rate, us: u64) -> (i64, Polled) {
            let release = self.in_us(us);
            let polled = self.poll_resting(rate, release);
            (polled.at.signed_since(release).as_ns(), polled)
        }

        /// A rate learned in the way a periodic thread learns it.
        fn learned(&self) -> Rate {
            let mut rate = Rate::UNKNOWN;
            for _ in 0..10 {
                self.pass(950_000);
                self.poll_in(&mut rate, 50);
            }
            self.rests.set(0);
            rate
        }
    }

    impl Clock for &Machine {
        fn now(&mut self) -> MonoTime {
            self.pass(self.reading_ns);
            self.shown()
        }
    }

    impl Rest for &Machine {
        fn counter(&mut self) -> u64 {
            u64::try_from(u128::from(self.true_ns.get()) * u128::from(self.ticks_per_us) / 1000).unwrap()
        }

        fn until(&mut self, tick: u64) {
            self.rests.set(self.rests.get() + 1);
            let missing = tick.saturating_sub(self.counter()) * 1000 / self.ticks_per_us;
            self.pass(missing.min(self.rest_cap_ns) + self.rest_late_ns);
        }
    }

    const TRUE: fn(u64) -> u64 = |t| t;

    #[test]
    fn arrives_within_one_reading() {
        let machine = Machine::new(TRUE);
        let release = machine.in_us(50);
        let polled = poll_plainly(&mut &machine, release);
        assert!(polled.at >= release && polled.at - release < Nanos::from_ns(25));
        assert_eq!(polled.iterations, 2000);
    }

    #[test]
    fn a_release_that_is_past_costs_one_reading() {
        let machine = Machine::new(TRUE);
        let past = machine.shown() - Nanos::from_us(5);
        let polled = poll_plainly(&mut &machine, past);
        assert_eq!(polled.iterations, 1);
        assert_eq!(machine.poll_resting(&mut machine.learned(), past).iterations, 1);
        assert_eq!(machine.rests.get(), 0);
    }

    #[test]
    fn rests_once_and_arrives_as_exactly() {
        for ticks_per_us in [24, 1_000, 5_800] {
            let machine = Machine { ticks_per_us, ..Machine::new(TRUE) };
            let (late, polled) = machine.poll_in(&mut machine.learned(), 50);
            assert!((0..=50).contains(&late), "{polled:?}");
            assert_eq!(machine.rests.get(), 1, "at {ticks_per_us} ticks/us");
            assert!(polled.iterations < 100, "{polled:?}");
        }
    }

    #[test]
    fn without_a_rate_nothing_rests() {
        let machine = Machine::new(TRUE);
        let mut rate = Rate::UNKNOWN;
        assert!(machine.poll_in(&mut rate, 50).1.iterations > 1_000);
        let stopped = Machine { ticks_per_us: 0, ..Machine::new(TRUE) };
        let mut rate = Rate::UNKNOWN;
        for _ in 0..20 {
            stopped.pass(950_000);
            assert!(stopped.poll_in(&mut rate, 50).0 >= 0);
        }
        assert_eq!(stopped.rests.get() + machine.rests.get(), 0);
    }

    #[test]
    fn a_capped_rest_is_resumed() {
        let machine = Machine { rest_cap_ns: 10_000, ..Machine::new(TRUE) };
        assert!((0..25).contains(&machine.poll_in(&mut machine.learned(), 100).0));
        assert_eq!(machine.rests.get(), 10);
    }

    #[test]
    fn a_rest_that_returns_at_once_is_polling() {
        let machine = Machine { rest_cap_ns: 0, ..Machine::new(TRUE) };
        assert!((0..=25).contains(&machine.poll_in(&mut machine.learned(), 50).0));
    }

    #[test]
    fn a_clock_that_stands_still_cannot_hang_a_thread() {
        let machine = Machine::new(|_| 1_000_000_000);
        let release = machine.in_us(50);
        let polled = poll_plainly(&mut &machine, release);
        assert_eq!((polled.iterations, polled.at), (50_000 / 4 + 1_000, machine.shown()));
        let (mut rate, before) = (Machine::new(TRUE).learned(), machine.true_ns.get());
        let polled = machine.poll_resting(&mut rate, release);
        assert!(polled.at < release && polled.iterations <= 50_000 / 4 + 1_000);
        assert!(machine.true_ns.get() - before < 50_000 + 48_000 + 13_500 * 25, "rested once for the whole, no more");
    }

    #[test]
    fn nor_can_one_that_runs_backwards() {
        let machine = Machine::new(|t| 3_000_000_000 - t);
        let release = machine.in_us(50);
        assert!(poll_plainly(&mut &machine, release).iterations <= 50_100 / 4 + 1_000);
        let (mut rate, before) = (Machine::new(TRUE).learned(), machine.true_ns.get());
        assert!(machine.poll_in(&mut rate, 50).0 < 0);
        assert!(machine.true_ns.get() - before < 1_000_000);
    }

    #[test]
    fn a_clock_that_jumps_ahead_ends_the_wait() {
        let machine = Machine::new(|t| if t < 1_000_020_000 { t } else { t + 1_000_000_000 });
        let release = machine.in_us(50);
        let polled = poll_plainly(&mut &machine, release);
        assert!(polled.at - release >= Nanos::from_ms(999), "{polled:?}");
    }

    #[test]
    fn a_coarse_clock_is_waited_for() {
        let coarse = Machine { ticks_per_us: 3_000, ..Machine::new(|t| t / 4_000_000 * 4_000_000) };
        let release = MonoTime::from_ns(1_002_000_000);
        let polled = poll_plainly(&mut &coarse, release);
        assert_eq!(polled.at, MonoTime::from_ns(1_004_000_000));
    }

    #[test]
    fn a_counter_that_changes_its_rate_is_learned_anew() {
        let mut machine = Machine::new(TRUE);
        let mut rate = machine.learned();
        machine.ticks_per_us = 2_000;
        for _ in 0..30 {
            machine.pass(950_000);
            machine.poll_in(&mut rate, 50);
        }
        machine.rests.set(0);
        assert!(machine.poll_in(&mut rate, 50).0 <= 50);
        assert_eq!(machine.rests.get(), 1);
    }

    #[test]
    fn one_stall_between_counter_and_clock_does_not_spoil_the_rate() {
        let mut rate = Machine::new(TRUE).learned();
        let known = rate.ticks(Nanos::from_us(100)).unwrap();
        let (_, at) = rate.before.unwrap();
        let stalled = at + Nanos::from_ms(2);
        rate.observe((at.as_ns() + 1_000_000) * 3, stalled);
        rate.observe((stalled.as_ns() + 1_000_000) * 3, stalled + Nanos::from_ms(1));
        assert_eq!(rate.ticks(Nanos::from_us(100)), Some(known));
    }

    #[test]
    fn the_real_clock_is_reached() {
        for mut poller in [Poller::detect(), Poller::plain()] {
            for _ in 0..10 {
                let release = sys::now() + Nanos::from_us(200);
                let polled = poller.poll_until(release);
                assert!(polled.at >= release, "{}: {polled:?}", poller.name());
            }
        }
    }

    proptest! {
        #[test]
        fn never_early_never_hung(
            reading_ns in 5u64..5_000, ticks_per_us in 0u64..6_000, rest_late_ns in 0u64..100_000,
            rest_cap_ns in 0u64..200_000, ahead_us in prop::collection::vec(0u64..2_000, 1..20),
        ) {
            let machine = Machine { reading_ns, ticks_per_us, rest_late_ns, rest_cap_ns, ..Machine::new(TRUE) };
            let mut rate = Rate::UNKNOWN;
            for ahead in ahead_us {
                machine.pass(500_000);
                let (late, polled) = machine.poll_in(&mut rate, ahead);
                let most = i64::try_from(reading_ns + rest_late_ns).unwrap();
                prop_assert!((0..=most).contains(&late), "late by {} with {:?}", late, polled);
            }
        }

        #[test]
        fn nothing_overflows(pairs in prop::collection::vec((any::<u64>(), any::<u64>()), 0..20), length in any::<u64>()) {
            let mut rate = Rate::UNKNOWN;
            for (tick, at) in pairs {
                rate.observe(tick, MonoTime::from_ns(at));
                rate.ticks(Nanos::from_ns(length));
            }
        }
    }
}
