//! CPUs and scheduling attributes of a thread.

use punctual_facts::cpu_set::CpuSet;
use rustix::process::Pid;
use rustix::thread::{CpuSet as Mask, sched_getaffinity, sched_setaffinity};
use std::io;

/// The kernel's `struct sched_attr` of its first version (`SCHED_ATTR_SIZE_VER0`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Attr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

const SIZE: u32 = 48;
/// Flag that children do not inherit the policy. No other flag is carried over.
const RESET_ON_FORK: u64 = 1;

/// CPUs that a thread may run on; `None` stands for the calling thread.
pub fn cpus(thread: Option<Pid>) -> io::Result<CpuSet> {
    let mask = sched_getaffinity(thread)?;
    Ok((0..Mask::MAX_CPU).filter(|cpu| mask.is_set(*cpu)).filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

/// Binds a thread, and the threads that it starts later, to these CPUs.
pub fn set_cpus(thread: Option<Pid>, cpus: &CpuSet) -> io::Result<()> {
    let mut mask = Mask::new();
    for cpu in cpus.iter() {
        let known = usize::try_from(cpu).ok().filter(|cpu| *cpu < Mask::MAX_CPU);
        let beyond = || io::Error::other(format!("CPU {cpu} is beyond the {} supported", Mask::MAX_CPU));
        mask.set(known.ok_or_else(beyond)?);
    }
    Ok(sched_setaffinity(thread, &mask)?)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    pub policy: u32,
    pub priority: u32,
    pub nice: i32,
    pub flags: u64,
}

pub fn attributes(pid: Pid) -> io::Result<Attributes> {
    let mut attr = Attr::default();
    // SAFETY: the kernel writes at most the given size behind the pointer, which is the size of the structure.
    let done = unsafe { libc::syscall(libc::SYS_sched_getattr, pid.as_raw_nonzero().get(), &raw mut attr, SIZE, 0) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    let Attr { policy, priority, nice, flags, .. } = attr;
    Ok(Attributes { policy, priority, nice, flags: flags & RESET_ON_FORK })
}

pub fn set_attributes(pid: Pid, to: Attributes) -> io::Result<()> {
    let Attributes { policy, priority, nice, flags } = to;
    let attr = Attr { size: SIZE, policy, priority, nice, flags, ..Attr::default() };
    // SAFETY: the kernel reads the structure, whose size is its first member, and which lives until the call returns.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, pid.as_raw_nonzero().get(), &raw const attr, 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
