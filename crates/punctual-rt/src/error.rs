//! Errors, grouped by the phase in which they occur: checking a configuration, setting up a thread, taking a lock, and
//! reading another program's statistics.

mod core_refusal;

pub use core_refusal::CoreRefusal;
use std::{fmt, io};

/// Any error of this crate. It is `Copy`, so it can be passed to other threads and languages. Prints what happened and
/// why; [`Error::remedy`] says what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The configuration asks for something that no system can do. Nothing was started.
    Config(ConfigError),
    /// The kernel or the C library refused something while a thread was set up.
    Setup(SetupError),
    /// A lock could not be taken.
    Lock(LockError),
    /// The statistics of a program could not be read.
    Page(PageError),
}

/// An error in a configuration, which every system would refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The period is below a microsecond.
    Period,
    /// The margin is as long as the period, or longer.
    Margin,
    /// The steering limit is as long as the period, or longer.
    SteerMax,
    /// The priority is outside 1..=95. Higher priorities belong to kernel threads, whose starvation hangs the machine.
    Priority(u8),
    /// The reservation breaks the kernel's rule 1024 ns <= runtime <= deadline <= period.
    Reservation,
    /// A length of time is zero where zero is not allowed.
    ZeroLength,
    /// A task's name is empty, longer than 32 bytes, or has control characters.
    TaskName,
    /// The length of the flight recorder is not a power of two from 64 to 65536.
    FlightCycles(u32),
    /// A phase servo cannot be made from these values.
    Servo(ServoRefusal),
    /// The task is to run out-of-band, and asks for something that only Linux has: a policy other than `SCHED_FIFO`, a
    /// wait that polls all the time or for outside events, or confirmed interference.
    OnlyInBand,
}

/// Why a [`PhaseServo`](crate::servo::PhaseServo) was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServoRefusal {
    /// The period is zero or longer than an hour.
    Period,
    /// The bandwidth is not a positive number.
    Bandwidth,
    /// The bandwidth is too large for a stable servo at this period.
    TooWide {
        /// The largest stable bandwidth, in thousandths of a hertz.
        most_millihertz: u64,
    },
    /// The damping is not within 0.3 to 3.
    Damping,
    /// The step limit is zero, or more than half the period.
    Step,
    /// The limit on the frequency difference is not within 0 to 100 000 ppm.
    Frequency,
    /// The lock window is zero.
    Lock,
}

/// The system refused something while a thread was set up. Most variants carry the `errno`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetupError {
    /// The kernel refused the scheduling policy.
    Policy(i32),
    /// The kernel refused the reservation of run time (`SCHED_DEADLINE`).
    Deadline(i32),
    /// The kernel refused to run the thread on a CPU, which is off-line or outside the allowed set.
    Affinity {
        /// The first CPU that was refused.
        cpu: u32,
        /// The `errno` of the refusal.
        errno: i32,
    },
    /// The kernel refused to lock memory.
    MemoryLock(i32),
    /// The thread's stack is smaller than the number of bytes that were to be touched.
    Stack {
        /// Number of bytes that could be touched.
        room_bytes: usize,
    },
    /// The heap that was to be touched could not be allocated.
    Heap(i32),
    /// The C library has no setting to keep freed memory, so a touched heap would not stay in memory.
    Allocator,
    /// The kernel refused the request to limit idle states.
    LatencyQos(i32),
    /// No timer file descriptor could be created.
    Timer(i32),
    /// The kernel refused the call that puts the thread to sleep.
    Sleep(i32),
    /// The thread could not be started.
    Thread(i32),
    /// A system call that reads back the granted settings failed.
    ReadBack(i32),
    /// Memory for the statistics page could not be allocated.
    StatsMemory(i32),
    /// The EVL core does not serve the task.
    Evl(CoreRefusal),
    /// The Cobalt core does not serve the task.
    Cobalt(CoreRefusal),
}

/// Why a lock could not be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LockError {
    /// The calling thread holds the lock already, or holds one that the lock's owner waits for.
    WouldDeadlock,
    /// The lock was not free before the deadline.
    TimedOut,
    /// The kernel refused the lock with this `errno`.
    Refused(i32),
    /// The lock is held by another thread, and the caller is paced by a real-time core. Waiting for a lock of Linux
    /// would take it in-band.
    OutOfBand,
    /// The lock or semaphore is one of a real-time core, and the calling thread does not belong to that core.
    NotOfCore,
    /// The owner of a core's lock ended without releasing it. Nobody can take the lock any more.
    OwnerDied,
}

/// Why a program's statistics could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PageError {
    /// The process has no page of statistics of that name.
    NoSuchTask,
    /// The process or its statistics page could not be opened; with the `errno`.
    Open(i32),
    /// The owner can still shrink the page, which could crash a process that reads it.
    Unsealed,
    /// The statistics page has a layout version that this crate does not know.
    Version(u64),
    /// The memory has the name of a statistics page, but its contents are something else.
    Foreign,
}

impl Error {
    /// The `errno` of the system, or 0 if there is none.
    pub const fn errno(self) -> i32 {
        match self {
            Self::Setup(error) => error.errno(),
            Self::Lock(LockError::WouldDeadlock) => libc::EDEADLK,
            Self::Lock(LockError::TimedOut) => libc::ETIMEDOUT,
            Self::Lock(LockError::OutOfBand) => libc::EOPNOTSUPP,
            Self::Lock(LockError::NotOfCore) => libc::EPERM,
            Self::Lock(LockError::OwnerDied) => libc::EOWNERDEAD,
            Self::Lock(LockError::Refused(errno)) | Self::Page(PageError::Open(errno)) => errno,
            Self::Config(_) | Self::Page(_) => 0,
        }
    }

    /// A sentence that says what to do about the error.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Config(error) => error.remedy(),
            Self::Setup(error) => error.remedy(),
            Self::Lock(error) => error.remedy(),
            Self::Page(error) => error.remedy(),
        }
    }
}

impl ConfigError {
    const fn remedy(self) -> &'static str {
        match self {
            Self::Priority(_) => "ask for a priority from 1 to 95",
            Self::Reservation => "ask for a run time of 1024 ns or more, within the deadline, within the period",
            Self::Period => "ask for a period of 1 us or more; below some 50 us a sleep cannot keep it",
            Self::Margin => "ask for a margin well below the period, or for Wait::Spin",
            Self::SteerMax => "limit steering to less than a period",
            Self::ZeroLength => "give a length of time",
            Self::Servo(_) => "see `ServoConfig` for what can be used",
            Self::OnlyInBand => {
                "ask for Policy::Fifo and for Wait::Sleep, Wait::Anticipate or Wait::Hybrid, or for Backend::Linux"
            }
            Self::TaskName => "choose a shorter name without control characters",
            Self::FlightCycles(_) => "choose a power of two from 64 to 65536",
        }
    }
}

impl SetupError {
    /// The error for a thread that the standard library could not start. Without an `errno`, a limit is assumed to be
    /// the reason.
    #[allow(clippy::needless_pass_by_value, reason = "for map_err")]
    pub(crate) fn of_thread(error: io::Error) -> Self {
        Self::Thread(error.raw_os_error().unwrap_or(libc::EAGAIN))
    }

    const fn errno(self) -> i32 {
        match self {
            Self::Policy(errno)
            | Self::Deadline(errno)
            | Self::Affinity { errno, .. }
            | Self::MemoryLock(errno)
            | Self::Heap(errno)
            | Self::LatencyQos(errno)
            | Self::Timer(errno)
            | Self::Sleep(errno)
            | Self::Thread(errno)
            | Self::ReadBack(errno)
            | Self::StatsMemory(errno) => errno,
            Self::Evl(refusal) | Self::Cobalt(refusal) => refusal.errno(),
            Self::Stack { .. } | Self::Allocator => 0,
        }
    }

    const fn remedy(self) -> &'static str {
        match self {
            Self::Policy(libc::EPERM) => {
                "run as root, or grant RLIMIT_RTPRIO (`@realtime - rtprio 95` in /etc/security/limits.d/) or CAP_SYS_NICE; \
                 as root look at the control group (cpu.rt_runtime_us)"
            }
            Self::Deadline(libc::EPERM) => {
                "run as root, or grant CAP_SYS_NICE; and let the thread run on all CPUs of its scheduling domain: name none, \
                 or make a cpuset partition of them"
            }
            Self::Deadline(libc::EBUSY) => {
                "reserve less run time: with this all deadline threads together exceed sched_rt_runtime_us"
            }
            Self::Deadline(libc::EINVAL) => {
                "ask for a period within sched_deadline_period_min_us and sched_deadline_period_max_us"
            }
            Self::Policy(_) | Self::Deadline(_) => {
                "ask for another policy, or look whether a sandbox (seccomp) filters sched_setattr"
            }
            Self::Affinity { .. } => {
                "choose from /sys/devices/system/cpu/online, within the cpuset (Cpus_allowed_list in /proc/self/status)"
            }
            Self::MemoryLock(_) => {
                "run as root, or grant CAP_IPC_LOCK or RLIMIT_MEMLOCK (`@realtime - memlock unlimited` in \
                 /etc/security/limits.d/); 1 GiB more than is in use must fit"
            }
            Self::Stack { .. } => "start the thread with a larger stack, or touch less of it",
            Self::Heap(_) => {
                "touch less heap, or raise the limit on memory (RLIMIT_AS, RLIMIT_MEMLOCK, the control group)"
            }
            Self::Allocator => "touch no heap (0 bytes) and allocate before the loop, or link with glibc",
            Self::LatencyQos(_) => {
                "run as root, or give the user write access to /dev/cpu_dma_latency or \
                 /sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us; the value is at least 0 us"
            }
            Self::Sleep(_) => "look whether a sandbox (seccomp) filters clock_nanosleep",
            Self::Timer(_) => "look at the limit on open files (RLIMIT_NOFILE)",
            Self::ReadBack(_) => "look whether a sandbox (seccomp) filters the scheduling calls",
            Self::Thread(_) => {
                "look at RLIMIT_NPROC, RLIMIT_AS and RLIMIT_MEMLOCK (/proc/self/limits), and at pids.max of the control group"
            }
            Self::StatsMemory(_) => "look at the limits on memory and open files (RLIMIT_AS, RLIMIT_NOFILE)",
            Self::Evl(refusal) => refusal.evl_remedy(),
            Self::Cobalt(refusal) => refusal.cobalt_remedy(),
        }
    }
}

impl LockError {
    const fn remedy(self) -> &'static str {
        match self {
            Self::WouldDeadlock => {
                "release the lock before taking it again; look at the order in which locks are taken"
            }
            Self::OutOfBand => {
                "make the lock one of the core (`PiMutex::on`); or hand values on by `spsc` or `latest`, which never wait"
            }
            Self::NotOfCore => {
                "let the core pace the thread, or attach it (`CoreThread::attach`, priority 0 for in-band work)"
            }
            Self::OwnerDied => "make a new lock, and let its owners release it before they end",
            Self::TimedOut => "set a later deadline, or look at what the owner does under the lock",
            Self::Refused(_) => {
                "look whether a sandbox (seccomp) filters futex or prctl, and at the kernel's version (PI futexes: 2.6.18)"
            }
        }
    }
}

impl PageError {
    const fn remedy(self) -> &'static str {
        match self {
            Self::NoSuchTask => {
                "list the process's tasks (`stats::task_names`); it has some while this library runs in it"
            }
            Self::Open(_) => "run as the same user or as root; look whether the process still runs",
            Self::Unsealed | Self::Foreign => "trust no page that this library did not make",
            Self::Version(_) => "use the same version of the library on both sides",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Setup(error) => error.fmt(f),
            Self::Lock(error) => error.fmt(f),
            Self::Page(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Period => f.write_str("the period is below 1 us"),
            Self::Margin => f.write_str("the margin is not shorter than the period"),
            Self::SteerMax => f.write_str("the steering limit is not shorter than the period"),
            Self::Priority(p) => write!(f, "priority {p} is not within 1..=95"),
            Self::Reservation => f.write_str("1024 ns <= run time <= deadline <= period does not hold"),
            Self::Servo(refusal) => write!(f, "no phase servo: {refusal}"),
            Self::OnlyInBand => f.write_str("the task asks for something that cannot be had out-of-band"),
            Self::ZeroLength => write!(f, "an interval or limit is zero; give a length of time"),
            Self::TaskName => f.write_str("a task's name is 1 to 32 bytes without control characters"),
            Self::FlightCycles(n) => {
                write!(f, "a flight recorder of {n} cycles: it must be a power of two from 64 to 65536")
            }
        }
    }
}

impl fmt::Display for ServoRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Period => f.write_str("the period is not within 1 ns to 1 h"),
            Self::Bandwidth => f.write_str("the bandwidth is not a positive number of hertz"),
            Self::TooWide { most_millihertz } => {
                let (whole, rest) = (most_millihertz / 1000, most_millihertz % 1000);
                write!(f, "the bandwidth is too large for this period: at most {whole}.{rest:03} Hz are stable")
            }
            Self::Damping => f.write_str("the damping is not within 0.3 to 3"),
            Self::Step => f.write_str("the step limit is not within 1 ns to half the period"),
            Self::Frequency => f.write_str("the limit on the difference in speed is not within 0 to 100000 ppm"),
            Self::Lock => f.write_str("the lock window is zero"),
        }
    }
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = io::Error::from_raw_os_error(self.errno());
        match self {
            Self::Policy(_) => write!(f, "the kernel refused the scheduling policy: {why}"),
            Self::Deadline(_) => write!(f, "the kernel refused to reserve run time: {why}"),
            Self::Affinity { cpu, .. } => write!(f, "the kernel refused to run a thread on CPU {cpu}: {why}"),
            Self::MemoryLock(_) => write!(f, "the kernel refused to lock memory: {why}"),
            Self::Stack { room_bytes } => write!(f, "only {room_bytes} bytes of stack can be touched"),
            Self::Heap(_) => write!(f, "the heap to be touched could not be had: {why}"),
            Self::Allocator => f.write_str("this C library cannot be told to keep freed memory"),
            Self::LatencyQos(_) => write!(f, "the request to keep idle CPUs awake was refused: {why}"),
            Self::Sleep(_) => write!(f, "the kernel does not let the thread sleep: {why}"),
            Self::Timer(_) => write!(f, "no timer could be made: {why}"),
            Self::Thread(_) => write!(f, "a thread could not be started: {why}"),
            Self::ReadBack(_) => write!(f, "what was granted could not be read back: {why}"),
            Self::StatsMemory(_) => write!(f, "no memory for a page of statistics: {why}"),
            Self::Evl(refusal) => write!(f, "the EVL core cannot pace the task: {refusal}"),
            Self::Cobalt(refusal) => write!(f, "the Cobalt core cannot pace the task: {refusal}"),
        }
    }
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WouldDeadlock => f.write_str("the calling thread would wait for itself"),
            Self::TimedOut => f.write_str("the lock was not free before the deadline"),
            Self::OutOfBand => {
                f.write_str("the lock is one of Linux and held, and a thread on a real-time core cannot wait for it")
            }
            Self::NotOfCore => {
                f.write_str("the lock is one of a real-time core, to which the calling thread does not belong")
            }
            Self::OwnerDied => f.write_str("the owner of the lock ended without releasing it"),
            Self::Refused(errno) => write!(f, "the kernel refused a lock: {}", io::Error::from_raw_os_error(*errno)),
        }
    }
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchTask => f.write_str("the process has no statistics of that name"),
            Self::Open(errno) => {
                let why = io::Error::from_raw_os_error(*errno);
                write!(f, "the process's statistics could not be opened: {why}")
            }
            Self::Unsealed => {
                f.write_str("the page of statistics is not sealed, so its owner could take it away while it is read")
            }
            Self::Version(n) => write!(
                f,
                "the page of statistics has layout {n}, this library reads layout 1: use the same version on both sides"
            ),
            Self::Foreign => f.write_str("the memory is named like a page of statistics and is not one"),
        }
    }
}

macro_rules! groups {
    ($($group:ident: $error:ty;)*) => {$(
        impl std::error::Error for $error {}

        impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::$group(error)
            }
        }
    )*};
}

groups! {
    Config: ConfigError;
    Setup: SetupError;
    Lock: LockError;
    Page: PageError;
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_could_not_be_started_says_why() {
        assert_eq!(SetupError::of_thread(io::Error::from_raw_os_error(libc::ENOMEM)), SetupError::Thread(libc::ENOMEM));
        assert_eq!(SetupError::of_thread(io::Error::other("a limit")), SetupError::Thread(libc::EAGAIN));
    }
}
