//! Sets up the current thread, and reads back what the kernel granted.
//!
//! A [`Setup`] describes what a thread needs. [`Setup::apply`], called in the thread itself, requests it, and reports
//! what was refused.

mod grants;
mod latency;
mod prepared;

pub use grants::{Grants, Limit, MemoryGrant, ThreadGrant, grants};
pub(crate) use grants::{group_value, limit, list, named};
pub use latency::{LatencyQos, LatencyRequest};
pub(crate) use latency::{limit_file, others_limit};
pub use prepared::{Prepared, Refusal, SetupStep};

use crate::{Error, Memory, Policy, SetupError, sys};

/// What happens when the system refuses a part of a setup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Require {
    /// The set-up fails with the reason, and the steps that were already taken are undone.
    #[default]
    Strict,
    /// The set-up continues, and lists what was refused.
    BestEffort,
}

/// The settings that a thread needs before its loop. Timer slack of 1 ns and blocked signals are always part of it.
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
    /// A strict setup that only blocks signals and turns off the rounding of timers.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// The scheduling policy. With the ordinary policy, the thread keeps its niceness.
        policy: Policy;
        /// The CPUs to run on; an empty list leaves the thread's affinity unchanged.
        cpus: &[u32] => (cpus.to_vec());
        /// What memory to lock and touch.
        memory: Memory;
        /// Which idle states are allowed.
        latency_qos: LatencyQos;
        /// What happens when a part of the setup is refused.
        require: Require;
    }

    /// Sets up the calling thread. Keep the result as long as the loop runs, because it holds the request for idle
    /// states. The other settings stay with the thread, and locked memory with the process.
    ///
    /// # Errors
    /// Always [`ConfigError::Priority`](crate::ConfigError::Priority) and
    /// [`ConfigError::Reservation`](crate::ConfigError::Reservation), because no system accepts such values. Under
    /// [`Require::Strict`], the first refusal. Then thread and process are as before, except that stack and heap were
    /// touched.
    ///
    /// # Real-time
    /// Allocates, faults, locks, and enters the kernel: call before the loop.
    ///
    /// # Kernel
    /// Linux 3.14. For the rights that policies, locked memory and idle states need, see [`Error::remedy`].
    pub fn apply(&self) -> Result<Prepared, Error> {
        self.policy.checked()?;
        prepared::apply(self)
    }
}

/// What the kernel granted to the current thread, as read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Thread id.
    pub tid: u32,
    /// Policy in force.
    pub policy: Policy,
    /// CPUs the thread may run on, ascending.
    pub cpus: Vec<u32>,
}

/// Lets the current thread run on `cpus` only. CPUs that are offline or not allowed are ignored.
///
/// # Errors
/// [`SetupError::Affinity`] with the first CPU of the list if none of them is online and allowed.
///
/// # Real-time
/// Enters the kernel and may migrate: call before the loop.
pub fn pin_current(cpus: &[u32]) -> Result<(), Error> {
    sys::set_affinity(cpus)
        .map_err(|e| Error::Setup(SetupError::Affinity { cpu: cpus.first().copied().unwrap_or(0), errno: e }))
}

/// Sets the scheduling policy of the current thread.
///
/// # Errors
/// [`ConfigError::Priority`](crate::ConfigError::Priority) or
/// [`ConfigError::Reservation`](crate::ConfigError::Reservation) for values that no system accepts;
/// [`SetupError::Policy`] if the kernel refuses the policy, or [`SetupError::Deadline`] if it refuses a reservation.
///
/// # Real-time
/// Enters the kernel: call before the loop.
///
/// # Kernel
/// Needs `CAP_SYS_NICE`, or `RLIMIT_RTPRIO` for a priority; with `RT_GROUP_SCHED`, a cgroup with real-time run time.
pub fn set_policy(policy: Policy) -> Result<(), Error> {
    let refused = match policy {
        Policy::Deadline { .. } => SetupError::Deadline,
        Policy::Other | Policy::Fifo(_) | Policy::RoundRobin(_) => SetupError::Policy,
    };
    Ok(sys::set_policy(policy.checked()?).map_err(refused)?)
}

/// Prepares the current thread for a loop: blocks signals from outside, and turns off the rounding of timers under
/// ordinary policy (timer slack 1 ns).
///
/// # Real-time
/// Enters the kernel: call before the loop.
pub fn quiet_current() {
    sys::block_signals();
    sys::set_timer_slack(1);
}

/// Reads back the scheduling that the current thread was granted; [`grants()`] reads the rest as well.
///
/// # Errors
/// [`SetupError::ReadBack`] with the reason of the kernel.
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
