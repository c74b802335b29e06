//! Finds the cause of one span from its owner, its stage, priorities, and [`Clues`] where the kernel ran nothing.

use super::clues::{Clue, Clues, Rules};
use super::frame::Frame;
use super::names;
use super::swept::{Anchors, Ours, Owner, Span, Swept};
use super::{Cause, CauseName, Class, Stage, Why};
use crate::trace::{Address, FLAG_NEED_RESCHED, RemoteRecord, Tid, TraceEvent, TraceRecord, Vector, Window};
use punctual_hist::{MonoTime, Nanos};

/// Longest time of ordinary work between two records. A longer span may come from outside of the kernel.
const LONG: Nanos = Nanos::from_us(50);
/// Kernel priorities from this number on are those of ordinary threads.
const ORDINARY: i32 = 100;
/// Longest time between sending an interrupt to another CPU and its entry there.
const SENT_WITHIN: Nanos = Nanos::from_ms(1);

pub(super) struct Judge<'a> {
    window: &'a Window,
    rules: &'a Rules,
    swept: &'a Swept,
    clues: Clues<'a>,
    /// Time at which our thread was woken, here or from another CPU.
    waking: Option<MonoTime>,
    /// Whether real-time throttling ended while our thread waited.
    replenished: bool,
}

/// A cause, and the reasons why it could run.
pub(super) struct Blamed {
    pub cause: Cause,
    pub why: Vec<Why>,
}

fn blamed(class: Class, name: impl Into<CauseName>, why: impl IntoIterator<Item = Why>) -> Blamed {
    Blamed { cause: Cause { class, name: name.into() }, why: why.into_iter().collect() }
}

impl<'a> Judge<'a> {
    pub(super) fn new(window: &'a Window, rules: &'a Rules, swept: &'a Swept) -> Self {
        let waiting = |at: MonoTime| swept.anchors.waking.is_some_and(|waking| at > waking);
        let replenished = window.records.iter().any(|record| match record.what {
            TraceEvent::HrtimerEntry { function, .. } if waiting(record.at) && record.at <= window.woke => {
                window.names.function(function) == "sched_rt_period_timer"
            }
            _ => false,
        });
        let waking = swept.anchors.waking.or_else(|| woken_elsewhere(window, swept));
        Self { window, rules, swept, clues: Clues::of(rules, window), waking, replenished }
    }

    /// The first of three moments after `at`: the end of its stage, of our page fault, and of the span.
    pub(super) fn stage_end(&self, at: MonoTime, span: &Span) -> MonoTime {
        let Anchors { entry, expiry, switch, .. } = self.swept.anchors;
        let ends = [entry, expiry.map(|(at, _)| at), self.waking, switch, span.fault];
        ends.into_iter().flatten().filter(|end| *end > at).fold(span.to, MonoTime::min)
    }

    pub(super) fn stage(&self, at: MonoTime) -> Stage {
        let anchors = &self.swept.anchors;
        let passed = |anchor: Option<MonoTime>| anchor.is_some_and(|anchor| anchor <= at);
        if anchors.running || passed(anchors.switch) {
            Stage::Return
        } else if passed(self.waking) {
            Stage::Dispatch
        } else if passed(anchors.expiry.map(|(at, _)| at)) {
            Stage::Waking
        } else if passed(anchors.entry) {
            Stage::Expiry
        } else if anchors.entry.is_some() {
            Stage::TimerLate
        } else {
            Stage::Unknown
        }
    }

    pub(super) fn cause(&self, span: &Span, stage: Stage) -> Blamed {
        if let Some(Clue { class, why }) = self.paused(span, stage) {
            return blamed(class, "", [why]);
        }
        match span.owner {
            Owner::Nmi(handler) => blamed(Class::Nmi, self.window.names.function(handler), []),
            Owner::Context(top, below) => {
                let Blamed { cause, mut why } = self.context(top, below, stage);
                match (cause.class, top) {
                    (Class::Ipi, top) => why.extend(self.sender(top, span)),
                    (Class::Softirq, Frame::Softirq(vector)) => why.extend(self.raiser(vector, span)),
                    _ => {}
                }
                why.extend(Some(()).filter(|()| span.length() > LONG).and_then(|()| self.clues.stolen()));
                Blamed { cause, why }
            }
            Owner::Untold if stage == Stage::Dispatch && span.length() <= self.rules.switch_cost => {
                blamed(Class::WakeUp, "", [])
            }
            Owner::Untold => blamed(Class::Unexplained, "not recorded", []),
            Owner::Task(tid) if tid == self.window.tid => self.own(span),
            Owner::Task(_) if span.ours == Ours::Stopped => blamed(Class::Stopped, "", []),
            Owner::Task(_) if span.ours == Ours::Away => blamed(Class::Migration, "", []),
            Owner::Task(_) if span.ours == Ours::Asleep && in_fault(span) => blamed(Class::PageFault, "", []),
            Owner::Task(_) if span.ours == Ours::Asleep && stage == Stage::Return => {
                blamed(Class::OwnPath, "waiting", [])
            }
            Owner::Task(_) if stage == Stage::Unknown => self.anywhere(span),
            Owner::Task(0) => self.idle(span),
            Owner::Task(tid) => self.thread(tid, span, stage),
        }
    }

    /// A cause, if the whole machine stood still. The thread that counts standstills has an ordinary priority, so other
    /// threads may keep it waiting: its counter is believed only if records show nothing but our own timer on the CPU.
    fn paused(&self, span: &Span, stage: Stage) -> Option<Clue> {
        let another = match span.owner {
            Owner::Nmi(_) => true,
            Owner::Context(top, _) => !self.is_our_timer(top),
            Owner::Task(tid) => tid != 0 && tid != self.window.tid && (span.served || stage == Stage::Dispatch),
            Owner::Untold => false,
        };
        if another { self.clues.standstill(span.from, span.to) } else { self.clues.paused(span.from, span.to) }
    }

    /// Whether this is the timer interrupt itself or the function of our own timer, which take microseconds.
    fn is_our_timer(&self, top: Frame) -> bool {
        match top {
            Frame::Vector(vector) => vector == Vector::LocalTimer,
            Frame::Irq(irq) => self.window.names.irqs.get(&irq).is_some_and(|line| names::is_clock(&line.action)),
            Frame::Hrtimer { timer, .. } => self.swept.anchors.expiry.is_some_and(|(_, ours)| ours == timer),
            _ => false,
        }
    }

    /// The priority of a task at a moment: the one that the next change replaced, else the last one known before, else
    /// the first one known after.
    fn priority(&self, tid: Tid, at: MonoTime) -> Option<i32> {
        let told = || self.swept.priorities.iter().filter(|told| told.tid == tid);
        let after = told().find(|told| told.at > at);
        let changed = after.filter(|told| told.until);
        let before = || told().take_while(|told| told.at <= at).filter(|told| !told.until).last();
        changed.or_else(before).or(after).map(|told| told.prio)
    }

    /// The cause for a span in an interrupt, or in a context inside one.
    fn context(&self, top: Frame, below: Option<Frame>, stage: Stage) -> Blamed {
        let names = &self.window.names;
        match top {
            Frame::Irq(irq) => {
                let line = names.irqs.get(&irq);
                if line.is_some_and(|line| names::is_clock(&line.action)) {
                    return blamed(Class::TimerInterrupt, "", []);
                }
                let affinity = line.map(|line| line.affinity.clone()).filter(|list| !list.is_empty());
                let managed = line.is_some_and(|line| line.managed).then_some(Why::Managed);
                blamed(
                    Class::HardIrq,
                    names.line(irq),
                    affinity.map(|cpus| Why::Affinity { cpus }).into_iter().chain(managed),
                )
            }
            Frame::Vector(Vector::LocalTimer) => blamed(Class::TimerInterrupt, "", []),
            Frame::Vector(vector) if is_ipi(vector) => blamed(Class::Ipi, names::vector(vector), []),
            Frame::Vector(vector) => blamed(Class::Vector, names::vector(vector), []),
            Frame::Call(Address(0)) => blamed(Class::Ipi, "function call", []),
            Frame::Call(function) => blamed(Class::Ipi, names.function(function), []),
            Frame::Softirq(vector) => blamed(Class::Softirq, names::softirq(vector), []),
            Frame::Wheel { function, .. } => blamed(Class::Softirq, nested("TIMER", &names.function(function)), []),
            Frame::Hrtimer { timer, function } => self.callback(timer, &names.function(function), below, stage),
        }
    }

    fn callback(&self, timer: Address, function: &str, below: Option<Frame>, stage: Stage) -> Blamed {
        if matches!(below, Some(Frame::Softirq(_))) {
            return blamed(Class::Softirq, nested("HRTIMER", function), []);
        }
        let ours = self.swept.anchors.expiry.is_some_and(|(_, ours)| ours == timer);
        match function {
            // After our own timer's function began to wake our thread, the rest of the function belongs to the waking.
            _ if ours && stage >= Stage::Dispatch => blamed(Class::WakeUp, "", []),
            // The interrupt has reached our timer and not yet called its function.
            _ if ours && stage <= Stage::Expiry => blamed(Class::TimerInterrupt, "", []),
            "tick_sched_timer" | "tick_nohz_handler" | "tick_nohz_highres_handler" => {
                blamed(Class::TimerInterrupt, "tick", [])
            }
            _ => blamed(Class::TimerCallback, function, []),
        }
    }

    fn own(&self, span: &Span) -> Blamed {
        if in_fault(span) {
            return blamed(Class::PageFault, "", []);
        }
        self.outside(span).unwrap_or_else(|| blamed(Class::OwnPath, "", []))
    }

    /// The cause of a span whose stage is unknown. A task that ran in it is not blamed, because our thread may not have
    /// been ready.
    fn anywhere(&self, span: &Span) -> Blamed {
        self.outside(span).unwrap_or_else(|| self.unexplained(span))
    }

    /// A cause outside of the kernel, for a span that is too long for ordinary work.
    fn outside(&self, span: &Span) -> Option<Blamed> {
        let long = Some(span).filter(|span| span.length() > LONG)?;
        self.clues.outside(long.from, long.to).map(|clue| blamed(clue.class, "", [clue.why]))
    }

    /// The cause of a span that no record or clue explains. The name states which task was current, without blaming it.
    fn unexplained(&self, span: &Span) -> Blamed {
        blamed(Class::Unexplained, CauseName::Under(Box::new(self.name(span.task, span))), [])
    }

    fn idle(&self, span: &Span) -> Blamed {
        let waiting = span.ours == Ours::Ready;
        if waiting && span.length() <= self.rules.switch_cost {
            return blamed(Class::WakeUp, "", []);
        }
        if let Some(throttled) = self.throttled(span).filter(|_| waiting) {
            return throttled;
        }
        if let Some(outside) = self.outside(span) {
            return outside;
        }
        if !self.clues.is_idle_exit(span.idle, span.length()) {
            return self.unexplained(span);
        }
        blamed(Class::IdleExit, span.idle.map(|state| self.clues.idle_state(state)).unwrap_or_default(), [])
    }

    /// The cause of a span in which another thread has the CPU.
    fn thread(&self, tid: Tid, span: &Span, stage: Stage) -> Blamed {
        let name = self.name(tid, span);
        // Until the interrupt of our timer comes, another thread delays us only if it holds interrupts off.
        let due = !span.served || (stage == Stage::TimerLate && self.swept.anchors.hard);
        if span.ours == Ours::Asleep && due && stage != Stage::Dispatch {
            return self.unserved(name, span);
        }
        let (theirs, ours) = (self.priority(tid, span.from), self.priority(self.window.tid, span.from));
        let class = match (theirs, ours) {
            (Some(theirs), Some(ours)) if theirs == ours => Class::SamePriority,
            (Some(theirs), Some(ours)) if theirs < ours && theirs < ORDINARY => Class::HigherPriority,
            _ if span.length() <= self.rules.switch_cost => return blamed(Class::WakeUp, "", []),
            _ => match self.throttled(span).filter(|_| kernel_thread(&name).is_none()) {
                Some(throttled) => return throttled,
                // Ordinary threads share the CPU, whatever their nice value.
                None if theirs.min(ours).is_some_and(|least| least >= ORDINARY) => Class::SamePriority,
                None => Class::PreemptOff,
            },
        };
        let class = kernel_thread(&name).unwrap_or(class);
        // A hypervisor may have taken the CPU from a thread that was about to give way.
        let suspect = class == Class::PreemptOff && self.rules.guest && !span.forbids;
        if let Some(outside) = Some(span).filter(|_| suspect).and_then(|span| self.outside(span)) {
            return outside;
        }
        let priority = theirs.zip(ours).map(|(theirs, ours)| Why::Priority { its: theirs, ours });
        let of_rank = matches!(class, Class::HigherPriority | Class::SamePriority);
        let rank = Some(()).filter(|()| of_rank).and_then(|()| self.boosted(tid, theirs?));
        let stays = (of_rank && span.stays).then_some(Why::MigrationOff);
        let held = priority.into_iter().chain(rank).chain(stays).chain(self.grudge(tid, span));
        blamed(class, name, held.chain(self.waker(tid, span)))
    }

    /// The cause of a span in which a thread ran while the timer interrupt was due and did not come.
    fn unserved(&self, name: CauseName, span: &Span) -> Blamed {
        if span.length() <= self.rules.switch_cost {
            // A span this short is the time that entering an interrupt takes.
            return blamed(Class::TimerInterrupt, "", []);
        }
        if let Some(outside) = self.outside(span) {
            return outside;
        }
        if kernel_thread(&name) == Some(Class::StopMachine) {
            return blamed(Class::StopMachine, name, [Why::IrqsOff]);
        }
        if span.served {
            // Another interrupt came in this span, so interrupts were on then. No record shows when they were turned
            // off.
            return self.unexplained(span);
        }
        let (pending, guest, tid) = (&self.swept.pending, self.rules.guest, span.task);
        if pending.held_off(tid, span.since, span.from, guest) {
            return blamed(Class::IrqOff, name, [Why::IrqsOff]);
        }
        // Interrupts cannot be off in user space, and a kernel thread never runs there.
        let kernel = self.window.names.kernel_threads.contains(&tid) || kernel_thread(&name).is_some();
        if kernel || (!guest && pending.in_kernel(tid)) {
            return blamed(Class::IrqOff, name, []);
        }
        self.unexplained(span)
    }

    /// A reason, if the thread has a higher priority here than elsewhere in the window: a lock that it holds lends it
    /// the priority of a thread that waits.
    fn boosted(&self, tid: Tid, theirs: i32) -> Option<Why> {
        let told = self.swept.priorities.iter().filter(|told| told.tid == tid).map(|told| told.prio);
        told.max().filter(|own| *own > theirs).map(|own| Why::Boosted { own })
    }

    /// The reason why a thread of lower priority kept the CPU.
    fn grudge(&self, tid: Tid, span: &Span) -> Option<Why> {
        let theirs = self.priority(tid, span.from)?;
        let ours = self.priority(self.window.tid, span.from)?;
        if theirs <= ours || ours >= ORDINARY {
            return None;
        }
        if span.forbids { Some(Why::PreemptOff) } else { span.asked.then_some(Why::NotPreempted) }
    }

    /// A cause, if our thread could run and the CPU was given to a thread of lower priority or to none.
    fn throttled(&self, span: &Span) -> Option<Blamed> {
        let ready = span.ready.or(self.waking)?;
        let real_time = self.priority(self.window.tid, span.from).is_some_and(|ours| ours < ORDINARY);
        // The scheduler chooses the idle task if no thread may run. A short idle time may simply lie between two
        // switches.
        let chosen = span.task != 0 || span.length() > LONG;
        let given = span.ours == Ours::Ready && chosen && span.since.is_some_and(|since| since >= ready);
        let counted = self.clues.throttled();
        let asked = self.asked(span, ready);
        let kept = match asked {
            // If the running thread was asked to give way, ours may run. The exception is a thread that the kernel's
            // server for ordinary threads serves: it is asked to give way, and then chosen again.
            Some(true) => self.chosen_again(span, ready) || (!span.forbids && self.instead(span)),
            _ => self.replenished || self.instead(span) || self.unasked(span, asked),
        };
        let speaks = counted.is_some() || (real_time && (given || kept));
        // If no sign of a limit is seen, the kernel's server for ordinary threads ran this thread instead of ours.
        let limited = counted.is_some() || self.replenished || span.task == 0;
        let name = if limited { CauseName::NONE } else { self.name(span.task, span) };
        speaks.then(|| blamed(Class::Throttled, name, counted))
    }

    /// Whether the running thread was asked to give way since our thread could run; `None` if no record of it shows
    /// that.
    fn asked(&self, span: &Span, ready: MonoTime) -> Option<bool> {
        self.told_asked(span, ready).reduce(|a, b| a || b)
    }

    /// Whether the scheduler chose the running thread again instead of ours: the thread was asked to give way since
    /// ours could run, is asked no more, and still runs. Only the scheduler withdraws the request.
    fn chosen_again(&self, span: &Span, ready: MonoTime) -> bool {
        let ordinary = self.priority(span.task, span.from).is_some_and(|theirs| theirs >= ORDINARY);
        let told = || self.told_asked(span, span.since.map_or(ready, |since| since.max(ready)));
        ordinary && span.ours == Ours::Ready && told().any(|asked| asked) && told().last() == Some(false)
    }

    /// For each record of the running thread after `since`, whether it was asked to give way. Records of switches are
    /// left out because the flag is cleared before they are written, and records of losses because their thread is not
    /// known.
    fn told_asked(&self, span: &Span, since: MonoTime) -> impl Iterator<Item = bool> {
        let (task, to) = (span.task, span.to);
        let told = move |record: &&TraceRecord| record.at > since && record.at <= to && record.tid == task;
        let told = self.window.records.iter().filter(told);
        let told = told.filter(|record| !matches!(record.what, TraceEvent::Switch { .. } | TraceEvent::Lost { .. }));
        told.map(|record| record.context.flags & FLAG_NEED_RESCHED != 0)
    }

    /// Whether, in the last switch that involved a real-time thread, a real-time thread lost the CPU although it could
    /// have gone on. The switch may lie before our release.
    fn instead(&self, span: &Span) -> bool {
        let came = self.window.records.iter().rev().filter(|record| record.at <= span.from);
        let mut came = came.filter_map(|record| match record.what {
            TraceEvent::Switch { prev_prio, next_prio, .. } if prev_prio >= ORDINARY && next_prio >= ORDINARY => None,
            TraceEvent::Switch { prev_prio, prev_state, .. } => Some(prev_state == 0 && prev_prio < ORDINARY),
            _ => None,
        });
        span.ours == Ours::Ready && came.next() == Some(true)
    }

    /// Whether our thread was woken on this CPU, but the ordinary thread that runs there was not asked to give way.
    fn unasked(&self, span: &Span, asked: Option<bool>) -> bool {
        let ordinary = self.priority(span.task, span.from).is_some_and(|theirs| theirs >= ORDINARY);
        ordinary && span.ours == Ours::Ready && self.swept.anchors.hard && asked == Some(false)
    }

    /// The task or interrupt that woke a thread last.
    fn waker(&self, tid: Tid, span: &Span) -> Option<Why> {
        let names = &self.window.names;
        let local = self.swept.wakers.iter().rev().find(|waker| waker.woken == tid && waker.at <= span.from);
        let remote = self.window.elsewhere.iter().rev().map(|other| &other.record).find(|record| {
            record.at <= span.from && matches!(record.what, TraceEvent::Waking { tid: woken, .. } if woken == tid)
        });
        match (local, remote) {
            (Some(local), remote) if remote.is_none_or(|remote| remote.at <= local.at) => {
                let task = if local.context.is_some() { 0 } else { local.by };
                Some(Why::WokenBy { task, name: self.source(local.context, local.by, "interrupt") })
            }
            (_, Some(remote)) => Some(Why::WokenBy { task: remote.tid, name: names.task(remote.tid) }),
            (_, None) => None,
        }
    }

    /// The last CPU that sent this interrupt with a request that fits the function.
    fn sender(&self, top: Frame, span: &Span) -> Option<Why> {
        let came = span.entered?;
        let near = |at: MonoTime| at <= came && came.since(at) <= SENT_WITHIN;
        let names = &self.window.names;
        self.window.elsewhere.iter().rev().filter(|other| near(other.record.at)).find_map(
            |RemoteRecord { cpu, record }| {
                let TraceEvent::IpiSend { target, callback, .. } = record.what else { return None };
                let what = names.function(callback);
                let fits = match top {
                    Frame::Call(function) if function.0 != 0 => {
                        callback == function || what.starts_with("generic_smp_call_function")
                    }
                    Frame::Call(_) | Frame::Vector(Vector::CallFunction | Vector::CallFunctionSingle) => {
                        callback.0 != 0
                    }
                    Frame::Vector(Vector::Reschedule) => callback.0 == 0,
                    Frame::Vector(Vector::Ipi) => true,
                    _ => false,
                };
                (target == self.window.cpu && fits).then(|| Why::SentBy {
                    cpu: *cpu,
                    by: names.task(record.tid),
                    work: what,
                })
            },
        )
    }

    /// The task or interrupt that raised a softirq last.
    fn raiser(&self, vector: u32, span: &Span) -> Option<Why> {
        let raised = self.swept.raised.iter().rev().find(|raised| raised.at <= span.from && raised.vector == vector)?;
        Some(Why::RaisedBy { by: self.source(raised.context, raised.by, "the timer interrupt") })
    }

    /// The name of a context, or else of the task that was running.
    fn source(&self, context: Option<Frame>, task: Tid, nameless: &str) -> String {
        let Some(frame) = context else { return self.window.names.task(task) };
        let name = self.context(frame, None, Stage::Unknown).cause.name;
        if name.is_empty() { nameless.to_owned() } else { name.to_string() }
    }

    fn name(&self, tid: Tid, span: &Span) -> CauseName {
        let name = self.window.names.task(tid);
        if !name.starts_with("kworker/") {
            return name.into();
        }
        let function = span.work.map(|function| self.window.names.function(function));
        CauseName::Worker(function.filter(|name| !name.is_empty()))
    }
}

fn in_fault(span: &Span) -> bool {
    span.fault.is_some_and(|until| span.from < until)
}

fn is_ipi(vector: Vector) -> bool {
    use Vector::{CallFunction, CallFunctionSingle, Ipi, IrqWork, Reschedule};
    matches!(vector, Reschedule | CallFunction | CallFunctionSingle | IrqWork | Ipi)
}

fn nested(outer: &str, inner: &str) -> String {
    if inner.is_empty() { outer.to_owned() } else { format!("{outer}: {inner}") }
}

/// The class of a kernel thread that does the work of another context, found by the thread's name.
fn kernel_thread(name: &CauseName) -> Option<Class> {
    let begins = |words: &[&str]| words.iter().any(|word| name.begins_with(word));
    match name {
        CauseName::Worker(_) => Some(Class::Worker),
        _ if begins(&["migration/"]) => Some(Class::StopMachine),
        _ if begins(&["irq/"]) => Some(Class::HardIrq),
        _ if begins(&["ksoftirqd/", "ktimers/", "ktimersoftd/"]) => Some(Class::Softirq),
        _ => None,
    }
}

/// The time at which another CPU woke our thread, if our timer had moved to that CPU.
fn woken_elsewhere(window: &Window, swept: &Swept) -> Option<MonoTime> {
    let ours = |record: &&TraceRecord| matches!(record.what, TraceEvent::Waking { tid, .. } if tid == window.tid);
    let records = window.elsewhere.iter().map(|other| &other.record).filter(ours);
    let at = records.map(|record| record.at).find(|at| *at >= window.release && *at <= window.woke);
    at.filter(|_| !swept.anchors.running)
}
