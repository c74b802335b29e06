//! What records show about the state of a task: whether it forbade pre-emption, was asked to give way, or held
//! interrupts off while the interrupt of our timer was due.
//!
//! Most records of a task are written with interrupts off, because the kernel takes its own locks to write them, so the
//! flag says nothing about the time before. The sign of interrupts being off is that the interrupt comes just after the
//! record, as soon as they are on again.

use super::frame::{entered, left};
use crate::trace::{FLAG_HARDIRQ, FLAG_IRQS_OFF, FLAG_NEED_RESCHED, Tid, TraceEvent, TraceRecord};
use punctual_hist::{MonoTime, Nanos};

/// A pending interrupt is taken no later than this after the last record that was written with interrupts off.
const NEAR: Nanos = Nanos::from_us(20);
/// The bits of `common_preempt_count` that count nested sections without pre-emption.
const FORBIDS: u8 = 0x0f;
/// The bits of `common_preempt_count` that count nested sections in which the task may not be moved to another CPU.
const STAYS: u8 = 0xf0;

/// The state of a task since it got the CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stay {
    /// Whether the last interrupt found the task with pre-emption off.
    pub forbids: bool,
    /// Whether the last interrupt found the task in a section in which it may not be moved to another CPU.
    pub stays: bool,
    pub asked: bool,
}

impl Stay {
    pub(super) fn saw(&mut self, record: &TraceRecord) {
        self.asked |= record.context.flags & FLAG_NEED_RESCHED != 0;
        if let Some(count) = interrupted(record) {
            (self.forbids, self.stays) = (count & FORBIDS != 0, count & STAYS != 0);
        }
    }
}

/// The preempt count of the task at the entry or exit of an interrupt; `None` for all other records, because the code
/// that writes those takes locks itself.
fn interrupted(record: &TraceRecord) -> Option<u8> {
    let frame = entered(&record.what).or_else(|| left(&record.what))?;
    let flagged = record.context.flags & FLAG_HARDIRQ != 0;
    (frame.is_interrupt() && flagged && record.tid != 0).then_some(record.context.preempt)
}

/// Records of tasks while our timer was due and no interrupt came.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pending {
    off: Option<Off>,
    on: Option<MonoTime>,
    /// Time of the first interrupt, and the task if the interrupt found it with pre-emption off.
    came: Option<(MonoTime, Option<Tid>)>,
}

#[derive(Clone, Copy, Debug)]
struct Off {
    tid: Tid,
    since: Option<MonoTime>,
    at: MonoTime,
    /// Whether the record shows the task giving the CPU away. The scheduler itself has interrupts off then.
    switch: bool,
}

impl Pending {
    /// Takes note of a record after the release, up to the first interrupt. The running task has had the CPU since
    /// `since`.
    pub(super) fn saw(&mut self, record: &TraceRecord, since: Option<MonoTime>) {
        if entered(&record.what).is_some_and(super::frame::Frame::is_interrupt) {
            self.came = Some((record.at, interrupted(record).filter(|count| count & FORBIDS != 0).map(|_| record.tid)));
        } else if record.context.flags & FLAG_HARDIRQ != 0 || matches!(record.what, TraceEvent::Idle { .. }) {
            // The record of leaving idle is always written with interrupts off, whatever is pending.
        } else if record.context.flags & FLAG_IRQS_OFF == 0 {
            (self.off, self.on) = (None, Some(record.at));
        } else {
            let switch = matches!(record.what, TraceEvent::Switch { .. });
            self.off = Some(Off { tid: record.tid, since, at: record.at, switch });
        }
    }

    /// Whether records show that a task, which has had the CPU since `since`, held interrupts off from `from` on. In a
    /// guest only a record just before the interrupt counts, because a guest can lose its CPU, or get its timer
    /// interrupt late, between the two.
    pub(super) fn held_off(&self, tid: Tid, since: Option<MonoTime>, from: MonoTime, guest: bool) -> bool {
        let (Some(off), Some((came, _))) = (self.off, self.came) else { return false };
        let same = off.tid == tid && off.since == since && self.on.is_none_or(|on| from >= on);
        same && (came.since(off.at) <= NEAR || (!guest && !off.switch))
    }

    /// Whether the interrupt found this task within the kernel, with pre-emption off.
    pub(super) fn in_kernel(&self, tid: Tid) -> bool {
        self.came.is_some_and(|(_, forbids)| forbids == Some(tid))
    }
}
