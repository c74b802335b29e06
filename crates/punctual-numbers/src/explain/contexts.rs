//! The stack of contexts on top of a task, because interrupts nest. A switch of tasks empties it, or on a real-time
//! kernel puts it aside until the task runs again.

use super::frame::{Frame, entered, left};
use super::swept::Owner;
use crate::trace::{Address, FLAG_HARDIRQ, Tid, TraceEvent, TraceRecord};
use punctual_hist::MonoTime;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
struct Open {
    frame: Frame,
    at: MonoTime,
    /// Whether the flags of the record that opened the context show interrupt context. If so, the flags of later
    /// records can be trusted.
    flagged: bool,
}

/// The contexts that are open, the innermost last.
#[derive(Debug, Default)]
pub(super) struct Contexts {
    /// Whether the kernel is a real-time one, on which softirqs can be switched away from.
    rt: bool,
    stack: Vec<Open>,
    /// Stacks of tasks that were switched away within a softirq.
    parked: BTreeMap<Tid, Vec<Open>>,
}

impl Contexts {
    /// The contexts that were open before the first record and still at `at`: contexts whose end is recorded and whose
    /// beginning is not.
    pub(super) fn before(records: &[&TraceRecord], at: MonoTime, rt: bool) -> Self {
        let (mut open, mut stack): (Vec<Frame>, Vec<Open>) = (Vec::new(), Vec::new());
        for record in records {
            if matches!(record.what, TraceEvent::Switch { .. }) {
                break;
            }
            if let Some(frame) = entered(&record.what) {
                open.push(frame);
            } else if let Some(frame) = left(&record.what) {
                match open.iter().rposition(|o| o.ends_with(frame)) {
                    Some(place) => open.truncate(place),
                    None => stack.insert(0, Open { frame, at, flagged: false }),
                }
            }
        }
        Self { rt, stack, parked: BTreeMap::new() }
    }

    /// The owner of the CPU while this task is below the contexts.
    pub(super) fn owner(&self, task: Tid) -> Owner {
        match self.stack.as_slice() {
            [] => Owner::Task(task),
            [only] => Owner::Context(only.frame, None),
            [.., below, top] => Owner::Context(top.frame, Some(below.frame)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    pub(super) fn innermost(&self) -> Option<Frame> {
        self.stack.last().map(|open| open.frame)
    }

    /// Time at which the outermost interrupt was entered.
    pub(super) fn interrupted(&self) -> Option<MonoTime> {
        self.stack.iter().find(|open| open.frame.is_interrupt()).map(|open| open.at)
    }

    /// Time at which the innermost interrupt was entered.
    pub(super) fn interrupted_last(&self) -> Option<MonoTime> {
        self.stack.iter().rev().find(|open| open.frame.is_interrupt()).map(|open| open.at)
    }

    /// Time at which the outermost context was entered.
    pub(super) fn begun(&self) -> Option<MonoTime> {
        self.stack.first().map(|open| open.at)
    }

    /// The timer whose function is being called, and the time of the call.
    pub(super) fn timer(&self) -> Option<(MonoTime, Address)> {
        self.stack.iter().rev().find_map(|open| match open.frame {
            Frame::Hrtimer { timer, .. } => Some((open.at, timer)),
            _ => None,
        })
    }

    /// Whether a context is open that `end` closes.
    pub(super) fn holds(&self, end: Frame) -> bool {
        self.stack.iter().any(|open| open.frame.ends_with(end))
    }

    pub(super) fn enter(&mut self, frame: Frame, record: &TraceRecord) {
        self.stack.push(Open { frame, at: record.at, flagged: record.context.flags & FLAG_HARDIRQ != 0 });
    }

    /// Closes the innermost context if `end` closes it.
    pub(super) fn leave(&mut self, end: Frame) {
        if self.stack.last().is_some_and(|open| open.frame.ends_with(end)) {
            self.stack.pop();
        }
    }

    /// Makes the context that `end` closes the innermost one. If no record shows its beginning, it is taken to have
    /// begun at `at`. Returns whether it was the innermost one already.
    pub(super) fn bring_up(&mut self, end: Frame, at: MonoTime) -> bool {
        match self.stack.iter().rposition(|open| open.frame.ends_with(end)) {
            Some(place) if place + 1 == self.stack.len() => return true,
            Some(place) => self.stack.truncate(place + 1),
            None => self.stack.push(Open { frame: end, at, flagged: false }),
        }
        false
    }

    /// Closes contexts that the record shows to be over. Returns whether any was closed.
    pub(super) fn outlived(&mut self, record: &TraceRecord) -> bool {
        let in_interrupt = record.context.flags & FLAG_HARDIRQ != 0;
        let is_switch = matches!(record.what, TraceEvent::Switch { .. });
        let over = match record.what {
            TraceEvent::Switch { .. } => self.stack.iter().any(|open| !self.rt || open.frame.is_interrupt()),
            TraceEvent::SoftirqEntry { .. } => self.stack.iter().any(|open| open.frame.is_interrupt() || !self.rt),
            _ => !in_interrupt && self.stack.iter().any(|open| open.flagged && open.frame.is_interrupt()),
        };
        if over {
            let all = if is_switch && !self.rt { Some(0) } else { None };
            let place = all.or_else(|| self.stack.iter().position(|open| open.frame.is_interrupt()));
            // Closes interrupts, and all contexts that run in them.
            self.stack.truncate(place.unwrap_or(if self.rt { self.stack.len() } else { 0 }));
        }
        over
    }

    pub(super) fn switch(&mut self, prev: Tid, next: Tid) {
        if self.rt && !self.stack.is_empty() {
            self.parked.insert(prev, std::mem::take(&mut self.stack));
        }
        self.stack = self.parked.remove(&next).unwrap_or_default();
    }

    /// Forgets all contexts, because another task has the CPU and its switch was not recorded.
    pub(super) fn clear(&mut self) {
        self.stack.clear();
    }
}
