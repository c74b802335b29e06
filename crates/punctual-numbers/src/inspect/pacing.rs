//! Which wait paces a thread.

use super::record::{Call, CallKind, Clock};
use super::steps::{CallMade, Step, StepKind};
use punctual_hist::Nanos;
use std::collections::BTreeMap;

/// Fewer waits than this show no pace.
const WAITS_MIN: u64 = 10;
/// A wait for an absolute time paces a thread even if the thread also makes other timed waits, up to this many for
/// each absolute one. Those others are then inside the cycle.
const OTHERS_PER_ABSOLUTE: u64 = 5;
/// Of the waits that somebody else ends, one paces a thread only if no other one is more often than this many times it.
const OTHERS_PER_WAKE: u64 = 5;
/// `ETIMEDOUT`, as a system call returns it.
const TIMED_OUT: i64 = -110;
/// What a read from a timerfd returns: the length of its count.
pub const COUNT_BYTES: i64 = 8;
/// The flag `TIMER_ABSTIME` of `clock_nanosleep`.
const ABSOLUTE: u64 = 1;
/// The bits of a futex operation besides its flags.
pub const OPERATION: u64 = 0x7f;
/// The size of glibc's condition variable, which waits at one of two places in it in turn.
const CONDITION_BYTES: u64 = 48;

/// What releases a thread, seen in one kind of system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pacing {
    /// The thread sleeps, until an absolute time or for a length of time.
    Sleep { number: u32, absolute: bool, clock: Clock },
    /// The thread waits for the signal of a timer, which the kernel arms again in the same call.
    PosixTimer { number: u32 },
    /// The thread waits for a timerfd, which is armed in the call `arms`: by reading from it, or by setting it anew. It
    /// waits in the call `number`: the same one, or one that waits for several files.
    Timerfd { number: u32, arms: u32 },
    /// The thread waits for something with a time limit, and the limit passes.
    TimeOut { number: u32 },
    /// No timer: somebody else ends this wait.
    Woken(Wait),
}

/// A wait that is told from others by the file or the memory that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wait {
    number: u32,
    operation: u64,
    /// The number of a file, or an address; 0 where the call does not tell.
    object: u64,
}

impl Wait {
    /// `None` if the call is none that a thread waits in for others.
    fn of(call: &CallMade, calls: &[Call]) -> Option<Self> {
        let CallMade { number, arguments: [first, second], .. } = *call;
        let (operation, object) = match kind(number, calls) {
            CallKind::Futex => (second & OPERATION, first),
            CallKind::Read | CallKind::Epoll => (0, first),
            CallKind::Poll | CallKind::SignalWait | CallKind::Other => (0, 0),
            CallKind::ClockSleep
            | CallKind::Sleep
            | CallKind::TimerSet
            | CallKind::Write
            | CallKind::Memory
            | CallKind::Program => {
                return None;
            }
        };
        Some(Self { number, operation, object })
    }

    fn is_same(self, other: Self, calls: &[Call]) -> bool {
        let near = if kind(self.number, calls) == CallKind::Futex { CONDITION_BYTES } else { 1 };
        (self.number, self.operation) == (other.number, other.operation) && self.object.abs_diff(other.object) < near
    }
}

impl Pacing {
    /// The system call in which the thread waits for its release.
    pub fn number(self) -> u32 {
        match self {
            Self::Sleep { number, .. }
            | Self::PosixTimer { number }
            | Self::Timerfd { number, .. }
            | Self::TimeOut { number }
            | Self::Woken(Wait { number, .. }) => number,
        }
    }

    /// The system calls in which the thread waits for its release and arms its timer.
    pub fn calls(self) -> [u32; 2] {
        match self {
            Self::Timerfd { number, arms } => [number, arms],
            _ => [self.number(); 2],
        }
    }

    /// Whether this call is the thread's wait for its next release.
    pub fn is_wait(self, call: &CallMade, calls: &[Call]) -> bool {
        match self {
            Self::Timerfd { number, .. } => call.number == number && (call.blocked || call.armed.is_some()),
            Self::PosixTimer { number } => call.number == number && call.result > 0,
            Self::Woken(wait) => call.blocked && Wait::of(call, calls).is_some_and(|its| its.is_same(wait, calls)),
            Self::Sleep { .. } | Self::TimeOut { .. } => timed(call, calls) == Some(self),
        }
    }

    /// Whether both are the same wait. One that others end may be at another place in memory.
    pub fn is_same(self, other: Self, calls: &[Call]) -> bool {
        match (self, other) {
            (Self::Woken(one), Self::Woken(other)) => one.is_same(other, calls),
            _ => self == other,
        }
    }

    /// Whether releases have a place of their own in time, whatever the thread does.
    pub fn keeps_grid(self) -> bool {
        match self {
            Self::Sleep { absolute, .. } => absolute,
            Self::Timerfd { .. } | Self::PosixTimer { .. } => true,
            Self::TimeOut { .. } | Self::Woken(_) => false,
        }
    }
}

pub fn kind(number: u32, calls: &[Call]) -> CallKind {
    calls.iter().find(|call| call.number == number).map_or(CallKind::Other, |call| call.kind)
}

/// The pacing by a timer that this call alone would show.
fn timed(call: &CallMade, calls: &[Call]) -> Option<Pacing> {
    call.armed?;
    let CallMade { number, arguments, result, .. } = *call;
    match kind(number, calls) {
        CallKind::ClockSleep | CallKind::Sleep if result == 0 => sleeping(number, arguments, calls),
        CallKind::Read if result == COUNT_BYTES => Some(Pacing::Timerfd { number, arms: number }),
        CallKind::TimerSet if result == 0 => Some(Pacing::Timerfd { number, arms: number }),
        CallKind::SignalWait if result > 0 => Some(Pacing::PosixTimer { number }),
        CallKind::Futex if result == TIMED_OUT => Some(Pacing::TimeOut { number }),
        CallKind::Poll | CallKind::Epoll if result == 0 => Some(Pacing::TimeOut { number }),
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

fn made(steps: &[Step]) -> impl Iterator<Item = (&CallMade, Nanos)> {
    steps.iter().filter_map(|step| match &step.kind {
        StepKind::Call(call) => Some((call, step.to.since(step.from))),
        _ => None,
    })
}

/// The timer that paces a thread; `None` if none releases it often enough to be seen.
pub fn pacing(steps: &[Step], calls: &[Call]) -> Option<Pacing> {
    let mut counts: BTreeMap<Pacing, u64> = BTreeMap::new();
    for pacing in made(steps).filter_map(|(call, _)| timed(call, calls)) {
        *counts.entry(pacing).or_default() += 1;
    }
    counts.retain(|_, count| *count >= WAITS_MIN);
    // Of several that are as often, the first in the order of the variants is taken.
    let (most, times) =
        counts.iter().rev().max_by_key(|(_, count)| **count).map(|(pacing, count)| (*pacing, *count))?;
    let absolute = counts
        .iter()
        .filter(|(pacing, count)| {
            matches!(pacing, Pacing::Sleep { absolute: true, .. }) && **count * OTHERS_PER_ABSOLUTE >= times
        })
        .max_by_key(|(_, count)| **count);
    match absolute.map_or(most, |(pacing, _)| *pacing) {
        Pacing::Timerfd { arms, .. } => timerfd(arms, steps, calls),
        // If others end the wait more often than its time limit does, the limit is only there for safety.
        Pacing::TimeOut { number } => {
            let is_woken = |call: &CallMade| call.number == number && call.blocked && timed(call, calls).is_none();
            let woken = made(steps).filter(|(call, _)| is_woken(call)).count() as u64;
            (woken <= times).then_some(Pacing::TimeOut { number })
        }
        chosen => Some(chosen),
    }
}

/// Where the thread waits for the timer that it arms in this call. If it waits for the timer together with other files,
/// reading from it does not block.
fn timerfd(arms: u32, steps: &[Step], calls: &[Call]) -> Option<Pacing> {
    let mut waits: BTreeMap<u32, u64> = BTreeMap::new();
    let (mut armed, mut blocked) = (0_u64, 0_u64);
    let is_set = kind(arms, calls) == CallKind::TimerSet;
    for (call, _) in made(steps) {
        if call.number == arms && call.armed.is_some() {
            armed += 1;
            blocked += u64::from(call.blocked);
        } else if call.blocked {
            let waits_for_files = match kind(call.number, calls) {
                CallKind::Poll | CallKind::Epoll => true,
                CallKind::Read => is_set && call.result == COUNT_BYTES,
                _ => false,
            };
            *waits.entry(call.number).or_default() += u64::from(waits_for_files);
        }
    }
    let most = waits.into_iter().max_by_key(|(_, count)| *count).filter(|(_, count)| *count > blocked);
    match most {
        Some((number, count)) if 2 * blocked < armed && 2 * count >= armed => Some(Pacing::Timerfd { number, arms }),
        _ => (!is_set).then_some(Pacing::Timerfd { number: arms, arms }),
    }
}

/// The wait that others end and that paces a thread, if it is plain which one that is: of those that come about as often
/// as any, the one in which the thread spends most time.
pub fn woken(steps: &[Step], calls: &[Call]) -> Option<Pacing> {
    let mut tallies: BTreeMap<Wait, (u64, Nanos)> = BTreeMap::new();
    for (call, length) in made(steps).filter(|(call, _)| call.blocked && call.woken_at.is_some()) {
        let Some(wait) = Wait::of(call, calls) else { continue };
        let before = tallies.range(..=wait).next_back().map(|(before, _)| *before);
        let wait = before.filter(|before| before.is_same(wait, calls)).unwrap_or(wait);
        let (count, time) = tallies.entry(wait).or_default();
        (*count, *time) = (*count + 1, time.plus(length));
    }
    let most = tallies.values().map(|(count, _)| *count).max()?;
    let often = |(count, _): &(u64, Nanos)| *count >= WAITS_MIN && *count * OTHERS_PER_WAKE >= most;
    let chosen = tallies.into_iter().filter(|(_, tally)| often(tally)).max_by_key(|(_, (_, time))| *time);
    chosen.map(|(wait, _)| Pacing::Woken(wait))
}
