//! What is known of a program's threads up to now, from records as they come. It takes about as much memory after a day as
//! after a minute: cycles are counted and summed up as they end, and of single ones only the slowest are kept.
//!
//! ```text
//! Record -> ThreadDigest: steps -> what paces the thread -> cycles -> Paced: sums, things in the cycles, the slowest
//!           thread                                         cycles.rs  paced, series, rows
//! ```
//! What paces a thread is learned from the steps that are summed up together, and is kept until it explains too few of them.

mod paced;
mod rows;
mod series;
mod thread;

use super::cycles::Cycle;
use super::findings::Setup;
use super::pacing::{Pacing, kind};
use super::record::{Call, CallKind, Offsets, Record, Seen};
use super::steps::{CallMade, Step, StepKind, Waker};
use super::values::{Locate, Probed, StartUp, ThreadReport, WokenBy};
use crate::trace::{Address, Tid};
use punctual_hist::{MonoTime, Nanos};
use std::collections::{BTreeMap, BTreeSet};
use thread::{ORDINARY, STEPS_AT_ONCE, ThreadDigest};

pub(super) use series::Values;

/// Steps of all threads that are kept before they are summed up: some 40 MB.
const STEPS_MAX: usize = 200_000;
/// A thread with fewer steps is summed up only at the end.
const STEPS_FEW: usize = 64;
/// Calls and faults at the start of a program that are kept: some 5 MB.
const EARLY_MAX: usize = 200_000;

/// The name of a thread, and its priority as the kernel counts it.
pub type Person = (String, Option<i32>);

/// By what records are understood.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    pub calls: Vec<Call>,
    pub offsets: Offsets,
    /// Latencies above this are counted.
    pub limit: Option<Nanos>,
    /// From then on, nothing is recorded of what is in the cycles.
    pub inside_until: Option<MonoTime>,
}

/// What else is known of the machine and the program when a report is made.
pub struct Order<'a> {
    pub calls: &'a [Call],
    /// Names and priorities, as the kernel counts them, of threads that woke others.
    pub people: &'a BTreeMap<Tid, Person>,
    pub locate: Locate<'a>,
    /// Whether our own probes are at this address.
    pub is_of_probes: &'a dyn Fn(Address) -> bool,
}

/// The threads of a program.
#[derive(Clone, Debug, Default)]
pub struct Digest {
    rules: Rules,
    threads: BTreeMap<Tid, ThreadDigest>,
    /// Threads whose allocations were looked for.
    probed: BTreeMap<Tid, Probed>,
    /// Calls and faults of a program that was started, until the time of its first cycle is known.
    early: Option<Vec<Early>>,
    /// The cycles that ended, if somebody wants them.
    ended: Option<Vec<(Tid, Cycle)>>,
    records: u64,
}

#[derive(Clone, Copy, Debug)]
struct Early {
    at: MonoTime,
    tid: Tid,
    /// The system call; `None` for a fault at this address.
    call: Result<u32, Address>,
}

impl Digest {
    pub fn new(rules: Rules) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Keeps what tells how long a program that is about to start takes until its first cycle.
    pub fn keep_start(&mut self) {
        self.early = Some(Vec::new());
    }

    /// Keeps each cycle until [`Digest::ended`] is called.
    pub fn keep_cycles(&mut self) {
        self.ended = Some(Vec::new());
    }

    /// The cycles that were summed up since the last call, of each thread in order of time.
    pub fn ended(&mut self) -> Vec<(Tid, Cycle)> {
        self.ended.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Number of records that were taken.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Number of steps that were not summed up yet.
    pub fn pending(&self) -> usize {
        self.threads.values().map(ThreadDigest::pending).sum()
    }

    /// Learns of a thread of the program, whose records are not only its own.
    pub fn know(&mut self, tid: Tid) {
        self.threads.entry(tid).or_insert_with(|| ThreadDigest::new(tid));
    }

    /// Learns when the allocations of threads were looked for.
    pub fn probed(&mut self, probed: &BTreeMap<Tid, Probed>) {
        if self.probed != *probed {
            self.probed.clone_from(probed);
        }
    }

    /// Takes records in order of time, also for each thread of those that were taken before.
    pub fn take<'a>(&mut self, records: impl IntoIterator<Item = &'a Record>) {
        for record in records {
            self.records += 1;
            self.take_one(record);
        }
        self.make_room();
    }

    fn take_one(&mut self, record: &Record) {
        match record.seen {
            Seen::Lost => return self.threads.values_mut().for_each(|thread| thread.take(record)),
            Seen::Switch { prev, next, .. } => {
                self.about(prev, record);
                if next != prev {
                    self.about(next, record);
                }
                return;
            }
            Seen::Waking { tid } => return self.about(tid, record),
            Seen::Enter { number, .. } => self.keep_early(record, Ok(number)),
            Seen::Fault { ip } => self.keep_early(record, Err(ip)),
            _ => {}
        }
        // Only threads of the program write these.
        self.know(record.tid);
        self.about(record.tid, record);
    }

    fn about(&mut self, tid: Tid, record: &Record) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.take(record);
        }
    }

    fn keep_early(&mut self, record: &Record, call: Result<u32, Address>) {
        if let Some(early) = self.early.as_mut().filter(|early| early.len() < EARLY_MAX) {
            early.push(Early { at: record.at, tid: record.tid, call });
        }
    }

    /// Sums up threads with many steps, and if all have too many together, those with more than a few.
    fn make_room(&mut self) {
        let most = if self.pending() > STEPS_MAX { STEPS_FEW } else { STEPS_AT_ONCE };
        self.sum_up(most, false);
    }

    fn sum_up(&mut self, most: usize, all: bool) {
        let Self { threads, rules, probed, ended, .. } = self;
        for (tid, thread) in threads.iter_mut().filter(|(_, thread)| all || thread.is_due(most)) {
            let cycles = thread.sum_up(all, rules, probed.get(tid).copied());
            if let Some(ended) = ended {
                ended.extend(cycles.into_iter().map(|cycle| (*tid, cycle)));
            }
        }
    }

    /// Sums up what came up to now, but for the last moments of each thread.
    pub fn go_on(&mut self) {
        self.sum_up(0, false);
    }

    /// Learns that from now on, nothing is recorded of what is in the cycles.
    pub fn inside_until(&mut self, until: MonoTime) {
        self.rules.inside_until = Some(until);
    }

    /// The system calls in which the threads wait for their releases and arm their timers.
    pub fn pacing_calls(&self) -> BTreeSet<u32> {
        self.threads.values().flat_map(ThreadDigest::pacings).flat_map(Pacing::calls).collect()
    }

    /// Threads with at least this many cycles.
    pub fn with_cycles(&self, least: u64) -> impl Iterator<Item = Tid> + '_ {
        self.threads.iter().filter(move |(_, thread)| thread.cycles() >= least).map(|(tid, _)| *tid)
    }

    /// Sums up everything that came up to now. Reports tell what was summed up.
    pub fn settle(&mut self) {
        self.sum_up(0, true);
    }

    /// The report of a thread up to the last [`Digest::settle`], without its counters and without what made it late.
    pub fn report(
        &self,
        (pid, tid): (u32, Tid),
        name: String,
        setup: Option<Setup>,
        order: &Order<'_>,
    ) -> ThreadReport {
        let nothing = ThreadDigest::new(tid);
        self.threads.get(&tid).unwrap_or(&nothing).report(pid, name, setup, &self.rules, order)
    }

    /// What a program that was started did before its first cycle, which was then; or up to now without one.
    pub fn start_up(
        &self,
        started: MonoTime,
        first: Option<MonoTime>,
        is_its: impl Fn(Tid) -> bool,
        is_of_probes: impl Fn(Tid, Address) -> bool,
    ) -> StartUp {
        let length = first.map(|first| first.since(started));
        let mut start_up = StartUp { length, faults: 0, memory_calls: 0, calls: 0 };
        let before = |early: &&Early| first.is_none_or(|first| early.at < first) && is_its(early.tid);
        for early in self.early.iter().flatten().filter(before) {
            match early.call {
                Ok(number) => {
                    start_up.calls += 1;
                    start_up.memory_calls += u64::from(kind(number, &self.rules.calls) == CallKind::Memory);
                }
                Err(at) => start_up.faults += u64::from(!is_of_probes(early.tid, at)),
            }
        }
        start_up
    }
}

/// Waits of a thread for something other than the CPU.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    /// By system call, their number.
    calls: BTreeMap<u32, u64>,
    wakers: BTreeMap<Waker, u64>,
}

impl Waits {
    fn add(&mut self, call: &CallMade) {
        *self.calls.entry(call.number).or_default() += 1;
        if let Some(waker) = call.woken_by {
            *self.wakers.entry(waker).or_default() += 1;
        }
    }
}

fn calls_made(steps: &[Step]) -> impl Iterator<Item = &CallMade> {
    steps.iter().filter_map(|step| match &step.kind {
        StepKind::Call(call) => Some(call),
        _ => None,
    })
}

fn call_name(number: u32, calls: &[Call]) -> String {
    let known = calls.iter().find(|call| call.number == number);
    known.map_or_else(|| format!("#{number}"), |call| call.name.to_owned())
}

fn woken_by(waker: Waker, count: u64, priority: Option<i32>, order: &Order<'_>) -> WokenBy {
    let Waker::Thread(tid) = waker else { return WokenBy { name: None, count, is_lower: false, priority: None } };
    let (name, its) = order.people.get(&tid).cloned().unwrap_or_else(|| (tid.to_string(), None));
    // A larger number is a lower priority. Ordinary threads have no order among each other.
    let is_lower = matches!((its, priority), (Some(its), Some(ours)) if its > ours && ours < ORDINARY);
    WokenBy { name: Some(name), count, is_lower, priority: its }
}
