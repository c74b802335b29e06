//! One small error for everything that can be refused before the loop starts.

use crate::servo::ServoRefusal;
use std::fmt;

/// What was refused. `Copy`, so it can cross threads and languages; the numbers are `errno` values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A priority outside 1..=95: 96 and above belong to the kernel's own threads, whose starvation hangs the machine.
    Priority(u8),
    /// The kernel refused a scheduling policy.
    Policy(i32),
    /// The kernel refused to run the thread on this CPU: off-line, or outside the allowed set.
    Affinity(u32, i32),
    /// The kernel refused to lock memory.
    MemoryLock(i32),
    /// A timer could not be made.
    Timer(i32),
    /// The calling thread would wait for itself: it holds the lock, or waits for one who waits for it.
    WouldDeadlock,
    /// What was waited for did not come in time.
    TimedOut,
    /// The kernel refused a lock.
    Lock(i32),
    /// A thread could not be started.
    Thread(i32),
    /// A length of time is zero that must not be.
    ZeroLength,
    /// A system call that reads back what was granted failed.
    ReadBack(i32),
    /// A phase servo cannot be made from these values.
    Servo(ServoRefusal),
    /// A task's name that is empty, longer than 32 bytes, or has control characters.
    TaskName,
    /// A flight recorder's length that is not a power of two from 64 to 65536.
    FlightCycles(u32),
    /// There is no memory for a page of statistics.
    PageMemory(i32),
    /// The process has no page of statistics of that name.
    NoSuchTask,
    /// A process, or its page of statistics, could not be opened.
    PageOpen(i32),
    /// A page whose size its owner could still change: reading it could end the reader.
    PageUnsealed,
    /// A page of another layout version.
    PageVersion(u64),
    /// Memory that is named like a page of statistics and isn't one.
    PageForeign,
}

impl Error {
    /// The `errno` behind it, or 0.
    pub const fn errno(self) -> i32 {
        match self {
            Self::Policy(e)
            | Self::Affinity(_, e)
            | Self::MemoryLock(e)
            | Self::Timer(e)
            | Self::Lock(e)
            | Self::Thread(e)
            | Self::PageMemory(e)
            | Self::PageOpen(e)
            | Self::ReadBack(e) => e,
            Self::WouldDeadlock => libc::EDEADLK,
            Self::TimedOut => libc::ETIMEDOUT,
            Self::Priority(_) | Self::Servo(_) | Self::ZeroLength | Self::TaskName | Self::FlightCycles(_) => 0,
            Self::NoSuchTask | Self::PageUnsealed | Self::PageVersion(_) | Self::PageForeign => 0,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = std::io::Error::from_raw_os_error(self.errno());
        match self {
            Self::Priority(p) => write!(f, "priority {p} is not within 1..=95"),
            Self::Policy(_) => write!(f, "the kernel refused the scheduling policy: {why}"),
            Self::Affinity(cpu, _) => write!(f, "the kernel refused to run a thread on CPU {cpu}: {why}"),
            Self::MemoryLock(_) => write!(f, "the kernel refused to lock memory: {why}"),
            Self::Timer(_) => write!(f, "no timer could be made: {why}"),
            Self::Servo(refusal) => write!(f, "no phase servo: {refusal}"),
            Self::WouldDeadlock => write!(f, "the calling thread would wait for itself"),
            Self::TimedOut => write!(f, "what was waited for did not come in time"),
            Self::Lock(_) => write!(f, "the kernel refused a lock: {why}"),
            Self::Thread(_) => write!(f, "a thread could not be started: {why}"),
            Self::ZeroLength => write!(f, "an interval or limit is zero; give a length of time"),
            Self::ReadBack(_) => write!(f, "what was granted could not be read back: {why}"),
            Self::TaskName => f.write_str("a task's name is 1 to 32 bytes without control characters"),
            Self::FlightCycles(n) => {
                write!(f, "a flight recorder of {n} cycles: it must be a power of two from 64 to 65536")
            }
            Self::PageMemory(_) => write!(f, "no memory for a page of statistics: {why}"),
            Self::NoSuchTask => f.write_str("the process has no statistics of that name"),
            Self::PageOpen(_) => write!(f, "the process's statistics could not be opened: {why}"),
            Self::PageUnsealed => {
                f.write_str("the page of statistics is not sealed, so its owner could take it away while it is read")
            }
            Self::PageVersion(n) => write!(
                f,
                "the page of statistics has layout {n}, this library reads layout 1: use the same version on both sides"
            ),
            Self::PageForeign => f.write_str("the memory is named like a page of statistics and is not one"),
        }
    }
}

impl std::error::Error for Error {}
