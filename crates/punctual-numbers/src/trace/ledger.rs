//! Remembers how much counters grew from reading to reading, and computes how much they grew around an activation and
//! how much they usually grow.
//!
//! A step is one reading of all counters. Only growth is stored, so that thousands of counters that stand still take no
//! memory. The growth of a counter over a stretch of time is known only if the counter was read at every step of it: a
//! missing value is not zero. This module must not know where values come from.

use super::{Around, Counter, Growth};
use punctual_hist::{MonoTime, Nanos};
use std::collections::{BTreeMap, VecDeque};

/// Steps older than `REACH` are forgotten, and the oldest ones when there are more than `MOST_GROWTHS` growths (16 MiB).
const REACH: Nanos = Nanos::from_secs(30);
const MOST_GROWTHS: usize = 1 << 20;

/// What a slot counts. `Actual` and `Nominal` cycles become a counter only together, as their ratio.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counted {
    Plain(Counter),
    /// An interrupt line of a device, which is reported only if it has interrupted during the run.
    Device(Counter),
    /// Cycles at the actual frequency of the CPU.
    Actual,
    /// Cycles at the nominal frequency of the CPU.
    Nominal,
}

/// Index of one counter of one CPU in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(usize);

#[derive(Clone, Debug, Default)]
pub struct Ledger {
    counters: Vec<Counted>,
    slots: Vec<Held>,
    steps: VecDeque<Step>,
    /// Number of steps that have been forgotten. Steps are numbered from 1.
    forgotten: u64,
    growths: usize,
    open: Step,
}

#[derive(Clone, Copy, Debug, Default)]
struct Held {
    cpu: u32,
    counter: usize,
    value: u64,
    /// Numbers of the first and the last step of the newest unbroken series of readings; 0 if the counter was never
    /// read.
    since: u64,
    until: u64,
    /// Sum of the growth over all unbroken series of readings, and the sum of their lengths.
    total: u128,
    time: Nanos,
}

#[derive(Clone, Debug, Default)]
struct Step {
    begun: MonoTime,
    done: MonoTime,
    /// Growth of each slot that grew since the step before: (slot, growth).
    grown: Vec<(usize, u64)>,
}

impl Ledger {
    /// Adds a kind of counter and returns its number, which [`slot`](Self::slot) takes.
    pub fn counter(&mut self, counted: Counted) -> usize {
        self.counters.push(counted);
        self.counters.len() - 1
    }

    pub fn slot(&mut self, cpu: u32, counter: usize) -> Slot {
        self.slots.push(Held { cpu, counter, ..Held::default() });
        Slot(self.slots.len() - 1)
    }

    pub fn begin(&mut self, at: MonoTime) {
        self.open = Step { begun: at, done: at, grown: Vec::new() };
    }

    pub fn put(&mut self, slot: Slot, value: u64) {
        let number = self.number(self.steps.len());
        let since_last = self.steps.back().map(|last| self.open.begun.since(last.begun));
        let Some(held) = self.slots.get_mut(slot.0).filter(|held| held.until != number) else { return };
        // A counter that fell was reset, so its growth is unknown.
        let growth = value.checked_sub(held.value);
        match growth.zip(since_last).filter(|_| held.until != 0 && held.until + 1 == number) {
            Some((growth, time)) => {
                held.total += u128::from(growth);
                held.time = held.time.plus(time);
                if growth > 0 {
                    self.open.grown.push((slot.0, growth));
                }
            }
            None => held.since = number,
        }
        held.until = number;
        held.value = value;
    }

    pub fn close(&mut self, at: MonoTime) {
        let mut step = std::mem::take(&mut self.open);
        step.done = at.max(step.begun);
        self.growths += step.grown.len();
        self.steps.push_back(step);
        let too_old = |front: &Step| at.since(front.done) > REACH;
        while self.steps.len() > 2 && (self.growths > MOST_GROWTHS || self.steps.front().is_some_and(too_old)) {
            self.growths -= self.steps.pop_front().map_or(0, |step| step.grown.len());
            self.forgotten += 1;
        }
    }

    pub fn last(&self) -> Option<MonoTime> {
        self.steps.back().map(|step| step.begun)
    }

    /// Growth of this CPU's counters between the last step that was over by `from` and the first that began at `to` or
    /// later. `None` if one of the two steps is forgotten or has not been taken yet.
    pub fn around(&self, cpu: u32, from: MonoTime, to: MonoTime) -> Option<Around> {
        let before = self.steps.partition_point(|step| step.done <= from).checked_sub(1)?;
        let after = self.steps.partition_point(|step| step.begun < to).max(before + 1);
        let (start, end) = (self.steps.get(before)?, self.steps.get(after)?);
        let mut grown: BTreeMap<usize, u64> = BTreeMap::new();
        for (slot, growth) in self.steps.range(before + 1..=after).flat_map(|step| &step.grown) {
            let sum = grown.entry(*slot).or_default();
            *sum = sum.saturating_add(*growth);
        }
        let numbers = (self.number(before), self.number(after));
        let length = end.begun.since(start.begun);
        let is_known = |held: &Held| held.since != 0 && held.since <= numbers.0 && held.until >= numbers.1;
        let known = self.slots.iter().enumerate().filter(|(_, held)| held.cpu == cpu && is_known(held));
        let grown: Vec<Grown<'_>> = known
            .filter_map(|(slot, held)| {
                let by = grown.get(&slot).copied().unwrap_or_default();
                let elsewhere = (held.total.saturating_sub(u128::from(by)), held.time.minus(length));
                Some(Grown { counted: self.counters.get(held.counter)?, by, elsewhere })
            })
            .collect();
        let changes = changes(&grown, length);
        Some(Around { from: start.begun, to: end.done, changes, standstill: None })
    }

    fn number(&self, place: usize) -> u64 {
        self.forgotten + 1 + place as u64
    }
}

struct Grown<'a> {
    counted: &'a Counted,
    by: u64,
    /// Growth outside the stretch of time around the activation, and the length of the time outside.
    elsewhere: (u128, Nanos),
}

impl Grown<'_> {
    /// Usual growth in a time of this length. `None` unless the counter was observed for at least as long elsewhere in
    /// the run.
    fn usually(&self, length: Nanos) -> Option<u64> {
        let (total, time) = (self.elsewhere.0, u128::from(self.elsewhere.1.as_ns()));
        let length = u128::from(length.as_ns());
        let usual = || total.saturating_mul(length).saturating_add(time / 2).checked_div(time);
        (time >= length).then(usual).flatten().and_then(|usual| u64::try_from(usual).ok())
    }
}

fn changes(grown: &[Grown<'_>], length: Nanos) -> Vec<Growth> {
    let plain = grown.iter().filter_map(|grown| match grown.counted {
        Counted::Plain(counter) => Some((grown, counter)),
        Counted::Device(counter) => (grown.by > 0 || grown.elsewhere.0 > 0).then_some((grown, counter)),
        Counted::Actual | Counted::Nominal => None,
    });
    let change = |(grown, counter): (&Grown<'_>, &Counter)| Growth {
        counter: counter.clone(),
        by: grown.by,
        usually: grown.usually(length),
    };
    plain.map(change).chain(frequency(grown)).collect()
}

/// The ratio of actual to nominal cycles, in thousandths.
fn frequency(grown: &[Grown<'_>]) -> Option<Growth> {
    let of = |wanted: &Counted| grown.iter().find(|grown| grown.counted == wanted);
    let (actual, nominal) = (of(&Counted::Actual)?, of(&Counted::Nominal)?);
    let ratio = |actual: u128, nominal: u128| {
        let thousandths = actual.saturating_mul(1_000).checked_div(nominal)?;
        u64::try_from(thousandths).ok()
    };
    // A CPU that slept all the time counted no nominal cycles, so there is no ratio.
    let by = ratio(u128::from(actual.by), u128::from(nominal.by))?;
    Some(Growth { counter: Counter::FrequencyRatio, by, usually: ratio(actual.elsewhere.0, nominal.elsewhere.0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STEAL: Counted = Counted::Plain(Counter::Steal);

    fn ms(ms: u64) -> MonoTime {
        MonoTime::from_ns(ms * 1_000_000)
    }

    /// Adds a step of 1 ms every 100 ms. The values are in the order of the slots; `None` stands for a counter that was
    /// not read.
    fn steps<const N: usize>(ledger: &mut Ledger, slots: [Slot; N], values: &[[Option<u64>; N]]) {
        for values in values {
            let at = ms(100 * ledger.number(ledger.steps.len()));
            read(ledger, slots, *values, at, at.plus(Nanos::from_ms(1)));
        }
    }

    fn read<const N: usize>(
        ledger: &mut Ledger,
        slots: [Slot; N],
        values: [Option<u64>; N],
        begun: MonoTime,
        done: MonoTime,
    ) {
        ledger.begin(begun);
        for (slot, value) in slots.iter().zip(values) {
            if let Some(value) = value {
                ledger.put(*slot, value);
            }
        }
        ledger.close(done);
    }

    fn one(what: Counted) -> (Ledger, Slot) {
        let mut ledger = Ledger::default();
        let counter = ledger.counter(what);
        let slot = ledger.slot(3, counter);
        (ledger, slot)
    }

    fn growths(around: Option<Around>) -> Option<Vec<(u64, Option<u64>)>> {
        around.map(|around| around.changes.iter().map(|change| (change.by, change.usually)).collect())
    }

    #[test]
    fn growth_is_that_of_the_steps_on_both_sides() {
        let (mut ledger, slot) = one(STEAL);
        steps(&mut ledger, [slot], &[5, 7, 7, 17, 18, 20].map(|n| [Some(n)]));
        let around = ledger.around(3, ms(350), ms(360)).unwrap();
        assert_eq!((around.from, around.to), (ms(300), ms(401)));
        assert_eq!(around.changes, [Growth { counter: Counter::Steal, by: 10, usually: Some(1) }]);
        assert_eq!(growths(ledger.around(3, ms(250), ms(410))), Some(vec![(11, None)]), "over three of five");
        assert_eq!(growths(ledger.around(4, ms(350), ms(360))), Some(vec![]), "another CPU");
        let in_a_step = ledger.around(3, MonoTime::from_ns(400_500_000), MonoTime::from_ns(400_600_000));
        assert_eq!(in_a_step.map(|around| (around.from, around.to)), Some((ms(300), ms(501))));
    }

    #[test]
    fn what_is_not_bracketed_is_not_told() {
        let (mut ledger, slot) = one(STEAL);
        assert_eq!(ledger.around(3, ms(0), ms(1)), None);
        steps(&mut ledger, [slot], &[[Some(1)], [Some(2)], [Some(3)]]);
        assert_eq!(ledger.around(3, ms(90), ms(95)), None, "before all");
        assert_eq!(ledger.around(3, ms(310), ms(320)), None, "not yet");
        assert_eq!(ledger.around(3, ms(290), ms(301)), None, "not yet");
        assert_eq!(growths(ledger.around(3, ms(150), ms(160))), Some(vec![(1, Some(1))]));
    }

    #[test]
    fn a_counter_is_told_where_it_was_read_at_every_step_and_as_usual_where_it_was_seen_elsewhere() {
        let device = || Counted::Device(Counter::Interrupt("24".into(), "eth0".into()));
        let nothing = || Some(vec![]);
        let growth = |by, usually| Some(vec![(by, usually)]);
        for (what, values, asked) in [
            // The counter was never read outside the stretch, so its usual growth is unknown.
            (STEAL, vec![Some(1), Some(9)], vec![(150, growth(8, None))]),
            // The counter disappears, comes back at an unknown instant, and disappears again.
            (
                STEAL,
                vec![Some(1), Some(2), None, Some(90), Some(91), None],
                vec![(250, nothing()), (350, nothing()), (450, growth(1, Some(1))), (550, nothing())],
            ),
            // A counter that fell was reset, so its growth is unknown.
            (STEAL, vec![Some(10), Some(12), Some(3), Some(4)], vec![(250, nothing()), (350, growth(1, Some(2)))]),
            // A line of a device is reported only if it has interrupted during the run.
            (
                device(),
                vec![Some(10), Some(10), Some(10), Some(11)],
                vec![(150, growth(0, Some(1))), (350, growth(1, Some(0)))],
            ),
            (device(), vec![Some(10), Some(10)], vec![(150, nothing())]),
        ] {
            let (mut ledger, slot) = one(what);
            let values: Vec<[Option<u64>; 1]> = values.into_iter().map(|value| [value]).collect();
            steps(&mut ledger, [slot], &values);
            for (at, wanted) in asked {
                assert_eq!(growths(ledger.around(3, ms(at), ms(at + 10))), wanted, "{values:?} at {at} ms");
            }
        }
    }

    #[test]
    fn a_frequency_is_a_ratio_and_none_of_a_cpu_that_slept() {
        let (mut ledger, actual) = one(Counted::Actual);
        let nominal = ledger.counter(Counted::Nominal);
        let nominal = ledger.slot(3, nominal);
        let values = [[0, 0], [1_200, 1_000], [1_800, 2_000], [1_800, 2_000]].map(|n| n.map(Some));
        steps(&mut ledger, [actual, nominal], &values);
        let around = ledger.around(3, ms(250), ms(260)).unwrap();
        assert_eq!(around.changes, [Growth { counter: Counter::FrequencyRatio, by: 600, usually: Some(1_200) }]);
        assert_eq!(growths(ledger.around(3, ms(350), ms(360))), Some(vec![]));
    }

    #[test]
    fn memory_is_bounded_by_time_and_by_growth() {
        let (mut ledger, slot) = one(STEAL);
        let values: Vec<[Option<u64>; 1]> = (0..1_000).map(|n| [Some(n)]).collect();
        steps(&mut ledger, [slot], &values);
        assert!(ledger.steps.len() <= 302, "{}", ledger.steps.len());
        assert_eq!(ledger.around(3, ms(50_000), ms(50_001)), None, "forgotten");
        assert_eq!(growths(ledger.around(3, ms(90_050), ms(90_051))), Some(vec![(1, Some(1))]));
        ledger.growths += MOST_GROWTHS - 10;
        steps(&mut ledger, [slot], &[[Some(2_000)]]);
        assert!(ledger.growths <= MOST_GROWTHS && ledger.steps.len() <= 11, "{}", ledger.steps.len());
    }

    #[test]
    fn what_no_counter_holds_is_not_told() {
        let usually = |elsewhere| Grown { counted: &STEAL, by: 0, elsewhere }.usually(Nanos::from_ms(10));
        assert_eq!(usually((u128::MAX, Nanos::from_ms(100))), None);
        assert_eq!(usually((7_000, Nanos::from_ms(100))), Some(700));
    }

    proptest! {
        #[test]
        fn growths_of_neighbours_add_up(values in prop::collection::vec(0..1_000_u64, 4..40)) {
            let (mut ledger, slot) = one(STEAL);
            let mut sum = 0;
            let sums: Vec<[Option<u64>; 1]> = values.iter().map(|n| { sum += n; [Some(sum)] }).collect();
            steps(&mut ledger, [slot], &sums);
            let by = |from, to| ledger.around(3, ms(from), ms(to)).unwrap().changes[0].by;
            let last = 100 * values.len() as u64;
            let single: u64 = (1..values.len() as u64).map(|n| by(n * 100 + 10, n * 100 + 20)).sum();
            prop_assert_eq!(single, by(110, last - 10));
            prop_assert_eq!(single, values[1..].iter().sum::<u64>());
        }

        #[test]
        fn no_values_and_no_instants_make_it_panic(
            steps in prop::collection::vec((any::<u64>(), any::<u64>(), any::<[Option<u64>; 3]>()), 0..40),
            asked in prop::collection::vec(any::<(u64, u64)>(), 1..10),
        ) {
            let mut ledger = Ledger::default();
            let counters = [STEAL, Counted::Actual, Counted::Nominal].map(|counted| ledger.counter(counted));
            let slots = counters.map(|counter| ledger.slot(3, counter));
            for (begun, done, values) in steps {
                read(&mut ledger, slots, values, MonoTime::from_ns(begun), MonoTime::from_ns(done));
            }
            for (from, to) in asked {
                ledger.around(3, MonoTime::from_ns(from), MonoTime::from_ns(to));
            }
        }
    }
}
