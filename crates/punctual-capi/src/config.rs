//! The configuration of a task as C programs write it, and its translation to `TaskConfig`.

use crate::error::{Failure, PRT_E_CHOICE, PRT_E_PRIORITY, cold};
use crate::signal::prt_signal;
use crate::versioned::{Versioned, init, take, zeroed};
use crate::{handle, text};
use punctual_rt::{
    Backend, Event, InBand, LatencyQos, Margin, Memory, Nanos, Overrun, Phase, PhaseClock, Policy, Require, TaskConfig,
    Wait,
};
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// The first release is placed away from the scheduler's tick, which the start looks for by polling the CPU for 0.2 s.
pub const PRT_PHASE_AUTO: u32 = 0;
/// The first release lies `phase_offset_ns` after a multiple of the period; in a group, after the group's epoch.
pub const PRT_PHASE_OFFSET: u32 = 1;
/// The first release lies `phase_offset_ns` after a multiple of `phase_multiple_ns` (0: of the period) on the clock
/// `phase_clock`.
pub const PRT_PHASE_ALIGNED: u32 = 2;

/// `CLOCK_MONOTONIC`.
pub const PRT_CLOCK_MONOTONIC: u32 = 0;
/// `CLOCK_REALTIME`: wall-clock time.
pub const PRT_CLOCK_REALTIME: u32 = 1;
/// `CLOCK_TAI`: International Atomic Time, the time scale that PTP distributes.
pub const PRT_CLOCK_TAI: u32 = 2;

/// `SCHED_OTHER`.
pub const PRT_POLICY_OTHER: u32 = 0;
/// `SCHED_FIFO` at `priority`.
pub const PRT_POLICY_FIFO: u32 = 1;
/// `SCHED_RR` at `priority`.
pub const PRT_POLICY_RR: u32 = 2;
/// `SCHED_DEADLINE`: the kernel reserves `reserved_runtime_ns` in each `reserved_period_ns`, within
/// `reserved_deadline_ns` of its start.
pub const PRT_POLICY_DEADLINE: u32 = 3;

/// Sleeps until `margin_ns` before the release, then polls the clock. With 0, the margin follows how much longer than
/// requested recent sleeps took.
pub const PRT_WAIT_HYBRID: u32 = 0;
/// Sleeps in the kernel until the release.
pub const PRT_WAIT_SLEEP: u32 = 1;
/// Sleeps until the release minus the usual wake-up delay, so that the thread wakes close to the release. Never polls.
pub const PRT_WAIT_ANTICIPATE: u32 = 2;
/// Polls the clock all the time, and so occupies the CPU.
pub const PRT_WAIT_SPIN: u32 = 3;
/// Waits for an event instead of a time: until `external_signal` is posted or, if that is NULL, until `external_fd` is
/// readable; at most `external_patience_ns`. The wait takes the post of the signal; it does not read the file
/// descriptor.
pub const PRT_WAIT_EXTERNAL: u32 = 4;

/// Missed releases are not run. The next activation is the first release that is still to come on the same grid.
pub const PRT_OVERRUN_SKIP: u32 = 0;
/// Missed releases are run one after the other without waiting, at most `catch_up_max` in a row.
pub const PRT_OVERRUN_CATCH_UP: u32 = 1;
/// Missed releases are not run, and a new grid starts one period from now.
pub const PRT_OVERRUN_REANCHOR: u32 = 2;
/// The loop ends when releases were missed.
pub const PRT_OVERRUN_STOP: u32 = 3;

/// Memory is neither locked nor touched in advance.
pub const PRT_MEMORY_LEAVE: u32 = 0;
/// All memory of the process is locked, and `stack_bytes` and `heap_bytes` are touched in advance.
///
/// `fork` undoes the locking: memory becomes copy-on-write, and the next writes of the loop fault, even in the parent.
/// Start other programs before the loop, or with `posix_spawn` or `vfork`.
pub const PRT_MEMORY_LOCK: u32 = 1;

/// The idle states that the machine allows stay allowed.
pub const PRT_LATENCY_LEAVE: u32 = 0;
/// On all CPUs, only idle states with an exit latency of at most `latency_us` are allowed.
pub const PRT_LATENCY_GLOBAL: u32 = 1;
/// On the CPUs of the task, no idle state is allowed.
pub const PRT_LATENCY_PER_CPU: u32 = 2;

/// If the system refuses any part of the configuration, the task does not start.
pub const PRT_REQUIRE_STRICT: u32 = 0;
/// The task starts even if the system refuses parts of the configuration. `prt_task_grants` and `prt_cyclic_grants`
/// list the refused parts.
pub const PRT_REQUIRE_BEST_EFFORT: u32 = 1;

/// A real-time core (EVL, Cobalt) paces the task if the kernel has one, the policy is `PRT_POLICY_FIFO`, the wait is
/// `PRT_WAIT_SLEEP`, `PRT_WAIT_ANTICIPATE` or `PRT_WAIT_HYBRID`, and `confirm_interference` is 0; otherwise Linux does. A
/// core needs all memory locked; what `memory` would leave is locked for it.
pub const PRT_BACKEND_AUTO: u32 = 0;
/// Linux paces the task.
pub const PRT_BACKEND_LINUX: u32 = 1;
/// The EVL core of Xenomai 4 paces the task; if it cannot, the task does not start.
pub const PRT_BACKEND_EVL: u32 = 2;
/// The Cobalt core of Xenomai 3 paces the task; if it cannot, the task does not start.
pub const PRT_BACKEND_COBALT: u32 = 3;

/// When a task on a real-time core is taken in-band, the switch is counted in the statistics.
pub const PRT_IN_BAND_COUNT: u32 = 0;
/// When a task on a real-time core is taken in-band after its first sleep, it ends with `PRT_ENDED_IN_BAND`. The library
/// installs a handler for `SIGXCPU`.
pub const PRT_IN_BAND_STRICT: u32 = 1;

/// The configuration of a periodic task. `prt_config_init` fills in usual values: ordinary policy, any CPU, hybrid
/// wait, phase away from the tick, missed releases skipped, nothing locked. Only `period_ns` must be set.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct prt_config {
    /// Set by `prt_config_init`.
    pub size: u32,
    /// Set by `prt_config_init`.
    pub version: u32,
    /// Name of the task and of its thread, at most 32 bytes; NULL for `task`.
    pub name: *const c_char,
    /// Time from one release to the next.
    pub period_ns: i64,
    /// One of `PRT_PHASE_...`.
    pub phase: u32,
    /// One of `PRT_CLOCK_...`, for `PRT_PHASE_ALIGNED`.
    pub phase_clock: u32,
    /// Offset of the first release, see `PRT_PHASE_OFFSET`.
    pub phase_offset_ns: i64,
    /// Interval whose multiples count, see `PRT_PHASE_ALIGNED`.
    pub phase_multiple_ns: i64,
    /// One of `PRT_POLICY_...`.
    pub policy: u32,
    /// Real-time priority from 1 to 95, for `PRT_POLICY_FIFO` and `PRT_POLICY_RR`.
    pub priority: u32,
    /// Reserved run time per period, see `PRT_POLICY_DEADLINE`.
    pub reserved_runtime_ns: i64,
    /// Deadline of the reservation, see `PRT_POLICY_DEADLINE`.
    pub reserved_deadline_ns: i64,
    /// Period of the reservation, see `PRT_POLICY_DEADLINE`.
    pub reserved_period_ns: i64,
    /// Array of the CPUs that the task may run on; NULL for any CPU.
    pub cpus: *const u32,
    /// Number of CPUs in `cpus`.
    pub cpu_count: u32,
    /// One of `PRT_WAIT_...`.
    pub wait: u32,
    /// How long before the release polling begins, see `PRT_WAIT_HYBRID`; 0 for automatic.
    pub margin_ns: i64,
    /// The largest share of the CPU's time that the automatic margin may spend polling, in millionths.
    pub spin_ppm: u32,
    /// The file descriptor to wait for, see `PRT_WAIT_EXTERNAL`; -1 for none.
    pub external_fd: i32,
    /// The longest wait for an outside event, see `PRT_WAIT_EXTERNAL`; above 0, usually 1 s. Stopping or closing such a
    /// task can take this time.
    pub external_patience_ns: i64,
    /// One of `PRT_OVERRUN_...`.
    pub overrun: u32,
    /// Largest number of late activations in a row, see `PRT_OVERRUN_CATCH_UP`.
    pub catch_up_max: u32,
    /// An activation is classed as on time when it wakes at most this far from its release.
    pub tolerance_ns: i64,
    /// Time from the release by which the body must have finished. Later ends are counted as deadline misses; 0 for no
    /// deadline.
    pub deadline_ns: i64,
    /// The largest latency that is acceptable. Activations with a larger latency are counted; 0 for no budget.
    pub budget_ns: i64,
    /// The longest run time of the body that you expect, for `prt_config_check`; 0 for unknown.
    pub execution_ns: i64,
    /// The largest distance by which one call may steer the releases; 0 for a hundredth of the period.
    pub steer_max_ns: i64,
    /// One of `PRT_MEMORY_...`; `PRT_MEMORY_LOCK` does not survive `fork`.
    pub memory: u32,
    /// One of `PRT_REQUIRE_...`.
    pub require: u32,
    /// Bytes of the thread's stack to touch in advance, see `PRT_MEMORY_LOCK`.
    pub stack_bytes: u64,
    /// Bytes of heap to touch in advance, see `PRT_MEMORY_LOCK`.
    pub heap_bytes: u64,
    /// One of `PRT_LATENCY_...`.
    pub latency_qos: u32,
    /// Longest exit latency that is allowed, see `PRT_LATENCY_GLOBAL`.
    pub latency_us: i32,
    /// Number of the latest cycles that are kept for readers of the statistics: a power of two from 64 to 65536.
    pub flight_cycles: u32,
    /// 1 to ask the kernel which interference stopped the thread while it polled (takes 0.3 us), 0 not to ask.
    pub confirm_interference: u32,
    /// The signal to wait for, see `PRT_WAIT_EXTERNAL`. Its handle may be closed while the task runs.
    pub external_signal: *const prt_signal,
    /// One of `PRT_BACKEND_...`.
    pub backend: u32,
    /// One of `PRT_IN_BAND_...`, for tasks on a real-time core.
    pub in_band: u32,
}

/// The default of `external_patience_ns`.
const PATIENCE_NS: i64 = 1_000_000_000;
const CPUS_MAX: u32 = 8192;
const NAME_MAX: usize = 32;

type SetLength = fn(TaskConfig, Nanos) -> TaskConfig;

// SAFETY: repr(C), size and version first, members in groups of eight bytes without padding; pointers are read only
// after they were compared with null.
unsafe impl Versioned for prt_config {
    const NAME: &'static str = "prt_config";

    fn usual() -> Self {
        let Margin::Auto { spin_ppm } = Margin::AUTO else { unreachable!("AUTO is automatic") };
        Self {
            spin_ppm,
            external_fd: -1,
            external_patience_ns: PATIENCE_NS,
            catch_up_max: 1,
            tolerance_ns: punctual_rt::TOLERANCE.ahead().as_ns(),
            stack_bytes: 128 << 10,
            flight_cycles: punctual_rt::stats::FLIGHT_CYCLES,
            ..zeroed()
        }
    }
}

/// Initialises a configuration of `size` bytes (`sizeof *config`) with usual values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_config_init(config: *mut prt_config, size: usize) -> c_int {
    // SAFETY: the C caller promises NULL or a structure of `size` bytes.
    cold(|| unsafe { init(config, size) })
}

/// Translates a configuration of the C caller, and refuses values that are not valid.
///
/// # Safety
/// `config` is null or points to a structure as large as it says, whose pointers are null or valid.
pub(crate) unsafe fn config(config: *const prt_config) -> Result<TaskConfig, Failure> {
    // SAFETY: required of the caller under `# Safety` above.
    let given = unsafe { take(config) }?;
    // SAFETY: the C caller promises NULL or a text that ends with NUL.
    let name = unsafe { text::optional(given.name, NAME_MAX, "name") }?.unwrap_or("task");
    // SAFETY: the C caller promises NULL or `cpu_count` numbers.
    let cpus = unsafe { cpus(given.cpus, given.cpu_count) }?;
    let mut config = TaskConfig::periodic(length("period_ns", given.period_ns)?)
        .named(name)
        .cpus(cpus)
        .phase(given.phase()?)
        .policy(given.policy()?)
        .wait(given.wait()?)
        .overrun(given.overrun()?)
        .tolerance(length("tolerance_ns", given.tolerance_ns)?)
        .memory(given.memory()?)
        .latency_qos(given.latency_qos()?)
        .require(given.require()?)
        .in_band(given.in_band()?)
        .flight_cycles(given.flight_cycles);
    if let Some(backend) = backend(given.backend)? {
        config = config.backend(backend);
    }
    match given.confirm_interference {
        0 => {}
        1 => config = config.confirming_interference(),
        other => return Err(no_choice("confirm_interference", other)),
    }
    let optional_lengths: [(&str, i64, SetLength); 4] = [
        ("deadline_ns", given.deadline_ns, TaskConfig::deadline),
        ("budget_ns", given.budget_ns, TaskConfig::budget),
        ("execution_ns", given.execution_ns, TaskConfig::execution),
        ("steer_max_ns", given.steer_max_ns, TaskConfig::steer_max),
    ];
    for (name, ns, set) in optional_lengths {
        if let Some(length) = optional(name, ns)? {
            config = set(config, length);
        }
    }
    config.validate()?;
    Ok(config)
}

impl prt_config {
    fn phase(&self) -> Result<Phase, Failure> {
        let offset = length("phase_offset_ns", self.phase_offset_ns)?;
        Ok(match self.phase {
            PRT_PHASE_AUTO => Phase::Auto,
            PRT_PHASE_OFFSET => Phase::Offset(offset),
            PRT_PHASE_ALIGNED => {
                let clock = match self.phase_clock {
                    PRT_CLOCK_MONOTONIC => PhaseClock::Monotonic,
                    PRT_CLOCK_REALTIME => PhaseClock::Realtime,
                    PRT_CLOCK_TAI => PhaseClock::Tai,
                    other => return Err(no_choice("phase_clock", other)),
                };
                Phase::AlignedTo { clock, multiple: length("phase_multiple_ns", self.phase_multiple_ns)?, offset }
            }
            other => return Err(no_choice("phase", other)),
        })
    }

    fn policy(&self) -> Result<Policy, Failure> {
        let priority = || {
            u8::try_from(self.priority)
                .map_err(|_| Failure::new(PRT_E_PRIORITY, format!("priority {} is not within 1 to 95", self.priority)))
        };
        Ok(match self.policy {
            PRT_POLICY_OTHER => Policy::Other,
            PRT_POLICY_FIFO => Policy::Fifo(priority()?),
            PRT_POLICY_RR => Policy::RoundRobin(priority()?),
            PRT_POLICY_DEADLINE => Policy::Deadline {
                runtime: length("reserved_runtime_ns", self.reserved_runtime_ns)?,
                deadline: length("reserved_deadline_ns", self.reserved_deadline_ns)?,
                period: length("reserved_period_ns", self.reserved_period_ns)?,
            },
            other => return Err(no_choice("policy", other)),
        })
    }

    fn wait(&self) -> Result<Wait, Failure> {
        Ok(match self.wait {
            PRT_WAIT_HYBRID => Wait::Hybrid(match optional("margin_ns", self.margin_ns)? {
                Some(margin) => Margin::Fixed(margin),
                None => Margin::Auto { spin_ppm: self.spin_ppm },
            }),
            PRT_WAIT_SLEEP => Wait::Sleep,
            PRT_WAIT_ANTICIPATE => Wait::Anticipate,
            PRT_WAIT_SPIN => Wait::Spin,
            PRT_WAIT_EXTERNAL => Wait::External {
                event: self.event()?,
                patience: length("external_patience_ns", self.external_patience_ns)?,
            },
            other => return Err(no_choice("wait", other)),
        })
    }

    fn event(&self) -> Result<Event, Failure> {
        if !self.external_signal.is_null() {
            return Ok(Event::Signal(Arc::clone(&*handle::shared(self.external_signal)?)));
        }
        if self.external_fd < 0 {
            return Err(Failure::new(
                -libc::EBADF,
                "external_fd is no file descriptor, and there is no external_signal",
            ));
        }
        Ok(Event::Readable(self.external_fd))
    }

    fn overrun(&self) -> Result<Overrun, Failure> {
        Ok(match self.overrun {
            PRT_OVERRUN_SKIP => Overrun::Skip,
            PRT_OVERRUN_CATCH_UP => Overrun::CatchUp { max: self.catch_up_max },
            PRT_OVERRUN_REANCHOR => Overrun::Reanchor,
            PRT_OVERRUN_STOP => Overrun::Stop,
            other => return Err(no_choice("overrun", other)),
        })
    }

    fn memory(&self) -> Result<Memory, Failure> {
        let size = |name: &str, bytes: u64| {
            // A size of a terabyte or more is refused here. Otherwise only the attempt to allocate it would fail.
            let bytes = usize::try_from(bytes).ok().filter(|bytes| (*bytes as u64) < 1 << 40);
            bytes.ok_or_else(|| Failure::new(-libc::ENOMEM, format!("{name} is more than a terabyte")))
        };
        Ok(match self.memory {
            PRT_MEMORY_LEAVE => Memory::Leave,
            PRT_MEMORY_LOCK => Memory::Lock {
                stack_bytes: size("stack_bytes", self.stack_bytes)?,
                heap_bytes: size("heap_bytes", self.heap_bytes)?,
            },
            other => return Err(no_choice("memory", other)),
        })
    }

    fn latency_qos(&self) -> Result<LatencyQos, Failure> {
        Ok(match self.latency_qos {
            PRT_LATENCY_LEAVE => LatencyQos::Leave,
            PRT_LATENCY_GLOBAL => {
                let us = u64::try_from(self.latency_us);
                let us = us.map_err(|_| Failure::new(-libc::EINVAL, "latency_us is negative"))?;
                LatencyQos::Global(Nanos::from_us(us))
            }
            PRT_LATENCY_PER_CPU => LatencyQos::PerCpu,
            other => return Err(no_choice("latency_qos", other)),
        })
    }

    fn in_band(&self) -> Result<InBand, Failure> {
        Ok(match self.in_band {
            PRT_IN_BAND_COUNT => InBand::Count,
            PRT_IN_BAND_STRICT => InBand::Strict,
            other => return Err(no_choice("in_band", other)),
        })
    }

    fn require(&self) -> Result<Require, Failure> {
        Ok(match self.require {
            PRT_REQUIRE_STRICT => Require::Strict,
            PRT_REQUIRE_BEST_EFFORT => Require::BestEffort,
            other => return Err(no_choice("require", other)),
        })
    }
}

/// The back end that one of `PRT_BACKEND_...` stands for; `None` for the automatic choice.
pub(crate) fn backend(choice: u32) -> Result<Option<Backend>, Failure> {
    Ok(match choice {
        PRT_BACKEND_AUTO => None,
        PRT_BACKEND_LINUX => Some(Backend::Linux),
        PRT_BACKEND_EVL => Some(Backend::Evl),
        PRT_BACKEND_COBALT => Some(Backend::Cobalt),
        other => return Err(no_choice("backend", other)),
    })
}

fn no_choice(name: &str, number: u32) -> Failure {
    Failure::new(PRT_E_CHOICE, format!("{name} is {number}, which stands for no choice that this version knows"))
}

/// Converts a length of time given by the C caller; a negative one is refused.
pub(crate) fn length(name: &str, ns: i64) -> Result<Nanos, Failure> {
    let ns = u64::try_from(ns).map_err(|_| Failure::new(-libc::ERANGE, format!("{name} is negative ({ns})")))?;
    Ok(Nanos::from_ns(ns))
}

/// Converts a length of time for which 0 means that there is none.
fn optional(name: &str, ns: i64) -> Result<Option<Nanos>, Failure> {
    length(name, ns).map(|length| (length != Nanos::ZERO).then_some(length))
}

/// # Safety
/// `first` is null, or `count` numbers can be read there.
pub(crate) unsafe fn cpus<'a>(first: *const u32, count: u32) -> Result<&'a [u32], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if count > CPUS_MAX {
        return Err(Failure::new(-libc::E2BIG, format!("cpu_count is {count}, more than {CPUS_MAX}")));
    }
    if first.is_null() {
        return Err(Failure::new(-libc::EFAULT, format!("cpus is NULL, and cpu_count is {count}")));
    }
    if !first.is_aligned() {
        return Err(Failure::new(-libc::EFAULT, "cpus is not aligned"));
    }
    // SAFETY: required of the caller under `# Safety` above; the alignment was checked.
    Ok(unsafe { std::slice::from_raw_parts(first, count as usize) })
}
