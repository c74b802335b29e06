//! The cycles of a thread under one pacing, summed up as they come.

use super::rows::{Among, ThingId, Things};
use super::series::{Distances, Errors, Values};
use super::{Order, Rules, Waits, calls_made};
use crate::inspect::cycles::{Cutter, Cycle};
use crate::inspect::pacing::Pacing;
use crate::inspect::steps::Step;
use crate::inspect::values::{CycleTimes, PeriodErrorsShow, Probed, ThreadCycles, WorstCycle};
use crate::stats::float::float;
use punctual_hist::{MonoTime, Nanos};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Number of worst cycles that are told one by one.
const WORST: usize = 5;
/// One cycle of this many is among the slowest.
const SLOW_PART: u64 = 100;
/// The slowest cycles that are kept.
const SLOW_MAX: usize = 2_000;
/// A gap of more periods than this is a pause of the program: releases in it were not skipped.
const SKIPPED_MAX: u64 = 1_000_000;
/// Steps of a cycle that has not ended.
const INSIDE_MAX: usize = 65_536;

/// The cycles of one pacing.
#[derive(Clone, Debug)]
pub struct Paced {
    pub pacing: Pacing,
    cutter: Cutter,
    pub count: u64,
    /// The cycles, from the first, of which it was recorded what is in them.
    seen_inside: u64,
    pub first: Option<MonoTime>,
    /// The waits that pace the thread.
    pub waits: Waits,
    distances: Distances,
    errors: Errors,
    skipped: u64,
    overruns: u64,
    over_limit: u64,
    probed: u64,
    latency: Values,
    latency_due: Values,
    execution: Values,
    response: Values,
    running: Nanos,
    preempted: Nanos,
    blocked: Nanos,
    waiting: Nanos,
    things: Things,
    /// By response, and of several those that came first.
    slow: BTreeMap<(Nanos, Reverse<u64>), Slow>,
    /// The last cycle's wake-up and latency, and the last release and the last time that distances are from.
    before: Option<(MonoTime, Option<Nanos>)>,
    last_release: Option<MonoTime>,
    last_time: Option<MonoTime>,
}

#[derive(Clone, Debug)]
struct Slow {
    cycle: Box<Cycle>,
    things: Vec<ThingId>,
}

impl Paced {
    /// `after_loss` says whether steps are missing before the first.
    pub fn new(pacing: Pacing, after_loss: bool) -> Self {
        Self {
            pacing,
            cutter: Cutter::new(pacing, after_loss),
            count: 0,
            seen_inside: 0,
            first: None,
            waits: Waits::default(),
            distances: Distances::default(),
            errors: Errors::default(),
            skipped: 0,
            overruns: 0,
            over_limit: 0,
            probed: 0,
            latency: Values::default(),
            latency_due: Values::default(),
            execution: Values::default(),
            response: Values::default(),
            running: Nanos::ZERO,
            preempted: Nanos::ZERO,
            blocked: Nanos::ZERO,
            waiting: Nanos::ZERO,
            things: Things::default(),
            slow: BTreeMap::new(),
            before: None,
            last_release: None,
            last_time: None,
        }
    }

    /// The cycles that these steps would add.
    pub fn would_be(&self, steps: &[Step], rules: &Rules) -> usize {
        self.cutter.clone().take(steps, &rules.calls, &rules.offsets).len()
    }

    /// Adds the cycles that end in these steps, and returns them.
    pub fn take(&mut self, steps: &[Step], rules: &Rules, probed: Option<Probed>) -> Vec<Cycle> {
        self.count_waits(steps.get(self.cutter.taken()..).unwrap_or_default(), rules);
        let cycles = self.cutter.take(steps, &rules.calls, &rules.offsets);
        // The period is needed to tell what was skipped.
        for cycle in &cycles {
            self.add_distance(cycle);
        }
        let period = self.distances.period();
        for cycle in &cycles {
            self.add(cycle, steps, period, rules, probed);
        }
        cycles
    }

    fn count_waits(&mut self, steps: &[Step], rules: &Rules) {
        for call in calls_made(steps).filter(|call| call.blocked && self.pacing.is_wait(call, &rules.calls)) {
            self.waits.add(call);
        }
    }

    /// The number of steps, from the first, that are no longer needed. A cycle that became too long is given up.
    pub fn free(&mut self, steps: usize) -> usize {
        if steps - self.cutter.needed().min(steps) > INSIDE_MAX {
            self.cutter.give_up();
        }
        self.cutter.needed()
    }

    pub fn forget(&mut self, steps: usize) {
        self.cutter.forget(steps);
    }

    /// Begins anew after steps that were not for this pacing.
    pub fn pause(&mut self) {
        self.cutter = Cutter::new(self.pacing, true);
        self.last_time = None;
    }

    fn is_woken(&self) -> bool {
        matches!(self.pacing, Pacing::Woken(_))
    }

    fn add_distance(&mut self, cycle: &Cycle) {
        let by_release = self.pacing.keeps_grid() || self.is_woken();
        let Some(time) = (if by_release { cycle.release } else { Some(cycle.woke) }) else { return };
        if let Some(before) = self.last_time.replace(time) {
            self.distances.add(time.since(before));
        }
    }

    fn add(&mut self, cycle: &Cycle, steps: &[Step], period: Option<Nanos>, rules: &Rules, probed: Option<Probed>) {
        let number = self.count;
        self.count += 1;
        self.first = self.first.or(Some(cycle.woke));
        self.overruns += u64::from(self.pacing.keeps_grid() && cycle.overran);
        self.probed += u64::from(probed.is_some_and(|probed| probed.holds(cycle.woke)));
        self.add_error(cycle);
        self.add_due(cycle, period.filter(|_| self.pacing.keeps_grid()), rules.limit);
        if let Some(latency) = cycle.latency() {
            self.latency.add(latency);
        }
        self.execution.add(cycle.execution());
        self.response.add(cycle.response());
        self.running = self.running.plus(cycle.execution());
        self.preempted = self.preempted.plus(cycle.preempted);
        self.blocked = self.blocked.plus(cycle.blocked);
        self.waiting = self.waiting.plus(cycle.waiting);
        let is_seen = rules.inside_until.is_none_or(|until| cycle.ended <= until);
        self.seen_inside += u64::from(is_seen);
        let things = if is_seen { self.things.add(cycle, steps, self.pacing, &rules.calls) } else { Vec::new() };
        let key = (cycle.response(), Reverse(number));
        let is_slow = self.slow.len() < SLOW_MAX || self.slow.first_key_value().is_some_and(|(least, _)| key > *least);
        if is_slow {
            let cycle = Box::new(Cycle { inside: Vec::new(), ..cycle.clone() });
            self.slow.insert(key, Slow { cycle, things });
            if self.slow.len() > SLOW_MAX {
                self.slow.pop_first();
            }
        }
    }

    /// Period errors are differences of latencies if the timer keeps a grid, and else what distances differ by from their
    /// median, which does not matter for how they depend on each other.
    fn add_error(&mut self, cycle: &Cycle) {
        let before = self.before.replace((cycle.woke, cycle.latency()));
        let Some((woke, latency)) = before.filter(|_| !cycle.after_loss) else { return };
        let ns = |length: Nanos| float(length.as_ns());
        if !self.pacing.keeps_grid() {
            self.errors.add(ns(cycle.woke.since(woke)));
        } else if let (Some(latency), Some(own)) = (latency, cycle.latency()) {
            self.errors.add(ns(own) - ns(latency));
        }
    }

    /// Latencies of all releases that were due: those that were skipped before this cycle, and its own.
    fn add_due(&mut self, cycle: &Cycle, period: Option<Nanos>, limit: Option<Nanos>) {
        let before = self.last_release.take().filter(|_| !cycle.after_loss);
        let Some(release) = cycle.release else { return };
        let mut due = |late: Nanos| {
            self.over_limit += u64::from(limit.is_some_and(|limit| late > limit));
            self.latency_due.add(late);
        };
        if let (Some(before), Some(period)) = (before, period) {
            let steps = release.since(before).plus(period.divided_by(2)).whole(period);
            for number in (1..steps).take_while(|_| steps <= SKIPPED_MAX) {
                due(cycle.woke.since(before.plus(period.times(number))));
                self.skipped += 1;
            }
        }
        due(cycle.woke.since(release));
        self.last_release = Some(release);
    }

    pub fn report(&self, priority: Option<i32>, rules: &Rules, order: &Order<'_>) -> ThreadCycles {
        let keeps_grid = self.pacing.keeps_grid();
        let period = self.distances.period();
        // Who wakes the thread may be paced by anything, so that its distances tell nothing of this thread.
        let period_errors = period.and_then(|_| self.errors.show(keeps_grid));
        let is_corrected = period_errors.is_some_and(|errors| errors.shows == PeriodErrorsShow::Grid);
        let drifts = !keeps_grid && !self.is_woken() && !is_corrected;
        let slowest = usize::try_from(self.count.div_ceil(SLOW_PART)).unwrap_or(SLOW_MAX).max(WORST);
        let slow: Vec<(u64, &Slow)> =
            self.slow.iter().rev().take(slowest).map(|((_, Reverse(number)), slow)| (*number, slow)).collect();
        let seen = slow.iter().filter(|(number, _)| *number < self.seen_inside);
        let sets: Vec<&[ThingId]> = seen.map(|(_, slow)| slow.things.as_slice()).collect();
        let among = Among { all: self.seen_inside, probed: self.probed };
        ThreadCycles {
            count: self.count,
            first: self.first,
            period,
            drift: period.filter(|_| drifts).map(|_| self.distances.drift()),
            skipped: self.skipped,
            overruns: self.overruns,
            over_limit: rules.limit.map(|_| self.over_limit),
            latency: self.latency.quantiles(),
            latency_due: self.latency_due.quantiles(),
            period_errors,
            times: CycleTimes {
                execution: self.execution.quantiles(),
                response: self.response.quantiles(),
                running: self.running,
                preempted: self.preempted,
                blocked: self.blocked,
                waiting: self.waiting,
            },
            in_the_way: self.things.rows(&sets, &among, priority, order),
            worst: slow.iter().take(WORST).map(|(number, slow)| self.worst(*number, slow, order)).collect(),
        }
    }

    fn worst(&self, number: u64, Slow { cycle, things }: &Slow, order: &Order<'_>) -> WorstCycle {
        WorstCycle {
            number,
            woke: cycle.woke,
            latency: cycle.latency(),
            response: cycle.response(),
            preempted: cycle.preempted,
            blocked: cycle.blocked,
            waiting: cycle.waiting,
            intruders: self.things.intruders(things, order),
        }
    }
}
