//! Computes the first release from the configuration and the readings of clocks.

use super::{Phase, PhaseClock, TaskConfig};
use crate::phase::Gaps;
use crate::{Policy, Wait, phase, sys};
use punctual_hist::{Delta, MonoTime, Nanos};

/// How long the task's CPU is polled to find the tick.
const SCAN: Nanos = Nanos::from_ms(200);
/// The shortest time from the start to the first release.
const LEAD: Nanos = Nanos::from_us(200);

/// A series of instants at which a task may begin: one of them, and their distance.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Epoch {
    first: MonoTime,
    multiple: Nanos,
}

impl Epoch {
    /// Chooses the instants that the task's phase allows. Polls to find the tick if necessary.
    ///
    /// A task of the deadline class would be throttled while it polls, and a task that follows outside events has no
    /// phase of its own. For both, the tick is assumed at its default position, at multiples of its period.
    ///
    /// # Real-time
    /// May poll for [`SCAN`]; allocates.
    pub(super) fn choose(config: &TaskConfig) -> Self {
        Self::choose_by(config, sys::tick_length(), phase::scan)
    }

    /// Chooses as [`Self::choose`] does, with the given tick period and scan.
    fn choose_by(config: &TaskConfig, tick: Nanos, scan: impl FnOnce(Nanos) -> Gaps) -> Self {
        let period = config.period;
        let (multiple, offset, ahead) = match config.phase {
            Phase::Auto => {
                let scans = !matches!(config.setup.policy, Policy::Deadline { .. })
                    && !matches!(config.wait, Wait::External { .. });
                let gaps = if scans { scan(SCAN) } else { presumed(tick) };
                return Self::from(&gaps, period, tick, sys::now());
            }
            Phase::Offset(offset) => (period, offset, Delta::ZERO),
            Phase::AlignedTo { clock, multiple, offset } => {
                let multiple = if multiple == Nanos::ZERO { period } else { multiple };
                (multiple, offset, ahead_of_monotonic(clock))
            }
        };
        Self { first: aligned(sys::now(), ahead, multiple, offset), multiple }
    }

    /// Instants away from the tick that the gaps show, not before `earliest`.
    fn from(gaps: &Gaps, period: Nanos, tick: Nanos, earliest: MonoTime) -> Self {
        Self { first: phase::choose(gaps, period, tick).align(earliest), multiple: period }
    }

    /// The first of the instants that is at least [`LEAD`] in the future.
    pub(super) fn soon(self) -> MonoTime {
        let earliest = sys::now() + LEAD;
        let (behind, step) = (earliest - self.first, self.multiple);
        let steps = (behind + (step - Nanos::from_ns(1))).whole(step);
        self.first + step * steps
    }
}

/// The gaps that a scan would see if ticks came at the multiples of their period.
fn presumed(tick: Nanos) -> Gaps {
    const TICKS: u64 = 50;
    let at = |n: u64| MonoTime::default() + tick * n;
    let seen = (0..TICKS).map(|n| (at(n), Nanos::from_us(5))).collect();
    Gaps { began: at(0), ended: at(TICKS), seen, ..Gaps::default() }
}

/// How far a clock is ahead of `CLOCK_MONOTONIC` at present.
fn ahead_of_monotonic(clock: PhaseClock) -> Delta {
    let there = match clock {
        PhaseClock::Monotonic => return Delta::ZERO,
        PhaseClock::Realtime => sys::real_time(),
        PhaseClock::Tai => sys::tai_time(),
    };
    MonoTime::from_ns(there).signed_since(sys::now())
}

/// The first instant at or after `earliest` whose reading on a clock that is `ahead` is `offset` after a multiple.
fn aligned(earliest: MonoTime, ahead: Delta, multiple: Nanos, offset: Nanos) -> MonoTime {
    let there = (earliest + ahead).as_ns();
    let behind = there.saturating_sub(offset.as_ns()).checked_rem(multiple.as_ns()).unwrap_or(0);
    let missing = if there < offset.as_ns() {
        offset.as_ns().saturating_sub(there).checked_rem(multiple.as_ns()).unwrap_or(0)
    } else if behind == 0 {
        0
    } else {
        multiple.as_ns().saturating_sub(behind)
    };
    earliest + Nanos::from_ns(missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_release_lies_where_it_was_asked_and_soon(
            earliest in 0u64..1 << 50, ahead in 0i64..1 << 60, multiple in 1u64..1 << 34, offset in 0u64..1 << 35,
        ) {
            let first = aligned(MonoTime::from_ns(earliest), Delta::from_ns(ahead), Nanos::from_ns(multiple), Nanos::from_ns(offset));
            let there = first.as_ns() + ahead.unsigned_abs();
            prop_assert_eq!(there % multiple, offset % multiple);
            prop_assert!(first.as_ns() >= earliest && first.as_ns() - earliest < multiple);
        }
    }

    const MS: Nanos = Nanos::from_ms(1);
    const TICK: Nanos = Nanos::from_ms(4);

    /// A deadline task would be throttled during a scan, and a task that follows events has no phase of its own.
    #[test]
    fn what_cannot_scan_keeps_clear_of_where_the_tick_usually_is() {
        let deadline = Policy::Deadline { runtime: Nanos::from_us(200), deadline: MS, period: MS };
        let external = Wait::External { event: crate::Event::Readable(0), patience: MS };
        for config in [TaskConfig::periodic(MS).policy(deadline), TaskConfig::periodic(MS).wait(external)] {
            let epoch = Epoch::choose_by(&config, TICK, |_| unreachable!("it must not scan"));
            let phase = epoch.first.as_ns() % MS.as_ns();
            assert!((250_000..750_000).contains(&phase), "{phase}");
        }
    }

    /// The gaps that a scan sees of a tick at this phase.
    fn ticks_at(phase: Nanos) -> Gaps {
        let began = MonoTime::from_ns(8_000_000_000);
        let tick = |n| (began + phase + TICK * n, Nanos::from_us(9));
        Gaps { began, ended: began + SCAN, seen: (0..50).map(tick).collect(), ..Gaps::default() }
    }

    #[test]
    fn the_first_release_keeps_clear_of_the_tick_that_was_seen_and_so_does_each_later_one() {
        for tick_us in [1, 250, 500, 999, 1_300, 2_000, 3_750] {
            let gaps = ticks_at(Nanos::from_us(tick_us));
            let earliest = MonoTime::from_ns(9_123_456_789);
            let pure = Epoch::from(&gaps, MS, TICK, earliest);
            assert!(pure.first >= earliest && pure.first - earliest <= MS);
            let config = TaskConfig::periodic(MS);
            let chosen = Epoch::choose_by(&config, TICK, |length| {
                assert_eq!(length, SCAN);
                gaps
            });
            for first in [pure.first, pure.soon(), chosen.first, chosen.soon(), chosen.soon() + MS * 77] {
                let after = (first.as_ns() + 1_000_000 - tick_us % 1_000 * 1_000) % 1_000_000;
                assert!((300_000..=700_000).contains(&after), "{after} ns after a tick at {tick_us} us");
            }
        }
    }

    /// The reading of `clock` at the instant `at`, computed from the closest of a hundred pairs of readings.
    fn reading(clock: fn() -> u64, at: MonoTime) -> u64 {
        let looks = (0..100).map(|_| {
            let before = sys::now();
            let there = clock();
            let took = sys::now() - before;
            (took, MonoTime::from_ns(there).signed_since(before + took / 2))
        });
        (at + looks.min().unwrap().1).as_ns()
    }

    #[test]
    fn a_first_release_that_is_aligned_to_a_clock_is_a_multiple_of_it() {
        let (multiple, offset) = (Nanos::from_ms(10), Nanos::from_us(300));
        let clocks: [(_, fn() -> u64); 3] = [
            (PhaseClock::Monotonic, || sys::now().as_ns()),
            (PhaseClock::Realtime, sys::real_time),
            (PhaseClock::Tai, sys::tai_time),
        ];
        for (clock, read) in clocks {
            let config = TaskConfig::periodic(MS).phase(Phase::AlignedTo { clock, multiple, offset });
            // If the thread loses time between reading two clocks, the result is wrong by that time. Then the test
            // repeats.
            let off = |_| {
                let before = sys::now();
                let first = Epoch::choose(&config).soon();
                assert!(first > before && first - sys::now() <= multiple + LEAD, "{clock:?}: not soon");
                (reading(read, first) % multiple.as_ns()).abs_diff(offset.as_ns())
            };
            let least = (0..20).map(off).min().unwrap();
            assert!(least <= 1_000, "{clock:?}: {least} ns off");
        }
    }
}
