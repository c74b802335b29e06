//! Who is to blame for one span: by its owner, the stage it lies in, priorities, and witnesses where nothing ran.

use super::account::Rules;
use super::names;
use super::sweep::{Anchors, Frame, Ours, Owner, Span, Swept};
use super::witness::Witness;
use super::{Cause, Class, Stage, Why};
use crate::trace::{Address, Record, Tid, Vector, What, Window};
use punctual_hist::{MonoTime, Nanos};

/// A gap this long in which an ordinary thing should be done is no ordinary thing.
const LONG: Nanos = Nanos::from_us(50);
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
    /// Our priority.
    ours: Option<i32>,
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
        let ours = swept.priorities.get(&window.tid).copied();
        let waking = swept.anchors.waking.or_else(|| woken_elsewhere(window, swept));
        Self { window, rules, swept, witness: Witness::of(&rules.setting, window), waking, ours, replenished }
    }

    /// Where the stage ends that goes on at a moment, but not after `to`.
    pub(super) fn stage_end(&self, at: MonoTime, to: MonoTime) -> MonoTime {
        let Anchors { entry, expiry, switch, .. } = self.swept.anchors;
        let ends = [entry, expiry.map(|(at, _)| at), self.waking, switch];
        ends.into_iter().flatten().filter(|end| *end > at).fold(to, MonoTime::min)
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
        if let Some((class, why)) = self.witness.paused(span.from, span.to) {
            return verdict(class, "", [why]);
        }
        match span.owner {
            Owner::Nmi(handler) => verdict(Class::Nmi, self.window.names.function(handler), []),
            Owner::Context(top, below) => {
                let (cause, mut why) = self.context(top, below, stage);
                why.extend(Some(span).filter(|_| cause.class == Class::Ipi).and_then(|span| self.sender(span)));
                (cause, why)
            }
            Owner::Untold => verdict(Class::Unexplained, "not recorded", []),
            Owner::Task(tid) if tid == self.window.tid => self.own(span),
            Owner::Task(_) if span.ours == Ours::Away => verdict(Class::Migration, "", []),
            Owner::Task(_) if span.ours == Ours::Asleep && stage == Stage::Return => blocked(span),
            Owner::Task(_) if stage == Stage::Unknown => self.anywhere(span),
            Owner::Task(0) => self.idle(span, stage),
            Owner::Task(tid) => self.thread(tid, span, stage),
        }
    }

    /// An interrupt, or what runs in one.
    fn context(&self, top: Frame, below: Option<Frame>, stage: Stage) -> Verdict {
        let names = &self.window.names;
        match top {
            Frame::Irq(irq) => {
                let line = names.irqs.get(&irq);
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
        if span.fault {
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
            None => verdict(Class::Unexplained, "", []),
        }
    }

    fn idle(&self, span: &Span, stage: Stage) -> Verdict {
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
        let class = if stage == Stage::TimerLate && span.off_after { Class::IrqOff } else { Class::IdleExit };
        match class {
            Class::IdleExit => {
                let depth = span.idle.map(|state| format!("state {state}")).unwrap_or_default();
                let class = self.witness.idle_exit(span.length());
                let name = if class == Class::IdleExit { depth } else { String::new() };
                verdict(class, name, [])
            }
            class => verdict(class, "idle", [Why::IrqsOff]),
        }
    }

    /// Another thread has the CPU.
    fn thread(&self, tid: Tid, span: &Span, stage: Stage) -> Verdict {
        let name = self.name(tid, span);
        if span.ours == Ours::Asleep && !span.served && stage != Stage::Dispatch {
            return self.unserved(name, span);
        }
        let (theirs, ours) = (self.swept.priorities.get(&tid).copied(), self.ours);
        let class = match (theirs, ours) {
            (Some(theirs), Some(ours)) if theirs < ours => Class::HigherPriority,
            (Some(theirs), Some(ours)) if theirs == ours => Class::SamePriority,
            _ if span.length() <= self.rules.switch_cost => return verdict(Class::WakeUp, "", []),
            _ => match self.throttled(span).filter(|_| kernel_thread(&name).is_none()) {
                Some(throttled) => return throttled,
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
        let long = span.length() > LONG;
        if span.off_after {
            return verdict(Class::IrqOff, name, [Why::IrqsOff]);
        }
        if let Some((class, why)) = Some(()).filter(|()| long).and_then(|()| self.witness.outside(span.from, span.to)) {
            return verdict(class, "", [why]);
        }
        if long && !span.off_before && self.witness.host_takes_time() {
            return verdict(Class::Unexplained, "", []);
        }
        verdict(Class::IrqOff, name, [])
    }

    /// It was in the way although it ranks lower.
    fn grudge(&self, tid: Tid, span: &Span) -> Option<Why> {
        let theirs = *self.swept.priorities.get(&tid)?;
        let lower = theirs > self.ours?;
        lower.then_some(if span.need_resched { Why::NotPreempted } else { Why::PreemptOff })
    }

    /// Our thread could run, and something that ranks lower was given the CPU, or nothing at all.
    fn throttled(&self, span: &Span) -> Option<Verdict> {
        let waking = self.waking?;
        let given = span.ours == Ours::Ready && span.task != 0 && span.since.is_some_and(|since| since > waking);
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

    /// Which other CPU asked for an interrupt here.
    fn sender(&self, span: &Span) -> Option<Why> {
        let near = |at: MonoTime| at <= span.to && span.from.since(at) <= SENT_WITHIN;
        self.window.elsewhere.iter().rev().filter(|(_, record)| near(record.at)).find_map(|(cpu, record)| {
            let What::IpiSend { target, callback, .. } = record.what else { return None };
            let names = &self.window.names;
            let sent = || Why::SentBy(*cpu, names.task(record.tid), names.function(callback));
            (target == self.window.cpu).then(sent)
        })
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

/// Our own thread waits for something after it had been switched to.
fn blocked(span: &Span) -> Verdict {
    if span.fault { verdict(Class::PageFault, "", []) } else { verdict(Class::OwnPath, "waiting", []) }
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
