//! Setting up the current thread, and reading back what the kernel really granted.
//!
//! A [`Setup`] says what a thread needs; [`Setup::apply`], in the thread itself, gets it, or says what was refused.

mod grants;
mod latency;
mod prepared;

pub use grants::{Grants, Limit, MemoryGrant, ThreadGrant, grants};
pub(crate) use grants::{group_value, limit, list, named};
pub use latency::{LatencyQos, LatencyRequest};
pub(crate) use latency::{limit_file, others_limit};
pub use prepared::{Prepared, Refusal, SetupStep};

use crate::{Error, Memory, Policy, SetupError, sys};

/// What to do when the system refuses something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Require {
    /// Refuse as well, with the reason, and undo what was done.
    #[default]
    Strict,
    /// Go on, and list what was refused.
    BestEffort,
}

/// What a thread needs before its loop. Timer slack of 1 ns and blocked signals are always part of it.
///
/// ```
/// use punctual_rt::Memory;
/// use punctual_rt::setup::{Require, Setup};
/// use punctual_rt::Policy;
///
/// let setup = Setup::new()
///     .policy(Policy::Fifo(85))
///     .memory(Memory::Lock { stack_bytes: 128 * 1024, heap_bytes: 1 << 20 })
///     .require(Require::BestEffort);
/// let worker = std::thread::spawn(move || {
///     let prepared = setup.apply()?;
///     for refusal in prepared.refusals() {
///         println!("{refusal}");
///     }
///     // … the loop, as long as `prepared` lives …
///     Ok::<(), punctual_rt::Error>(())
/// });
/// assert_eq!(worker.join().unwrap(), Ok(()));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    pub(crate) policy: Policy,
    pub(crate) cpus: Vec<u32>,
    pub(crate) memory: Memory,
    pub(crate) latency_qos: LatencyQos,
    pub(crate) require: Require,
}

impl Setup {
    /// Asks for nothing but blocked signals and timers that are not rounded; strict.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// The scheduling policy. An ordinary thread that is to be ordinary keeps its niceness.
        policy: Policy;
        /// The CPUs to run on; an empty list leaves the thread's affinity alone.
        cpus: &[u32] => (cpus.to_vec());
        /// What memory to lock and touch.
        memory: Memory;
        /// Which idle states to rule out.
        latency_qos: LatencyQos;
        /// What to do when something is refused.
        require: Require;
    }

    /// Sets the calling thread up. What is returned must be kept as long as the loop runs: it holds the request for idle
    /// states. All else stays with the thread, and locked memory with the process.
    ///
    /// # Errors
    /// [`ConfigError::Priority`](crate::ConfigError::Priority) and [`ConfigError::Reservation`](crate::ConfigError::Reservation) always: no system would
    /// take them. Under [`Require::Strict`] whatever is refused first; then the thread and the process are as before,
    /// but for stack and heap that were touched.
    ///
    /// # Real-time
    /// Allocates, faults, locks, and enters the kernel: call before the loop.
    ///
    /// # Kernel
    /// Linux 3.14. The rights for a policy and for locked memory, and write access for idle states, see
    /// [`Error::remedy`].
    pub fn apply(&self) -> Result<Prepared, Error> {
        self.policy.checked()?;
        prepared::apply(self)
    }
}

/// What the kernel grants the current thread, read back from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Thread id.
    pub tid: u32,
    /// Policy in force.
    pub policy: Policy,
    /// CPUs the thread may run on, ascending.
    pub cpus: Vec<u32>,
}

/// Lets the current thread run on `cpus` only; those that are off-line or not allowed are left out.
///
/// # Errors
/// [`SetupError::Affinity`] with the first CPU of the list: none of them is on-line and allowed.
///
/// # Real-time
/// Enters the kernel and may migrate: call before the loop.
pub fn pin_current(cpus: &[u32]) -> Result<(), Error> {
    sys::set_affinity(cpus)
        .map_err(|e| Error::Setup(SetupError::Affinity { cpu: cpus.first().copied().unwrap_or(0), errno: e }))
}

/// Gives the current thread a policy.
///
/// # Errors
/// [`ConfigError::Priority`](crate::ConfigError::Priority) or [`ConfigError::Reservation`](crate::ConfigError::Reservation); [`SetupError::Policy`] with the reason, for a reservation
/// [`SetupError::Deadline`].
///
/// # Real-time
/// Enters the kernel: call before the loop.
///
/// # Kernel
/// Needs `CAP_SYS_NICE`, or `RLIMIT_RTPRIO` for a priority; with `RT_GROUP_SCHED`, a cgroup that has real-time run time.
pub fn set_policy(policy: Policy) -> Result<(), Error> {
    let refused = match policy {
        Policy::Deadline { .. } => SetupError::Deadline,
        Policy::Other | Policy::Fifo(_) | Policy::RoundRobin(_) => SetupError::Policy,
    };
    Ok(sys::set_policy(policy.checked()?).map_err(refused)?)
}

/// Prepares the current thread for a loop: no signals from outside are delivered to it, and timers of ordinary policy are not
/// rounded (timer slack 1 ns).
///
/// # Real-time
/// Enters the kernel: call before the loop.
pub fn quiet_current() {
    sys::block_signals();
    sys::set_timer_slack(1);
}

/// Reads back what the current thread was granted of the scheduler; [`grants()`] reads all else, too.
///
/// # Errors
/// [`SetupError::ReadBack`].
///
/// # Real-time
/// Allocates: call before the loop.
pub fn granted() -> Result<Granted, Error> {
    let policy = sys::policy().map_err(SetupError::ReadBack)?;
    let cpus = sys::affinity().map_err(SetupError::ReadBack)?;
    Ok(Granted { tid: sys::thread_id(), policy, cpus })
}

#[cfg(test)]
mod tests;
