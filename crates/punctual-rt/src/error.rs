//! One small error for everything that can be refused before the loop starts.

use std::fmt;

/// What was refused. `Copy`, so it can cross threads and languages; the numbers are `errno` values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A priority outside 1..=95: 96 and above belong to the kernel's own threads, whose starvation hangs the machine.
    Priority(u8),
    /// A reservation no kernel takes: 1024 ns <= runtime <= deadline <= period is not so.
    Reservation,
    /// The kernel refused a scheduling policy.
    Policy(i32),
    /// The kernel refused to run the thread on this CPU: off-line, or outside the allowed set.
    Affinity(u32, i32),
    /// The kernel refused to lock memory.
    MemoryLock(i32),
    /// The thread's stack has room for so many bytes only, fewer than shall be touched.
    Stack(usize),
    /// The heap to be touched could not be had.
    Heap(i32),
    /// This C library cannot be told to keep freed memory, so a touched heap does not stay.
    Allocator,
    /// The request to keep idle CPUs awake was refused.
    LatencyQos(i32),
    /// A timer could not be made.
    Timer(i32),
    /// A system call that reads back what was granted failed.
    ReadBack(i32),
}

impl Error {
    /// The `errno` behind it, or 0.
    pub const fn errno(self) -> i32 {
        match self {
            Self::Priority(_) | Self::Reservation | Self::Stack(_) | Self::Allocator => 0,
            Self::Policy(e)
            | Self::Affinity(_, e)
            | Self::MemoryLock(e)
            | Self::Heap(e)
            | Self::LatencyQos(e)
            | Self::Timer(e)
            | Self::ReadBack(e) => e,
        }
    }

    /// What to do about it, in a sentence.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Priority(_) => "ask for a priority from 1 to 95",
            Self::Reservation => "ask for a run time of 1024 ns or more, within the deadline, within the period",
            Self::Policy(libc::EPERM) => {
                "run as root, or grant RLIMIT_RTPRIO (`@realtime - rtprio 95` in /etc/security/limits.d/) or CAP_SYS_NICE; \
                 as root look at the control group (cpu.rt_runtime_us); a deadline thread must be allowed on all CPUs of \
                 its scheduling domain"
            }
            Self::Policy(libc::EBUSY) => {
                "reserve less run time: with this all deadline threads together exceed sched_rt_runtime_us"
            }
            Self::Policy(_) => "ask for another policy, or look whether a sandbox (seccomp) filters sched_setattr",
            Self::Affinity(..) => {
                "choose from /sys/devices/system/cpu/online, within the cpuset (Cpus_allowed_list in /proc/self/status)"
            }
            Self::MemoryLock(_) => {
                "run as root, or grant CAP_IPC_LOCK or RLIMIT_MEMLOCK (`@realtime - memlock unlimited` in \
                 /etc/security/limits.d/); 1 GiB more than is in use must fit"
            }
            Self::Stack(_) => "start the thread with a larger stack, or touch less of it",
            Self::Heap(_) => {
                "touch less heap, or raise the limit on memory (RLIMIT_AS, RLIMIT_MEMLOCK, the control group)"
            }
            Self::Allocator => "touch no heap (0 bytes) and allocate before the loop, or link with glibc",
            Self::LatencyQos(_) => {
                "run as root, or give the user write access to /dev/cpu_dma_latency or \
                 /sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us; the value is at least 0 us"
            }
            Self::Timer(_) => "look at the limit on open files (RLIMIT_NOFILE)",
            Self::ReadBack(_) => "look whether a sandbox (seccomp) filters the scheduling calls",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = std::io::Error::from_raw_os_error(self.errno());
        match self {
            Self::Priority(p) => write!(f, "priority {p} is not within 1..=95"),
            Self::Reservation => f.write_str("1024 ns <= run time <= deadline <= period does not hold"),
            Self::Policy(_) => write!(f, "the kernel refused the scheduling policy: {why}"),
            Self::Affinity(cpu, _) => write!(f, "the kernel refused to run a thread on CPU {cpu}: {why}"),
            Self::MemoryLock(_) => write!(f, "the kernel refused to lock memory: {why}"),
            Self::Stack(left) => write!(f, "only {left} bytes of stack can be touched"),
            Self::Heap(_) => write!(f, "the heap to be touched could not be had: {why}"),
            Self::Allocator => f.write_str("this C library cannot be told to keep freed memory"),
            Self::LatencyQos(_) => write!(f, "the request to keep idle CPUs awake was refused: {why}"),
            Self::Timer(_) => write!(f, "no timer could be made: {why}"),
            Self::ReadBack(_) => write!(f, "what was granted could not be read back: {why}"),
        }
    }
}

impl std::error::Error for Error {}
