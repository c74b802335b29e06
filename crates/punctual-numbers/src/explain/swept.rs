//! What a walk over the records of a window comes to: spans, moments, and who did what to whom. Values alone.

use super::frame::Frame;
use super::pending::Pending;
use crate::trace::{Address, Tid};
use punctual_hist::{MonoTime, Nanos};

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
    /// A signal or a debugger stopped it.
    Stopped,
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
    /// Since when it could run and did not, if that is how it stood.
    pub ready: Option<MonoTime>,
    /// No record tells who had the CPU: one is missing, and the later end was believed.
    pub guessed: bool,
    /// When the innermost interrupt was entered, if one is open.
    pub entered: Option<MonoTime>,
    /// Our thread is within a page fault, as is believed until then.
    pub fault: Option<MonoTime>,
    /// An interrupt has been taken since the release.
    pub served: bool,
    /// The task was found with pre-emption off by the last interrupt before.
    pub forbids: bool,
    /// It was found where it may not be moved to another CPU.
    pub stays: bool,
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
    /// It is woken from an interrupt, and not from a thread that does such work.
    pub hard: bool,
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

/// A priority that a record tells, as the kernel counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// When.
    pub at: MonoTime,
    /// Of this task.
    pub tid: Tid,
    /// Which.
    pub prio: i32,
    /// It was so until then; otherwise it is so since then.
    pub until: bool,
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
    /// Priorities, as records tell them, in order.
    pub priorities: Vec<Told>,
    /// What speaks for interrupts being off while ours was due.
    pub pending: Pending,
    /// Our thread was not seen to have this CPU at the end.
    pub unseen: bool,
    /// Records begin after the release.
    pub begins_late: bool,
    /// Records are said to be lost in between.
    pub lost: bool,
}
