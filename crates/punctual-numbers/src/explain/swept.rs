//! The result of a walk over the records of a window: spans, moments, and which task woke or raised what.

use super::frame::Frame;
use super::pending::Pending;
use crate::trace::{Address, Tid};
use punctual_hist::{MonoTime, Nanos};

/// What had the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A non-maskable interrupt, with its handler.
    Nmi(Address),
    /// An interrupt or what runs in it: the innermost context, and the one it runs in.
    Context(Frame, Option<Frame>),
    /// A task; 0 is idle.
    Task(Tid),
    /// Our thread ran at the end, and no record says since when.
    Untold,
}

/// The state of our thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ours {
    /// It waits for its timer or something else.
    Asleep,
    /// A signal or a debugger stopped it.
    Stopped,
    /// It could run and does not.
    Ready,
    /// It runs, or is only interrupted.
    Running,
    /// It was migrated to another CPU.
    Away,
}

/// A time with one owner and no record inside, except records that change nothing.
#[derive(Clone, Copy, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is an observation of its own; no two of them exclude each other"
)]
pub(super) struct Span {
    pub from: MonoTime,
    pub to: MonoTime,
    pub owner: Owner,
    /// Both ends agree on the owner.
    pub certain: bool,
    /// The task that runs, below interrupts.
    pub task: Tid,
    /// Time at which that task got the CPU, if it is known.
    pub since: Option<MonoTime>,
    /// The function that it runs, if it is a worker.
    pub work: Option<Address>,
    /// The idle state, if it is idle and that is known.
    pub idle: Option<u32>,
    /// The state of our thread.
    pub ours: Ours,
    /// Since when our thread could run, if it could and did not.
    pub ready: Option<MonoTime>,
    /// A record is missing, and the owner is only what the later end says.
    pub guessed: bool,
    /// Time at which the outermost open interrupt was entered.
    pub entered: Option<MonoTime>,
    /// Our thread is taken to be within a page fault until then.
    pub fault: Option<MonoTime>,
    /// An interrupt has been taken since the release.
    pub served: bool,
    /// The last interrupt before found the task with pre-emption off.
    pub forbids: bool,
    /// The last interrupt before found it where it may not be moved to another CPU.
    pub stays: bool,
    /// The task had been asked to give way when the span ended.
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
    /// The interrupt that serves the release is entered.
    pub entry: Option<MonoTime>,
    /// The call of our timer's function, and the timer.
    pub expiry: Option<(MonoTime, Address)>,
    pub waking: Option<MonoTime>,
    /// Our thread is woken from a hard interrupt, and not from a thread that handles timers.
    pub hard: bool,
    /// Our thread gets the CPU.
    pub switch: Option<MonoTime>,
    /// Our thread already had the CPU at the release.
    pub running: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Waker {
    pub at: MonoTime,
    pub woken: Tid,
    /// The task that was running.
    pub by: Tid,
    /// The context on top of that task from which the waking came, if any.
    pub context: Option<Frame>,
}

/// A softirq that was raised.
#[derive(Clone, Copy, Debug)]
pub(super) struct Raised {
    pub at: MonoTime,
    pub vector: u32,
    /// The task that was running.
    pub by: Tid,
    /// The context on top of that task that raised it, if any.
    pub context: Option<Frame>,
}

/// A priority in a record, as the kernel counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub at: MonoTime,
    pub tid: Tid,
    pub prio: i32,
    /// The task had it until then; otherwise it has it since then.
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
    /// Signs of interrupts being off while ours was due.
    pub pending: Pending,
    /// No record shows that our thread had this CPU at the end.
    pub unseen: bool,
    /// Records begin after the release.
    pub begins_late: bool,
    /// Records are said to be lost in between.
    pub lost: bool,
}
