//! Cuts the steps of a thread into cycles: from the return of the pacing wait to the next entry into it.

use super::pacing::{Pacing, kind};
use super::record::{Call, CallKind, Clock, Offsets};
use super::steps::{CallMade, Step, StepKind};
use crate::trace::Tid;
use punctual_hist::{MonoTime, Nanos};
use std::ops::RangeInclusive;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// When the timer was to expire, or where none paces the thread, when it was woken; `None` if the arming of the timer
    /// was not seen, or if the time was no release of this loop.
    pub release: Option<MonoTime>,
    pub woke: MonoTime,
    /// The CPU on which the thread returned from the wait.
    pub cpu: u32,
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
    /// The names of the values in a line of [`Cycle::csv_line`].
    pub const CSV_HEADER: &str = "thread,release_ns,woke_ns,ended_ns,preempted_ns,blocked_ns,waiting_ns,cpu,overran\n";

    /// The cycle as a line of comma-separated values. Times are of the monotonic clock; the release is empty if it is not known.
    pub fn csv_line(&self, tid: Tid) -> String {
        let release = self.release.map(|release| release.as_ns().to_string()).unwrap_or_default();
        let [woke, ended] = [self.woke, self.ended].map(MonoTime::as_ns);
        let [preempted, blocked, waiting] = [self.preempted, self.blocked, self.waiting].map(Nanos::as_ns);
        let (cpu, overran) = (self.cpu, u8::from(self.overran));
        format!("{tid},{release},{woke},{ended},{preempted},{blocked},{waiting},{cpu},{overran}\n")
    }

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

/// The complete cycles of a thread.
pub fn cycles(steps: &[Step], pacing: Pacing, calls: &[Call], offsets: &Offsets) -> Vec<Cycle> {
    Cutter::new(pacing, false).take(steps, calls, offsets)
}

/// Cuts steps into cycles as they come. A cycle in which records are missing is left out, and one in which the process starts
/// another program, for what follows is the start of that.
#[derive(Clone, Debug)]
pub(super) struct Cutter {
    pacing: Pacing,
    /// Number of steps, from the first, that were cut already.
    taken: usize,
    open: Option<Cycle>,
    /// When a timer that is read from expires next.
    pending: Option<i64>,
    after_loss: bool,
    /// No release is before this one. Before the first, it is the time from which on the thread was observed.
    earliest: Option<MonoTime>,
}

impl Cutter {
    /// `after_loss` says whether steps are missing before the first.
    pub fn new(pacing: Pacing, after_loss: bool) -> Self {
        Self { pacing, taken: 0, open: None, pending: None, after_loss, earliest: None }
    }

    /// Cuts what follows those steps that were cut already. Indices in the cycles are those of `steps`.
    pub fn take(&mut self, steps: &[Step], calls: &[Call], offsets: &Offsets) -> Vec<Cycle> {
        let mut cycles = Vec::new();
        let first = steps.iter().skip(self.taken).map(|step| step.from).min().unwrap_or_default();
        self.earliest = self.earliest.or(Some(first));
        for (index, step) in steps.iter().enumerate().skip(self.taken) {
            cycles.extend(self.step(steps, index, step, calls, offsets));
        }
        self.taken = steps.len();
        cycles
    }

    /// Number of steps, from the first, that were cut already.
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// The first step that is still needed for the open cycle, or the number of all.
    pub fn needed(&self) -> usize {
        let first = self.open.as_ref().and_then(|open| open.inside.first().copied());
        first.unwrap_or(self.taken).min(self.taken)
    }

    /// Takes notice that this many steps were taken away at the beginning.
    pub fn forget(&mut self, steps: usize) {
        self.taken = self.taken.saturating_sub(steps);
        for index in self.open.iter_mut().flat_map(|open| &mut open.inside) {
            *index = index.saturating_sub(steps);
        }
    }

    /// Gives up the open cycle, which became too long to be kept.
    pub fn give_up(&mut self) {
        (self.open, self.after_loss) = (None, true);
    }

    fn step(&mut self, steps: &[Step], index: usize, step: &Step, calls: &[Call], offsets: &Offsets) -> Option<Cycle> {
        let pacing = self.pacing;
        let call = match &step.kind {
            StepKind::Lost => {
                (self.open, self.pending, self.after_loss) = (None, None, true);
                return None;
            }
            StepKind::Call(call) if call.result == 0 && kind(call.number, calls) == CallKind::Program => {
                (self.open, self.pending, self.after_loss) = (None, None, true);
                return None;
            }
            StepKind::Call(call) if pacing.is_wait(call, calls) => call,
            kind => {
                self.pending = rearmed(kind, pacing).or(self.pending);
                if let Some(cycle) = &mut self.open {
                    inside(cycle, index, step);
                }
                return None;
            }
        };
        let earliest = self.earliest.unwrap_or_default();
        let release = release(call, pacing, self.pending, offsets, earliest..=step.to);
        self.earliest = release.or(self.earliest);
        // The kernel arms these timers again as it tells of their expiry.
        let rearms = match pacing {
            Pacing::Timerfd { arms, .. } => call.number == arms,
            Pacing::PosixTimer { .. } => true,
            _ => false,
        };
        self.pending = call.armed.filter(|_| rearms).or(self.pending);
        let closed = self.open.take().map(|mut cycle| {
            cycle.overran = release.is_some_and(|release| release < step.from);
            close(&mut cycle, steps, step.from);
            cycle
        });
        self.open = Some(Cycle {
            release,
            woke: step.to,
            cpu: call.cpu,
            ended: step.to,
            preempted: Nanos::default(),
            blocked: Nanos::default(),
            waiting: Nanos::default(),
            inside: Vec::new(),
            overran: false,
            after_loss: std::mem::take(&mut self.after_loss),
        });
        closed
    }
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
        Pacing::Sleep { absolute: true, clock, .. } => offsets.monotonic(call.armed_first?, clock),
        Pacing::Sleep { .. } | Pacing::TimeOut { .. } => offsets.monotonic(call.armed_first?, Clock::Monotonic),
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
