//! What the watch itself costs, and the longer period with which it costs less.

use crate::sys::usage;
use punctual_hist::{MonoTime, Nanos};

/// Time after the beginning of a run at which the cost is looked at first, and time between two later looks.
const FIRST_LOOK: Nanos = Nanos::from_secs(10);
const LOOK: Nanos = Nanos::from_secs(60);
/// A cost this much above the limit is not worth a new period.
const TOLERATED: f64 = 1.1;
/// Longest period that the watch takes to cost less.
const PERIOD_MAX: Nanos = Nanos::from_secs(1);

/// CPU time used up to an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub at: MonoTime,
    /// By the whole process.
    pub all: Nanos,
    /// By its measuring threads.
    pub probes: Nanos,
}

impl Spent {
    pub fn read(at: MonoTime, tids: &[u32]) -> Self {
        let probes = tids.iter().filter_map(|tid| usage::thread_cpu(*tid));
        Self { at, all: usage::own_cpu(), probes: probes.fold(Nanos::ZERO, Nanos::plus) }
    }
}

/// Shares of one CPU, over the time between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    pub all: f64,
    pub probes: f64,
}

impl Shares {
    pub fn between(then: &Spent, now: &Spent) -> Self {
        let time = now.at.since(then.at).as_secs_f64();
        let share = |spent: Nanos| if time > 0.0 { spent.as_secs_f64() / time } else { 0.0 };
        Self { all: share(now.all.minus(then.all)), probes: share(now.probes.minus(then.probes)) }
    }
}

/// Watches the cost of one run.
#[derive(Clone, Debug)]
pub struct Cost {
    /// Largest share of one CPU for the whole process.
    limit: f64,
    begun: Option<MonoTime>,
    last: Option<Spent>,
    /// The shares at the last look.
    pub shares: Option<Shares>,
}

impl Cost {
    pub fn new(limit: f64) -> Self {
        Self { limit, begun: None, last: None, shares: None }
    }

    pub fn limit(&self) -> f64 {
        self.limit
    }

    /// Looks at the cost if it is time to. Returns a longer period if the present one costs too much.
    pub fn look(&mut self, at: MonoTime, period: Nanos, read: impl FnOnce() -> Spent) -> Option<Nanos> {
        let Some(last) = self.last else {
            // What was spent before, on starting up, does not come again.
            (self.begun, self.last) = (Some(at), Some(read()));
            return None;
        };
        let is_first = self.begun == Some(last.at);
        if at.since(last.at) < if is_first { FIRST_LOOK } else { LOOK } {
            return None;
        }
        let now = read();
        let shares = Shares::between(&last, &now);
        (self.last, self.shares) = (Some(now), Some(shares));
        longer_period(period, shares, self.limit)
    }
}

/// The shortest period of 1, 2 or 5 times a power of ten with which the cost is within the limit, if what the measuring
/// threads cost is proportional to their rate. `None` if the present period will do.
fn longer_period(period: Nanos, shares: Shares, limit: f64) -> Option<Nanos> {
    if shares.all <= limit * TOLERATED {
        return None;
    }
    // If the other threads alone take most of the limit, the measuring threads are left a quarter of it.
    let room = (limit - (shares.all - shares.probes)).max(limit / 4.0);
    let wanted = period.as_secs_f64() * (shares.probes / room);
    let steps = (0..10).flat_map(|power| [1, 2, 5].map(|digit| Nanos::from_us(digit * 10_u64.pow(power))));
    let mut enough = steps.filter(|step| *step > period && *step <= PERIOD_MAX);
    enough
        .clone()
        .find(|step| step.as_secs_f64() >= wanted)
        .or_else(|| enough.next_back())
        .filter(|_| wanted > period.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(all: f64, probes: f64) -> Shares {
        Shares { all, probes }
    }

    #[test]
    fn a_watch_that_costs_too_much_takes_a_longer_period() {
        let ms = Nanos::from_ms;
        assert_eq!(longer_period(ms(1), shares(0.000_9, 0.000_8), 0.001), None);
        assert_eq!(longer_period(ms(1), shares(0.001_05, 0.000_9), 0.001), None, "that little is tolerated");
        assert_eq!(longer_period(ms(1), shares(0.004_1, 0.004), 0.001), Some(ms(5)));
        assert_eq!(longer_period(ms(1), shares(0.001_5, 0.001_4), 0.001), Some(ms(2)));
        assert_eq!(longer_period(ms(5), shares(0.5, 0.4), 0.001), Some(Nanos::from_secs(1)), "no longer than that");
        assert_eq!(longer_period(Nanos::from_secs(1), shares(0.5, 0.4), 0.001), None);
        assert_eq!(longer_period(ms(10), shares(0.002, 0.000_1), 0.001), None, "its rate is not what costs");
        assert_eq!(longer_period(Nanos::from_us(1_500), shares(0.002, 0.001_9), 0.001), Some(ms(5)));
    }

    #[test]
    fn starting_up_does_not_count_and_looks_come_once_a_minute() {
        let at = |s| MonoTime::from_ns(0).plus(Nanos::from_secs(s));
        let spent = |s, ms| move || Spent { at: at(s), all: Nanos::from_ms(ms), probes: Nanos::from_ms(ms) };
        let mut cost = Cost::new(0.001);
        let look = |cost: &mut Cost, s, ms| cost.look(at(s), Nanos::from_ms(1), spent(s, ms));
        assert_eq!(look(&mut cost, 5, 900), None);
        assert_eq!(look(&mut cost, 14, 990), None, "it is too early to tell");
        assert_eq!(look(&mut cost, 15, 905), None);
        assert_eq!(cost.shares.map(|shares| (shares.all * 1e5).round()), Some(50.0));
        assert_eq!(look(&mut cost, 60, 5_000), None);
        assert_eq!(look(&mut cost, 75, 1_145), Some(Nanos::from_ms(5)), "0.4 % of a CPU");
    }
}
