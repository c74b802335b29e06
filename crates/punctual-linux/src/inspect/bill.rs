//! What the inspection takes of the machine and of the program, and whether that is too much.
//!
//! What records, call stacks and probes take of the program is their number times a price, which is measured on a thread of
//! our own before anything is observed.

use super::allocations::HIT;
use super::stacks::Stacks;
use crate::burden::{Burden, Spent};
use crate::sys::usage;
use crate::trace::ProgramTrace;
use crate::trace::price::{batches, more};
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::inspect::{Cost, CycleCost, GivenUp, Record, Saved, Seen};
use punctual_numbers::trace::Tid;
use rustix::process::getppid;
use rustix::thread::gettid;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;

/// Reading the code of the program, at the start, does not come again: the cost is looked at from this time on.
const START: Nanos = Nanos::from_secs(1);
/// Time between two looks at the cost.
const LOOK: Nanos = Nanos::from_secs(2);
/// A cost this much above the limit is not worth a step.
const TOLERATED: f64 = 1.1;
/// Records of one system call: that it begins, and that it ends.
const OF_CALL: u64 = 2;

/// What each takes of the thread that it is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prices {
    pub record: Nanos,
    pub stack: Nanos,
}

impl Prices {
    /// The time of system calls that nothing records, to be measured before a trace is opened.
    pub fn unrecorded() -> Nanos {
        batches(|_| Ok::<(), Infallible>(()), call).map_or(Nanos::ZERO, |[time]| time)
    }

    /// Measures them with a trace that does not follow the program yet. What could not be measured costs nothing.
    pub fn measure(trace: &mut ProgramTrace, cpus: &CpuSet, unrecorded: Nanos) -> Self {
        let own = u32::try_from(gettid().as_raw_nonzero().get()).unwrap_or_default();
        let stacks = Stacks::open(trace.stack_events(), &[own], cpus, None).ok();
        let is_on = trace.follow(&[own]).and_then(|()| trace.begin()).is_ok();
        let with_stacks = |state| stacks.iter().try_for_each(|stacks| stacks.switch(state == 1));
        let times =
            if is_on { batches::<2, io::Error>(with_stacks, call).unwrap_or_default() } else { Default::default() };
        trace.end();
        trace.forget(own);
        drop(stacks);
        trace.drain(&mut Vec::new());
        let [with, and_stacks] = times;
        Self { record: more(with, unrecorded).divided_by(OF_CALL), stack: more(and_stacks, with) }
    }
}

#[allow(clippy::unnecessary_wraps, reason = "operations may fail")]
fn call<E>() -> Result<(), E> {
    let _ = getppid();
    Ok(())
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    records: u64,
    stacks: u64,
    probes: u64,
}

impl Counted {
    fn add(&mut self, seen: &Seen) {
        *match seen {
            // Nothing was written for what is missing.
            Seen::Lost => return,
            Seen::Stack { .. } => &mut self.stacks,
            Seen::Allocated { .. } => &mut self.probes,
            _ => &mut self.records,
        } += 1;
    }

    fn all(&self) -> u64 {
        self.records + self.stacks + self.probes
    }

    fn time(&self, prices: Prices) -> Nanos {
        let Prices { record, stack } = prices;
        record.times(self.records).plus(stack.times(self.stacks)).plus(HIT.times(self.probes))
    }
}

/// Keeps count of what was recorded, and looks at the cost from time to time.
pub struct Bill {
    prices: Prices,
    /// The largest share of one CPU.
    limit: f64,
    begun: MonoTime,
    first: Spent,
    /// At the latest look; `None` before [`START`].
    last: Option<Spent>,
    all: Counted,
    by_thread: BTreeMap<Tid, Counted>,
    given_up: Vec<GivenUp>,
}

impl Bill {
    /// `own` is the CPU time of this process before it began to observe.
    pub fn new(prices: Prices, limit: f64, begun: MonoTime, own: Nanos) -> Self {
        let first = Spent { at: begun, own, ..Spent::default() };
        Self {
            prices,
            limit,
            begun,
            first,
            last: None,
            all: Counted::default(),
            by_thread: BTreeMap::new(),
            given_up: Vec::new(),
        }
    }

    /// Counts records that have just been read.
    pub fn count(&mut self, new: &[Record]) {
        for record in new {
            self.all.add(&record.seen);
            let (one, other) = record.about();
            for tid in std::iter::once(one).chain(other) {
                self.by_thread.entry(tid).or_default().add(&record.seen);
            }
        }
    }

    /// Whether it is too much, if it is time to look. `causes` is the number of records of what the CPUs do.
    pub fn is_too_much(&mut self, at: MonoTime, causes: u64) -> bool {
        let due = self.last.map_or(self.begun.plus(START), |last| last.at.plus(LOOK));
        at >= due && self.is_too_much_by(self.spent(at, usage::own_cpu(), causes))
    }

    fn is_too_much_by(&mut self, spent: Spent) -> bool {
        let last = self.last.replace(spent);
        last.is_some_and(|last| Burden::between(&last, &spent).all() > self.limit * TOLERATED)
    }

    fn spent(&self, at: MonoTime, own: Nanos, causes: u64) -> Spent {
        Spent { at, own, records: self.all.time(self.prices), causes: self.prices.record.times(causes) }
    }

    /// From now on, `what` costs nothing more.
    pub fn give_up(&mut self, what: Saved, at: MonoTime) {
        self.given_up.push(GivenUp { what, after: at.since(self.begun) });
    }

    pub fn has_given_up(&self, what: Saved) -> bool {
        self.given_up.iter().any(|given_up| given_up.what == what)
    }

    /// What the whole inspection took.
    pub fn cost(&self, at: MonoTime, own: Nanos, causes: u64) -> Cost {
        let burden = Burden::between(&self.first, &self.spent(at, own, causes));
        Cost {
            limit: self.limit,
            own: burden.own,
            program: burden.records,
            causes: burden.causes,
            record: self.prices.record,
            stack: self.prices.stack,
            given_up: self.given_up.clone(),
        }
    }

    /// What it took of a thread that had this number of cycles.
    #[allow(clippy::cast_precision_loss, reason = "told with one decimal")]
    pub fn of_cycle(&self, tid: Tid, cycles: u64) -> Option<CycleCost> {
        let counted = self.by_thread.get(&tid).filter(|_| cycles > 0)?;
        let time = counted.time(self.prices).divided_by(cycles);
        Some(CycleCost { records: counted.all() as f64 / cycles as f64, time })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_numbers::inspect::StackOf;
    use punctual_numbers::trace::Context;

    const PRICES: Prices = Prices { record: Nanos::from_ns(300), stack: Nanos::from_us(2) };

    fn at(ms: u64) -> MonoTime {
        MonoTime::from_ns(ms * 1_000_000)
    }

    fn bill(limit: f64) -> Bill {
        Bill::new(PRICES, limit, at(0), Nanos::from_ms(70))
    }

    fn record(tid: Tid, seen: Seen) -> Record {
        Record { at: at(0), cpu: 0, tid, context: Context::default(), seen }
    }

    /// A cycle of thread 7: it is woken by thread 9, calls something, and waits.
    fn cycle() -> [Record; 7] {
        let switch = |prev, next| Seen::Switch { prev, prev_state: 1, next, next_prio: 9 };
        [
            record(9, Seen::Waking { tid: 7 }),
            record(0, switch(0, 7)),
            record(7, Seen::Exit { number: 230, result: 0 }),
            record(7, Seen::Enter { number: 1, arguments: [0, 0] }),
            record(7, Seen::Stack { of: StackOf::Call, addresses: Vec::new().into() }),
            record(7, switch(7, 0)),
            record(0, Seen::Lost),
        ]
    }

    #[test]
    fn each_cycle_pays_for_the_records_about_it() {
        let mut bill = bill(0.05);
        (0..10).for_each(|_| bill.count(&cycle()));
        let cost = bill.of_cycle(7, 10).unwrap();
        assert_eq!((cost.records, cost.time), (6.0, Nanos::from_ns(5 * 300 + 2_000)));
        assert_eq!((bill.of_cycle(7, 0), bill.of_cycle(5, 10)), (None, None));
        assert_eq!(bill.of_cycle(9, 10), None, "a record is about the thread that was woken");
        let cost = bill.cost(at(1_000), Nanos::from_ms(90), 1_000_000);
        for (told, expected) in [(cost.own, 0.02), (cost.program, 0.000_035), (cost.causes, 0.3)] {
            assert!((told - expected).abs() < 1e-9, "{told} for {expected}");
        }
    }

    #[test]
    fn the_start_does_not_count_and_what_is_too_much_is_looked_at_again() {
        let mut bill = bill(0.05);
        let mut look = |ms, own_ms| {
            let spent = bill.spent(at(ms), Nanos::from_ms(own_ms), 0);
            bill.is_too_much_by(spent)
        };
        assert!(!look(1_000, 900), "reading the program took long");
        assert!(!look(3_000, 1_005), "hardly too much");
        assert!(look(5_000, 1_205));
        assert!(!look(7_000, 1_225), "it was worth it");
        assert!(!bill.is_too_much(at(8_999), 0), "it is too early for another look");
        bill.give_up(Saved::Causes, at(5_000));
        assert!(bill.has_given_up(Saved::Causes) && !bill.has_given_up(Saved::Stacks));
    }

    #[test]
    fn a_call_that_nothing_records_takes_time() {
        assert!(Prices::unrecorded() > Nanos::ZERO);
    }
}
