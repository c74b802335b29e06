//! The time between release and body cut into spans, each with the one who had the CPU: a walk over the records.
//!
//! Interrupts nest, so a stack of contexts is kept; a switch of tasks empties it. Each span is labelled from both of
//! its ends: by the state before it, and by what the record that ends it says of itself. Where the two disagree a
//! record is missing; the later end is believed and the span is not certain. Knows no rule of blame.

use super::opinion;
use crate::trace::{
    Address, FLAG_HARDIRQ, FLAG_IRQS_OFF, FLAG_NEED_RESCHED, NoiseKind, Record, Tid, Vector, What, Window,
};
use punctual_hist::{MonoTime, Nanos};
use std::collections::BTreeMap;

/// A context on top of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A device's interrupt.
    Irq(u32),
    /// Another interrupt.
    Vector(Vector),
    /// Something done for another CPU.
    Call(Address),
    /// A softirq.
    Softirq(u32),
    /// The callback of a high-resolution timer.
    Hrtimer {
        /// Which.
        timer: Address,
        /// Its function.
        function: Address,
    },
    /// The callback of a timer of the wheel.
    Wheel {
        /// Which.
        timer: Address,
        /// Its function.
        function: Address,
    },
}

impl Frame {
    /// Whether it is an interrupt by itself.
    fn is_interrupt(self) -> bool {
        matches!(self, Self::Irq(_) | Self::Vector(_) | Self::Call(_))
    }

    /// Whether a record that ends `other` ends this one.
    fn ends_with(self, other: Self) -> bool {
        match (self, other) {
            (Self::Hrtimer { timer: a, .. }, Self::Hrtimer { timer: b, .. })
            | (Self::Wheel { timer: a, .. }, Self::Wheel { timer: b, .. }) => a == b,
            (Self::Call(_), Self::Call(_)) => true,
            (a, b) => a == b,
        }
    }
}

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
#[allow(clippy::struct_excessive_bools, reason = "each is one thing seen, and any may go with any")]
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
    /// Our thread is within a page fault.
    pub fault: bool,
    /// The record that begins it was written in the task with interrupts off, when the release was due already.
    pub off_before: bool,
    /// The record that ends it was.
    pub off_after: bool,
    /// It was asked to give way, by the record at its end.
    pub need_resched: bool,
    /// An interrupt has been taken since the release.
    pub served: bool,
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

/// What a walk over the records came to.
#[derive(Debug)]
pub(super) struct Swept {
    /// In order, without gaps, from the release to the body.
    pub spans: Vec<Span>,
    /// The moments between stages.
    pub anchors: Anchors,
    /// Wakings, in order.
    pub wakers: Vec<Waker>,
    /// Priorities as last seen.
    pub priorities: BTreeMap<Tid, i32>,
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

/// A switch this soon after the body ran belongs before it: clocks may differ by so much.
const WARP: Nanos = Nanos::from_us(2);

#[allow(clippy::struct_excessive_bools, reason = "each is one thing seen, and any may go with any")]
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
    fault: bool,
    /// The record before was written in a task with interrupts off.
    off: bool,
    served: bool,
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
        fault: false,
        off: false,
        served: false,
        cursor: window.release,
        out: Swept {
            spans: Vec::with_capacity(records.len().min(256)),
            anchors: Anchors::default(),
            wakers: Vec::new(),
            priorities: BTreeMap::new(),
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
    for doubt in opinion::doubts(window, rt) {
        let of_thread = |span: &Span| matches!(span.owner, Owner::Task(_));
        let within = |span: &&mut Span| of_thread(span) == doubt.thread && span.from < doubt.to && doubt.from < span.to;
        walk.out.spans.iter_mut().filter(within).for_each(|span| span.certain = false);
    }
    carve_nmis(window, &mut walk.out.spans);
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

/// The context a record opens.
fn entered(what: &What) -> Option<Frame> {
    Some(match *what {
        What::IrqEntry { irq } => Frame::Irq(irq),
        What::VectorEntry { vector } => Frame::Vector(vector),
        What::CallEntry { function } => Frame::Call(function),
        What::SoftirqEntry { vector } => Frame::Softirq(vector),
        What::HrtimerEntry { timer, function } => Frame::Hrtimer { timer, function },
        What::TimerEntry { timer, function } => Frame::Wheel { timer, function },
        _ => return None,
    })
}

/// The context a record closes.
fn left(what: &What) -> Option<Frame> {
    let function = Address(0);
    Some(match *what {
        What::IrqExit { irq } => Frame::Irq(irq),
        What::VectorExit { vector } => Frame::Vector(vector),
        What::CallExit => Frame::Call(function),
        What::SoftirqExit { vector } => Frame::Softirq(vector),
        What::HrtimerExit { timer } => Frame::Hrtimer { timer, function },
        What::TimerExit { timer } => Frame::Wheel { timer, function },
        _ => return None,
    })
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
        self.emit(record.at, &label, Some(record));
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

    fn emit(&mut self, to: MonoTime, label: &Label, closing: Option<&Record>) {
        let (from, to) = (self.cursor, to.min(self.window.woke));
        if to <= from {
            return;
        }
        self.cursor = to;
        let task = self.task;
        let in_task = |record: &Record| record.context.flags & FLAG_HARDIRQ == 0 && entered(&record.what).is_none();
        let closed_off = closing.is_some_and(|r| in_task(r) && r.context.flags & FLAG_IRQS_OFF != 0);
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
            fault: self.fault,
            off_before: self.off,
            off_after: closed_off,
            need_resched: closing.is_some_and(|r| r.context.flags & FLAG_NEED_RESCHED != 0),
            served: self.served,
        });
    }

    fn apply(&mut self, record: &Record) {
        let flags = record.context.flags;
        let due = record.at >= self.window.release;
        self.off = due && flags & FLAG_IRQS_OFF != 0 && flags & FLAG_HARDIRQ == 0;
        if let Some(frame) = entered(&record.what) {
            if frame.is_interrupt() {
                self.served |= due;
                self.off = false;
            }
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
                self.out.priorities.insert(prev, prev_prio);
                self.out.priorities.insert(next, next_prio);
                if prev == self.window.tid {
                    self.leave(record.at, prev_state != 0);
                }
                if self.rt && !self.stack.is_empty() {
                    self.parked.insert(prev, std::mem::take(&mut self.stack));
                }
                self.stack = self.parked.remove(&next).unwrap_or_default();
                self.switch_to(next, Some(record.at));
            }
            What::Waking { tid, prio, .. } => {
                self.out.priorities.insert(tid, prio);
                let context = self.stack.last().map(|open| open.frame);
                self.out.wakers.push(Waker { at: record.at, woken: tid, by: record.tid, context });
                if tid == self.window.tid {
                    self.woken(record.at);
                }
            }
            What::WorkStart { function } => drop(self.work.insert(record.tid, function)),
            What::WorkEnd => drop(self.work.remove(&record.tid)),
            What::Idle { state } => self.idle = state.or(self.idle),
            What::Fault { .. } if record.tid == self.window.tid => self.fault = true,
            What::Migrate { tid, to_cpu, .. } if tid == self.window.tid => {
                self.ours = if to_cpu == self.window.cpu { Ours::Ready } else { Ours::Away };
            }
            _ => {}
        }
    }

    /// Our thread loses the CPU.
    fn leave(&mut self, at: MonoTime, asleep: bool) {
        self.ours = match self.ours {
            Ours::Away => Ours::Away,
            _ if asleep => Ours::Asleep,
            _ => Ours::Ready,
        };
        if asleep && at <= self.window.release {
            // What was before belongs to an earlier release.
            self.out.anchors = Anchors::default();
            self.fault = false;
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
            self.emit(self.window.woke, &label, None);
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
        self.emit(self.window.woke, &Label { owner, certain }, None);
    }
}

/// Gives the time of non-maskable interrupts, whose records come at their end, to them.
fn carve_nmis(window: &Window, spans: &mut Vec<Span>) {
    for record in &window.records {
        let (from, to, handler) = match record.what {
            What::Nmi { handler, took } => (record.at.minus(took), record.at, handler),
            // The other engine's word is taken where the handlers do not tell it themselves.
            What::Noise { kind: NoiseKind::Nmi, took, .. } if !is_told(window, record.at.minus(took), record.at) => {
                (record.at.minus(took), record.at, Address(0))
            }
            _ => continue,
        };
        if !spans.iter().any(|span| span.from < to && from < span.to) {
            continue;
        }
        let mut carved = Vec::with_capacity(spans.len() + 2);
        for span in spans.drain(..) {
            let (a, b) = (from.clamp(span.from, span.to), to.clamp(span.from, span.to));
            if a >= b || matches!(span.owner, Owner::Nmi(_)) {
                carved.push(span);
                continue;
            }
            let pieces = [(span.from, a, span.owner), (a, b, Owner::Nmi(handler)), (b, span.to, span.owner)];
            let pieces = pieces.into_iter().filter(|(from, to, _)| from < to);
            carved.extend(pieces.map(|(from, to, owner)| Span { from, to, owner, ..span }));
        }
        *spans = carved;
    }
}

/// Whether a handler of a non-maskable interrupt is told to have run between two instants.
fn is_told(window: &Window, from: MonoTime, to: MonoTime) -> bool {
    let is_there = |record: &Record| matches!(record.what, What::Nmi { .. }) && from <= record.at && record.at <= to;
    window.records.iter().any(is_there)
}
