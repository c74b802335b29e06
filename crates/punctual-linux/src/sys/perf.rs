//! Reads counters of the CPU through `perf_event_open`. They count from the moment they are opened.

use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::io;

/// The kernel's `struct perf_event_attr` of Linux 4.1 (`PERF_ATTR_SIZE_VER3`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attr {
    pub kind: u32,
    pub size: u32,
    pub config: u64,
    pub sample_period: u64,
    pub sample_kind: u64,
    pub read_format: u64,
    pub flags: u64,
    pub wakeup_events: u32,
    pub breakpoint_kind: u32,
    pub config1: u64,
    pub config2: u64,
    pub branch_sample_kind: u64,
    pub sample_regs_user: u64,
    pub sample_stack_user: u32,
    pub clock: i32,
}

pub(super) const SIZE: u32 = 96;
/// Flag that one read returns all counters of the group.
const READ_GROUP: u64 = 1 << 3;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
const EVERY_TASK: libc::pid_t = -1;

#[derive(Debug)]
pub struct CounterGroup<const N: usize> {
    /// The other counters of the group, which only have to stay open.
    members: Vec<OwnedFd>,
    leader: OwnedFd,
}

impl<const N: usize> CounterGroup<N> {
    /// Opens counters of an event source, which the kernel identifies by the number `kind`.
    pub fn open(kind: u32, events: [u64; N], cpu: u32) -> io::Result<Self> {
        let mut opened: Option<Self> = None;
        for event in events {
            let group = opened.as_ref().map(|counters| &counters.leader);
            let attr = Attr { kind, size: SIZE, config: event, read_format: READ_GROUP, ..Attr::default() };
            let fd = open(&attr, EVERY_TASK, Some(cpu), group)?;
            match &mut opened {
                None => opened = Some(Self { members: Vec::new(), leader: fd }),
                Some(counters) => counters.members.push(fd),
            }
        }
        opened.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
    }

    /// Reads all values. This interrupts the counters' CPU unless the caller runs on it.
    pub fn read(&self) -> io::Result<[u64; N]> {
        // The first word is the number of values.
        let mut words = [[0; 8]; 16];
        let bytes = words.as_flattened_mut();
        let read = rustix::io::read(&self.leader, bytes)?;
        let mut values = words.iter().map(|word| u64::from_ne_bytes(*word)).take(read / 8);
        // A counter whose CPU has gone offline returns nothing.
        if values.next() != Some(N as u64) {
            return Err(io::Error::other("the counter stopped"));
        }
        let values: Vec<u64> = values.collect();
        values.try_into().map_err(|_| io::Error::other("the counter stopped"))
    }
}

pub(super) fn open(attr: &Attr, task: libc::pid_t, cpu: Option<u32>, group: Option<&OwnedFd>) -> io::Result<OwnedFd> {
    let group = group.map_or(-1, AsRawFd::as_raw_fd);
    // The kernel has -1 for all CPUs.
    let cpu = cpu.map_or(Ok(-1), libc::c_int::try_from).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the kernel reads the structure, whose size is a member of it, and which lives until the call returns.
    let fd =
        unsafe { libc::syscall(libc::SYS_perf_event_open, std::ptr::from_ref(attr), task, cpu, group, CLOSE_ON_EXEC) };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the kernel has just returned this descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOFTWARE: u32 = 1;
    const CPU_CLOCK: u64 = 0;

    #[test]
    fn a_group_counts_or_says_why_not() {
        match CounterGroup::open(SOFTWARE, [CPU_CLOCK, CPU_CLOCK], 0) {
            Ok(counters) => {
                let first = counters.read().unwrap();
                let second = counters.read().unwrap();
                assert!(second[0] > first[0] && second[1] > first[1], "{first:?} {second:?}");
            }
            // The error is expected if this user lacks the right or this kernel lacks the feature.
            Err(e) => assert!(matches!(e.raw_os_error(), Some(libc::EACCES | libc::EPERM | libc::ENOSYS)), "{e}"),
        }
    }

    #[test]
    fn what_does_not_exist_is_refused() {
        assert!(CounterGroup::open(SOFTWARE, [u64::MAX], 0).is_err());
        assert!(CounterGroup::open(SOFTWARE, [CPU_CLOCK], 1 << 20).is_err());
        assert!(CounterGroup::open(SOFTWARE, [CPU_CLOCK], u32::MAX).is_err());
    }
}
