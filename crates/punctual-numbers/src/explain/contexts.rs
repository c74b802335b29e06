//! What runs on top of a task: interrupts nest, so a stack of contexts is kept; a switch of tasks empties it, or on a
//! real-time kernel puts it aside. Knows neither spans nor blame.

use super::frame::{Frame, entered, left};
use super::swept::Owner;
use crate::trace::{Address, FLAG_HARDIRQ, Record, Tid, What};
use punctual_hist::MonoTime;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
struct Open {
    frame: Frame,
    at: MonoTime,
    /// The record that opened it was written with interrupt context in its flags, so those of others can be trusted.
    flagged: bool,
}

/// The contexts that are open, the innermost last.
#[derive(Debug, Default)]
pub(super) struct Contexts {
    /// On real-time kernels softirqs can be switched away from.
    rt: bool,
    stack: Vec<Open>,
    /// Those of tasks that were switched away within a softirq.
    parked: BTreeMap<Tid, Vec<Open>>,
}

impl Contexts {
    /// Those that were open before the first record, since `at` at the latest: those whose end comes without a beginning.
    pub(super) fn before(records: &[&Record], at: MonoTime, rt: bool) -> Self {
        let (mut open, mut stack): (Vec<Frame>, Vec<Open>) = (Vec::new(), Vec::new());
        for record in records {
            if matches!(record.what, What::Switch { .. }) {
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

    /// Who has the CPU while this task is below.
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

    /// When the outermost interrupt was entered.
    pub(super) fn interrupted(&self) -> Option<MonoTime> {
        self.stack.iter().find(|open| open.frame.is_interrupt()).map(|open| open.at)
    }

    /// When the innermost interrupt was entered.
    pub(super) fn interrupted_last(&self) -> Option<MonoTime> {
        self.stack.iter().rev().find(|open| open.frame.is_interrupt()).map(|open| open.at)
    }

    /// When the outermost context was entered.
    pub(super) fn begun(&self) -> Option<MonoTime> {
        self.stack.first().map(|open| open.at)
    }

    /// The timer whose function is being called, and since when.
    pub(super) fn timer(&self) -> Option<(MonoTime, Address)> {
        self.stack.iter().rev().find_map(|open| match open.frame {
            Frame::Hrtimer { timer, .. } => Some((open.at, timer)),
            _ => None,
        })
    }

    /// Whether one is open that a record of this end ends.
    pub(super) fn holds(&self, end: Frame) -> bool {
        self.stack.iter().any(|open| open.frame.ends_with(end))
    }

    pub(super) fn enter(&mut self, frame: Frame, record: &Record) {
        self.stack.push(Open { frame, at: record.at, flagged: record.context.flags & FLAG_HARDIRQ != 0 });
    }

    /// The innermost one ends, if it is this.
    pub(super) fn leave(&mut self, end: Frame) {
        if self.stack.last().is_some_and(|open| open.frame.ends_with(end)) {
            self.stack.pop();
        }
    }

    /// A record says that this one ends: it is the innermost one now, since `at` where nothing told that it began.
    /// Whether that was known.
    pub(super) fn bring_up(&mut self, end: Frame, at: MonoTime) -> bool {
        match self.stack.iter().rposition(|open| open.frame.ends_with(end)) {
            Some(place) if place + 1 == self.stack.len() => return true,
            Some(place) => self.stack.truncate(place + 1),
            None => self.stack.push(Open { frame: end, at, flagged: false }),
        }
        false
    }

    /// Forgets those that the record shows to be over; whether there were any.
    pub(super) fn outlived(&mut self, record: &Record) -> bool {
        let in_interrupt = record.context.flags & FLAG_HARDIRQ != 0;
        let is_switch = matches!(record.what, What::Switch { .. });
        let over = match record.what {
            What::Switch { .. } => self.stack.iter().any(|open| !self.rt || open.frame.is_interrupt()),
            What::SoftirqEntry { .. } => self.stack.iter().any(|open| open.frame.is_interrupt() || !self.rt),
            _ => !in_interrupt && self.stack.iter().any(|open| open.flagged && open.frame.is_interrupt()),
        };
        if over {
            let all = if is_switch && !self.rt { Some(0) } else { None };
            let place = all.or_else(|| self.stack.iter().position(|open| open.frame.is_interrupt()));
            // Interrupts, and all that runs in them.
            self.stack.truncate(place.unwrap_or(if self.rt { self.stack.len() } else { 0 }));
        }
        over
    }

    /// One task gives way to another.
    pub(super) fn switch(&mut self, prev: Tid, next: Tid) {
        if self.rt && !self.stack.is_empty() {
            self.parked.insert(prev, std::mem::take(&mut self.stack));
        }
        self.stack = self.parked.remove(&next).unwrap_or_default();
    }

    /// Somebody else has the CPU, and nobody saw how that came.
    pub(super) fn clear(&mut self) {
        self.stack.clear();
    }
}
