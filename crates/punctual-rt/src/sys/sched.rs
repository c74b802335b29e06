//! Scheduling policies and CPUs of the calling thread.

use super::checked;
use crate::Policy;
use punctual_hist::Nanos;

/// More CPUs than any machine has.
const CPUS: usize = 8192;
const WORD: usize = usize::BITS as usize;
type Mask = [usize; CPUS / WORD];

/// First version of `struct sched_attr` of the kernel's interface.
#[repr(C)]
#[derive(Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

const ATTR_SIZE: u32 = 48;
const SCHED_DEADLINE: u32 = 6;

/// Flag by which children of the thread do not inherit its policy. Setting a policy leaves the flag unchanged.
const RESET_ON_FORK: u64 = 1;

/// The name of a thread as the kernel keeps it: at most 15 bytes, and NUL.
pub(crate) type ThreadName = [u8; 16];

/// The name of the calling thread.
pub(crate) fn thread_name() -> ThreadName {
    let mut name = [0; 16];
    // SAFETY: the kernel writes at most 16 bytes.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}

/// Gives the calling thread a name.
pub(crate) fn set_thread_name(name: &ThreadName) {
    // SAFETY: the kernel reads at most 16 bytes.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// The scheduling attributes of the calling thread.
fn attributes() -> Result<SchedAttr, i32> {
    let mut attr = SchedAttr::default();
    // SAFETY: attr is valid for the stated size.
    checked(unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attr, ATTR_SIZE, 0) })?;
    Ok(attr)
}

/// Sets the policy of the calling thread. A thread that already has ordinary policy and is to keep it stays unchanged,
/// including its niceness.
///
/// # Kernel
/// `sched_setattr`, Linux 3.14.
#[allow(clippy::cast_sign_loss, reason = "policy numbers are small constants")]
pub(crate) fn set_policy(policy: Policy) -> Result<(), i32> {
    let before = attributes()?;
    if policy == Policy::Other && before.policy() == Policy::Other {
        return Ok(());
    }
    let flags = before.flags & RESET_ON_FORK;
    let mut attr = SchedAttr { size: ATTR_SIZE, flags, ..SchedAttr::default() };
    match policy {
        Policy::Other => attr.policy = libc::SCHED_OTHER as u32,
        Policy::Fifo(priority) => (attr.policy, attr.priority) = (libc::SCHED_FIFO as u32, priority.into()),
        Policy::RoundRobin(priority) => (attr.policy, attr.priority) = (libc::SCHED_RR as u32, priority.into()),
        Policy::Deadline { runtime, deadline, period } => {
            attr.policy = SCHED_DEADLINE;
            (attr.runtime, attr.deadline, attr.period) = (runtime.as_ns(), deadline.as_ns(), period.as_ns());
        }
    }
    // SAFETY: attr is a sched_attr of the size that it states.
    checked(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) }).map(drop)
}

impl SchedAttr {
    /// The policy. Policies with other names (batch, idle, ext) count as ordinary.
    #[allow(clippy::cast_sign_loss, reason = "policy numbers are small constants")]
    fn policy(&self) -> Policy {
        const FIFO: u32 = libc::SCHED_FIFO as u32;
        const RR: u32 = libc::SCHED_RR as u32;
        let priority = u8::try_from(self.priority).unwrap_or(u8::MAX);
        match self.policy {
            FIFO => Policy::Fifo(priority),
            RR => Policy::RoundRobin(priority),
            SCHED_DEADLINE => Policy::Deadline {
                runtime: Nanos::from_ns(self.runtime),
                deadline: Nanos::from_ns(self.deadline),
                period: Nanos::from_ns(self.period),
            },
            _ => Policy::Other,
        }
    }
}

/// The policy of the calling thread.
pub(crate) fn policy() -> Result<Policy, i32> {
    attributes().map(|attr| attr.policy())
}

/// Lets the calling thread run on `cpus` only.
///
/// # Errors
/// The `errno`: `EINVAL` if none of them is online and allowed.
#[allow(clippy::arithmetic_side_effects, reason = "divides by a constant")]
pub(crate) fn set_affinity(cpus: &[u32]) -> Result<(), i32> {
    let mut mask: Mask = [0; CPUS / WORD];
    for cpu in cpus {
        let cpu = *cpu as usize;
        let word = mask.get_mut(cpu / WORD).ok_or(libc::EINVAL)?;
        *word |= 1 << (cpu % WORD);
    }
    // SAFETY: the mask is as long as stated; 0 means the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of::<Mask>(), mask.as_ptr()) };
    checked(result).map(drop)
}

/// CPUs that the calling thread may run on, ascending.
#[allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation, reason = "indices below CPUS")]
pub(crate) fn affinity() -> Result<Vec<u32>, i32> {
    let mut mask: Mask = [0; CPUS / WORD];
    // SAFETY: the mask is as long as stated; 0 means the calling thread.
    checked(unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, size_of::<Mask>(), mask.as_mut_ptr()) })?;
    let is_set = |cpu: &usize| mask.get(cpu / WORD).is_some_and(|word| word >> (cpu % WORD) & 1 == 1);
    Ok((0..CPUS).filter(is_set).map(|cpu| cpu as u32).collect())
}

/// The CPU on which the calling thread runs.
///
/// # Real-time
/// No kernel entry on current C libraries (rseq or vDSO).
///
/// # Kernel
/// Any; the result is `u32::MAX` if the kernel refuses, which Linux never does.
pub fn current_cpu() -> u32 {
    // SAFETY: no pointers are passed.
    u32::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(u32::MAX)
}

/// The id of the calling thread.
///
/// # Real-time
/// One kernel entry: call before the loop.
///
/// # Kernel
/// Any.
pub fn thread_id() -> u32 {
    // SAFETY: no pointers are passed.
    u32::try_from(unsafe { libc::gettid() }).unwrap_or(0)
}

/// Whether this process has a thread of this id.
///
/// # Real-time
/// Enters the kernel: call on other threads than that of the loop.
///
/// # Kernel
/// Any.
pub fn has_thread(thread: u32) -> bool {
    const NOTHING: libc::c_int = 0;
    let process = std::process::id();
    // SAFETY: no pointers are passed, and signal 0 is sent to nobody.
    checked(unsafe { libc::syscall(libc::SYS_tgkill, process, thread, NOTHING) }) != Err(libc::ESRCH)
}

/// Ends the calling thread as a kernel does: nothing of it is told or cleaned up.
#[cfg(test)]
pub(crate) fn vanish() {
    // SAFETY: no pointers are passed. What the thread owns is leaked, which is safe.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
}
