//! The report of one thread, from its records.

use super::cycles::{Cycle, cycles};
use super::findings::{Finding, Setup, findings};
use super::pacing::{COUNT_BYTES, Pacing, kind, pacing, woken};
use super::record::{Call, CallKind, Offsets, Record, Seen};
use super::steps::{CallMade, Step, StepKind, Waker, steps};
use super::values::{
    Code, CycleTimes, InTheWay, Intruder, Locate, Pace, PeriodErrors, PeriodErrorsShow, Probed, Quantiles,
    ThreadCycles, ThreadReport, WokenBy, WorstCycle,
};
use crate::stats::dependence::autocorrelations;
use crate::stats::float::float;
use crate::trace::Tid;
use punctual_hist::{MonoTime, Nanos};
use std::collections::{BTreeMap, BTreeSet};

/// Number of worst cycles that are told one by one.
const WORST: usize = 5;
/// A percentile is told if at least this many values are expected above it.
const ABOVE_MIN: u64 = 1;
/// Autocorrelations are told from this many cycles on.
const ERRORS_MIN: usize = 50;
/// An autocorrelation this small shows no dependence. Independent latencies around a grid have -0.5.
const NEARLY_NONE: f64 = 0.25;
/// Releases have a period if at least 8 of 10 distances are within this part (1/50) of a multiple of it.
const PERIOD_PART: u64 = 50;
/// A gap of more periods than this is a pause of the program: releases in it were not skipped. This also limits the
/// memory for them to 8 MB for each gap.
const SKIPPED_MAX: u64 = 1_000_000;
/// Kernel priorities from this one on are those of ordinary threads.
const ORDINARY: i32 = 100;
/// A waker is told as a finding if one of at most this many wake-ups is by it.
const OFTEN_PART: u64 = 20;
/// One cycle of this many is among the slowest.
const SLOW_PART: usize = 100;

/// The name of a thread, and its priority as the kernel counts it.
pub type Person = (String, Option<i32>);

/// What else is known of the machine and the program.
pub struct Order<'a> {
    pub calls: &'a [Call],
    pub offsets: Offsets,
    /// Names and priorities, as the kernel counts them, of threads that woke others.
    pub people: &'a BTreeMap<Tid, Person>,
    pub locate: Locate<'a>,
    /// Threads whose allocations were looked for.
    pub probed: &'a BTreeMap<Tid, Probed>,
    /// Latencies above this are counted.
    pub limit: Option<Nanos>,
}

/// The report of the thread `tid` of the process `pid`, without its counters and without what made it late.
pub fn thread(
    (pid, tid): (u32, Tid),
    name: String,
    records: &[&Record],
    setup: Option<Setup>,
    order: &Order<'_>,
) -> ThreadReport {
    let steps = steps(records, tid);
    let priority = own_priority(records, tid).or_else(|| setup.as_ref()?.kernel_priority());
    let is_real_time = priority.is_some_and(|priority| priority < ORDINARY);
    let found = paced(&steps, is_real_time, order);
    let pacing = found.as_ref().map(|(pacing, _)| *pacing);
    let pace = match pacing {
        Some(Pacing::Woken(_)) | None => of_wakes(&steps, pacing, priority, order),
        Some(pacing) => timed(pacing, order.calls),
    };
    let pace = match (pace, still_in(records, tid)) {
        (Pace::NeverWaits, Some(number)) => Pace::StillWaits { call: call_name(number, order.calls) },
        (pace, _) => pace,
    };
    let own = Own { priority, probed: order.probed.get(&tid).copied() };
    let cycles = found.map(|(pacing, cycles)| summary(&steps, &cycles, pacing, own, order));
    let mut findings = findings(setup.as_ref(), pacing);
    findings.extend(woken_by_lower(&pace).filter(|_| is_real_time));
    if cycles
        .as_ref()
        .and_then(|cycles| cycles.period_errors)
        .is_some_and(|errors| errors.shows == PeriodErrorsShow::Grid)
    {
        // The thread computes anew for how long to sleep.
        findings.iter_mut().filter(|of| **of == Finding::RelativeSleep).for_each(|of| *of = Finding::CorrectedSleep);
    }
    ThreadReport {
        pid,
        tid: u32::try_from(tid).unwrap_or_default(),
        name,
        findings,
        setup,
        pace,
        cycles,
        causes: None,
        counters: None,
    }
}

/// What paces the thread, with its cycles. Others than a timer pace it only if it has a real-time policy, or if they do it
/// in regular distances: what an ordinary thread does whenever it is asked is no cycle.
fn paced(steps: &[Step], is_real_time: bool, order: &Order<'_>) -> Option<(Pacing, Vec<Cycle>)> {
    let of = |pacing| (pacing, cycles(steps, pacing, order.calls, &order.offsets));
    let has_cycles = |(_, cycles): &(Pacing, Vec<Cycle>)| !cycles.is_empty();
    let by_timer = pacing(steps, order.calls).map(of).filter(has_cycles);
    let is_regular = |(_, cycles): &(Pacing, Vec<Cycle>)| {
        let releases: Vec<MonoTime> = cycles.iter().filter_map(|cycle| cycle.release).collect();
        is_real_time || period(&distances(&releases)).is_some()
    };
    by_timer.or_else(|| woken(steps, order.calls).map(of).filter(has_cycles).filter(is_regular))
}

/// The thread that often wakes this one although its priority is lower.
fn woken_by_lower(pace: &Pace) -> Option<Finding> {
    let Pace::Woken { by, .. } = pace else { return None };
    let all: u64 = by.iter().map(|waker| waker.count).sum();
    let often = by.iter().find(|waker| waker.is_lower && waker.count * OFTEN_PART >= all)?;
    often.name.clone().map(Finding::WokenByLower)
}

fn call_name(number: u32, calls: &[Call]) -> String {
    let known = calls.iter().find(|call| call.number == number);
    known.map_or_else(|| format!("#{number}"), |call| call.name.to_owned())
}

fn timed(pacing: Pacing, calls: &[Call]) -> Pace {
    let call = call_name(pacing.number(), calls);
    match pacing {
        Pacing::Sleep { absolute, clock, .. } => Pace::Sleep { call, absolute, clock },
        Pacing::Timerfd { .. } => Pace::Timerfd { call },
        Pacing::PosixTimer { .. } => Pace::PosixTimer { call },
        Pacing::TimeOut { .. } | Pacing::Woken(_) => Pace::TimeOut { call },
    }
}

/// The priority that the thread ran with most often: at times it is raised for others, and it may change when it ends.
fn own_priority(records: &[&Record], tid: Tid) -> Option<i32> {
    let mut priorities: BTreeMap<i32, u64> = BTreeMap::new();
    for record in records {
        if let Seen::Switch { next, next_prio, .. } = record.seen {
            *priorities.entry(next_prio).or_default() += u64::from(next == tid);
        }
    }
    priorities.into_iter().filter(|(_, count)| *count > 0).max_by_key(|(_, count)| *count).map(|(priority, _)| priority)
}

/// The system call in which the thread was waiting at the end.
fn still_in(records: &[&Record], tid: Tid) -> Option<u32> {
    let switched = records.iter().rposition(|record| match record.seen {
        Seen::Switch { prev, next, .. } => prev == tid || next == tid,
        _ => false,
    })?;
    let waits = |record: &Record| matches!(record.seen, Seen::Switch { prev, prev_state, .. } if prev == tid && prev_state != 0);
    let before = records.get(..switched)?;
    let entered = before.iter().rev().filter(|record| record.tid == tid).find_map(|record| match record.seen {
        Seen::Enter { number, .. } => Some(number),
        _ => None,
    });
    entered.filter(|_| records.get(switched).is_some_and(|record| waits(record)))
}

fn calls_made(steps: &[Step]) -> impl Iterator<Item = &CallMade> {
    steps.iter().filter_map(|step| match &step.kind {
        StepKind::Call(call) => Some(call),
        _ => None,
    })
}

/// Who ends the waits of a thread: of the wait that paces it, if one does, and of all otherwise.
fn of_wakes(steps: &[Step], pacing: Option<Pacing>, priority: Option<i32>, order: &Order<'_>) -> Pace {
    let (mut calls, mut wakers): (BTreeMap<u32, u64>, BTreeMap<Waker, u64>) = Default::default();
    let is_its = |call: &&CallMade| call.blocked && pacing.is_none_or(|pacing| pacing.is_wait(call, order.calls));
    for call in calls_made(steps).filter(is_its) {
        *calls.entry(call.number).or_default() += 1;
        if let Some(waker) = call.woken_by {
            *wakers.entry(waker).or_default() += 1;
        }
    }
    let Some(call) = calls.iter().max_by_key(|(_, count)| **count).map(|(number, _)| *number) else {
        return if steps.is_empty() { Pace::Idle } else { Pace::NeverWaits };
    };
    let mut by: Vec<WokenBy> = wakers.iter().map(|(waker, count)| woken_by(*waker, *count, priority, order)).collect();
    by.sort_by_key(|waker| std::cmp::Reverse(waker.count));
    Pace::Woken { call: call_name(call, order.calls), wakes: calls.values().sum(), by }
}

fn woken_by(waker: Waker, count: u64, priority: Option<i32>, order: &Order<'_>) -> WokenBy {
    let Waker::Thread(tid) = waker else { return WokenBy { name: None, count, is_lower: false, priority: None } };
    let (name, its) = order.people.get(&tid).cloned().unwrap_or_else(|| (tid.to_string(), None));
    // A larger number is a lower priority. Ordinary threads have no order among each other.
    let is_lower = matches!((its, priority), (Some(its), Some(ours)) if its > ours && ours < ORDINARY);
    WokenBy { name: Some(name), count, is_lower, priority: its }
}

/// What else is known of the thread.
#[derive(Clone, Copy)]
struct Own {
    priority: Option<i32>,
    probed: Option<Probed>,
}

fn summary(steps: &[Step], cycles: &[Cycle], pacing: Pacing, own: Own, order: &Order<'_>) -> ThreadCycles {
    let releases: Vec<MonoTime> = cycles.iter().filter_map(|cycle| cycle.release).collect();
    let keeps_grid = pacing.keeps_grid();
    let is_woken = matches!(pacing, Pacing::Woken(_));
    let wakes: Vec<MonoTime> = cycles.iter().map(|cycle| cycle.woke).collect();
    let distances = distances(if keeps_grid || is_woken { &releases } else { &wakes });
    let period = period(&distances);
    // Who wakes the thread may be paced by anything, so that its distances tell nothing of this thread.
    let period_errors = period.and_then(|period| period_errors(cycles, period, keeps_grid));
    let is_corrected = period_errors.is_some_and(|errors| errors.shows == PeriodErrorsShow::Grid);
    let drifts = !keeps_grid && !is_woken && !is_corrected;
    let drift = period.filter(|_| drifts).map(|_| mean(&distances).minus(shortest(&distances)));
    let latencies: Vec<Nanos> = cycles.iter().filter_map(Cycle::latency).collect();
    let (due, skipped) = latencies_due(cycles, period.filter(|_| keeps_grid));
    let slow = slowest(cycles);
    let sum = |of: fn(&Cycle) -> Nanos| cycles.iter().map(of).fold(Nanos::default(), Nanos::plus);
    ThreadCycles {
        count: cycles.len() as u64,
        first: cycles.first().map(|cycle| cycle.woke),
        period,
        drift,
        skipped,
        overruns: cycles.iter().filter(|cycle| keeps_grid && cycle.overran).count() as u64,
        over_limit: order.limit.map(|limit| due.iter().filter(|latency| **latency > limit).count() as u64),
        latency: quantiles(latencies),
        latency_due: quantiles(due),
        period_errors,
        times: CycleTimes {
            execution: quantiles(cycles.iter().map(Cycle::execution).collect()),
            response: quantiles(cycles.iter().map(Cycle::response).collect()),
            running: sum(Cycle::execution),
            preempted: sum(|cycle| cycle.preempted),
            blocked: sum(|cycle| cycle.blocked),
            waiting: sum(|cycle| cycle.waiting),
        },
        in_the_way: in_the_way(steps, cycles, pacing, &slow, own, order),
        worst: slow.iter().take(WORST).filter_map(|index| worst(steps, cycles, *index, pacing, order)).collect(),
    }
}

fn distances(times: &[MonoTime]) -> Vec<Nanos> {
    times.iter().zip(times.iter().skip(1)).map(|(one, next)| next.since(*one)).filter(|d| d.as_ns() > 0).collect()
}

fn mean(distances: &[Nanos]) -> Nanos {
    distances.iter().fold(Nanos::default(), |sum, d| sum.plus(*d)).divided_by(distances.len().max(1) as u64)
}

/// A distance that is short and still usual.
fn shortest(distances: &[Nanos]) -> Nanos {
    let mut sorted = distances.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / SLOW_PART).copied().unwrap_or_default()
}

/// The median distance, if nearly all distances are about a multiple of it.
fn period(distances: &[Nanos]) -> Option<Nanos> {
    let mut sorted = distances.to_vec();
    sorted.sort_unstable();
    let period = sorted.get(sorted.len() / 2).copied().filter(|period| period.as_ns() > 0)?;
    let near = |distance: &&Nanos| {
        let times = (distance.as_ns() + period.as_ns() / 2) / period.as_ns();
        times > 0 && distance.as_ns().abs_diff(times * period.as_ns()) <= times * period.as_ns() / PERIOD_PART
    };
    let regular = distances.iter().filter(near).count();
    (regular * 10 >= distances.len() * 8).then_some(period)
}

/// Latencies of all releases that were due, and the number of releases that were skipped.
fn latencies_due(cycles: &[Cycle], period: Option<Nanos>) -> (Vec<Nanos>, u64) {
    let mut due = Vec::new();
    let mut skipped = 0;
    let mut last: Option<MonoTime> = None;
    for cycle in cycles {
        let Some(release) = cycle.release else {
            last = None;
            continue;
        };
        last = last.filter(|_| !cycle.after_loss);
        if let (Some(before), Some(period)) = (last, period) {
            let steps = (release.since(before).as_ns() + period.as_ns() / 2) / period.as_ns();
            for number in (1..steps).take_while(|_| steps <= SKIPPED_MAX) {
                due.push(cycle.woke.since(before.plus(period.times(number))));
                skipped += 1;
            }
        }
        due.push(cycle.woke.since(release));
        last = Some(release);
    }
    (due, skipped)
}

pub(super) fn quantiles(mut values: Vec<Nanos>) -> Quantiles {
    values.sort_unstable();
    let n = values.len() as u64;
    // The smallest value that at least `share` thousandths of the values do not exceed.
    let at = |share: u64| {
        let rank = (n * share).div_ceil(1000).max(1);
        let enough = n * (1000 - share) >= ABOVE_MIN * 1000;
        values.get(usize::try_from(rank - 1).ok()?).copied().filter(|_| enough)
    };
    Quantiles { p50: at(500), p99: at(990), p999: at(999), max: values.last().copied() }
}

/// Period errors are differences of latencies if the timer keeps a grid, and else what distances differ by from their
/// median.
fn period_errors(cycles: &[Cycle], period: Nanos, keeps_grid: bool) -> Option<PeriodErrors> {
    let error = |(one, next): (&Cycle, &Cycle)| {
        if next.after_loss {
            return None;
        }
        let ns = |length: Nanos| float(length.as_ns());
        if keeps_grid {
            Some(ns(next.latency()?) - ns(one.latency()?))
        } else {
            Some(ns(next.woke.since(one.woke)) - ns(period))
        }
    };
    let errors: Vec<f64> = cycles.iter().zip(cycles.iter().skip(1)).filter_map(error).collect();
    if errors.len() < ERRORS_MIN {
        return None;
    }
    let rho1 = autocorrelations(&errors, 1).first().copied().filter(|rho| rho.is_finite())?;
    let shows = match rho1 {
        rho if rho < -NEARLY_NONE => PeriodErrorsShow::Grid,
        rho if rho <= NEARLY_NONE && !keeps_grid => PeriodErrorsShow::Accumulation,
        _ => PeriodErrorsShow::Wandering,
    };
    Some(PeriodErrors { rho1, shows })
}

/// Indices of the slowest cycles, the slowest first.
fn slowest(cycles: &[Cycle]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..cycles.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(cycles.get(*index).map(Cycle::response)));
    order.truncate(cycles.len().div_ceil(SLOW_PART).max(WORST));
    order
}

/// A system call by its number, or a function of the allocator by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Called {
    System(u32),
    Allocator(&'static str),
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

/// What is counted together: what it is, what was called, and the module and function that it is in. Where no function is
/// known, each address counts by itself.
type Kind = (Intruder, Option<Called>, Option<(String, Option<String>, u64)>);

#[derive(Default)]
struct Tally {
    count: u64,
    cycles: BTreeSet<usize>,
    longest: Nanos,
    places: Vec<Code>,
    wakers: BTreeMap<Waker, u64>,
}

fn in_the_way(
    steps: &[Step],
    cycles: &[Cycle],
    pacing: Pacing,
    slow: &[usize],
    of: Own,
    order: &Order<'_>,
) -> Vec<InTheWay> {
    let Own { priority, probed } = of;
    let mut tallies: BTreeMap<Kind, Tally> = BTreeMap::new();
    for (index, cycle) in cycles.iter().enumerate() {
        for step in cycle.inside.iter().filter_map(|step| steps.get(*step)) {
            let Some((intruder, called)) = intruder(step, pacing, order.calls) else { continue };
            let (places, waker) = match &step.kind {
                StepKind::Call(call) => ((order.locate)(&call.stack), call.woken_by.filter(|_| call.blocked)),
                StepKind::Fault { stack } | StepKind::Migration { stack } | StepKind::Allocation { stack, .. } => {
                    ((order.locate)(stack), None)
                }
                _ => (Vec::new(), None),
            };
            let unnamed = |code: &Code| if code.symbol.is_none() { code.offset } else { 0 };
            let place = places.first().map(|code| (code.module.clone(), code.symbol.clone(), unnamed(code)));
            let tally = tallies.entry((intruder, called, place)).or_default();
            tally.count += 1;
            tally.cycles.insert(index);
            tally.longest = tally.longest.max(step.to.since(step.from));
            if tally.places.is_empty() {
                tally.places = places;
            }
            if let Some(waker) = waker {
                *tally.wakers.entry(waker).or_default() += 1;
            }
        }
    }
    let share = |tally: &Tally| {
        let hit = slow.iter().filter(|index| tally.cycles.contains(index)).count();
        float(hit as u64) / float(slow.len().max(1) as u64)
    };
    let all = cycles.len() as u64;
    let probed = cycles.iter().filter(|cycle| probed.is_some_and(|probed| probed.holds(cycle.woke))).count() as u64;
    let row = |((intruder, called, _), mut tally): (Kind, Tally)| InTheWay {
        intruder,
        call: called.and_then(|called| match called {
            Called::System(number) => Some(call_name(number, order.calls)),
            Called::Allocator(_) => None,
        }),
        function: called.and_then(|called| match called {
            Called::System(_) => None,
            Called::Allocator(function) => Some(function.to_owned()),
        }),
        count: tally.count,
        cycles: tally.cycles.len() as u64,
        among: if intruder == Intruder::Allocation { probed } else { all },
        slow_share: share(&tally),
        longest: tally.longest,
        waker: tally
            .wakers
            .iter()
            .filter(|(waker, _)| matches!(waker, Waker::Thread(_)))
            .max_by_key(|(_, count)| **count)
            .map(|(waker, count)| woken_by(*waker, *count, priority, order)),
        code: (!tally.places.is_empty()).then(|| tally.places.remove(0)),
        callers: tally.places,
    };
    let mut rows: Vec<InTheWay> = tallies.into_iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    rows
}

fn worst(steps: &[Step], cycles: &[Cycle], index: usize, pacing: Pacing, order: &Order<'_>) -> Option<WorstCycle> {
    let cycle = cycles.get(index)?;
    let inside = cycle.inside.iter().filter_map(|step| intruder(steps.get(*step)?, pacing, order.calls));
    let intruders: BTreeSet<Intruder> = inside.map(|(intruder, _)| intruder).collect();
    Some(WorstCycle {
        number: index as u64,
        woke: cycle.woke,
        latency: cycle.latency(),
        response: cycle.response(),
        preempted: cycle.preempted,
        blocked: cycle.blocked,
        waiting: cycle.waiting,
        intruders: intruders.into_iter().collect(),
    })
}
