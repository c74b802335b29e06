//! What must not be in a cycle: counted as cycles come, and located in the program's code when it is told.

use crate::inspect::cycles::Cycle;
use crate::inspect::pacing::{COUNT_BYTES, Pacing, kind};
use crate::inspect::record::{Call, CallKind};
use crate::inspect::steps::{CallMade, Stack, Step, StepKind, Waker};
use crate::inspect::values::{Code, InTheWay, Intruder};
use crate::stats::float::float;
use punctual_hist::Nanos;
use std::collections::{BTreeMap, BTreeSet};

use super::{Order, call_name, woken_by};

/// Different call stacks that are kept. Those that come later are counted without a place.
const STACKS_MAX: usize = 4_096;
/// Different sets of things in one cycle that are kept. In later ones, each thing is counted by itself.
const SETS_MAX: usize = 16_384;

/// A system call by its number, or a function of the allocator by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Called {
    System(u32),
    Allocator(&'static str),
}

/// A thing in cycles: what it is, what was called, and from where.
type Thing = (Intruder, Option<Called>, Stack);

/// The number of a thing, in the order in which they were first seen.
pub type ThingId = usize;

#[derive(Clone, Debug, Default)]
struct Sum {
    count: u64,
    longest: Nanos,
    wakers: BTreeMap<Waker, u64>,
}

/// What was seen in cycles.
#[derive(Clone, Debug, Default)]
pub struct Things {
    ids: BTreeMap<Thing, ThingId>,
    sums: Vec<Sum>,
    /// By the things that were in a cycle together, the number of such cycles.
    sets: BTreeMap<Vec<ThingId>, u64>,
}

/// The cycles that rows are compared with.
pub struct Among {
    pub all: u64,
    /// Those in which allocations were looked for.
    pub probed: u64,
}

impl Things {
    /// Counts what is in the cycle, and returns it without repetitions.
    pub fn add(&mut self, cycle: &Cycle, steps: &[Step], pacing: Pacing, calls: &[Call]) -> Vec<ThingId> {
        let mut inside = BTreeSet::new();
        for step in cycle.inside.iter().filter_map(|step| steps.get(*step)) {
            let Some((intruder, called)) = intruder(step, pacing, calls) else { continue };
            let (stack, waker) = match &step.kind {
                StepKind::Call(call) => (call.stack.clone(), call.woken_by.filter(|_| call.blocked)),
                StepKind::Fault { stack } | StepKind::Migration { stack } | StepKind::Allocation { stack, .. } => {
                    (stack.clone(), None)
                }
                _ => (Stack::default(), None),
            };
            let id = self.id((intruder, called, stack));
            inside.insert(id);
            if let Some(sum) = self.sums.get_mut(id) {
                sum.count += 1;
                sum.longest = sum.longest.max(step.to.since(step.from));
                if let Some(waker) = waker {
                    *sum.wakers.entry(waker).or_default() += 1;
                }
            }
        }
        let set: Vec<ThingId> = inside.into_iter().collect();
        self.count_set(&set);
        set
    }

    fn count_set(&mut self, set: &[ThingId]) {
        if set.is_empty() {
            return;
        }
        if self.sets.len() < SETS_MAX || self.sets.contains_key(set) {
            *self.sets.entry(set.to_vec()).or_default() += 1;
        } else {
            for id in set {
                *self.sets.entry(vec![*id]).or_default() += 1;
            }
        }
    }

    fn id(&mut self, (intruder, called, stack): Thing) -> ThingId {
        let new = self.sums.len();
        let thing = if new < STACKS_MAX || self.ids.contains_key(&(intruder, called, stack.clone())) {
            (intruder, called, stack)
        } else {
            (intruder, called, Stack::default())
        };
        let id = *self.ids.entry(thing).or_insert(new);
        if id == new {
            self.sums.push(Sum::default());
        }
        id
    }

    /// The kinds of these things.
    pub fn intruders(&self, set: &[ThingId], order: &Order<'_>) -> Vec<Intruder> {
        let of = |((intruder, _, stack), id): (&Thing, &ThingId)| {
            (set.contains(id) && !is_own((*intruder, stack), order)).then_some(*intruder)
        };
        let kinds: BTreeSet<Intruder> = self.ids.iter().filter_map(of).collect();
        kinds.into_iter().collect()
    }

    /// A row for each kind, with its share of the slow cycles, which had these things in them.
    pub fn rows(&self, slow: &[&[ThingId]], among: &Among, priority: Option<i32>, order: &Order<'_>) -> Vec<InTheWay> {
        let groups = self.groups(order);
        let row = |(kind, group): (Kind, Group)| {
            let holds = |set: &[ThingId]| set.iter().any(|id| group.ids.contains(id));
            let cycles = self.sets.iter().filter(|(set, _)| holds(set)).map(|(_, cycles)| *cycles).sum();
            let hit = slow.iter().filter(|set| holds(set)).count();
            let share = float(hit as u64) / float(slow.len().max(1) as u64);
            told(kind, group, cycles, share, among, priority, order)
        };
        let mut rows: Vec<InTheWay> = groups.into_iter().map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.count));
        rows
    }

    fn groups(&self, order: &Order<'_>) -> BTreeMap<Kind, Group> {
        let mut things: Vec<(&Thing, ThingId)> = self.ids.iter().map(|(thing, id)| (thing, *id)).collect();
        things.sort_by_key(|(_, id)| *id);
        let mut groups: BTreeMap<Kind, Group> = BTreeMap::new();
        for ((intruder, called, stack), id) in things {
            let Some(sum) = self.sums.get(id).filter(|_| !is_own((*intruder, stack), order)) else { continue };
            let places = if stack.is_empty() { Vec::new() } else { (order.locate)(stack) };
            let unnamed = |code: &Code| if code.symbol.is_none() { code.offset } else { 0 };
            let place = places.first().map(|code| (code.module.clone(), code.symbol.clone(), unnamed(code)));
            let group = groups.entry((*intruder, *called, place)).or_default();
            group.ids.insert(id);
            group.sum.count += sum.count;
            group.sum.longest = group.sum.longest.max(sum.longest);
            for (waker, count) in &sum.wakers {
                *group.sum.wakers.entry(*waker).or_default() += count;
            }
            if group.places.is_empty() {
                group.places = places;
            }
        }
        groups
    }
}

/// What is told together: what it is, what was called, and the module and function that it is in. Where no function is
/// known, each address counts by itself.
type Kind = (Intruder, Option<Called>, Option<(String, Option<String>, u64)>);

#[derive(Default)]
struct Group {
    ids: BTreeSet<ThingId>,
    sum: Sum,
    places: Vec<Code>,
}

fn told(
    (intruder, called, _): Kind,
    mut group: Group,
    cycles: u64,
    slow_share: f64,
    among: &Among,
    priority: Option<i32>,
    order: &Order<'_>,
) -> InTheWay {
    let wakers = group.sum.wakers.iter().filter(|(waker, _)| matches!(waker, Waker::Thread(_)));
    InTheWay {
        intruder,
        call: called.and_then(|called| match called {
            Called::System(number) => Some(call_name(number, order.calls)),
            Called::Allocator(_) => None,
        }),
        function: called.and_then(|called| match called {
            Called::System(_) => None,
            Called::Allocator(function) => Some(function.to_owned()),
        }),
        count: group.sum.count,
        cycles,
        among: if intruder == Intruder::Allocation { among.probed } else { among.all },
        slow_share,
        longest: group.sum.longest,
        waker: wakers.max_by_key(|(_, count)| **count).map(|(waker, count)| woken_by(*waker, *count, priority, order)),
        code: (!group.places.is_empty()).then(|| group.places.remove(0)),
        callers: group.places,
    }
}

/// Whether our own probes caused this fault.
fn is_own((intruder, stack): (Intruder, &Stack), order: &Order<'_>) -> bool {
    intruder == Intruder::Fault && stack.first().is_some_and(|at| (order.is_of_probes)(*at))
}

fn intruder(step: &Step, pacing: Pacing, calls: &[Call]) -> Option<(Intruder, Option<Called>)> {
    match &step.kind {
        StepKind::Call(call) if is_part_of_waiting(call, pacing, calls) => None,
        StepKind::Call(call) => Some((Intruder::of(call, kind(call.number, calls)), Some(Called::System(call.number)))),
        StepKind::Allocation { function, .. } => Some((Intruder::Allocation, Some(Called::Allocator(function)))),
        StepKind::Fault { .. } => Some((Intruder::Fault, None)),
        StepKind::Signal => Some((Intruder::Signal, None)),
        StepKind::Migration { .. } => Some((Intruder::Migration, None)),
        StepKind::Preempted | StepKind::Blocked | StepKind::Waiting | StepKind::Lost => None,
    }
}

/// Reading from the timer after having waited for it, and setting it anew, belong to the wait, and so does a wait that did
/// not last.
fn is_part_of_waiting(call: &CallMade, pacing: Pacing, calls: &[Call]) -> bool {
    let kind = kind(call.number, calls);
    let is_of_timer = match pacing {
        Pacing::Timerfd { arms, .. } if call.number == arms => call.armed.is_some(),
        Pacing::Timerfd { .. } => kind == CallKind::Read && call.result == COUNT_BYTES && !call.blocked,
        _ => false,
    };
    let is_poll = matches!(kind, CallKind::Poll | CallKind::Epoll);
    is_of_timer || (call.number == pacing.number() && is_poll && !call.blocked)
}
