//! From records to the steps of one thread: its system calls, and what happened to it between them.

use super::record::{Record, Seen, StackOf};
use crate::trace::{Address, FLAG_HARDIRQ, FLAG_NMI, FLAG_SOFTIRQ, Tid};
use punctual_hist::{MonoTime, Nanos};
use std::sync::Arc;

/// How far a stack may lie from the record of the call or fault that it belongs to: both are written at the same event, in
/// either order.
const STACK_NEAR: Nanos = Nanos::from_us(50);

/// A call stack, which many steps share.
pub type Stack = Arc<[Address]>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub from: MonoTime,
    pub to: MonoTime,
    pub kind: StepKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepKind {
    Call(CallMade),
    Fault {
        /// The call stack, innermost address first. It is the place of the fault alone if more is not known.
        stack: Stack,
    },
    /// A function of an allocator was called.
    Allocation {
        function: &'static str,
        stack: Stack,
    },
    Signal,
    Migration {
        /// The call stack of the system call in which the thread moved; empty if there was none.
        stack: Stack,
    },
    /// The thread was runnable and did not run, because others had the CPU.
    Preempted,
    /// The thread waited for something other than the CPU.
    Blocked,
    /// The thread had been woken and did not run yet.
    Waiting,
    /// Records are missing in this stretch.
    Lost,
}

/// A system call that has returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallMade {
    pub number: u32,
    pub arguments: [u64; 2],
    pub result: i64,
    /// Whether the thread waited in the call for something other than the CPU.
    pub blocked: bool,
    /// When the first and the last timer that the thread armed in the call expire, in nanoseconds of the timer's clock. As it
    /// goes to sleep, the kernel may arm a timer of its own after that of the sleep (the fair server, every 50 ms).
    pub armed_first: Option<i64>,
    pub armed: Option<i64>,
    pub woken_by: Option<Waker>,
    /// When the thread was woken from its last wait in the call.
    pub woken_at: Option<MonoTime>,
    /// The CPU on which the thread returned from the call.
    pub cpu: u32,
    /// The call stack in user space, innermost address first; empty if it is not known.
    pub stack: Stack,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waker {
    /// An interrupt, such as that of a timer.
    Interrupt,
    Thread(Tid),
}

/// Makes steps of the records of one thread, which come in order of time. Steps are in the order in which they ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Stepper {
    tid: Tid,
    /// The steps up to now; whoever reads them takes away those that are no longer needed.
    pub steps: Vec<Step>,
    call: Option<(MonoTime, CallMade)>,
    /// The latest stack of a call and of a fault, with their times, until they are taken.
    call_stack: Option<(MonoTime, Stack)>,
    fault_stack: Option<(MonoTime, Stack)>,
    off: Option<Off>,
}

/// The thread does not run.
#[derive(Clone, Debug)]
struct Off {
    since: MonoTime,
    /// The CPU that it ran on before.
    cpu: u32,
    runnable: bool,
    woken: Option<MonoTime>,
}

impl Stepper {
    pub fn new(tid: Tid) -> Self {
        Self { tid, ..Self::default() }
    }

    /// Takes the next record that is about the thread.
    pub fn take(&mut self, record: &Record) {
        let (at, ours) = (record.at, record.tid == self.tid);
        // Some CPUs write no record when they switch from idle to a thread. What the thread does shows that it runs.
        // Samples do not tell their CPU well.
        if ours && !matches!(record.seen, Seen::Stack { .. } | Seen::Allocated { .. }) {
            self.runs(at, record.cpu);
        }
        match &record.seen {
            Seen::Lost => self.lost(at),
            Seen::Waking { tid } if *tid == self.tid => self.woken(record),
            Seen::Switch { prev, prev_state, .. } if *prev == self.tid => {
                self.off = Some(Off { since: at, cpu: record.cpu, runnable: *prev_state == 0, woken: None });
                if let (Some((_, call)), false) = (&mut self.call, *prev_state == 0) {
                    call.blocked = true;
                }
            }
            Seen::Switch { next, .. } if *next == self.tid => self.runs(at, record.cpu),
            Seen::Enter { number, arguments } if ours => {
                let call = CallMade {
                    number: *number,
                    arguments: *arguments,
                    result: 0,
                    blocked: false,
                    armed_first: None,
                    armed: None,
                    woken_by: None,
                    woken_at: None,
                    cpu: record.cpu,
                    stack: Stack::default(),
                };
                self.call = Some((at, call));
            }
            Seen::Exit { number, result } if ours => self.leave(record, *number, *result),
            Seen::Armed { expires } if ours && !in_interrupt(record) => {
                if let Some((_, call)) = &mut self.call {
                    call.armed_first = call.armed_first.or(Some(*expires));
                    call.armed = Some(*expires);
                }
            }
            Seen::Fault { ip } if ours => self.fault(at, *ip),
            Seen::Allocated { function, stack } if ours => {
                self.add(at, at, StepKind::Allocation { function, stack: Arc::clone(stack) });
            }
            Seen::Signal if ours => self.add(at, at, StepKind::Signal),
            Seen::Stack { of: StackOf::Call, addresses } if ours => self.call_stack = Some((at, addresses.clone())),
            Seen::Stack { of: StackOf::Fault, addresses } if ours => self.stack_of_fault(at, addresses),
            _ => {}
        }
    }

    fn add(&mut self, from: MonoTime, to: MonoTime, kind: StepKind) {
        self.steps.push(Step { from, to, kind });
    }

    fn fault(&mut self, at: MonoTime, ip: Address) {
        // Of several stacks nearby, the right one begins where the fault was.
        let fits = |(stacked, stack): &(MonoTime, Stack)| is_near(*stacked, at) && stack.first() == Some(&ip);
        let stack = self.fault_stack.take().filter(fits).map_or_else(|| Stack::from([ip]), |(_, stack)| stack);
        self.add(at, at, StepKind::Fault { stack });
    }

    fn stack_of_fault(&mut self, at: MonoTime, stack: &Stack) {
        match self.steps.last_mut() {
            Some(Step { to, kind: StepKind::Fault { stack: own }, .. })
                if is_near(*to, at) && own.len() == 1 && own.first() == stack.first() =>
            {
                *own = Arc::clone(stack);
            }
            _ => self.fault_stack = Some((at, Arc::clone(stack))),
        }
    }

    /// Nothing that was under way is known to have gone on as it began.
    fn lost(&mut self, at: MonoTime) {
        (self.call, self.off, self.call_stack, self.fault_stack) = (None, None, None, None);
        self.add(at, at, StepKind::Lost);
    }

    fn woken(&mut self, record: &Record) {
        // A thread that runs, or that was woken already, is not woken again.
        let Some(off) = self.off.as_mut().filter(|off| off.woken.is_none() && !off.runnable) else { return };
        off.woken = Some(record.at);
        let waker = if in_interrupt(record) { Waker::Interrupt } else { Waker::Thread(record.tid) };
        if let Some((_, call)) = &mut self.call {
            (call.woken_by, call.woken_at) = (Some(waker), Some(record.at));
        }
    }

    fn runs(&mut self, at: MonoTime, cpu: u32) {
        let Some(off) = self.off.take() else { return };
        if off.runnable {
            self.add(off.since, at, StepKind::Preempted);
        } else {
            let woken = off.woken.unwrap_or(at);
            self.add(off.since, woken, StepKind::Blocked);
            self.add(woken, at, StepKind::Waiting);
        }
        if cpu != off.cpu {
            self.add(at, at, StepKind::Migration { stack: Stack::default() });
        }
    }

    fn leave(&mut self, record: &Record, number: u32, result: i64) {
        let Some((entered, mut call)) = self.call.take().filter(|(_, call)| call.number == number) else { return };
        let near = |(stacked, _): &(MonoTime, _)| stacked.plus(STACK_NEAR) >= entered;
        call.stack = self.call_stack.take().filter(near).map(|(_, addresses)| addresses).unwrap_or_default();
        (call.result, call.cpu) = (result, record.cpu);
        for step in self.steps.iter_mut().rev().take_while(|step| step.to >= entered) {
            if let StepKind::Migration { stack } = &mut step.kind {
                *stack = Arc::clone(&call.stack);
            }
        }
        self.add(entered, record.at, StepKind::Call(call));
    }
}

fn is_near(one: MonoTime, other: MonoTime) -> bool {
    one.since(other).max(other.since(one)) <= STACK_NEAR
}

fn in_interrupt(record: &Record) -> bool {
    record.context.flags & (FLAG_HARDIRQ | FLAG_SOFTIRQ | FLAG_NMI) != 0
}
