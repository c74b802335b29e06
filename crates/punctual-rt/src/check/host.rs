//! The facts about a machine that a check uses. `None` means that a fact could not be read.

use crate::Nanos;
use crate::idle::IdleState;
use crate::setup::Limit;

/// An online CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostCpu {
    /// Number of the CPU.
    pub cpu: u32,
    /// Online CPUs of the same core, including this one.
    pub siblings: Option<Vec<u32>>,
    /// Frequency governor; `None` also if the machine cannot change the frequency.
    pub governor: Option<String>,
    /// Idle states, lightest first; empty also if they could not be read.
    pub idle: Vec<IdleState>,
    /// Run time of the scheduler's fair server per period, in nanoseconds (from debugfs).
    pub fair_server: Option<u64>,
    /// Whether this process can write the CPU's limit on exit latencies of idle states.
    pub is_latency_writable: Option<bool>,
    /// The CPU's limit on exit latencies of idle states, in microseconds, as it was before this process changed it. `0`
    /// is no limit; `n/a` allows no idle state.
    pub latency_limit: Option<String>,
}

/// The rights and limits of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Effective capabilities as a bit set.
    pub capabilities: Option<u64>,
    /// Highest real-time priority without `CAP_SYS_NICE` (`RLIMIT_RTPRIO`).
    pub priority: Option<Limit>,
    /// Bytes of memory that may be locked without `CAP_IPC_LOCK` (`RLIMIT_MEMLOCK`).
    pub memory: Option<Limit>,
    /// Microseconds that a real-time thread may run without sleeping (`RLIMIT_RTTIME`).
    pub rt_time_us: Option<Limit>,
    /// Real-time run time of the control group per period, in microseconds, if groups have their own.
    pub group_runtime_us: Option<i64>,
    /// Whether `/dev/cpu_dma_latency` can be written.
    pub is_latency_writable: Option<bool>,
}

/// The facts about a machine that a check uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// The online CPUs.
    pub online: Option<Vec<u32>>,
    /// CPUs excluded from the scheduler's load balancing, by `isolcpus=` or a cpuset partition.
    pub isolated: Option<Vec<u32>>,
    /// CPUs on which the kernel may stop the tick (`nohz_full=`).
    pub nohz_full: Option<Vec<u32>>,
    /// CPUs that this process may use at present.
    pub allowed: Option<Vec<u32>>,
    /// Facts about each online CPU.
    pub cpus: Vec<HostCpu>,
    /// Run time of all real-time threads per period, in microseconds; -1 is unlimited (`sched_rt_runtime_us`).
    pub rt_runtime_us: Option<i64>,
    /// Period of the real-time run time limit, in microseconds (`sched_rt_period_us`).
    pub rt_period_us: Option<i64>,
    /// Whether control groups assign real-time run time (`RT_GROUP_SCHED`).
    pub has_rt_groups: Option<bool>,
    /// Shortest and longest period of a deadline task, in microseconds.
    pub deadline_periods_us: Option<(u64, u64)>,
    /// The rights and limits of this process.
    pub rights: Rights,
    /// Name of the kernel's clock source.
    pub clock_source: Option<String>,
    /// Time that one reading of the clock takes.
    pub clock_read: Option<Nanos>,
    /// The shortest time that a wake-up takes: the fastest of a few short sleeps of the calling thread.
    pub wake_up: Option<Nanos>,
    /// Period of the scheduler's tick.
    pub tick: Option<Nanos>,
    /// Largest rounding of timers in threads started from the calling thread.
    pub timer_slack: Option<Nanos>,
    /// Kernel version: major and minor number.
    pub kernel: Option<(u32, u32)>,
    /// Whether the kernel is a `PREEMPT_RT` kernel.
    pub is_realtime: Option<bool>,
    /// Whether the machine is a virtual machine.
    pub is_guest: Option<bool>,
    /// Whether the process runs in a container.
    pub is_container: Option<bool>,
}

impl Host {
    /// The facts about this CPU, if it is online.
    pub(super) fn cpu(&self, cpu: u32) -> Option<&HostCpu> {
        self.cpus.iter().find(|host| host.cpu == cpu)
    }

    /// Whether the process has the capability with this number.
    pub(super) fn has_capability(&self, bit: u32) -> Option<bool> {
        self.rights.capabilities.map(|all| all.checked_shr(bit).is_some_and(|rest| rest & 1 == 1))
    }
}
