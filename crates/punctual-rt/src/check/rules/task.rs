//! Rules about the plan on its own.

use super::{Answer, fired, unless, us};
use crate::check::Severity::{Fatal, High, Medium};
use crate::check::{Host, Plan, Waits};
use crate::setup::{list, named};
use crate::{ConfigError, Error, Nanos, Policy};

/// A period is easy to hold if it is at least this many times as long as a wake-up.
const WAKE_UPS_PER_PERIOD: u64 = 20;

/// Releases closer to the tick than this are delayed by the work of the tick, or of threads that it wakes.
const NEAR_TICK: Nanos = Nanos::from_us(20);

/// Time that waking up takes from a reservation, in addition to body and polling.
const WAKING: Nanos = Nanos::from_us(20);

pub(super) fn period(plan: &Plan, _: &Host) -> Answer {
    unless(plan.period >= Nanos::from_us(1))?;
    fired(Fatal, format!("the period is {}", us(plan.period)), "give the task a period of 1 us or more")
}

pub(super) fn priority(plan: &Plan, _: &Host) -> Answer {
    let error = plan.setup.policy.checked().err()?;
    matches!(error, Error::Config(ConfigError::Priority(_))).then(|| fired(Fatal, error.to_string(), error.remedy()))?
}

pub(super) fn reservation(plan: &Plan, _: &Host) -> Answer {
    let error = plan.setup.policy.checked().err()?;
    (error == Error::Config(ConfigError::Reservation)).then(|| fired(Fatal, error.to_string(), error.remedy()))?
}

pub(super) fn margin(plan: &Plan, _: &Host) -> Answer {
    let margin = plan.margin();
    unless(plan.period == Nanos::ZERO || margin <= plan.period)?;
    let evidence = format!("polls for {} before each release, every {}", us(margin), us(plan.period));
    fired(Fatal, evidence, "poll for less than a period, or spin on a CPU of its own")
}

pub(super) fn load(plan: &Plan, host: &Host) -> Answer {
    let busy = plan.execution.unwrap_or(Nanos::ZERO) + plan.margin();
    // A tenth of the period is left for waking up and for the kernel's work.
    let usable = Nanos::from_ns(plan.period.as_ns().saturating_sub(plan.period.as_ns() / 10));
    let is_told_already = period(plan, host).is_some() || margin(plan, host).is_some();
    unless(is_told_already || busy <= usable)?;
    let evidence = format!(
        "body ({}) and polling ({}) take more than 90 % of the period of {}",
        plan.execution.map_or("not stated".to_owned(), us),
        us(plan.margin()),
        us(plan.period)
    );
    fired(High, evidence, "shorten the body or the margin, or take a longer period")
}

/// The kernel charges polling to the reservation of a deadline task, and postpones the task to its next period when the
/// reservation is used up.
pub(super) fn reservation_margin(plan: &Plan, _: &Host) -> Answer {
    let Policy::Deadline { runtime, .. } = plan.setup.policy else { return None };
    let needed = plan.execution.unwrap_or(Nanos::ZERO) + plan.margin() + WAKING;
    unless(runtime >= needed || plan.waits == Waits::Spins)?;
    let evidence = format!(
        "{} are reserved; body ({}), polling ({}) and waking up take {}",
        us(runtime),
        plan.execution.map_or("not stated".to_owned(), us),
        us(plan.margin()),
        us(needed)
    );
    fired(High, evidence, "reserve more run time, take Wait::Sleep, or let Margin::Auto poll less (spin_ppm)")
}

pub(super) fn deadline(plan: &Plan, _: &Host) -> Answer {
    let deadline = plan.deadline?;
    if let Some(execution) = plan.execution.filter(|execution| *execution > deadline) {
        let evidence =
            format!("the body takes {}, and the deadline is {} after the release", us(execution), us(deadline));
        return fired(High, evidence, "shorten the body, or take a later deadline");
    }
    unless(plan.period == Nanos::ZERO || deadline <= plan.period)?;
    let evidence = format!("the deadline of {} is beyond the period of {}", us(deadline), us(plan.period));
    fired(Medium, evidence, "take a deadline within the period: the next release comes before it and makes an overrun")
}

pub(super) fn short_period(plan: &Plan, host: &Host) -> Answer {
    let wake_up = host.wake_up?;
    let is_asleep = plan.waits != Waits::Spins && plan.period > Nanos::ZERO;
    unless(!is_asleep || plan.period >= wake_up * WAKE_UPS_PER_PERIOD)?;
    let evidence = format!("a wake-up takes {} at best, of a period of {}", us(wake_up), us(plan.period));
    fired(Medium, evidence, "take a longer period, or spin on an isolated CPU: sleeping costs 5 % of the CPU and more")
}

/// By default, ticks occur when the clock shows a multiple of the tick period. The distances between releases and ticks
/// repeat in steps of the common divisor of both periods; if it is small, no phase avoids the tick.
pub(super) fn on_tick(plan: &Plan, host: &Host) -> Answer {
    let (phase, tick) = (plan.phase?.as_ns(), host.tick?.as_ns());
    let apart = common_divisor(plan.period.as_ns(), tick);
    let after = phase.checked_rem(apart)?;
    let distance = after.min(apart.saturating_sub(after));
    unless(apart < (NEAR_TICK * 4).as_ns() || distance >= NEAR_TICK.as_ns())?;
    let every = tick.checked_div(apart)?;
    let evidence = match every {
        1 => format!("each release is within {} of the scheduler's tick", us(NEAR_TICK)),
        _ => format!("one release in {every} is within {} of the scheduler's tick", us(NEAR_TICK)),
    };
    fired(Medium, evidence, "choose another phase, or let it be chosen (Phase::Auto)")
}

/// The deadline class admits a thread only if it may run on its whole scheduling domain: all CPUs, unless a cpuset
/// partition makes the domain smaller.
pub(super) fn deadline_affinity(plan: &Plan, host: &Host) -> Answer {
    let (online, cpus) = (host.online.as_ref()?, &plan.setup.cpus);
    let is_part = !cpus.is_empty() && online.iter().any(|cpu| !cpus.contains(cpu));
    if !is_part || !matches!(plan.setup.policy, Policy::Deadline { .. }) {
        return None;
    }
    let evidence = format!("SCHED_DEADLINE on {} of {}", named(cpus), list(online));
    fired(High, evidence, "name no CPUs, or make a cpuset partition of exactly these; else the kernel says EPERM")
}

pub(super) fn unlocked(plan: &Plan, _: &Host) -> Answer {
    unless(plan.locks().is_some() || !plan.setup.policy.is_real_time())?;
    fired(Medium, "memory is not locked: any page can fault in the loop".to_owned(), "ask for Memory::Lock")
}

pub(super) fn unpinned(plan: &Plan, host: &Host) -> Answer {
    let is_single = host.online.as_ref()?.len() == 1;
    let is_bound = !plan.setup.cpus.is_empty() || matches!(plan.setup.policy, Policy::Deadline { .. });
    unless(is_single || is_bound || !plan.setup.policy.is_real_time())?;
    fired(Medium, "the thread may be moved between CPUs".to_owned(), "name one CPU for the task")
}

/// Two tasks of equal priority on one CPU whose releases coincide: one waits for the other, and chance decides which.
pub(super) fn same_turn(one: &Plan, other: &Plan) -> Answer {
    let priority = one.priority().filter(|priority| other.priority() == Some(*priority))?;
    let shared: Vec<u32> = one.setup.cpus.iter().filter(|cpu| other.setup.cpus.contains(cpu)).copied().collect();
    // Tasks that may run on more than one CPU may never meet.
    let [cpu] = shared.as_slice() else { return None };
    let is_bound_there = one.setup.cpus.len() == 1 && other.setup.cpus.len() == 1;
    let (phase, others) = (one.phase?.as_ns(), other.phase?.as_ns());
    let step = common_divisor(one.period.as_ns(), other.period.as_ns());
    // The shortest time by which a release of one task follows a release of the other; called for both orders.
    let after = |later: u64, earlier: u64| {
        later.checked_rem(step)?.checked_add(step)?.checked_sub(earlier.checked_rem(step)?)?.checked_rem(step)
    };
    let runs = |plan: &Plan| plan.execution.map_or(1, |execution| execution.as_ns().max(1));
    let meet = after(phase, others)? < runs(other) || after(others, phase)? < runs(one);
    unless(!is_bound_there || !meet)?;
    let evidence = format!("both run on CPU {cpu} at priority {priority}, and their releases meet");
    fired(High, evidence, "give them different priorities, CPUs or phases")
}

fn common_divisor(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while let Some(rest) = a.checked_rem(b) {
        (a, b) = (b, rest);
    }
    a
}
