//! What a task asks for, as C writes it down.

use crate::error::{Failure, PRT_E_CHOICE, PRT_E_PRIORITY, cold};
use crate::signal::prt_signal;
use crate::versioned::{Versioned, init, take, zeroed};
use crate::{handle, text};
use punctual_rt::{
    Event, LatencyQos, Margin, Memory, Nanos, Overrun, Phase, PhaseClock, Policy, Require, TaskConfig, Wait,
};
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// The releases lie away from the scheduler's tick, which is looked for at the start (0.2 s of polling on the CPU).
pub const PRT_PHASE_AUTO: u32 = 0;
/// `phase_offset_ns` after a multiple of the period; in a group, after its epoch.
pub const PRT_PHASE_OFFSET: u32 = 1;
/// `phase_offset_ns` after a multiple of `phase_multiple_ns` (0: of the period) on the clock `phase_clock`.
pub const PRT_PHASE_ALIGNED: u32 = 2;

/// `CLOCK_MONOTONIC`.
pub const PRT_CLOCK_MONOTONIC: u32 = 0;
/// `CLOCK_REALTIME`: wall-clock time.
pub const PRT_CLOCK_REALTIME: u32 = 1;
/// `CLOCK_TAI`: atomic time, as PTP distributes it.
pub const PRT_CLOCK_TAI: u32 = 2;

/// `SCHED_OTHER`.
pub const PRT_POLICY_OTHER: u32 = 0;
/// `SCHED_FIFO` at `priority`.
pub const PRT_POLICY_FIFO: u32 = 1;
/// `SCHED_RR` at `priority`.
pub const PRT_POLICY_RR: u32 = 2;
/// `SCHED_DEADLINE`: `reserved_runtime_ns` in each `reserved_period_ns`, within `reserved_deadline_ns`.
pub const PRT_POLICY_DEADLINE: u32 = 3;

/// Sleeps until `margin_ns` before the release (0: as much as recent sleeps took too long), then polls the clock.
pub const PRT_WAIT_HYBRID: u32 = 0;
/// Sleeps in the kernel until the release.
pub const PRT_WAIT_SLEEP: u32 = 1;
/// Sleeps until the release minus what sleeps usually take too long.
pub const PRT_WAIT_ANTICIPATE: u32 = 2;
/// Polls the clock all the time. Occupies the CPU.
pub const PRT_WAIT_SPIN: u32 = 3;
/// Waits until `external_signal` is posted, or, if that is NULL, until `external_fd` is readable; at most
/// `external_patience_ns`. The post is taken; what is readable is for the body to read.
pub const PRT_WAIT_EXTERNAL: u32 = 4;

/// Releases that passed are not run; the next activation is the first one still to come, on the old grid.
pub const PRT_OVERRUN_SKIP: u32 = 0;
/// Releases that passed are run without a pause, but at most `catch_up_max` in a row.
pub const PRT_OVERRUN_CATCH_UP: u32 = 1;
/// Releases that passed are not run, and the grid begins anew one period from now.
pub const PRT_OVERRUN_REANCHOR: u32 = 2;
/// The loop ends when releases have passed.
pub const PRT_OVERRUN_STOP: u32 = 3;

/// Memory is left as it is.
pub const PRT_MEMORY_LEAVE: u32 = 0;
/// All memory of the process is locked, `stack_bytes` and `heap_bytes` are touched in advance.
///
/// `fork` undoes it: memory becomes copy-on-write, so the loop faults at its next writes, in the parent too. Start other
/// programs before the loop, or by `posix_spawn` or `vfork`.
pub const PRT_MEMORY_LOCK: u32 = 1;

/// Idle states are left as the machine is set up.
pub const PRT_LATENCY_LEAVE: u32 = 0;
/// On all CPUs only idle states that are left within `latency_us`.
pub const PRT_LATENCY_GLOBAL: u32 = 1;
/// On the task's CPUs no idle state.
pub const PRT_LATENCY_PER_CPU: u32 = 2;

/// The task does not start when the system refuses something.
pub const PRT_REQUIRE_STRICT: u32 = 0;
/// The task starts even when the system refuses something, and lists what was refused.
pub const PRT_REQUIRE_BEST_EFFORT: u32 = 1;

/// A periodic task. `prt_config_init` fills in what most tasks want: ordinary policy, any CPU, hybrid wait, phase away
/// from the tick, missed releases skipped, nothing locked. Only `period_ns` must be set.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct prt_config {
    /// Set by `prt_config_init`.
    pub size: u32,
    /// Set by `prt_config_init`.
    pub version: u32,
    /// Name of the task and of its thread, at most 32 bytes; NULL for `task`.
    pub name: *const c_char,
    /// The time from one release to the next.
    pub period_ns: i64,
    /// One of `PRT_PHASE_...`.
    pub phase: u32,
    /// One of `PRT_CLOCK_...`, for `PRT_PHASE_ALIGNED`.
    pub phase_clock: u32,
    /// See `PRT_PHASE_OFFSET`.
    pub phase_offset_ns: i64,
    /// See `PRT_PHASE_ALIGNED`.
    pub phase_multiple_ns: i64,
    /// One of `PRT_POLICY_...`.
    pub policy: u32,
    /// 1 to 95, for `PRT_POLICY_FIFO` and `PRT_POLICY_RR`.
    pub priority: u32,
    /// See `PRT_POLICY_DEADLINE`.
    pub reserved_runtime_ns: i64,
    /// See `PRT_POLICY_DEADLINE`.
    pub reserved_deadline_ns: i64,
    /// See `PRT_POLICY_DEADLINE`.
    pub reserved_period_ns: i64,
    /// The CPUs to run on; NULL for any.
    pub cpus: *const u32,
    /// How many CPUs there are in `cpus`.
    pub cpu_count: u32,
    /// One of `PRT_WAIT_...`.
    pub wait: u32,
    /// See `PRT_WAIT_HYBRID`; 0 for automatic.
    pub margin_ns: i64,
    /// The largest share of the CPU's time that the automatic margin may spend polling, in millionths.
    pub spin_ppm: u32,
    /// See `PRT_WAIT_EXTERNAL`; -1 for none.
    pub external_fd: i32,
    /// See `PRT_WAIT_EXTERNAL`; above 0, usually 1 s. Stopping or closing such a task can take this time.
    pub external_patience_ns: i64,
    /// One of `PRT_OVERRUN_...`.
    pub overrun: u32,
    /// See `PRT_OVERRUN_CATCH_UP`.
    pub catch_up_max: u32,
    /// The largest error of an activation that is classed as on time.
    pub tolerance_ns: i64,
    /// The time from its release by which the body must have finished; later ends are counted; 0 for none.
    pub deadline_ns: i64,
    /// The largest latency that you can live with, later activations are counted; 0 for none.
    pub budget_ns: i64,
    /// How long the body is expected to run at most, for `prt_config_check`; 0 for unknown.
    pub execution_ns: i64,
    /// By how much a release may be steered at most; 0 for a hundredth of the period.
    pub steer_max_ns: i64,
    /// One of `PRT_MEMORY_...`; mind `fork`.
    pub memory: u32,
    /// One of `PRT_REQUIRE_...`.
    pub require: u32,
    /// Bytes of the thread's stack to touch, see `PRT_MEMORY_LOCK`.
    pub stack_bytes: u64,
    /// Bytes of heap to touch, see `PRT_MEMORY_LOCK`.
    pub heap_bytes: u64,
    /// One of `PRT_LATENCY_...`.
    pub latency_qos: u32,
    /// See `PRT_LATENCY_GLOBAL`.
    pub latency_us: i32,
    /// How many of the last cycles are kept for whoever looks: a power of two from 64 to 65536.
    pub flight_cycles: u32,
    /// 1 to ask the kernel who took the time after the loop was hit while polling (0.3 us), 0 not to.
    pub confirm_interference: u32,
    /// See `PRT_WAIT_EXTERNAL`. Its handle may be closed while the task runs.
    pub external_signal: *const prt_signal,
}

/// The usual `external_patience_ns`.
const PATIENCE_NS: i64 = 1_000_000_000;
const CPUS_MAX: u32 = 8192;
const NAME_MAX: usize = 32;

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

/// Fills a configuration of `size` bytes (`sizeof *config`) with what most tasks want.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_config_init(config: *mut prt_config, size: usize) -> c_int {
    // SAFETY: null, or so large, says the caller.
    cold(|| unsafe { init(config, size) })
}

/// A configuration of the caller's, understood and checked.
///
/// # Safety
/// `config` is null or points to a structure as large as it says, whose pointers are null or valid.
pub(crate) unsafe fn config(config: *const prt_config) -> Result<TaskConfig, Failure> {
    // SAFETY: as the caller says.
    let given = unsafe { take(config) }?;
    // SAFETY: null, or a text that ends, says the caller.
    let name = unsafe { text::optional(given.name, NAME_MAX, "name") }?.unwrap_or("task");
    // SAFETY: null, or `cpu_count` numbers, says the caller.
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
        .flight_cycles(given.flight_cycles);
    match given.confirm_interference {
        0 => {}
        1 => config = config.confirming_interference(),
        other => return Err(no_choice("confirm_interference", other)),
    }
    if let Some(deadline) = optional("deadline_ns", given.deadline_ns)? {
        config = config.deadline(deadline);
    }
    if let Some(budget) = optional("budget_ns", given.budget_ns)? {
        config = config.budget(budget);
    }
    if let Some(execution) = optional("execution_ns", given.execution_ns)? {
        config = config.execution(execution);
    }
    if let Some(steer_max) = optional("steer_max_ns", given.steer_max_ns)? {
        config = config.steer_max(steer_max);
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
            // Refused here, because only trying would find out that no address space holds so large a stack or heap.
            let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes < 1 << 40);
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

    fn require(&self) -> Result<Require, Failure> {
        Ok(match self.require {
            PRT_REQUIRE_STRICT => Require::Strict,
            PRT_REQUIRE_BEST_EFFORT => Require::BestEffort,
            other => return Err(no_choice("require", other)),
        })
    }
}

fn no_choice(name: &str, number: u32) -> Failure {
    Failure::new(PRT_E_CHOICE, format!("{name} is {number}, which stands for no choice that this version knows"))
}

/// Refuses a negative length of time.
pub(crate) fn length(name: &str, ns: i64) -> Result<Nanos, Failure> {
    let ns = u64::try_from(ns).map_err(|_| Failure::new(-libc::ERANGE, format!("{name} is negative ({ns})")))?;
    Ok(Nanos::from_ns(ns))
}

/// A length of time for which 0 means none.
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
    // SAFETY: as the caller says; aligned.
    Ok(unsafe { std::slice::from_raw_parts(first, count as usize) })
}
