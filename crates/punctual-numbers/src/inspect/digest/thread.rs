//! What is known of one thread up to now.

use super::paced::Paced;
use super::series::Distances;
use super::{Order, Rules, Waits, call_name, calls_made, woken_by};
use crate::inspect::cycles::{Cycle, cycles};
use crate::inspect::findings::{Finding, Setup, findings};
use crate::inspect::pacing::{Pacing, pacing, woken};
use crate::inspect::record::{Call, Record, Seen};
use crate::inspect::steps::{Step, StepKind, Stepper};
use crate::inspect::values::{Pace, PeriodErrorsShow, Probed, ThreadReport, WokenBy};
use crate::trace::Tid;
use std::collections::BTreeMap;

/// Kernel priorities from this one on are those of ordinary threads.
pub const ORDINARY: i32 = 100;
/// A waker is told as a finding if one of at most this many wake-ups is by it.
const OFTEN_PART: u64 = 20;
/// Steps that are looked at together: from them it is learned what paces the thread.
pub const STEPS_AT_ONCE: usize = 16_384;
/// Pacings that are kept of a thread, which changes what it waits for.
const PACINGS_MAX: usize = 8;

/// One thread, from its records in order of time.
#[derive(Clone, Debug)]
pub struct ThreadDigest {
    stepper: Stepper,
    tid: Tid,
    /// Number of steps, from the first, whose waits were counted.
    counted: usize,
    /// Whether there were steps before those that are kept.
    is_cut: bool,
    /// By priority, as the kernel counts it, how often the thread got a CPU with it.
    priorities: BTreeMap<i32, u64>,
    entered: Option<u32>,
    /// The system call in which the thread waits at present.
    waits_in: Option<u32>,
    /// All waits for something other than the CPU.
    waits: Waits,
    paced: Vec<Paced>,
    /// The pacing of the latest steps.
    current: Option<usize>,
    /// Number of steps that did not show what paces the thread.
    in_vain: usize,
}

impl ThreadDigest {
    pub fn new(tid: Tid) -> Self {
        Self {
            stepper: Stepper::new(tid),
            tid,
            counted: 0,
            is_cut: false,
            priorities: BTreeMap::new(),
            entered: None,
            waits_in: None,
            waits: Waits::default(),
            paced: Vec::new(),
            current: None,
            in_vain: 0,
        }
    }

    /// Takes the next record that is about the thread.
    pub fn take(&mut self, record: &Record) {
        match record.seen {
            Seen::Enter { number, .. } if record.tid == self.tid => self.entered = Some(number),
            Seen::Switch { prev, prev_state, .. } if prev == self.tid => {
                self.waits_in = self.entered.filter(|_| prev_state != 0);
            }
            Seen::Switch { next, next_prio, .. } if next == self.tid => {
                *self.priorities.entry(next_prio).or_default() += 1;
                self.waits_in = None;
            }
            _ => {}
        }
        self.stepper.take(record);
    }

    /// Whether there are more steps than this, and enough that they may show what paces the thread where the last did not.
    pub fn is_due(&self, most: usize) -> bool {
        self.pending() > most && (self.current.is_some() || self.pending() >= 2 * self.in_vain)
    }

    pub fn pacings(&self) -> impl Iterator<Item = Pacing> + '_ {
        self.paced.iter().map(|paced| paced.pacing)
    }

    /// Number of steps that were not summed up yet.
    pub fn pending(&self) -> usize {
        self.stepper.steps.len()
    }

    /// Sums up the steps, and returns the cycles that ended in them. What follows the last call stays, for the call that it is
    /// in may still tell where it was made, unless `all` are asked for.
    pub fn sum_up(&mut self, all: bool, rules: &Rules, probed: Option<Probed>) -> Vec<Cycle> {
        let mut steps = std::mem::take(&mut self.stepper.steps);
        let is_call = |step: &Step| matches!(step.kind, StepKind::Call(_));
        let end = steps.iter().rposition(is_call).filter(|_| !all).map_or(steps.len(), |last| last + 1);
        let later = steps.split_off(end);
        calls_made(steps.get(self.counted..).unwrap_or_default())
            .filter(|call| call.blocked)
            .for_each(|call| self.waits.add(call));
        let is_real_time = self.priority().is_some_and(|priority| priority < ORDINARY);
        let chosen = self.choose(&steps, is_real_time, rules);
        if let (Some(before), Some(_)) = (self.current.filter(|before| Some(*before) != chosen), chosen) {
            self.paced.get_mut(before).into_iter().for_each(Paced::pause);
        }
        self.current = chosen.or(self.current);
        let mut ended = Vec::new();
        let free = match chosen.and_then(|index| self.paced.get_mut(index)) {
            Some(paced) => {
                ended = paced.take(&steps, rules, probed);
                let free = paced.free(steps.len());
                paced.forget(free);
                free
            }
            // Once more is known, these may show what paces the thread.
            None if steps.len() < STEPS_AT_ONCE => 0,
            None => {
                self.paced.iter_mut().for_each(Paced::pause);
                steps.len()
            }
        };
        steps.drain(..free);
        self.in_vain = steps.len();
        self.is_cut |= free > 0;
        self.counted = steps.len();
        steps.extend(later);
        self.stepper.steps = steps;
        ended
    }

    /// The pacing of these steps: that of the steps before, as long as it explains about as many cycles as another would.
    /// `None` if nothing explains them yet.
    fn choose(&mut self, steps: &[Step], is_real_time: bool, rules: &Rules) -> Option<usize> {
        let before = self.current.and_then(|index| Some((index, self.paced.get(index)?)));
        let Some((own, number)) = shown(steps, is_real_time, rules) else {
            return before.filter(|(_, paced)| paced.would_be(steps, rules) > 0).map(|(index, _)| index);
        };
        if let Some((index, paced)) = before {
            let is_other_kind = is_woken(paced.pacing) && !is_woken(own);
            let is_same = paced.pacing.is_same(own, &rules.calls);
            if is_same || (!is_other_kind && paced.would_be(steps, rules) * 2 >= number) {
                return Some(index);
            }
        }
        let known = self.paced.iter().position(|paced| paced.pacing.is_same(own, &rules.calls));
        Some(known.unwrap_or_else(|| self.add(own)))
    }

    fn add(&mut self, pacing: Pacing) -> usize {
        if self.paced.len() == PACINGS_MAX {
            let least = self.paced.iter().enumerate().min_by_key(|(_, paced)| paced.count);
            if let Some(index) = least.map(|(index, _)| index) {
                self.paced.swap_remove(index);
                // Another may have taken its place, and the latest steps are not for it.
                self.paced.iter_mut().for_each(Paced::pause);
                self.current = None;
            }
        }
        self.paced.push(Paced::new(pacing, self.is_cut));
        self.paced.len() - 1
    }

    /// The priority that the thread ran with most often: at times it is raised for others, and it may change when it ends.
    fn priority(&self) -> Option<i32> {
        self.priorities.iter().max_by_key(|(_, count)| **count).map(|(priority, _)| *priority)
    }

    /// Number of cycles of the pacing that is told.
    pub fn cycles(&self) -> u64 {
        self.told().map_or(0, |paced| paced.count)
    }

    /// The pacing to tell: that of a timer, if one paced the thread, and of several the one with most cycles.
    fn told(&self) -> Option<&Paced> {
        let with_cycles = self.paced.iter().filter(|paced| paced.count > 0);
        with_cycles.max_by_key(|paced| (!is_woken(paced.pacing), paced.count))
    }

    /// The report up to now, without its counters and without what made it late. Everything must have been summed up.
    pub fn report(
        &self,
        pid: u32,
        name: String,
        setup: Option<Setup>,
        rules: &Rules,
        order: &Order<'_>,
    ) -> ThreadReport {
        let priority = self.priority().or_else(|| setup.as_ref()?.kernel_priority());
        let is_real_time = priority.is_some_and(|priority| priority < ORDINARY);
        let paced = self.told();
        let pacing = paced.map(|paced| paced.pacing);
        let pace = match (self.pace(paced, priority, order), self.waits_in) {
            (Pace::NeverWaits, Some(number)) => Pace::StillWaits { call: call_name(number, order.calls) },
            (pace, _) => pace,
        };
        let cycles = paced.map(|paced| paced.report(priority, rules, order));
        let mut findings = findings(setup.as_ref(), pacing);
        findings.extend(woken_by_lower(&pace).filter(|_| is_real_time));
        let errors = cycles.as_ref().and_then(|cycles| cycles.period_errors);
        if errors.is_some_and(|errors| errors.shows == PeriodErrorsShow::Grid) {
            // The thread computes anew for how long to sleep.
            let relative = findings.iter_mut().filter(|of| **of == Finding::RelativeSleep);
            relative.for_each(|of| *of = Finding::CorrectedSleep);
        }
        ThreadReport {
            pid,
            tid: u32::try_from(self.tid).unwrap_or_default(),
            name,
            findings,
            setup,
            pace,
            cycles,
            causes: None,
            counters: None,
            cost: None,
        }
    }

    /// What releases the thread; without a timer, who ends its waits: the one that paces it, if one does, and all otherwise.
    fn pace(&self, paced: Option<&Paced>, priority: Option<i32>, order: &Order<'_>) -> Pace {
        let waits = match paced {
            Some(paced) if !is_woken(paced.pacing) => return timed(paced.pacing, order.calls),
            Some(paced) => &paced.waits,
            None => &self.waits,
        };
        let Some(call) = waits.calls.iter().max_by_key(|(_, count)| **count).map(|(number, _)| *number) else {
            let is_idle = !self.is_cut && self.stepper.steps.is_empty();
            return if is_idle { Pace::Idle } else { Pace::NeverWaits };
        };
        let each = waits.wakers.iter();
        let mut by: Vec<WokenBy> = each.map(|(waker, count)| woken_by(*waker, *count, priority, order)).collect();
        by.sort_by_key(|waker| std::cmp::Reverse(waker.count));
        Pace::Woken { call: call_name(call, order.calls), wakes: waits.calls.values().sum(), by }
    }
}

fn is_woken(pacing: Pacing) -> bool {
    matches!(pacing, Pacing::Woken(_))
}

/// What paces the thread in these steps, with the number of its cycles. Others than a timer pace it only if it has a real-time
/// policy, or if they do it in regular distances: what an ordinary thread does whenever it is asked is no cycle.
fn shown(steps: &[Step], is_real_time: bool, rules: &Rules) -> Option<(Pacing, usize)> {
    let cut = |pacing| (pacing, cycles(steps, pacing, &rules.calls, &rules.offsets));
    let has_cycles = |(_, cycles): &(Pacing, Vec<Cycle>)| !cycles.is_empty();
    let by_timer = pacing(steps, &rules.calls).map(cut).filter(has_cycles);
    let is_regular = |(_, cycles): &(Pacing, Vec<Cycle>)| is_real_time || has_period(cycles);
    let found = by_timer.or_else(|| woken(steps, &rules.calls).map(cut).filter(has_cycles).filter(is_regular));
    found.map(|(pacing, cycles)| (pacing, cycles.len()))
}

fn has_period(cycles: &[Cycle]) -> bool {
    let mut distances = Distances::default();
    let mut last = None;
    for release in cycles.iter().filter_map(|cycle| cycle.release) {
        if let Some(before) = last.replace(release) {
            distances.add(release.since(before));
        }
    }
    distances.period().is_some()
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

/// The thread that often wakes this one although its priority is lower.
fn woken_by_lower(pace: &Pace) -> Option<Finding> {
    let Pace::Woken { by, .. } = pace else { return None };
    let all: u64 = by.iter().map(|waker| waker.count).sum();
    let often = by.iter().find(|waker| waker.is_lower && waker.count * OFTEN_PART >= all)?;
    often.name.clone().map(Finding::WokenByLower)
}
