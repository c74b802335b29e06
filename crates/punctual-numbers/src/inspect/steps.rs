//! From records to the steps of one thread: its system calls, and what happened to it between them.

use super::record::{Record, Seen};
use crate::trace::{Address, FLAG_HARDIRQ, FLAG_NMI, FLAG_SOFTIRQ, Tid};
use punctual_hist::{MonoTime, Nanos};

/// How far the stack of a call may lie before the record of the call: both are written by the same tracepoint, in either
/// order.
const STACK_NEAR: Nanos = Nanos::from_us(50);

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
        ip: Address,
    },
    Signal,
    Migration,
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
    /// When the last timer that the thread armed in the call expires, in nanoseconds of the timer's clock.
    pub armed: Option<i64>,
    pub woken_by: Option<Waker>,
    /// The call stack in user space, innermost address first; empty if it is not known.
    pub stack: Vec<Address>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waker {
    /// An interrupt, such as that of a timer.
    Interrupt,
    Thread(Tid),
}

/// The steps of a thread, in the order in which they ended. `records` are in order of time.
pub fn steps(records: &[&Record], tid: Tid) -> Vec<Step> {
    let mut thread = Thread { tid, ..Thread::default() };
    for record in records {
        thread.take(record);
    }
    thread.steps
}

#[derive(Default)]
struct Thread {
    tid: Tid,
    steps: Vec<Step>,
    call: Option<(MonoTime, CallMade)>,
    /// The latest stack, with its time, until a call takes it.
    stack: Option<(MonoTime, Vec<Address>)>,
    off: Option<Off>,
}

/// The thread does not run.
struct Off {
    since: MonoTime,
    /// The CPU that it ran on before.
    cpu: u32,
    runnable: bool,
    woken: Option<MonoTime>,
}

impl Thread {
    fn take(&mut self, record: &Record) {
        let (at, ours) = (record.at, record.tid == self.tid);
        // Some CPUs write no record when they switch from idle to a thread. What the thread does shows that it runs.
        if ours {
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
                    armed: None,
                    woken_by: None,
                    stack: Vec::new(),
                };
                self.call = Some((at, call));
            }
            Seen::Exit { number, result } if ours => self.leave(at, *number, *result),
            Seen::Armed { expires } if ours && !in_interrupt(record) => {
                if let Some((_, call)) = &mut self.call {
                    call.armed = Some(*expires);
                }
            }
            Seen::Fault { ip } if ours => self.add(at, at, StepKind::Fault { ip: *ip }),
            Seen::Signal if ours => self.add(at, at, StepKind::Signal),
            Seen::Stack { addresses } if ours => self.stack = Some((at, addresses.clone())),
            _ => {}
        }
    }

    fn add(&mut self, from: MonoTime, to: MonoTime, kind: StepKind) {
        self.steps.push(Step { from, to, kind });
    }

    /// Nothing that was under way is known to have gone on as it began.
    fn lost(&mut self, at: MonoTime) {
        (self.call, self.off, self.stack) = (None, None, None);
        self.add(at, at, StepKind::Lost);
    }

    fn woken(&mut self, record: &Record) {
        let Some(off) = &mut self.off else { return };
        off.woken = off.woken.or(Some(record.at));
        let waker = if in_interrupt(record) { Waker::Interrupt } else { Waker::Thread(record.tid) };
        if let Some((_, call)) = &mut self.call {
            call.woken_by = Some(waker);
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
            self.add(at, at, StepKind::Migration);
        }
    }

    fn leave(&mut self, at: MonoTime, number: u32, result: i64) {
        let Some((entered, mut call)) = self.call.take().filter(|(_, call)| call.number == number) else { return };
        let near = |(stacked, _): &(MonoTime, _)| stacked.plus(STACK_NEAR) >= entered;
        call.stack = self.stack.take().filter(near).map(|(_, addresses)| addresses).unwrap_or_default();
        call.result = result;
        self.add(entered, at, StepKind::Call(call));
    }
}

fn in_interrupt(record: &Record) -> bool {
    record.context.flags & (FLAG_HARDIRQ | FLAG_SOFTIRQ | FLAG_NMI) != 0
}
