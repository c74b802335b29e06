//! What a check wants to know of the machine. `None` is what could not be read.

use crate::Nanos;
use crate::idle::IdleState;
use crate::setup::Limit;

/// One CPU that is on-line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostCpu {
    /// Its number.
    pub cpu: u32,
    /// On-line CPUs of the same core, itself included.
    pub siblings: Option<Vec<u32>>,
    /// Frequency governor; `None` also where the machine changes no frequency.
    pub governor: Option<String>,
    /// Idle states, lightest first; none also where they could not be read.
    pub idle: Vec<IdleState>,
    /// Run time of the fair server per period, in nanoseconds (debugfs).
    pub fair_server: Option<u64>,
    /// Whether the limit of its idle states can be written.
    pub is_latency_writable: Option<bool>,
    /// That limit as others have set it: what was there before this process asked for one. `0` is none, `n/a` allows none.
    pub latency_limit: Option<String>,
}

/// What the process may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Effective capabilities, a bit each.
    pub capabilities: Option<u64>,
    /// Highest real-time priority without the capability (`RLIMIT_RTPRIO`).
    pub priority: Option<Limit>,
    /// Bytes of memory that may be locked without the capability (`RLIMIT_MEMLOCK`).
    pub memory: Option<Limit>,
    /// Microseconds a real-time thread may run without sleeping (`RLIMIT_RTTIME`).
    pub rt_time_us: Option<Limit>,
    /// Real-time run time of the control group per period, in microseconds, where groups have one of their own.
    pub group_runtime_us: Option<i64>,
    /// Whether `/dev/cpu_dma_latency` can be written.
    pub is_latency_writable: Option<bool>,
}

/// The machine, as far as a check looks at it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// CPUs on-line.
    pub online: Option<Vec<u32>>,
    /// CPUs set apart from the scheduler's balancing, by `isolcpus=` or a cpuset partition.
    pub isolated: Option<Vec<u32>>,
    /// CPUs that may go without tick.
    pub nohz_full: Option<Vec<u32>>,
    /// CPUs this process may use now.
    pub allowed: Option<Vec<u32>>,
    /// Each CPU on-line.
    pub cpus: Vec<HostCpu>,
    /// Run time of all real-time threads per period, in microseconds; -1 is unlimited.
    pub rt_runtime_us: Option<i64>,
    /// That period, in microseconds.
    pub rt_period_us: Option<i64>,
    /// Whether the real-time class is handed out by control groups (`RT_GROUP_SCHED`).
    pub has_rt_groups: Option<bool>,
    /// Shortest and longest period of a deadline task, in microseconds.
    pub deadline_periods_us: Option<(u64, u64)>,
    /// What this process may do.
    pub rights: Rights,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
    /// Time of one clock reading.
    pub clock_read: Option<Nanos>,
    /// How long a wake-up takes at best: the quickest of a few short sleeps on the calling thread.
    pub wake_up: Option<Nanos>,
    /// How long the scheduler's tick is.
    pub tick: Option<Nanos>,
    /// By how much the timers of threads started from here may be rounded.
    pub timer_slack: Option<Nanos>,
    /// Kernel version: major, minor.
    pub kernel: Option<(u32, u32)>,
    /// Whether it is a `PREEMPT_RT` kernel.
    pub is_realtime: Option<bool>,
    /// Whether a hypervisor is underneath.
    pub is_guest: Option<bool>,
    /// Whether this is a container.
    pub is_container: Option<bool>,
}

impl Host {
    /// The CPU of this number, if it is on-line.
    pub(super) fn cpu(&self, cpu: u32) -> Option<&HostCpu> {
        self.cpus.iter().find(|host| host.cpu == cpu)
    }

    /// Whether the process has the capability of this number.
    pub(super) fn has_capability(&self, bit: u32) -> Option<bool> {
        self.rights.capabilities.map(|all| all.checked_shr(bit).is_some_and(|rest| rest & 1 == 1))
    }
}
