//! What the watch of a program gives up to cost less: first the causes, then part of the time.

use crate::burden::{Burden, Spent};
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::watch::DAY;

/// Time after the beginning of a run at which the cost is looked at first, and time between two later looks.
const FIRST_LOOK: Nanos = Nanos::from_secs(10);
const LOOK: Nanos = Nanos::from_secs(60);
/// A cost this much above the limit is not worth a step.
const TOLERATED: f64 = 1.1;
/// Of this many seconds one is watched, at the steps of thrift.
const ONE_OF: [u32; 6] = [1, 2, 5, 10, 20, 50];

/// What a look at the cost led to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Saving {
    None,
    NoCauses,
    /// From now on, one second of this many is watched.
    OneOf(u32),
}

/// What the watch allows itself. It outlives runs.
#[derive(Clone, Debug)]
pub struct Frugality {
    share: f64,
    wants_causes: bool,
    has_causes: bool,
    thrift: usize,
    day: u64,
    last: Option<Spent>,
    is_first: bool,
}

impl Frugality {
    pub fn new(share: f64, wants_causes: bool) -> Self {
        Self { share, wants_causes, has_causes: wants_causes, thrift: 0, day: 0, last: None, is_first: true }
    }

    /// A run begins. Each day begins with everything, because another day may be quieter.
    pub fn begins(&mut self, unix_ns: u64) {
        let day = unix_ns / DAY.as_ns();
        if std::mem::replace(&mut self.day, day) != day {
            (self.has_causes, self.thrift) = (self.wants_causes, 0);
        }
        (self.last, self.is_first) = (None, true);
    }

    pub fn has_causes(&self) -> bool {
        self.has_causes
    }

    /// Of this many seconds one is watched.
    pub fn one_of(&self) -> u32 {
        ONE_OF.get(self.thrift).copied().unwrap_or(1)
    }

    /// Largest share of one CPU for this many threads.
    pub fn limit(&self, threads: usize) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "a program has few threads that are followed")]
        let threads = threads as f64;
        self.share * threads
    }

    /// Looks at the cost if it is time to.
    pub fn look(&mut self, at: MonoTime, threads: usize, read: impl FnOnce() -> Spent) -> Option<(Burden, Saving)> {
        let Some(last) = self.last else {
            // What was spent before, on the study, does not come again.
            self.last = Some(read());
            return None;
        };
        if at.since(last.at) < if self.is_first { FIRST_LOOK } else { LOOK } {
            return None;
        }
        let now = read();
        let burden = Burden::between(&last, &now);
        (self.last, self.is_first) = (Some(now), false);
        let step = self.step(&burden, threads);
        Some((burden, step))
    }

    fn step(&mut self, burden: &Burden, threads: usize) -> Saving {
        let limit = self.limit(threads);
        if burden.all() <= limit * TOLERATED {
            return Saving::None;
        }
        if std::mem::replace(&mut self.has_causes, false) {
            return Saving::NoCauses;
        }
        // The part of the cost that does not depend on what is recorded cannot be saved.
        let wanted = burden.all() / limit * f64::from(self.one_of());
        let enough = |of: &u32| f64::from(*of) >= wanted;
        let thrift = ONE_OF.iter().position(enough).unwrap_or(ONE_OF.len() - 1);
        if thrift <= self.thrift {
            return Saving::None;
        }
        self.thrift = thrift;
        Saving::OneOf(self.one_of())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: u64 = 20_000 * DAY.as_ns() + DAY.as_ns() / 2;

    fn spent(s: u64, own_ms: u64, records: u64, of_causes: u64) -> Spent {
        let at = MonoTime::from_ns(s * 1_000_000_000);
        let each = Nanos::from_ns(200);
        Spent { at, own: Nanos::from_ms(own_ms), records: each.times(records), causes: each.times(of_causes) }
    }

    fn look(frugality: &mut Frugality, spent: Spent) -> Option<(Burden, Saving)> {
        frugality.look(spent.at, 1, || spent)
    }

    #[test]
    fn causes_go_first_then_part_of_the_time() {
        let mut frugality = Frugality::new(0.001, true);
        frugality.begins(NOON);
        assert_eq!(look(&mut frugality, spent(5, 900, 0, 0)), None, "the study does not count");
        assert_eq!(look(&mut frugality, spent(14, 900, 0, 0)), None, "it is too early");
        let (burden, step) = look(&mut frugality, spent(15, 904, 20_000, 100_000)).unwrap();
        let short = |share: f64| format!("{share:.4}");
        assert_eq!([burden.own, burden.records, burden.causes].map(short), ["0.0004", "0.0004", "0.0020"]);
        assert_eq!((step, frugality.has_causes()), (Saving::NoCauses, false));
        assert_eq!(look(&mut frugality, spent(75, 928, 140_000, 100_000)).unwrap().1, Saving::None);
        let (_, step) = look(&mut frugality, spent(135, 988, 740_000, 100_000)).unwrap();
        assert_eq!((step, frugality.one_of()), (Saving::OneOf(5), 5));
        frugality.begins(NOON);
        assert_eq!((frugality.has_causes(), frugality.one_of()), (false, 5), "the same day");
        frugality.begins(NOON + DAY.as_ns());
        assert_eq!((frugality.has_causes(), frugality.one_of()), (true, 1));
    }

    #[test]
    fn what_cannot_be_saved_is_not_saved_for_ever() {
        let mut frugality = Frugality::new(0.001, false);
        frugality.begins(NOON);
        look(&mut frugality, spent(0, 0, 0, 0));
        assert_eq!(look(&mut frugality, spent(60, 6_000, 0, 0)).unwrap().1, Saving::OneOf(50));
        assert_eq!(look(&mut frugality, spent(120, 12_000, 0, 0)).unwrap().1, Saving::None);
    }
}
