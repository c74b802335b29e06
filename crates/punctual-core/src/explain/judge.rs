//! Who is to blame for one span: by its owner, the stage it lies in, priorities, and witnesses where nothing ran.

use super::account::Rules;
use super::frame::Frame;
use super::names;
use super::sweep::{Anchors, Ours, Owner, Span, Swept};
use super::witness::Witness;
use super::{Cause, Class, Stage, Why};
use crate::trace::{Address, Record, Tid, Vector, What, Window};
use punctual_hist::{MonoTime, Nanos};

/// A gap this long in which an ordinary thing should be done is no ordinary thing.
const LONG: Nanos = Nanos::from_us(50);
/// Priorities from this on are those of ordinary threads, as the kernel counts.
const ORDINARY: i32 = 100;
/// An interrupt from another CPU was sent no longer ago than this.
const SENT_WITHIN: Nanos = Nanos::from_ms(1);

/// Judges spans of one window.
pub(super) struct Judge<'a> {
    window: &'a Window,
    rules: &'a Rules,
    swept: &'a Swept,
    witness: Witness<'a>,
    /// When we were woken, by whichever CPU.
    waking: Option<MonoTime>,
    /// Real-time throttling ended while we waited.
    replenished: bool,
}

/// Who, and why that could be.
type Verdict = (Cause, Vec<Why>);

fn verdict(class: Class, name: impl Into<String>, why: impl IntoIterator<Item = Why>) -> Verdict {
    let mut name = name.into();
    // There are hundreds of thousands of them.
    name.shrink_to_fit();
    (Cause { class, name }, why.into_iter().collect())
}

impl<'a> Judge<'a> {
    pub(super) fn new(window: &'a Window, rules: &'a Rules, swept: &'a Swept) -> Self {
        let waiting = |at: MonoTime| swept.anchors.waking.is_some_and(|waking| at > waking);
        let replenished = window.records.iter().any(|record| match record.what {
            What::HrtimerEntry { function, .. } if waiting(record.at) && record.at <= window.woke => {
                window.names.function(function) == "sched_rt_period_timer"
            }
            _ => false,
        });
        let waking = swept.anchors.waking.or_else(|| woken_elsewhere(window, swept));
        Self { window, rules, swept, witness: Witness::of(&rules.setting, window), waking, replenished }
    }

    /// Where the stage ends that goes on at a moment, or our page fault, but not after the span.
    pub(super) fn stage_end(&self, at: MonoTime, span: &Span) -> MonoTime {
        let Anchors { entry, expiry, switch, .. } = self.swept.anchors;
        let ends = [entry, expiry.map(|(at, _)| at), self.waking, switch, span.fault];
        ends.into_iter().flatten().filter(|end| *end > at).fold(span.to, MonoTime::min)
    }

    /// The stage that begins at, or goes on from, a moment.
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

    /// What is to be blamed, and why it could be.
    pub(super) fn cause(&self, span: &Span, stage: Stage) -> Verdict {
        if let Some((class, why)) = self.paused(span, stage) {
            return verdict(class, "", [why]);
        }
        match span.owner {
            Owner::Nmi(handler) => verdict(Class::Nmi, self.window.names.function(handler), []),
            Owner::Context(top, below) => {
                let (cause, mut why) = self.context(top, below, stage);
                match (cause.class, top) {
                    (Class::Ipi, top) => why.extend(self.sender(top, span)),
                    (Class::Softirq, Frame::Softirq(vector)) => why.extend(self.raiser(vector, span)),
                    _ => {}
                }
                (cause, why)
            }
            Owner::Untold => verdict(Class::Unexplained, "not recorded", []),
            Owner::Task(tid) if tid == self.window.tid => self.own(span),
            Owner::Task(_) if span.ours == Ours::Away => verdict(Class::Migration, "", []),
            Owner::Task(_) if span.ours == Ours::Asleep && in_fault(span) => verdict(Class::PageFault, "", []),
            Owner::Task(_) if span.ours == Ours::Asleep && stage == Stage::Return => {
                verdict(Class::OwnPath, "waiting", [])
            }
            Owner::Task(_) if stage == Stage::Unknown => self.anywhere(span),
            Owner::Task(0) => self.idle(span),
            Owner::Task(tid) => self.thread(tid, span, stage),
        }
    }

    /// The whole machine stood still. What our own threads tell of that is of an ordinary class, which others may keep
    /// waiting: it is heard only where nobody is recorded as having had the CPU instead of us.
    fn paused(&self, span: &Span, stage: Stage) -> Option<(Class, Why)> {
        let another = match span.owner {
            Owner::Nmi(_) | Owner::Context(..) => true,
            Owner::Task(tid) => tid != 0 && tid != self.window.tid && (span.served || stage == Stage::Dispatch),
            Owner::Untold => false,
        };
        if another { self.witness.stretch(span.from, span.to) } else { self.witness.paused(span.from, span.to) }
    }

    /// The priority of a task at a moment: what was told of it last, or first after.
    fn priority(&self, tid: Tid, at: MonoTime) -> Option<i32> {
        let told = || self.swept.priorities.iter().filter(|(_, of, _)| *of == tid);
        let before = told().take_while(|(when, ..)| *when <= at).last();
        before.or_else(|| told().next()).map(|(_, _, priority)| *priority)
    }

    /// An interrupt, or what runs in one.
    fn context(&self, top: Frame, below: Option<Frame>, stage: Stage) -> Verdict {
        let names = &self.window.names;
        match top {
            Frame::Irq(irq) => {
                let line = names.irqs.get(&irq);
                if line.is_some_and(|line| names::is_clock(&line.action)) {
                    return verdict(Class::TimerInterrupt, "", []);
                }
                let affinity = line.map(|line| line.affinity.clone()).filter(|list| !list.is_empty());
                let managed = line.is_some_and(|line| line.managed).then_some(Why::Managed);
                verdict(Class::HardIrq, names.line(irq), affinity.map(Why::Affinity).into_iter().chain(managed))
            }
            Frame::Vector(Vector::LocalTimer) => verdict(Class::TimerInterrupt, "", []),
            Frame::Vector(vector) if is_ipi(vector) => verdict(Class::Ipi, names::vector(vector), []),
            Frame::Vector(vector) => verdict(Class::Vector, names::vector(vector), []),
            Frame::Call(Address(0)) => verdict(Class::Ipi, "function call", []),
            Frame::Call(function) => verdict(Class::Ipi, names.function(function), []),
            Frame::Softirq(vector) => verdict(Class::Softirq, names::softirq(vector), []),
            Frame::Wheel { function, .. } => verdict(Class::Softirq, nested("TIMER", &names.function(function)), []),
            Frame::Hrtimer { timer, function } => self.callback(timer, &names.function(function), below, stage),
        }
    }

    fn callback(&self, timer: Address, function: &str, below: Option<Frame>, stage: Stage) -> Verdict {
        if matches!(below, Some(Frame::Softirq(_))) {
            return verdict(Class::Softirq, nested("HRTIMER", function), []);
        }
        let ours = self.swept.anchors.expiry.is_some_and(|(_, ours)| ours == timer);
        match function {
            // The rest of our own timer's function, after it began to wake us, is the waking.
            _ if ours && stage >= Stage::Dispatch => verdict(Class::WakeUp, "", []),
            "tick_sched_timer" | "tick_nohz_handler" | "tick_nohz_highres_handler" => {
                verdict(Class::TimerInterrupt, "tick", [])
            }
            _ => verdict(Class::TimerCallback, function, []),
        }
    }

    /// Our own thread.
    fn own(&self, span: &Span) -> Verdict {
        if in_fault(span) {
            return verdict(Class::PageFault, "", []);
        }
        let outside = Some(span).filter(|span| span.length() > LONG);
        if let Some((class, why)) = outside.and_then(|span| self.witness.outside(span.from, span.to)) {
            return verdict(class, "", [why]);
        }
        verdict(Class::OwnPath, "", [])
    }

    /// The moments between stages are not known: nobody can be blamed for having the CPU.
    fn anywhere(&self, span: &Span) -> Verdict {
        match Some(span).filter(|span| span.length() > LONG).and_then(|s| self.witness.outside(s.from, s.to)) {
            Some((class, why)) => verdict(class, "", [why]),
            None => self.unexplained(span),
        }
    }

    /// Nothing speaks: the one who was current is in the name, and not accused.
    fn unexplained(&self, span: &Span) -> Verdict {
        verdict(Class::Unexplained, format!("under {}", self.name(span.task, span)), [])
    }

    fn idle(&self, span: &Span) -> Verdict {
        let waiting = span.ours == Ours::Ready;
        if waiting && span.length() <= self.rules.switch_cost {
            return verdict(Class::WakeUp, "", []);
        }
        if let Some(throttled) = self.throttled(span).filter(|_| waiting) {
            return throttled;
        }
        let long = span.length() > LONG;
        if let Some((class, why)) = Some(()).filter(|()| long).and_then(|()| self.witness.outside(span.from, span.to)) {
            return verdict(class, "", [why]);
        }
        if !self.witness.is_idle_exit(span.length()) {
            return self.unexplained(span);
        }
        verdict(Class::IdleExit, span.idle.map(|state| format!("state {state}")).unwrap_or_default(), [])
    }

    /// Another thread has the CPU.
    fn thread(&self, tid: Tid, span: &Span, stage: Stage) -> Verdict {
        let name = self.name(tid, span);
        if span.ours == Ours::Asleep && !span.served && stage != Stage::Dispatch {
            return self.unserved(name, span);
        }
        let (theirs, ours) = (self.priority(tid, span.from), self.priority(self.window.tid, span.from));
        let class = match (theirs, ours) {
            (Some(theirs), Some(ours)) if theirs == ours => Class::SamePriority,
            (Some(theirs), Some(ours)) if theirs < ours && theirs < ORDINARY => Class::HigherPriority,
            _ if span.length() <= self.rules.switch_cost => return verdict(Class::WakeUp, "", []),
            _ => match self.throttled(span).filter(|_| kernel_thread(&name).is_none()) {
                Some(throttled) => return throttled,
                // Ordinary threads share the CPU, whatever their niceness.
                None if theirs.min(ours).is_some_and(|least| least >= ORDINARY) => Class::SamePriority,
                None => Class::PreemptOff,
            },
        };
        let class = kernel_thread(&name).unwrap_or(class);
        let priority = theirs.zip(ours).map(|(theirs, ours)| Why::Priority(theirs, ours));
        verdict(class, name, priority.into_iter().chain(self.grudge(tid, span)).chain(self.waker(tid, span)))
    }

    /// A thread ran while the timer interrupt that was due did not come.
    fn unserved(&self, name: String, span: &Span) -> Verdict {
        if span.length() <= self.rules.switch_cost {
            // No interrupt is entered in no time.
            return verdict(Class::TimerInterrupt, "", []);
        }
        let long = Some(span).filter(|span| span.length() > LONG);
        if let Some((class, why)) = long.and_then(|span| self.witness.outside(span.from, span.to)) {
            return verdict(class, "", [why]);
        }
        let (pending, guest, tid) = (&self.swept.pending, self.rules.setting.guest, span.task);
        if pending.held_off(tid, span.since, span.from, guest) {
            return verdict(Class::IrqOff, name, [Why::IrqsOff]);
        }
        // A thread of the kernel is never where interrupts cannot be off.
        let kernel = self.window.names.kernel_threads.contains(&tid) || kernel_thread(&name).is_some();
        if kernel || (!guest && pending.in_kernel(tid)) {
            return verdict(Class::IrqOff, name, []);
        }
        self.unexplained(span)
    }

    /// It was in the way although it ranks lower.
    fn grudge(&self, tid: Tid, span: &Span) -> Option<Why> {
        let theirs = self.priority(tid, span.from)?;
        let ours = self.priority(self.window.tid, span.from)?;
        if theirs <= ours || ours >= ORDINARY {
            return None;
        }
        if span.forbids { Some(Why::PreemptOff) } else { span.asked.then_some(Why::NotPreempted) }
    }

    /// Our thread could run, and something that ranks lower was given the CPU, or nothing at all.
    fn throttled(&self, span: &Span) -> Option<Verdict> {
        let waking = self.waking?;
        let real_time = self.priority(self.window.tid, span.from).is_some_and(|ours| ours < ORDINARY);
        let given = span.ours == Ours::Ready && span.task != 0 && span.since.is_some_and(|since| since > waking);
        let given = given && real_time;
        let counted = self.witness.throttled();
        let speaks = given || self.replenished || counted.is_some();
        speaks.then(|| verdict(Class::Throttled, "", counted))
    }

    /// Who woke it, the last time before.
    fn waker(&self, tid: Tid, span: &Span) -> Option<Why> {
        let names = &self.window.names;
        let local = self.swept.wakers.iter().rev().find(|waker| waker.woken == tid && waker.at <= span.from);
        let remote = self.window.elsewhere.iter().rev().find(|(_, record)| {
            record.at <= span.from && matches!(record.what, What::Waking { tid: woken, .. } if woken == tid)
        });
        match (local, remote) {
            (Some(local), remote) if remote.is_none_or(|(_, remote)| remote.at <= local.at) => {
                Some(match local.context {
                    Some(frame) => {
                        let (cause, _) = self.context(frame, None, Stage::Unknown);
                        let name = if cause.name.is_empty() { "interrupt".to_owned() } else { cause.name };
                        Why::WokenBy(0, name)
                    }
                    None => Why::WokenBy(local.by, names.task(local.by)),
                })
            }
            (_, Some((_, remote))) => Some(Why::WokenBy(remote.tid, names.task(remote.tid))),
            (_, None) => None,
        }
    }

    /// Which other CPU asked for this, the last one before it came: what it asked for must fit.
    fn sender(&self, top: Frame, span: &Span) -> Option<Why> {
        let came = span.entered?;
        let near = |at: MonoTime| at <= came && came.since(at) <= SENT_WITHIN;
        let names = &self.window.names;
        self.window.elsewhere.iter().rev().filter(|(_, record)| near(record.at)).find_map(|(cpu, record)| {
            let What::IpiSend { target, callback, .. } = record.what else { return None };
            let what = names.function(callback);
            let fits = match top {
                Frame::Call(function) if function.0 != 0 => {
                    callback == function || what.starts_with("generic_smp_call_function")
                }
                Frame::Call(_) | Frame::Vector(Vector::CallFunction | Vector::CallFunctionSingle) => callback.0 != 0,
                Frame::Vector(Vector::Reschedule) => callback.0 == 0,
                Frame::Vector(Vector::Ipi) => true,
                _ => false,
            };
            (target == self.window.cpu && fits).then(|| Why::SentBy(*cpu, names.task(record.tid), what))
        })
    }

    /// Who asked for a softirq, the last time before.
    fn raiser(&self, vector: u32, span: &Span) -> Option<Why> {
        let raised = self.swept.raised.iter().rev().find(|raised| raised.at <= span.from && raised.vector == vector)?;
        let by = match raised.context {
            Some(frame) => self.context(frame, None, Stage::Unknown).0,
            None => return Some(Why::RaisedBy(self.window.names.task(raised.by))),
        };
        Some(Why::RaisedBy(if by.name.is_empty() { "the timer interrupt".to_owned() } else { by.name }))
    }

    fn name(&self, tid: Tid, span: &Span) -> String {
        let name = self.window.names.task(tid);
        if !name.starts_with("kworker/") {
            return name;
        }
        match span.work.map(|function| self.window.names.function(function)).filter(|name| !name.is_empty()) {
            Some(function) => format!("kworker: {function}"),
            None => "kworker".to_owned(),
        }
    }
}

/// Our own thread is in a page fault, as far as is known.
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

/// Threads that do the kernel's work for it, by their names.
fn kernel_thread(name: &str) -> Option<Class> {
    let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    match name {
        _ if begins(&["migration/"]) => Some(Class::StopMachine),
        _ if begins(&["kworker"]) => Some(Class::Worker),
        _ if begins(&["irq/"]) => Some(Class::HardIrq),
        _ if begins(&["ksoftirqd/", "ktimers/", "ktimersoftd/"]) => Some(Class::Softirq),
        _ => None,
    }
}

/// Another CPU woke us: our timer had moved there.
fn woken_elsewhere(window: &Window, swept: &Swept) -> Option<MonoTime> {
    let ours = |record: &&Record| matches!(record.what, What::Waking { tid, .. } if tid == window.tid);
    let records = window.elsewhere.iter().map(|(_, record)| record).filter(ours);
    let at = records.map(|record| record.at).find(|at| *at >= window.release && *at <= window.woke);
    at.filter(|_| !swept.anchors.running)
}
