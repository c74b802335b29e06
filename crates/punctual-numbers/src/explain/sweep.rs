//! Cuts the time between release and body into spans in one walk over the records. Each span has one owner of the CPU.
//!
//! The owner of a span follows from both of its ends: from the state before it, and from the context of the record that
//! ends it. If the two disagree, a record is missing; the later end is believed, and the span is not certain.

use super::contexts::Contexts;
use super::frame::{Frame, entered, left};
use super::pending::{Pending, Stay};
use super::swept::{Anchors, Ours, Owner, Raised, Span, Swept, Told, Waker};
use super::{names, nmi, opinion};
use crate::trace::{Address, FLAG_HARDIRQ, FLAG_NEED_RESCHED, RemoteRecord, Tid, TraceEvent, TraceRecord, Window};
use punctual_hist::{MonoTime, Nanos};
use std::collections::BTreeMap;

/// The owner of the span that a record ends.
struct Label {
    owner: Owner,
    certain: bool,
    /// Whether a switch is missing, so that the task that ran before is unknown.
    guessed: bool,
}

/// Longest page fault that does not wait. It is the clearing of a huge page.
const FAULT_MOST: Nanos = Nanos::from_us(500);
/// The bit of a task's state that says it can be woken by a signal. Sleeping on a timer sets it, waiting in a fault
/// never does.
const WAITS_FOR_SIGNALS: u32 = 1;
/// The bits of a task's state that say a signal or a debugger stopped it.
const STOPPED: u32 = 0x0c;
/// The clock of the records and that of the body may differ by this time. A switch this soon after the beginning of the
/// body belongs before it.
const WARP: Nanos = Nanos::from_us(2);

struct Walk<'a> {
    window: &'a Window,
    task: Tid,
    since: Option<MonoTime>,
    contexts: Contexts,
    /// Whether the last record ended the function of a timer. If another timer follows, the time up to its function is
    /// charged to that timer: in a storm of timers this is half of the time.
    expired: bool,
    work: BTreeMap<Tid, Address>,
    idle: Option<u32>,
    ours: Ours,
    /// Time since which our thread could run without getting the CPU.
    ready: Option<MonoTime>,
    /// Time of our thread's last page fault, unless a record shows that it is over.
    fault: Option<MonoTime>,
    served: bool,
    stay: Stay,
    /// Signs that interrupts were off while our timer's interrupt was due.
    pending: Pending,
    cursor: MonoTime,
    out: Swept,
}

/// Walks over the records of a window. On real-time kernels (`rt`) softirqs can be switched away from.
pub(super) fn sweep(window: &Window, rt: bool) -> Swept {
    let mut records: Vec<&TraceRecord> = window.records.iter().collect();
    records.sort_by_key(|record| record.at);
    let first = records.iter().find(|record| !is_hint(&record.what));
    let task = first.map_or(-1, |record| record.tid);
    let mut walk = Walk {
        window,
        task,
        since: None,
        contexts: Contexts::before(&records, window.release, rt),
        expired: false,
        work: BTreeMap::new(),
        idle: None,
        ours: if task == window.tid { Ours::Running } else { Ours::Asleep },
        ready: None,
        fault: None,
        served: false,
        stay: Stay::default(),
        pending: Pending::default(),
        cursor: window.release,
        out: Swept {
            spans: Vec::with_capacity(records.len().min(256)),
            begins_late: first.is_none_or(|record| record.at > window.release),
            ..Swept::default()
        },
    };
    let mut anchored = false;
    for record in records {
        if !anchored && record.at > window.release {
            walk.stand_at_release();
            anchored = true;
        }
        if record.at > window.woke {
            walk.after_the_body(record);
        } else {
            walk.take(record);
        }
    }
    if !anchored {
        walk.stand_at_release();
    }
    walk.finish();
    walk.out.unseen = walk.ours != Ours::Running;
    walk.out.pending = walk.pending;
    walk.learn_from_elsewhere();
    doubt(window, rt, &mut walk.out.spans);
    nmi::carve(window, &mut walk.out.spans);
    walk.out
}

/// Whether the record does not show which task is running.
fn is_hint(what: &TraceEvent) -> bool {
    matches!(
        what,
        TraceEvent::Lost { .. } | TraceEvent::Nmi { .. } | TraceEvent::Noise { .. } | TraceEvent::Timerlat { .. }
    )
}

impl Walk<'_> {
    fn take(&mut self, record: &TraceRecord) {
        if is_hint(&record.what) {
            if matches!(record.what, TraceEvent::Lost { .. }) && record.at >= self.window.release {
                self.out.lost = true;
            }
            return;
        }
        let label = self.label(record);
        self.emit(record.at, &label, record.context.flags & FLAG_NEED_RESCHED != 0);
        self.apply(record);
    }

    /// The owner of the CPU until this record. If the record contradicts the known state, the state is corrected.
    fn label(&mut self, record: &TraceRecord) -> Label {
        let before_release = record.at <= self.window.release;
        let mut certain = !(self.out.begins_late && self.cursor == self.window.release) || before_release;
        let mut guessed = false;
        if record.tid != self.task {
            // The record names another task than the known one, so a switch is missing.
            guessed = !before_release && !self.is_out_of_idle(record.tid);
            certain = certain && !guessed;
            self.contexts.clear();
            let is_ours = record.tid == self.window.tid;
            self.switch_to(record.tid, None);
            if is_ours && !before_release {
                return Label { owner: Owner::Untold, certain, guessed };
            }
        }
        if let Some(frame) = left(&record.what) {
            if self.contexts.holds(frame) || !self.is_of_the_task(record, frame) {
                certain &= self.contexts.bring_up(frame, self.cursor);
            }
        } else if self.contexts.outlived(record) {
            certain = false;
        }
        let owner = match entered(&record.what).filter(|_| self.expired) {
            Some(next @ (Frame::Hrtimer { .. } | Frame::Wheel { .. })) => {
                Owner::Context(next, self.contexts.innermost())
            }
            _ => self.contexts.owner(self.task),
        };
        Label { owner, certain, guessed }
    }

    /// Whether a missing switch can only have been from idle to this task, because no other task was woken since.
    fn is_out_of_idle(&self, to: Tid) -> bool {
        let Some(since) = self.since.filter(|_| self.task == 0 && to != self.window.tid) else { return false };
        let here = self.out.wakers.iter().filter(|waker| waker.at >= since).map(|waker| waker.woken);
        let elsewhere = self.window.elsewhere.iter().filter_map(|RemoteRecord { record, .. }| match record.what {
            TraceEvent::Waking { tid, .. } if record.at >= since && record.at <= self.cursor => Some(tid),
            _ => None,
        });
        let mut woken = here.chain(elsewhere).filter(|tid| *tid != self.window.tid).peekable();
        woken.peek().is_some() && woken.all(|tid| tid == to)
    }

    /// Notes the state of our thread at the release. If it could run then, it waits for the CPU from the release on.
    fn stand_at_release(&mut self) {
        if self.out.begins_late {
            return;
        }
        self.out.anchors.running = self.ours == Ours::Running;
        if self.ours == Ours::Ready && self.out.anchors.waking.is_none() {
            self.out.anchors.waking = Some(self.window.release);
        }
    }

    /// Whether the task itself called the function: a task that calls a function on its own CPU does so without an
    /// interrupt.
    fn is_of_the_task(&self, record: &TraceRecord, frame: Frame) -> bool {
        matches!(frame, Frame::Call(_)) && record.context.flags & FLAG_HARDIRQ == 0 && self.task != 0
    }

    fn emit(&mut self, to: MonoTime, label: &Label, asked: bool) {
        let (from, to) = (self.cursor, to.min(self.window.woke));
        if to <= from {
            return;
        }
        self.cursor = to;
        let task = self.task;
        self.out.spans.push(Span {
            from,
            to,
            owner: label.owner,
            certain: label.certain,
            task,
            since: self.since,
            work: self.work.get(&task).copied(),
            idle: self.idle.filter(|_| task == 0),
            ours: self.ours,
            ready: self.ready.filter(|_| self.ours == Ours::Ready),
            guessed: label.guessed,
            entered: self.contexts.interrupted(),
            fault: self.fault_ends(),
            served: self.served,
            forbids: self.stay.forbids,
            stays: self.stay.stays,
            asked: self.stay.asked || asked,
        });
    }

    /// The time until which our thread is assumed to be in its page fault. No record shows the end of a fault, so it
    /// lasts while the thread waits, and then for at most [`FAULT_MOST`] of running.
    fn fault_ends(&self) -> Option<MonoTime> {
        let runs = self.ours == Ours::Running;
        let began = self.fault.map(|began| self.since.map_or(began, |since| since.max(began)));
        began.map(|began| if runs { began.plus(FAULT_MOST) } else { self.window.woke })
    }

    fn apply(&mut self, record: &TraceRecord) {
        self.stay.saw(record);
        self.expired = matches!(record.what, TraceEvent::HrtimerExit { .. } | TraceEvent::TimerExit { .. });
        if record.at >= self.window.release && !self.served {
            self.pending.saw(record, self.since);
        }
        if let Some(frame) = entered(&record.what) {
            self.served |= frame.is_interrupt() && record.at >= self.window.release;
            if !self.is_of_the_task(record, frame) {
                self.contexts.enter(frame, record);
            }
            return;
        }
        if let Some(frame) = left(&record.what) {
            return self.contexts.leave(frame);
        }
        self.apply_to_tasks(record);
    }

    fn apply_to_tasks(&mut self, record: &TraceRecord) {
        match record.what {
            TraceEvent::Switch { prev, prev_prio, prev_state, next, next_prio } => {
                let told = |tid, prio| Told { at: record.at, tid, prio, until: false };
                self.out.priorities.extend([told(prev, prev_prio), told(next, next_prio)]);
                if prev == self.window.tid {
                    self.leave(record.at, prev_state);
                }
                self.contexts.switch(prev, next);
                self.switch_to(next, Some(record.at));
            }
            TraceEvent::Waking { tid, prio, .. } => {
                self.out.priorities.push(Told { at: record.at, tid, prio, until: false });
                let context = self.contexts.innermost();
                self.out.wakers.push(Waker { at: record.at, woken: tid, by: record.tid, context });
                if tid == self.window.tid {
                    self.woken(record.at);
                }
            }
            TraceEvent::SoftirqRaise { vector } => {
                let context = self.contexts.innermost();
                self.out.raised.push(Raised { at: record.at, vector, by: record.tid, context });
            }
            TraceEvent::WorkStart { function } => drop(self.work.insert(record.tid, function)),
            TraceEvent::WorkEnd => drop(self.work.remove(&record.tid)),
            TraceEvent::Idle { state } => self.idle = state.or(self.idle),
            TraceEvent::Fault { .. } if record.tid == self.window.tid => self.fault = Some(record.at),
            // A thread arms its own timer by a system call, so the fault is over. Other timers do not show that: the
            // driver of the disk from which a page is read may arm them within the fault.
            TraceEvent::HrtimerStart { function, .. } if record.tid == self.window.tid && self.contexts.is_empty() => {
                self.fault = self.fault.filter(|_| !names::is_of_threads(&self.window.names.function(function)));
            }
            TraceEvent::Boost { tid, from, prio } => self.out.priorities.extend(boost(record.at, tid, from, prio)),
            TraceEvent::Migrate { tid, to_cpu, .. } if tid == self.window.tid => {
                self.ours = if to_cpu == self.window.cpu { Ours::Ready } else { Ours::Away };
            }
            _ => {}
        }
    }

    /// Learns priorities from other CPUs: a thread that waits for a lock there lends its priority from there.
    fn learn_from_elsewhere(&mut self) {
        for RemoteRecord { record, .. } in &self.window.elsewhere {
            if let TraceEvent::Boost { tid, from, prio } = record.what {
                self.out.priorities.extend(boost(record.at, tid, from, prio));
            }
        }
        self.out.priorities.sort_by_key(|told| told.at);
    }

    /// Our thread loses the CPU and goes into this state.
    fn leave(&mut self, at: MonoTime, state: u32) {
        let (asleep, in_fault) = (state != 0, self.fault.is_some() && state & WAITS_FOR_SIGNALS == 0);
        self.ours = match self.ours {
            Ours::Away => Ours::Away,
            _ if state & STOPPED != 0 => Ours::Stopped,
            _ if asleep => Ours::Asleep,
            _ => Ours::Ready,
        };
        self.ready = (self.ours == Ours::Ready).then_some(at);
        if !in_fault {
            self.fault = None;
        }
        if asleep && at <= self.window.release && !in_fault {
            // The anchors found so far belong to an earlier release.
            self.out.anchors = Anchors::default();
        }
    }

    fn woken(&mut self, at: MonoTime) {
        if matches!(self.ours, Ours::Asleep | Ours::Stopped) {
            (self.ours, self.ready) = (Ours::Ready, Some(at));
        }
        if self.out.anchors.waking.is_some() {
            return;
        }
        self.out.anchors.waking = Some(at);
        self.out.anchors.expiry = self.contexts.timer();
        let interrupt = self.contexts.interrupted_last();
        self.out.anchors.hard = interrupt.is_some();
        self.out.anchors.entry = interrupt.or(self.contexts.begun());
    }

    fn switch_to(&mut self, next: Tid, at: Option<MonoTime>) {
        self.task = next;
        self.since = at;
        self.stay = Stay::default();
        if next == self.window.tid {
            self.ours = Ours::Running;
            self.out.anchors.switch = self.out.anchors.switch.or(at);
        } else if self.ours == Ours::Running {
            self.ours = Ours::Asleep;
        }
    }

    /// Takes a switch to our thread that is missing before the body, if it is recorded just after the body began.
    fn after_the_body(&mut self, record: &TraceRecord) {
        let is_switch = matches!(record.what, TraceEvent::Switch { next, .. } if next == self.window.tid);
        if is_switch && self.ours != Ours::Running && record.at <= self.window.woke.plus(WARP) {
            let label = Label { owner: self.contexts.owner(self.task), certain: true, guessed: false };
            self.emit(self.window.woke, &label, false);
            self.contexts.clear();
            self.switch_to(self.window.tid, Some(self.window.woke));
        }
    }

    /// Ends the walk at the body: our thread has the CPU, and no interrupt is open.
    fn finish(&mut self) {
        if self.cursor >= self.window.woke {
            return;
        }
        let running = self.task == self.window.tid;
        let owner = if running { Owner::Task(self.task) } else { Owner::Untold };
        let certain = running && self.contexts.is_empty();
        self.emit(self.window.woke, &Label { owner, certain, guessed: false }, false);
    }
}

/// The two priorities of a task that a lock changes at `at`: the one until then and the one from then on.
fn boost(at: MonoTime, tid: Tid, from: i32, prio: i32) -> [Told; 2] {
    [Told { at, tid, prio: from, until: true }, Told { at, tid, prio, until: false }]
}

/// Marks spans as uncertain if the kernel's noise tracer gives another length for them.
fn doubt(window: &Window, rt: bool, spans: &mut [Span]) {
    for doubt in opinion::doubts(window, rt) {
        let of_thread = |span: &Span| matches!(span.owner, Owner::Task(_));
        let within = |span: &&mut Span| of_thread(span) == doubt.thread && span.from < doubt.to && doubt.from < span.to;
        spans.iter_mut().filter(within).for_each(|span| span.certain = false);
    }
}
