//! Cuts the steps of a thread into cycles: from the return of the pacing wait to the next entry into it.

use super::pacing::{Pacing, kind};
use super::record::{Call, CallKind, Clock, Offsets};
use super::steps::{CallMade, Step, StepKind};
use punctual_hist::{MonoTime, Nanos};
use std::ops::RangeInclusive;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// When the timer was to expire, or where none paces the thread, when it was woken; `None` if the arming of the timer
    /// was not seen, or if the time was no release of this loop.
    pub release: Option<MonoTime>,
    pub woke: MonoTime,
    /// When the thread entered its next wait.
    pub ended: MonoTime,
    pub preempted: Nanos,
    pub blocked: Nanos,
    /// Time between being woken and running, inside the cycle.
    pub waiting: Nanos,
    /// What happened inside the cycle: indices of steps.
    pub inside: Vec<usize>,
    /// Whether the next release had passed when the thread entered the wait for it.
    pub overran: bool,
    /// Whether records are missing between the cycle before and this one, or the process started another program there.
    pub after_loss: bool,
}

impl Cycle {
    pub fn latency(&self) -> Option<Nanos> {
        self.release.map(|release| self.woke.since(release))
    }

    pub fn response(&self) -> Nanos {
        self.ended.since(self.release.unwrap_or(self.woke))
    }

    /// Time on the CPU inside the cycle, with the interrupts that it was disturbed by.
    pub fn execution(&self) -> Nanos {
        self.ended.since(self.woke).minus(self.preempted).minus(self.blocked).minus(self.waiting)
    }
}

/// The complete cycles of a thread. A cycle in which records are missing is left out, and one in which the process starts
/// another program, for what follows is the start of that.
pub fn cycles(steps: &[Step], pacing: Pacing, calls: &[Call], offsets: &Offsets) -> Vec<Cycle> {
    let (mut cycles, mut open) = (Vec::new(), None::<Cycle>);
    // When a timer that is read from expires next.
    let mut pending = None;
    let mut after_loss = false;
    // No release is before this one. Before the first, it is the time from which on the thread was observed.
    let mut earliest = steps.iter().map(|step| step.from).min().unwrap_or_default();
    for (index, step) in steps.iter().enumerate() {
        let call = match &step.kind {
            StepKind::Lost => {
                (open, pending, after_loss) = (None, None, true);
                continue;
            }
            StepKind::Call(call) if call.result == 0 && kind(call.number, calls) == CallKind::Program => {
                (open, pending, after_loss) = (None, None, true);
                continue;
            }
            StepKind::Call(call) if pacing.is_wait(call, calls) => call,
            kind => {
                pending = rearmed(kind, pacing).or(pending);
                if let Some(cycle) = &mut open {
                    inside(cycle, index, step);
                }
                continue;
            }
        };
        let release = release(call, pacing, pending, offsets, earliest..=step.to);
        earliest = release.unwrap_or(earliest);
        // The kernel arms these timers again as it tells of their expiry.
        let rearms = match pacing {
            Pacing::Timerfd { arms, .. } => call.number == arms,
            Pacing::PosixTimer { .. } => true,
            _ => false,
        };
        pending = call.armed.filter(|_| rearms).or(pending);
        if let Some(mut cycle) = open.take() {
            cycle.overran = release.is_some_and(|release| release < step.from);
            close(&mut cycle, steps, step.from);
            cycles.push(cycle);
        }
        open = Some(Cycle {
            release,
            woke: step.to,
            ended: step.to,
            preempted: Nanos::default(),
            blocked: Nanos::default(),
            waiting: Nanos::default(),
            inside: Vec::new(),
            overran: false,
            after_loss: std::mem::take(&mut after_loss),
        });
    }
    cycles
}

/// The next expiry, if the step arms the timer that the thread waits for elsewhere.
fn rearmed(kind: &StepKind, pacing: Pacing) -> Option<i64> {
    match (kind, pacing) {
        (StepKind::Call(call), Pacing::Timerfd { arms, .. }) if call.number == arms => call.armed,
        _ => None,
    }
}

/// The expiry that ended this wait, if it is `possible`. The timer cannot have expired after the thread returned. A time
/// before the release before it, such as the 1 ns of a sleep that is to return at once, releases nothing. A release that
/// had passed when the thread asked for it is one all the same: a loop that is behind catches up like this.
fn release(
    call: &CallMade,
    pacing: Pacing,
    pending: Option<i64>,
    offsets: &Offsets,
    possible: RangeInclusive<MonoTime>,
) -> Option<MonoTime> {
    let release = match pacing {
        Pacing::Sleep { absolute: true, clock, .. } => offsets.monotonic(call.armed?, clock),
        Pacing::Sleep { .. } | Pacing::TimeOut { .. } => offsets.monotonic(call.armed?, Clock::Monotonic),
        Pacing::Timerfd { .. } | Pacing::PosixTimer { .. } => offsets.nearest(pending?, *possible.end()),
        Pacing::Woken(_) => call.woken_at?,
    };
    Some(release).filter(|release| possible.contains(release))
}

fn inside(cycle: &mut Cycle, index: usize, step: &Step) {
    if step.from >= cycle.woke {
        cycle.inside.push(index);
    }
}

/// Ends the cycle and sums up its parts. Steps that began later belong to the next wait.
fn close(cycle: &mut Cycle, steps: &[Step], ended: MonoTime) {
    cycle.ended = ended;
    cycle.inside.retain(|index| steps.get(*index).is_some_and(|step| step.from < ended));
    for step in cycle.inside.iter().filter_map(|index| steps.get(*index)) {
        let length = step.to.since(step.from);
        let sum = match step.kind {
            StepKind::Preempted => &mut cycle.preempted,
            StepKind::Blocked => &mut cycle.blocked,
            StepKind::Waiting => &mut cycle.waiting,
            _ => continue,
        };
        *sum = sum.plus(length);
    }
}
