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
}

impl Error {
    /// The `errno` behind it, or 0.
    pub const fn errno(self) -> i32 {
        match self {
            Self::Priority(_) | Self::Servo(_) | Self::ZeroLength => 0,
            Self::WouldDeadlock => libc::EDEADLK,
            Self::TimedOut => libc::ETIMEDOUT,
            Self::Policy(e)
            | Self::Affinity(_, e)
            | Self::MemoryLock(e)
            | Self::Timer(e)
            | Self::Lock(e)
            | Self::Thread(e)
            | Self::ReadBack(e) => e,
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
        }
    }
}

impl std::error::Error for Error {}
