//! System calls that have no safe wrapper: scheduling classes, limits, `bpf()`.
//!
//! This module must not know what is planted or why.

#![allow(unsafe_code, reason = "system calls that no crate here wraps")]

use anyhow::{Context, Result};
use rustix::time::{ClockId, Timespec};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A real-time policy with its priority, 1 to 95.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Fifo(u8),
    RoundRobin(u8),
}

/// `CLOCK_MONOTONIC`, in nanoseconds.
pub fn now_ns() -> u64 {
    read(ClockId::Monotonic)
}

/// How long the calling thread has had a CPU, in nanoseconds.
pub fn own_cpu_ns() -> u64 {
    read(ClockId::ThreadCPUTime)
}

fn read(clock: ClockId) -> u64 {
    let now = rustix::time::clock_gettime(clock);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// How long the hypervisor has taken this CPU away so far, in nanoseconds, with the resolution of a clock tick. Source:
/// `steal` in `/proc/stat`.
pub fn stolen_ns(cpu: u32) -> Result<u64> {
    let text = std::fs::read_to_string("/proc/stat").context("read /proc/stat")?;
    let ticks = stolen_ticks(&text, cpu).with_context(|| format!("find the steal time of CPU {cpu} in /proc/stat"))?;
    Ok(ticks * 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1))
}

fn stolen_ticks(stat: &str, cpu: u32) -> Option<u64> {
    let name = format!("cpu{cpu}");
    let mut words =
        stat.lines().map(str::split_whitespace).find_map(|mut line| (line.next()? == name).then_some(line))?;
    words.nth(7)?.parse().ok()
}

/// Sleeps until `CLOCK_MONOTONIC` shows `ns`; signals may end it early.
pub fn sleep_until(ns: u64) {
    // If a signal ends the sleep early, the callers' loops look at the clock again.
    let _ = rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &timespec(ns));
}

/// Converts nanoseconds to the kernel's form of an instant.
pub fn timespec(ns: u64) -> Timespec {
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    Timespec { tv_sec: number(ns / 1_000_000_000), tv_nsec: number(ns % 1_000_000_000) }
}

/// Two successive clock readings are less than this apart, unless the thread is interrupted.
pub const GAP_NS: u64 = 3000;

/// Burns time until `CLOCK_MONOTONIC` shows `ns`. Returns the last clock reading, and the time for which the thread was
/// interrupted.
pub fn burn_until(ns: u64) -> (u64, u64) {
    let mut last = now_ns();
    let mut gaps = 0;
    while last < ns {
        let now = now_ns();
        let gap = now - last;
        gaps += if gap > GAP_NS { gap } else { 0 };
        last = now;
    }
    (last, gaps)
}

/// Binds the calling thread to one CPU.
pub fn pin(cpu: u32) -> Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    set.set(usize::try_from(cpu)?);
    rustix::thread::sched_setaffinity(None, &set).with_context(|| format!("put a thread on CPU {cpu}"))
}

/// Gives the calling thread a real-time policy.
pub fn make_real_time(policy: Policy) -> Result<()> {
    let (class, priority) = match policy {
        Policy::Fifo(priority) => (libc::SCHED_FIFO, priority),
        Policy::RoundRobin(priority) => (libc::SCHED_RR, priority),
    };
    // `struct sched_param` is this one number. The wrapper of some C libraries always refuses, so the system call is
    // made directly.
    let wanted = i32::from(priority.clamp(1, 95));
    // SAFETY: 0 is the calling thread; the parameter outlives the call.
    let done = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, class, &raw const wanted) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()).context("make a thread real-time") }
}

/// Makes the kernel end this process when its parent ends, 20 s after `seconds`, and when one of its real-time threads
/// runs for 200 ms without sleeping.
pub fn bound(seconds: u64) -> Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))
        .context("ask to be ended with the parent")?;
    let limit = libc::rlimit { rlim_cur: 200_000, rlim_max: 200_000 };
    // SAFETY: the limit outlives the call.
    let done = unsafe { libc::setrlimit(libc::RLIMIT_RTTIME, &raw const limit) };
    if done != 0 {
        return Err(std::io::Error::last_os_error()).context("limit the time of real-time threads");
    }
    // SAFETY: alarm takes a number and touches no memory.
    unsafe { libc::alarm(u32::try_from(seconds.saturating_add(20)).unwrap_or(600)) };
    Ok(())
}

/// Locks the memory of this process if that is allowed, because a planted delay should not contain page faults of the
/// planter.
pub fn lock_memory() {
    let _ = rustix::mm::mlockall(rustix::mm::MlockAllFlags::CURRENT | rustix::mm::MlockAllFlags::FUTURE);
}

/// Gives the calling thread, and threads it starts later, a network namespace and a mount namespace of their own.
pub fn own_network() -> Result<()> {
    // SAFETY: unshare takes flags and touches no memory; file descriptors stay shared.
    let done = unsafe { libc::unshare(libc::CLONE_NEWNET | libc::CLONE_NEWNS) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()).context("get a network namespace") }
}

/// Switches the interface `lo` of this namespace on.
pub fn loopback_up() -> Result<()> {
    use rustix::net::{AddressFamily, SocketType};
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None).context("open a socket")?;
    // SAFETY: all zeroes is a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    request.ifr_ifru.ifru_flags = i16::try_from(libc::IFF_UP | libc::IFF_RUNNING)?;
    // SAFETY: the request outlives the call, and SIOCSIFFLAGS takes an ifreq.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()).context("take `lo` up") }
}

/// Makes the given CPU receive all packets of this namespace's loopback, wherever they are sent. This needs a mount of
/// `/sys` that only the calling thread sees.
pub fn steer_loopback(cpu: u32) -> Result<()> {
    use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
    const PATH: &str = "/sys/class/net/lo/queues/rx-0/rps_cpus";
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).context("keep a view of files to ourselves")?;
    mount("sysfs", "/sys", "sysfs", MountFlags::empty(), None).context("see our own network in /sys")?;
    let words = cpu / 32;
    let mask = format!("{:x}{}", 1_u32 << (cpu % 32), ",00000000".repeat(usize::try_from(words)?));
    std::fs::write(PATH, &mask).with_context(|| format!("write {mask} to {PATH}"))
}

/// Attaches a filter to a socket that works on each packet for a long time and then drops it.
pub fn drop_slowly(socket: &OwnedFd) -> Result<()> {
    // About the largest number of instructions that fits into the memory limit of a socket.
    const STEPS: u16 = 2000;
    let step = libc::sock_filter { code: 0x04, jt: 0, jf: 0, k: 1 };
    let end = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0 };
    let mut steps = vec![step; usize::from(STEPS)];
    steps.push(end);
    let program = libc::sock_fprog { len: STEPS + 1, filter: steps.as_mut_ptr() };
    let size = libc::socklen_t::try_from(size_of_val(&program))?;
    // SAFETY: the program and its steps live through the call, and their number is told.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size,
        )
    };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()).context("give a socket a filter") }
}

/// Asks the kernel to take these pages away from another process.
pub fn page_out(pidfd: &OwnedFd, ranges: &[(u64, u64)]) -> Result<()> {
    const PAGEOUT: i32 = 21;
    let vectors: Vec<libc::iovec> = ranges
        .iter()
        .map(|(from, to)| libc::iovec {
            iov_base: std::ptr::without_provenance_mut(usize::try_from(*from).unwrap_or(0)),
            iov_len: usize::try_from(to - from).unwrap_or(0),
        })
        .collect();
    // SAFETY: the addresses are the other process's and are not followed here; the vector outlives the call.
    let done = unsafe {
        libc::syscall(libc::SYS_process_madvise, pidfd.as_raw_fd(), vectors.as_ptr(), vectors.len(), PAGEOUT, 0)
    };
    if done >= 0 { Ok(()) } else { Err(std::io::Error::last_os_error()).context("take pages of the victim away") }
}

/// Makes a program start without the right to lock memory.
pub fn without_locked_memory(command: &mut Command) {
    let before = || {
        const LOCK_MEMORY: libc::c_ulong = 14;
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the limit outlives the call; both calls may be made between fork and exec.
        let limited = unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const none) };
        // SAFETY: prctl takes numbers here; root gets no capability at exec that is not in this set.
        let dropped = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, LOCK_MEMORY, 0, 0, 0) };
        if limited == 0 && dropped == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: between fork and exec it makes two system calls and neither allocates nor locks.
    unsafe { command.pre_exec(before) };
}

/// Calls `bpf()` with an attribute of these words. Returns a file descriptor or 0. The attribute may contain addresses
/// of memory, which the caller must keep until this returns, and which must be large enough for the command.
///
/// # Safety
/// Every address among the words must be valid for the command.
pub unsafe fn bpf(command: i32, words: &mut [u64]) -> Result<i32> {
    let size = size_of_val(words);
    // SAFETY: the words live through the call and their size is told; addresses in them are the caller's promise.
    let done = unsafe { libc::syscall(libc::SYS_bpf, command, words.as_mut_ptr(), size) };
    if done >= 0 { Ok(i32::try_from(done)?) } else { Err(std::io::Error::last_os_error()).context("bpf()") }
}

/// Takes ownership of a file descriptor that a system call has just returned.
pub fn own(descriptor: i32) -> OwnedFd {
    // SAFETY: the callers pass on what bpf() has just given them, which nobody else has.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

/// The clock of a PTP device.
pub struct Device(std::fs::File);

impl Device {
    pub fn open(path: &std::path::Path) -> Result<Self> {
        let file = std::fs::File::options().read(true).write(true).open(path);
        Ok(Self(file.with_context(|| format!("open {}", path.display()))?))
    }

    /// The kernel's number of a clock that belongs to an open file.
    fn clock(&self) -> libc::clockid_t {
        (!self.0.as_raw_fd() << 3) | 3
    }

    /// What it shows, in nanoseconds; `None` if the device cannot be read.
    pub fn read(&self) -> Option<u64> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the clock's file is open, and the time outlives the call.
        let done = unsafe { libc::clock_gettime(self.clock(), &raw mut time) };
        let seconds = u64::try_from(time.tv_sec).ok().filter(|_| done == 0)?;
        Some(seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?)
    }

    /// Makes it run faster than its crystal by this number of millionths.
    pub fn run_faster(&self, ppm: i32) -> Result<()> {
        self.adjust(libc::ADJ_FREQUENCY, |wanted| wanted.freq = libc::c_long::from(ppm) << 16)
    }

    /// Sets it forward by some nanoseconds, less than a second.
    pub fn step(&self, by_ns: u64) -> Result<()> {
        let by = libc::c_long::try_from(by_ns).context("a step")?;
        // With ADJ_NANO the microseconds are nanoseconds.
        self.adjust(libc::ADJ_SETOFFSET | libc::ADJ_NANO, |wanted| wanted.time.tv_usec = by)
    }

    fn adjust(&self, modes: libc::c_uint, set: impl FnOnce(&mut libc::timex)) -> Result<()> {
        // SAFETY: all members are numbers, and zero is valid for each.
        let mut wanted: libc::timex = unsafe { std::mem::zeroed() };
        wanted.modes = modes;
        set(&mut wanted);
        // SAFETY: the clock's file is open, and the structure outlives the call.
        let done = unsafe { libc::clock_adjtime(self.clock(), &raw mut wanted) };
        if done < 0 { Err(std::io::Error::last_os_error()).context("adjust a PTP clock") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_the_eighth_number_of_the_line_of_the_cpu() {
        let stat = "cpu  1 2 3 4 5 6 7 80 9 10\ncpu1 1 2 3 4 5 6 7 8 9 10\ncpu11 1 2 3 4 5 6 7 88 9 10\ncpu2 1 2 3\n";
        assert_eq!(stolen_ticks(stat, 1), Some(8));
        assert_eq!(stolen_ticks(stat, 11), Some(88));
        assert_eq!(stolen_ticks(stat, 2), None);
        assert_eq!(stolen_ticks(stat, 3), None);
        assert!(stolen_ns(0).is_ok());
    }
}
