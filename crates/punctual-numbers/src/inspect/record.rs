//! One record of the trace of a program.

use crate::trace::{Address, Context, Tid};
use punctual_hist::MonoTime;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub at: MonoTime,
    pub cpu: u32,
    /// The task that was current when the record was written.
    pub tid: Tid,
    pub context: Context,
    pub seen: Seen,
}

impl Record {
    /// The task that the record is about, and the other one if it is about two.
    pub fn about(&self) -> (Tid, Option<Tid>) {
        match self.seen {
            Seen::Switch { prev, next, .. } => (prev, Some(next).filter(|next| *next != prev)),
            Seen::Waking { tid } => (tid, None),
            _ => (self.tid, None),
        }
    }
}

/// What a record says. Priorities are the kernel's own: a lower number goes first, and numbers below 100 are real time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A system call begins; only its first arguments are kept.
    Enter {
        number: u32,
        arguments: [u64; 2],
    },
    Exit {
        number: u32,
        result: i64,
    },
    /// A high-resolution timer was armed. `expires` is in nanoseconds of the timer's own clock, without timer slack.
    Armed {
        expires: i64,
    },
    Fault {
        ip: Address,
    },
    /// A function of an allocator was called. The stack begins in that function.
    Allocated {
        function: &'static str,
        stack: Arc<[Address]>,
    },
    /// The task `prev` gave the CPU to `next`. `prev_state` is 0 if `prev` was still runnable.
    Switch {
        prev: Tid,
        prev_state: u32,
        next: Tid,
        next_prio: i32,
    },
    Waking {
        tid: Tid,
    },
    /// The current task starts a task: a thread of its own process, or a process.
    Begun {
        tid: Tid,
        is_thread: bool,
        name: Arc<str>,
    },
    Renamed {
        tid: Tid,
        name: Arc<str>,
    },
    Signal,
    /// The call stack in user space at a record of the same moment: the calling instructions, innermost first.
    Stack {
        of: StackOf,
        addresses: Arc<[Address]>,
    },
    /// Records of this CPU are missing before the next one.
    Lost,
}

/// What a call stack was taken at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackOf {
    Call,
    Fault,
}

/// A system call of the machine that was traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    pub number: u32,
    pub name: &'static str,
    pub kind: CallKind,
}

/// What a system call is for, as far as a real-time loop is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CallKind {
    /// `clock_nanosleep`, whose first argument is the clock and whose second has the flag for an absolute time.
    ClockSleep,
    /// `nanosleep`, which is always relative.
    Sleep,
    /// `futex`, whose second argument is the operation.
    Futex,
    /// Waits for several files at once, which an epoll file has the list of: its number is the first argument.
    Epoll,
    /// Waits for several files at once, which are listed in memory.
    Poll,
    /// Reads from a file or a socket, whose number is the first argument, and may wait.
    Read,
    /// Waits for a signal.
    SignalWait,
    /// `timerfd_settime`, whose first argument is the number of the file.
    TimerSet,
    /// Writes to a file, a terminal or a socket.
    Write,
    /// Changes the address space, as allocators do.
    Memory,
    /// Starts another program in the process.
    Program,
    /// Any other system call.
    Other,
}

/// The clock of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    Realtime,
    Monotonic,
    Boottime,
    Tai,
    /// Another clock, such as a CPU-time clock.
    Other,
}

impl Clock {
    /// The clock with this number in system calls.
    pub fn of(number: u64) -> Self {
        match number {
            0 => Self::Realtime,
            1 => Self::Monotonic,
            7 => Self::Boottime,
            11 => Self::Tai,
            _ => Self::Other,
        }
    }
}

/// How far other clocks are ahead of the monotonic one, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offsets {
    pub realtime: i64,
    pub boottime: i64,
    pub tai: i64,
}

impl Offsets {
    fn of(&self, clock: Clock) -> i64 {
        match clock {
            Clock::Realtime => self.realtime,
            Clock::Boottime => self.boottime,
            Clock::Tai => self.tai,
            Clock::Monotonic | Clock::Other => 0,
        }
    }

    pub fn monotonic(&self, time: i64, clock: Clock) -> MonoTime {
        MonoTime::from_ns(u64::try_from(time.saturating_sub(self.of(clock))).unwrap_or_default())
    }

    /// The time, on whichever clock brings it closest to `near`.
    pub fn nearest(&self, time: i64, near: MonoTime) -> MonoTime {
        let clocks = [Clock::Monotonic, Clock::Realtime, Clock::Boottime, Clock::Tai];
        let times = clocks.map(|clock| self.monotonic(time, clock));
        times.into_iter().min_by_key(|time| time.as_ns().abs_diff(near.as_ns())).unwrap_or_default()
    }
}
