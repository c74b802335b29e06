//! Which wait paces a thread.

use super::record::{Call, CallKind, Clock};
use super::steps::{CallMade, Step, StepKind};
use std::collections::BTreeMap;

/// Fewer waits than this show no pace.
const WAITS_MIN: u64 = 10;
/// A wait for an absolute time paces a thread even if the thread also makes other timed waits, up to this many for
/// each absolute one. Those others are then inside the cycle.
const OTHERS_PER_ABSOLUTE: u64 = 5;
/// `ETIMEDOUT`, as a system call returns it.
const TIMED_OUT: i64 = -110;
/// The flag `TIMER_ABSTIME` of `clock_nanosleep`.
const ABSOLUTE: u64 = 1;

/// What releases a thread: a timer, seen in one kind of system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pacing {
    /// The thread sleeps, until an absolute time or for a length of time.
    Sleep { number: u32, absolute: bool, clock: Clock },
    /// The thread reads from a timer, which the kernel re-arms in the call `read`. It waits in the call `number`: the
    /// same one, or one that waits for several files.
    Timerfd { number: u32, read: u32 },
    /// The thread waits for something with a time limit, and the limit passes.
    TimeOut { number: u32 },
}

impl Pacing {
    /// The system call in which the thread waits for its release.
    pub fn number(self) -> u32 {
        match self {
            Self::Sleep { number, .. } | Self::Timerfd { number, .. } | Self::TimeOut { number } => number,
        }
    }

    /// Whether this call is the thread's wait for its next release.
    pub fn is_wait(self, call: &CallMade, calls: &[Call]) -> bool {
        match self {
            Self::Timerfd { number, .. } => call.number == number && (call.blocked || call.armed.is_some()),
            pacing => timed(call, calls) == Some(pacing),
        }
    }
}

pub fn kind(number: u32, calls: &[Call]) -> CallKind {
    calls.iter().find(|call| call.number == number).map_or(CallKind::Other, |call| call.kind)
}

/// The pacing that this call alone would show.
fn timed(call: &CallMade, calls: &[Call]) -> Option<Pacing> {
    call.armed?;
    let CallMade { number, arguments, result, .. } = *call;
    match kind(number, calls) {
        CallKind::ClockSleep | CallKind::Sleep if result == 0 => sleeping(number, arguments, calls),
        CallKind::Read if result == 8 => Some(Pacing::Timerfd { number, read: number }),
        CallKind::Futex if result == TIMED_OUT => Some(Pacing::TimeOut { number }),
        CallKind::Poll if result == 0 => Some(Pacing::TimeOut { number }),
        _ => None,
    }
}

/// The pacing that a sleep shows by its arguments alone, without a trace.
pub fn sleeping(number: u32, [first, second]: [u64; 2], calls: &[Call]) -> Option<Pacing> {
    match kind(number, calls) {
        CallKind::ClockSleep => {
            Some(Pacing::Sleep { number, absolute: second & ABSOLUTE != 0, clock: Clock::of(first) })
        }
        CallKind::Sleep => Some(Pacing::Sleep { number, absolute: false, clock: Clock::Monotonic }),
        _ => None,
    }
}

/// The pacing of a thread; `None` if no timer releases it often enough to be seen.
pub fn pacing(steps: &[Step], calls: &[Call]) -> Option<Pacing> {
    let made = || {
        steps.iter().filter_map(|step| match &step.kind {
            StepKind::Call(call) => Some(call),
            _ => None,
        })
    };
    let mut counts: BTreeMap<Pacing, u64> = BTreeMap::new();
    for pacing in made().filter_map(|call| timed(call, calls)) {
        *counts.entry(pacing).or_default() += 1;
    }
    counts.retain(|_, count| *count >= WAITS_MIN);
    let (most, times) = counts.iter().max_by_key(|(_, count)| **count).map(|(pacing, count)| (*pacing, *count))?;
    let absolute = counts
        .iter()
        .filter(|(pacing, count)| {
            matches!(pacing, Pacing::Sleep { absolute: true, .. }) && **count * OTHERS_PER_ABSOLUTE >= times
        })
        .max_by_key(|(_, count)| **count);
    let chosen = absolute.map_or(most, |(pacing, _)| *pacing);
    let Pacing::Timerfd { read, .. } = chosen else { return Some(chosen) };
    // If the thread waits for the timer together with other files, reading from it does not block.
    let mut polls: BTreeMap<u32, u64> = BTreeMap::new();
    let (mut reads, mut blocked) = (0_u64, 0_u64);
    for call in made() {
        if call.number == read && call.armed.is_some() {
            reads += 1;
            blocked += u64::from(call.blocked);
        } else if call.blocked && kind(call.number, calls) == CallKind::Poll {
            *polls.entry(call.number).or_default() += 1;
        }
    }
    let poll =
        polls.into_iter().max_by_key(|(_, count)| *count).filter(|(_, count)| *count > blocked && 2 * blocked < reads);
    Some(Pacing::Timerfd { number: poll.map_or(read, |(number, _)| number), read })
}
