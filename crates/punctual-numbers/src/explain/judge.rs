//! Who is to blame for one span: by its owner, the stage it lies in, priorities, and witnesses where nothing ran.

use super::account::Rules;
use super::frame::Frame;
use super::names;
use super::swept::{Anchors, Ours, Owner, Span, Swept};
use super::witness::Witness;
use super::{Cause, Class, Stage, Why};
use crate::trace::{Address, FLAG_NEED_RESCHED, Record, Tid, Vector, What, Window};
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
                why.extend(Some(()).filter(|()| span.length() > LONG).and_then(|()| self.witness.stolen()));
                (cause, why)
            }
            Owner::Untold if stage == Stage::Dispatch && span.length() <= self.rules.switch_cost => {
                verdict(Class::WakeUp, "", [])
            }
            Owner::Untold => verdict(Class::Unexplained, "not recorded", []),
            Owner::Task(tid) if tid == self.window.tid => self.own(span),
            Owner::Task(_) if span.ours == Ours::Stopped => verdict(Class::Stopped, "", []),
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
    /// waiting: it is heard only where nobody is recorded as having had the CPU instead of us, but for our own timer.
    fn paused(&self, span: &Span, stage: Stage) -> Option<(Class, Why)> {
        let another = match span.owner {
            Owner::Nmi(_) => true,
            Owner::Context(top, _) => !self.is_our_timer(top),
            Owner::Task(tid) => tid != 0 && tid != self.window.tid && (span.served || stage == Stage::Dispatch),
            Owner::Untold => false,
        };
        if another { self.witness.stretch(span.from, span.to) } else { self.witness.paused(span.from, span.to) }
    }

    /// The interrupt of the timer, outside of what timers call, or what ours calls: microseconds, whatever else is told.
    fn is_our_timer(&self, top: Frame) -> bool {
        match top {
            Frame::Vector(vector) => vector == Vector::LocalTimer,
            Frame::Irq(irq) => self.window.names.irqs.get(&irq).is_some_and(|line| names::is_clock(&line.action)),
            Frame::Hrtimer { timer, .. } => self.swept.anchors.expiry.is_some_and(|(_, ours)| ours == timer),
            _ => false,
        }
    }

    /// The priority of a task at a moment: what it is told to have had until something after changed it, else what was
    /// told of it last, or first after.
    fn priority(&self, tid: Tid, at: MonoTime) -> Option<i32> {
        let told = || self.swept.priorities.iter().filter(|told| told.tid == tid);
        let after = told().find(|told| told.at > at);
        let changed = after.filter(|told| told.until);
        let before = || told().take_while(|told| told.at <= at).filter(|told| !told.until).last();
        changed.or_else(before).or(after).map(|told| told.prio)
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
                verdict(
                    Class::HardIrq,
                    names.line(irq),
                    affinity.map(|cpus| Why::Affinity { cpus }).into_iter().chain(managed),
                )
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
            // It is its turn, and not yet called.
            _ if ours && stage <= Stage::Expiry => verdict(Class::TimerInterrupt, "", []),
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
        if !self.witness.is_idle_exit(span.idle, span.length()) {
            return self.unexplained(span);
        }
        verdict(Class::IdleExit, span.idle.map(|state| self.witness.idle_state(state)).unwrap_or_default(), [])
    }

    /// Another thread has the CPU.
    fn thread(&self, tid: Tid, span: &Span, stage: Stage) -> Verdict {
        let name = self.name(tid, span);
        // Before the interrupt that wakes us nobody is in our way but who keeps that from coming, whatever other one came.
        let due = !span.served || (stage == Stage::TimerLate && self.swept.anchors.hard);
        if span.ours == Ours::Asleep && due && stage != Stage::Dispatch {
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
        // A guest's CPU may have been taken from a thread that was about to give way.
        let suspect = class == Class::PreemptOff && self.rules.setting.guest && !span.forbids && span.length() > LONG;
        if let Some((class, why)) = Some(span).filter(|_| suspect).and_then(|s| self.witness.outside(s.from, s.to)) {
            return verdict(class, "", [why]);
        }
        let priority = theirs.zip(ours).map(|(theirs, ours)| Why::Priority { its: theirs, ours });
        let of_rank = matches!(class, Class::HigherPriority | Class::SamePriority);
        let rank = Some(()).filter(|()| of_rank).and_then(|()| self.boosted(tid, theirs?));
        let stays = (of_rank && span.stays).then_some(Why::MigrationOff);
        let held = priority.into_iter().chain(rank).chain(stays).chain(self.grudge(tid, span));
        verdict(class, name, held.chain(self.waker(tid, span)))
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
        if kernel_thread(&name) == Some(Class::StopMachine) {
            return verdict(Class::StopMachine, name, [Why::IrqsOff]);
        }
        if span.served {
            // Another interrupt came: they were on then, and nothing tells since when they were not.
            return self.unexplained(span);
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

    /// It ranks higher here than it does elsewhere in the window: a lock it holds lends it the priority of who waits.
    fn boosted(&self, tid: Tid, theirs: i32) -> Option<Why> {
        let told = self.swept.priorities.iter().filter(|told| told.tid == tid).map(|told| told.prio);
        told.max().filter(|own| *own > theirs).map(|own| Why::Boosted { own })
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
        let ready = span.ready.or(self.waking)?;
        let real_time = self.priority(self.window.tid, span.from).is_some_and(|ours| ours < ORDINARY);
        // Idle is chosen where nobody may run: in a moment between two switches that is nobody yet.
        let chosen = span.task != 0 || span.length() > LONG;
        let given = span.ours == Ours::Ready && chosen && span.since.is_some_and(|since| since >= ready);
        let counted = self.witness.throttled();
        let asked = self.asked(span, ready);
        let kept = match asked {
            // Who is asked to give way is in the way of one that may run, but for the kernel's server for ordinary
            // threads: whom that serves is asked, and chosen again.
            Some(true) => self.chosen_again(span, ready) || (!span.forbids && self.instead(span)),
            _ => self.replenished || self.instead(span) || self.unasked(span, asked),
        };
        let speaks = counted.is_some() || (real_time && (given || kept));
        // Where no limit is seen to be at work, it is for the sake of the one that runs.
        let limited = counted.is_some() || self.replenished || span.task == 0;
        let name = if limited { String::new() } else { self.name(span.task, span) };
        speaks.then(|| verdict(Class::Throttled, name, counted))
    }

    /// Whether the one that has the CPU was asked to give way since our thread could run; `None` where no record of it
    /// tells.
    fn asked(&self, span: &Span, ready: MonoTime) -> Option<bool> {
        self.told_asked(span, ready).reduce(|a, b| a || b)
    }

    /// The one that has the CPU was asked to give way since our thread could run, and is asked no more without having
    /// given way: only the scheduler takes that back, and it chose this one again, before ours.
    fn chosen_again(&self, span: &Span, ready: MonoTime) -> bool {
        let ordinary = self.priority(span.task, span.from).is_some_and(|theirs| theirs >= ORDINARY);
        let told = || self.told_asked(span, span.since.map_or(ready, |since| since.max(ready)));
        ordinary && span.ours == Ours::Ready && told().any(|asked| asked) && told().last() == Some(false)
    }

    /// Whether the one that has the CPU was asked to give way, by each record of it after `since`. A switch takes the flag
    /// back before it is recorded, and who wrote what was lost is not known.
    fn told_asked(&self, span: &Span, since: MonoTime) -> impl Iterator<Item = bool> {
        let (task, to) = (span.task, span.to);
        let told = move |record: &&Record| record.at > since && record.at <= to && record.tid == task;
        let told = self.window.records.iter().filter(told);
        let told = told.filter(|record| !matches!(record.what, What::Switch { .. } | What::Lost { .. }));
        told.map(|record| record.context.flags & FLAG_NEED_RESCHED != 0)
    }

    /// Who has the CPU was given it, maybe before we were due, in the place of a real-time thread that could go on running;
    /// or somebody was who ran before, and since then none but ordinary threads have run, or nothing at all.
    fn instead(&self, span: &Span) -> bool {
        let came = self.window.records.iter().rev().filter(|record| record.at <= span.from);
        let mut came = came.filter_map(|record| match record.what {
            What::Switch { prev_prio, next_prio, .. } if prev_prio >= ORDINARY && next_prio >= ORDINARY => None,
            What::Switch { prev_prio, prev_state, .. } => Some(prev_state == 0 && prev_prio < ORDINARY),
            _ => None,
        });
        span.ours == Ours::Ready && came.next() == Some(true)
    }

    /// Our thread was woken here, and the ordinary one that has the CPU was not asked to give way: it is not to.
    fn unasked(&self, span: &Span, asked: Option<bool>) -> bool {
        let ordinary = self.priority(span.task, span.from).is_some_and(|theirs| theirs >= ORDINARY);
        ordinary && span.ours == Ours::Ready && self.swept.anchors.hard && asked == Some(false)
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
                        Why::WokenBy { task: 0, name }
                    }
                    None => Why::WokenBy { task: local.by, name: names.task(local.by) },
                })
            }
            (_, Some((_, remote))) => Some(Why::WokenBy { task: remote.tid, name: names.task(remote.tid) }),
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
            (target == self.window.cpu && fits).then(|| Why::SentBy {
                cpu: *cpu,
                by: names.task(record.tid),
                work: what,
            })
        })
    }

    /// Who asked for a softirq, the last time before.
    fn raiser(&self, vector: u32, span: &Span) -> Option<Why> {
        let raised = self.swept.raised.iter().rev().find(|raised| raised.at <= span.from && raised.vector == vector)?;
        let by = match raised.context {
            Some(frame) => self.context(frame, None, Stage::Unknown).0,
            None => return Some(Why::RaisedBy { by: self.window.names.task(raised.by) }),
        };
        Some(Why::RaisedBy { by: if by.name.is_empty() { "the timer interrupt".to_owned() } else { by.name } })
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
