//! When the first release is: pure, given what the clocks say.

use super::{Phase, PhaseClock, TaskConfig};
use crate::phase::Gaps;
use crate::{Policy, Wait, phase, sys};
use punctual_hist::{Delta, MonoTime, Nanos};

/// Polling on the task's CPU to find the tick.
const SCAN: Nanos = Nanos::from_ms(200);
/// At least so long from the start to the first release.
const LEAD: Nanos = Nanos::from_us(200);

/// Instants at which a task may begin: one of them, and how far they are apart.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Epoch {
    first: MonoTime,
    multiple: Nanos,
}

impl Epoch {
    /// Where the task's phase says. Looks for the tick if it must.
    ///
    /// A task of the deadline class is throttled while it polls, and one that follows outside events has no phase of its
    /// own: for these the tick is taken to be where it is unless the machine was told otherwise, at multiples of its length.
    ///
    /// # Real-time
    /// May poll for [`SCAN`]; allocates.
    pub(super) fn choose(config: &TaskConfig) -> Self {
        let period = config.period;
        let (multiple, offset, ahead) = match config.phase {
            Phase::Auto => {
                let scans = !matches!(config.setup.policy, Policy::Deadline { .. })
                    && !matches!(config.wait, Wait::External { .. });
                let gaps = if scans { phase::scan(SCAN) } else { Gaps::default() };
                let choice = phase::choose(&gaps, period, sys::tick_length());
                return Self { first: choice.align(sys::now()), multiple: period };
            }
            Phase::Offset(offset) => (period, offset, Delta::ZERO),
            Phase::AlignedTo { clock, multiple, offset } => {
                let multiple = if multiple == Nanos::ZERO { period } else { multiple };
                (multiple, offset, ahead_of_monotonic(clock))
            }
        };
        Self { first: aligned(sys::now(), ahead, multiple, offset), multiple }
    }

    /// The first of the instants that is not too soon.
    pub(super) fn soon(self) -> MonoTime {
        let earliest = sys::now().plus(LEAD);
        let (behind, step) = (earliest.since(self.first), self.multiple);
        let steps = behind.plus(step.minus(Nanos::from_ns(1))).whole(step);
        self.first.plus(step.times(steps))
    }
}

/// By how much a clock is ahead of `CLOCK_MONOTONIC` now.
fn ahead_of_monotonic(clock: PhaseClock) -> Delta {
    let there = match clock {
        PhaseClock::Monotonic => return Delta::ZERO,
        PhaseClock::Realtime => sys::real_time(),
        PhaseClock::Tai => sys::tai_time(),
    };
    MonoTime::from_ns(there).minus_instant(sys::now())
}

/// The first instant at or after `earliest` whose reading on a clock that is `ahead` is `offset` after a multiple.
fn aligned(earliest: MonoTime, ahead: Delta, multiple: Nanos, offset: Nanos) -> MonoTime {
    let there = earliest.moved(ahead).as_ns();
    let behind = there.saturating_sub(offset.as_ns()).checked_rem(multiple.as_ns()).unwrap_or(0);
    let missing = if there < offset.as_ns() {
        offset.as_ns().saturating_sub(there).checked_rem(multiple.as_ns()).unwrap_or(0)
    } else if behind == 0 {
        0
    } else {
        multiple.as_ns().saturating_sub(behind)
    };
    earliest.plus(Nanos::from_ns(missing))
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

    #[test]
    fn each_clock_gives_an_instant_soon() {
        for clock in [PhaseClock::Monotonic, PhaseClock::Realtime, PhaseClock::Tai] {
            let multiple = Nanos::from_ms(10);
            let before = sys::now();
            let phase = Phase::AlignedTo { clock, multiple, offset: Nanos::from_us(300) };
            let first = Epoch::choose(&TaskConfig::periodic(Nanos::from_ms(1)).phase(phase)).soon();
            assert!(first > before && first.since(sys::now()) <= multiple.plus(LEAD), "{clock:?}");
        }
    }
}
