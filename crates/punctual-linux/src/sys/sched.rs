//! A thread's scheduling policy with everything that belongs to it.

use rustix::process::Pid;
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
/// Children do not inherit the policy. The one flag that is carried over.
const RESET_ON_FORK: u64 = 1;

/// What a thread is scheduled by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// `SCHED_...`.
    pub policy: u32,
    /// Of the real-time policies.
    pub priority: u32,
    pub nice: i32,
    /// What else it was told.
    pub flags: u64,
}

pub fn attributes(pid: Pid) -> io::Result<Attributes> {
    let mut attr = Attr::default();
    // SAFETY: the kernel writes at most the size that it is told behind the pointer, which is the structure's own.
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
