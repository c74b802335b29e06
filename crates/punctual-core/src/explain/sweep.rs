//! The time between release and body cut into spans, each with the one who had the CPU: a walk over the records.
//!
//! Interrupts nest, so a stack of contexts is kept; a switch of tasks empties it. Each span is labelled from both of
//! its ends: by the state before it, and by what the record that ends it says of itself. Where the two disagree a
//! record is missing; the later end is believed and the span is not certain. Knows no rule of blame.

use super::frame::{Frame, entered, left};
use super::pending::{Pending, Stay};
use super::{nmi, opinion};
use crate::trace::{Address, FLAG_HARDIRQ, FLAG_NEED_RESCHED, Record, Tid, What, Window};
use punctual_hist::{MonoTime, Nanos};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
struct Open {
    frame: Frame,
    at: MonoTime,
    /// The record that opened it was written with interrupt context in its flags, so those of others can be trusted.
    flagged: bool,
}

/// Who had the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A non-maskable interrupt, with its handler.
    Nmi(Address),
    /// An interrupt or what runs in it: the innermost context, and the one it runs in.
    Context(Frame, Option<Frame>),
    /// A task; 0 is idle.
    Task(Tid),
    /// Our thread ran at the end, and nothing tells since when.
    Untold,
}

/// How our thread stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ours {
    /// It waits for its timer or something else.
    Asleep,
    /// It was woken and is not running.
    Ready,
    /// It runs, or is only interrupted.
    Running,
    /// It was taken to another CPU.
    Away,
}

/// A stretch of time with one owner and no record inside, except of what takes no time.
#[derive(Clone, Copy, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is an observation of its own; no two of them exclude each other"
)]
pub(super) struct Span {
    /// From.
    pub from: MonoTime,
    /// To.
    pub to: MonoTime,
    /// Who had the CPU.
    pub owner: Owner,
    /// Both ends say so.
    pub certain: bool,
    /// The task below interrupts.
    pub task: Tid,
    /// When that task got the CPU, if it is known.
    pub since: Option<MonoTime>,
    /// What it works on, if it is a worker.
    pub work: Option<Address>,
    /// The idle state, if it is idle and that is known.
    pub idle: Option<u32>,
    /// How our thread stood.
    pub ours: Ours,
    /// When the innermost interrupt was entered, if one is open.
    pub entered: Option<MonoTime>,
    /// Our thread is within a page fault, as is believed until then.
    pub fault: Option<MonoTime>,
    /// An interrupt has been taken since the release.
    pub served: bool,
    /// The task was found with pre-emption off by the last interrupt before.
    pub forbids: bool,
    /// The task was asked to give way before, or is as the span ends.
    pub asked: bool,
}

impl Span {
    /// How long.
    pub(super) fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

/// The moments between which the stages lie, as far as records tell them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Anchors {
    /// The interrupt that serves the release is entered.
    pub entry: Option<MonoTime>,
    /// Our timer's function is called: when, and which timer.
    pub expiry: Option<(MonoTime, Address)>,
    /// Our thread is woken.
    pub waking: Option<MonoTime>,
    /// Our thread gets the CPU.
    pub switch: Option<MonoTime>,
    /// It had the CPU at the release already.
    pub running: bool,
}

/// Who woke whom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waker {
    /// When.
    pub at: MonoTime,
    /// Who was woken.
    pub woken: Tid,
    /// By this task ...
    pub by: Tid,
    /// ... or by what interrupted it.
    pub context: Option<Frame>,
}

/// Who asked for a softirq.
#[derive(Clone, Copy, Debug)]
pub(super) struct Raised {
    /// When.
    pub at: MonoTime,
    /// Which.
    pub vector: u32,
    /// This task ...
    pub by: Tid,
    /// ... or what interrupted it.
    pub context: Option<Frame>,
}

/// What a walk over the records came to.
#[derive(Debug)]
pub(super) struct Swept {
    /// In order, without gaps, from the release to the body.
    pub spans: Vec<Span>,
    /// The moments between stages.
    pub anchors: Anchors,
    /// Wakings, in order.
    pub wakers: Vec<Waker>,
    /// Softirqs that were asked for, in order.
    pub raised: Vec<Raised>,
    /// Priorities, as records tell them.
    pub priorities: Vec<(MonoTime, Tid, i32)>,
    /// What speaks for interrupts being off while ours was due.
    pub pending: Pending,
    /// Records begin after the release.
    pub begins_late: bool,
    /// Our thread ran in the end and no record gave it the CPU, or records are said to be lost in between.
    pub lost: bool,
}

/// What is told of the span a record ends.
struct Label {
    owner: Owner,
    certain: bool,
}

/// A page fault that does not wait takes no longer: a huge page is cleared in it.
const FAULT_MOST: Nanos = Nanos::from_us(500);
/// The bit of a task's state that it can be woken by a signal, as no fault waits and every timer's sleep does.
const WAITS_FOR_SIGNALS: u32 = 1;
/// A switch this soon after the body ran belongs before it: clocks may differ by so much.
const WARP: Nanos = Nanos::from_us(2);

struct Walk<'a> {
    window: &'a Window,
    rt: bool,
    task: Tid,
    since: Option<MonoTime>,
    stack: Vec<Open>,
    /// Contexts of tasks that were switched away within a softirq, which only real-time kernels do.
    parked: BTreeMap<Tid, Vec<Open>>,
    work: BTreeMap<Tid, Address>,
    idle: Option<u32>,
    ours: Ours,
    /// When our thread's last page fault began, unless it is seen to be over.
    fault: Option<MonoTime>,
    served: bool,
    /// What is known of the task that has the CPU.
    stay: Stay,
    /// What speaks for interrupts being off while ours is due.
    pending: Pending,
    cursor: MonoTime,
    out: Swept,
}

/// Walks over the records of a window. On real-time kernels (`rt`) softirqs can be switched away from.
pub(super) fn sweep(window: &Window, rt: bool) -> Swept {
    let mut records: Vec<&Record> = window.records.iter().collect();
    records.sort_by_key(|record| record.at);
    let first = records.iter().find(|record| !is_hint(&record.what));
    let task = first.map_or(-1, |record| record.tid);
    let mut walk = Walk {
        window,
        rt,
        task,
        since: None,
        stack: opened_before(&records, window.release),
        parked: BTreeMap::new(),
        work: BTreeMap::new(),
        idle: None,
        ours: if task == window.tid { Ours::Running } else { Ours::Asleep },
        fault: None,
        served: false,
        stay: Stay::default(),
        pending: Pending::default(),
        cursor: window.release,
        out: Swept {
            spans: Vec::with_capacity(records.len().min(256)),
            anchors: Anchors::default(),
            wakers: Vec::new(),
            raised: Vec::new(),
            priorities: Vec::new(),
            pending: Pending::default(),
            begins_late: first.is_none_or(|record| record.at > window.release),
            lost: false,
        },
    };
    let mut anchored = false;
    for record in records {
        if !anchored && record.at > window.release {
            walk.out.anchors.running = walk.ours == Ours::Running && !walk.out.begins_late;
            anchored = true;
        }
        if record.at > window.woke {
            walk.after_the_body(record);
        } else {
            walk.take(record);
        }
    }
    if !anchored {
        walk.out.anchors.running = walk.ours == Ours::Running && !walk.out.begins_late;
    }
    walk.finish();
    walk.out.pending = walk.pending;
    doubt(window, rt, &mut walk.out.spans);
    nmi::carve(window, &mut walk.out.spans);
    walk.out
}

/// Records that say nothing of who is running.
fn is_hint(what: &What) -> bool {
    matches!(what, What::Lost { .. } | What::Nmi { .. } | What::Noise { .. } | What::Timerlat { .. })
}

/// Contexts that were open before the first record: those whose end comes without a beginning.
fn opened_before(records: &[&Record], at: MonoTime) -> Vec<Open> {
    let (mut open, mut before): (Vec<Frame>, Vec<Open>) = (Vec::new(), Vec::new());
    for record in records {
        if matches!(record.what, What::Switch { .. }) {
            break;
        }
        if let Some(frame) = entered(&record.what) {
            open.push(frame);
        } else if let Some(frame) = left(&record.what) {
            match open.iter().rposition(|o| o.ends_with(frame)) {
                Some(place) => open.truncate(place),
                None => before.insert(0, Open { frame, at, flagged: false }),
            }
        }
    }
    before
}

impl Walk<'_> {
    fn take(&mut self, record: &Record) {
        if is_hint(&record.what) {
            if matches!(record.what, What::Lost { .. }) && record.at >= self.window.release {
                self.out.lost = true;
            }
            return;
        }
        let label = self.label(record);
        self.emit(record.at, &label, record.context.flags & FLAG_NEED_RESCHED != 0);
        self.apply(record);
    }

    /// Who had the CPU until this record. Where it contradicts what was known, what was known is put right.
    fn label(&mut self, record: &Record) -> Label {
        let before_release = record.at <= self.window.release;
        let mut certain = !(self.out.begins_late && self.cursor == self.window.release) || before_release;
        if record.tid != self.task {
            // A switch is missing.
            certain = false;
            self.stack.clear();
            let is_ours = record.tid == self.window.tid;
            self.switch_to(record.tid, None);
            if is_ours && !before_release {
                self.out.lost = true;
                return Label { owner: Owner::Untold, certain };
            }
        }
        if let Some(frame) = left(&record.what) {
            match self.stack.iter().rposition(|open| open.frame.ends_with(frame)) {
                Some(place) if place + 1 == self.stack.len() => {}
                Some(place) => {
                    certain = false;
                    self.stack.truncate(place + 1);
                }
                None if self.is_of_the_task(record, frame) => {}
                None => {
                    certain = false;
                    self.stack.push(Open { frame, at: self.cursor, flagged: false });
                }
            }
        } else if self.outlived(record) {
            certain = false;
            self.leave_interrupts(matches!(record.what, What::Switch { .. }));
        }
        Label { owner: self.owner(), certain }
    }

    /// A function call that a task makes on its own CPU is a part of the task.
    fn is_of_the_task(&self, record: &Record, frame: Frame) -> bool {
        matches!(frame, Frame::Call(_)) && record.context.flags & FLAG_HARDIRQ == 0 && self.task != 0
    }

    /// Whether contexts are still open that the record shows to be over.
    fn outlived(&self, record: &Record) -> bool {
        let in_interrupt = record.context.flags & FLAG_HARDIRQ != 0;
        match record.what {
            What::Switch { .. } => self.stack.iter().any(|open| !self.rt || open.frame.is_interrupt()),
            What::SoftirqEntry { .. } => self.stack.iter().any(|open| open.frame.is_interrupt() || !self.rt),
            _ => !in_interrupt && self.stack.iter().any(|open| open.flagged && open.frame.is_interrupt()),
        }
    }

    /// Forgets the interrupts on the stack, and all that runs in them.
    fn leave_interrupts(&mut self, whole: bool) {
        let keep = if whole && !self.rt { Some(0) } else { None };
        let place = keep.or_else(|| self.stack.iter().position(|open| open.frame.is_interrupt()));
        self.stack.truncate(place.unwrap_or(if self.rt { self.stack.len() } else { 0 }));
    }

    fn owner(&self) -> Owner {
        match self.stack.as_slice() {
            [] => Owner::Task(self.task),
            [only] => Owner::Context(only.frame, None),
            [.., below, top] => Owner::Context(top.frame, Some(below.frame)),
        }
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
            entered: self.stack.iter().find(|open| open.frame.is_interrupt()).map(|open| open.at),
            fault: self.fault_ends(),
            served: self.served,
            forbids: self.stay.forbids,
            asked: self.stay.asked || asked,
        });
    }

    /// Until when our thread is believed to be in its page fault: while it waits as faults do, as long as that takes;
    /// where it runs (again), no longer than faults take, because nothing tells their end.
    fn fault_ends(&self) -> Option<MonoTime> {
        let runs = self.ours == Ours::Running;
        let began = self.fault.map(|began| self.since.map_or(began, |since| since.max(began)));
        began.map(|began| if runs { began.plus(FAULT_MOST) } else { self.window.woke })
    }

    fn apply(&mut self, record: &Record) {
        let flags = record.context.flags;
        self.stay.saw(record);
        if record.at >= self.window.release && !self.served {
            self.pending.saw(record, self.since);
        }
        if let Some(frame) = entered(&record.what) {
            self.served |= frame.is_interrupt() && record.at >= self.window.release;
            if !self.is_of_the_task(record, frame) {
                self.stack.push(Open { frame, at: record.at, flagged: flags & FLAG_HARDIRQ != 0 });
            }
            return;
        }
        if let Some(frame) = left(&record.what) {
            if self.stack.last().is_some_and(|open| open.frame.ends_with(frame)) {
                self.stack.pop();
            }
            return;
        }
        self.apply_to_tasks(record);
    }

    fn apply_to_tasks(&mut self, record: &Record) {
        match record.what {
            What::Switch { prev, prev_prio, prev_state, next, next_prio } => {
                self.out.priorities.extend([(record.at, prev, prev_prio), (record.at, next, next_prio)]);
                if prev == self.window.tid {
                    self.leave(record.at, prev_state);
                }
                if self.rt && !self.stack.is_empty() {
                    self.parked.insert(prev, std::mem::take(&mut self.stack));
                }
                self.stack = self.parked.remove(&next).unwrap_or_default();
                self.switch_to(next, Some(record.at));
            }
            What::Waking { tid, prio, .. } => {
                self.out.priorities.push((record.at, tid, prio));
                let context = self.stack.last().map(|open| open.frame);
                self.out.wakers.push(Waker { at: record.at, woken: tid, by: record.tid, context });
                if tid == self.window.tid {
                    self.woken(record.at);
                }
            }
            What::SoftirqRaise { vector } => {
                let context = self.stack.last().map(|open| open.frame);
                self.out.raised.push(Raised { at: record.at, vector, by: record.tid, context });
            }
            What::WorkStart { function } => drop(self.work.insert(record.tid, function)),
            What::WorkEnd => drop(self.work.remove(&record.tid)),
            What::Idle { state } => self.idle = state.or(self.idle),
            What::Fault { .. } if record.tid == self.window.tid => self.fault = Some(record.at),
            // Nobody arms a timer within a fault: it is a call to the kernel, of the body or after it.
            What::HrtimerStart { .. } if record.tid == self.window.tid && self.stack.is_empty() => self.fault = None,
            What::Migrate { tid, to_cpu, .. } if tid == self.window.tid => {
                self.ours = if to_cpu == self.window.cpu { Ours::Ready } else { Ours::Away };
            }
            _ => {}
        }
    }

    /// Our thread loses the CPU, in this state.
    fn leave(&mut self, at: MonoTime, state: u32) {
        let (asleep, in_fault) = (state != 0, self.fault.is_some() && state & WAITS_FOR_SIGNALS == 0);
        self.ours = match self.ours {
            Ours::Away => Ours::Away,
            _ if asleep => Ours::Asleep,
            _ => Ours::Ready,
        };
        if !in_fault {
            self.fault = None;
        }
        if asleep && at <= self.window.release && !in_fault {
            // What was before belongs to an earlier release.
            self.out.anchors = Anchors::default();
        }
    }

    fn woken(&mut self, at: MonoTime) {
        if self.ours == Ours::Asleep {
            self.ours = Ours::Ready;
        }
        if self.out.anchors.waking.is_some() {
            return;
        }
        let timer = self.stack.iter().rev().find_map(|open| match open.frame {
            Frame::Hrtimer { timer, .. } => Some((open.at, timer)),
            _ => None,
        });
        self.out.anchors.waking = Some(at);
        self.out.anchors.expiry = timer;
        let interrupt = self.stack.iter().rev().find(|open| open.frame.is_interrupt());
        self.out.anchors.entry = interrupt.or(self.stack.first()).map(|open| open.at);
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

    /// A record from just after the body shows that a switch that is missing before is only written late.
    fn after_the_body(&mut self, record: &Record) {
        let is_switch = matches!(record.what, What::Switch { next, .. } if next == self.window.tid);
        if is_switch && self.ours != Ours::Running && record.at <= self.window.woke.plus(WARP) {
            let label = Label { owner: self.owner(), certain: true };
            self.emit(self.window.woke, &label, false);
            self.stack.clear();
            self.switch_to(self.window.tid, Some(self.window.woke));
        }
    }

    /// The body runs: our thread has the CPU, and no interrupt is open.
    fn finish(&mut self) {
        if self.cursor >= self.window.woke {
            return;
        }
        let running = self.task == self.window.tid;
        let owner = if running { Owner::Task(self.task) } else { Owner::Untold };
        let certain = running && self.stack.is_empty();
        self.out.lost |= !running;
        self.emit(self.window.woke, &Label { owner, certain }, false);
    }
}

/// What the kernel's noise tracer tells otherwise is not certain.
fn doubt(window: &Window, rt: bool, spans: &mut [Span]) {
    for doubt in opinion::doubts(window, rt) {
        let of_thread = |span: &Span| matches!(span.owner, Owner::Task(_));
        let within = |span: &&mut Span| of_thread(span) == doubt.thread && span.from < doubt.to && doubt.from < span.to;
        spans.iter_mut().filter(within).for_each(|span| span.certain = false);
    }
}
