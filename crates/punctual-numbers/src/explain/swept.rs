//! The result of a walk over the records of a window: spans, moments, and which task woke or raised what.

use super::frame::Frame;
use super::pending::Pending;
use crate::trace::{Address, Tid};
use punctual_hist::{MonoTime, Nanos};

/// The owner of the CPU in a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Nmi(Address),
    /// An interrupt or a context inside one: the innermost context, and the one that it runs in.
    Context(Frame, Option<Frame>),
    /// A task; number 0 is the idle task.
    Task(Tid),
    /// The owner is unknown: our thread ran at the end, and no record shows since when.
    Untold,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ours {
    /// Our thread waits for its timer or something else.
    Asleep,
    /// A signal or a debugger stopped our thread.
    Stopped,
    /// Our thread could run and does not have the CPU.
    Ready,
    Running,
    /// Our thread was migrated to another CPU.
    Away,
}

/// A stretch of time with one owner. It contains no record, except records that change nothing.
#[derive(Clone, Copy, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is an observation of its own; no two of them exclude each other"
)]
pub(super) struct Span {
    pub from: MonoTime,
    pub to: MonoTime,
    pub owner: Owner,
    /// Whether both ends agree on the owner.
    pub certain: bool,
    /// The task that runs, below interrupts.
    pub task: Tid,
    /// Time at which `task` got the CPU, if it is known.
    pub since: Option<MonoTime>,
    /// The function that `task` runs, if it is a worker.
    pub work: Option<Address>,
    /// The idle state, if the CPU is idle and the state is known.
    pub idle: Option<u32>,
    pub ours: Ours,
    /// Time since which our thread could run, if it could and did not.
    pub ready: Option<MonoTime>,
    /// Whether a record is missing, so that the owner is only inferred from the later end.
    pub guessed: bool,
    /// Time at which the outermost open interrupt was entered.
    pub entered: Option<MonoTime>,
    /// Time until which our thread is taken to be within a page fault.
    pub fault: Option<MonoTime>,
    /// Whether an interrupt has been taken since the release.
    pub served: bool,
    /// Whether the last interrupt before the span found the task with pre-emption off.
    pub forbids: bool,
    /// Whether the last interrupt before the span found the task in a section in which it may not be moved to another
    /// CPU.
    pub stays: bool,
    /// Whether the task had been asked to give way when the span ended.
    pub asked: bool,
}

impl Span {
    pub(super) fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

/// The moments between which the stages lie, as far as records show them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Anchors {
    /// Time at which the interrupt that serves the release is entered.
    pub entry: Option<MonoTime>,
    /// Time at which our timer's function is called, and the timer.
    pub expiry: Option<(MonoTime, Address)>,
    pub waking: Option<MonoTime>,
    /// Whether our thread is woken from a hard interrupt, and not from a thread that handles timers.
    pub hard: bool,
    /// Time at which our thread gets the CPU.
    pub switch: Option<MonoTime>,
    /// Whether our thread already had the CPU at the release.
    pub running: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Waker {
    pub at: MonoTime,
    pub woken: Tid,
    /// The task that was running when the waking came.
    pub by: Tid,
    /// The context on top of that task from which the waking came, if any.
    pub context: Option<Frame>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Raised {
    pub at: MonoTime,
    pub vector: u32,
    /// The task that was running when the softirq was raised.
    pub by: Tid,
    /// The context on top of that task that raised it, if any.
    pub context: Option<Frame>,
}

/// The priority of a task as a record states it, as a number of the kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub at: MonoTime,
    pub tid: Tid,
    pub prio: i32,
    /// Whether the task had the priority until `at`; if not, it has it from `at` on.
    pub until: bool,
}

#[derive(Debug, Default)]
pub(super) struct Swept {
    /// Spans in order and without gaps, from the release to the body.
    pub spans: Vec<Span>,
    pub anchors: Anchors,
    pub wakers: Vec<Waker>,
    pub raised: Vec<Raised>,
    pub priorities: Vec<Told>,
    /// Signs that interrupts were off while our timer's interrupt was due.
    pub pending: Pending,
    /// Whether no record shows that our thread had this CPU at the end.
    pub unseen: bool,
    /// Whether records begin only after the release.
    pub begins_late: bool,
    /// Whether a record states that others were lost in between.
    pub lost: bool,
}
