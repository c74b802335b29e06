//! Samples of a thread at kernel events, through `perf_event_open`: its registers, the top of its stack, and what it maps.
//! The kernel writes them to a ring in memory, one for each CPU.

use super::perf::{Attr, SIZE, open};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::param::page_size;
use std::ffi::CStr;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// `PERF_TYPE_TRACEPOINT`: an event of the kernel's trace.
const TRACEPOINT: u32 = 2;
/// `PERF_SAMPLE_TID`, `_TIME`, `_RAW`, `_REGS_USER`, `_STACK_USER`.
const SAMPLED: u64 = 1 << 1 | 1 << 2 | 1 << 10 | 1 << 12 | 1 << 13;
/// `disabled`, `sample_id_all`, `use_clockid`.
const FLAGS: u64 = 1 | 1 << 18 | 1 << 25;
const INHERIT: u64 = 1 << 1;
/// `mmap`, `comm`, `task`, `mmap2`, `comm_exec`.
const TELLS_MAPPINGS: u64 = 1 << 8 | 1 << 9 | 1 << 13 | 1 << 23 | 1 << 24;
/// Requests of `ioctl`: `PERF_EVENT_IOC_ENABLE`, `_DISABLE`, `_REFRESH`, `_SET_OUTPUT`.
const ENABLE: libc::Ioctl = 0x2400;
const DISABLE: libc::Ioctl = 0x2401;
const REFRESH: libc::Ioctl = 0x2402;
const SET_OUTPUT: libc::Ioctl = 0x2405;
/// `PERF_EVENT_IOC_ID`.
const ID: libc::Ioctl = 0x8008_2407_u32 as libc::Ioctl;
/// `PERF_SAMPLE_TID`, `_TIME`, `_IDENTIFIER`.
const PASSED: u64 = 1 << 1 | 1 << 2 | 1 << 16;
const HEADER: usize = 8;

/// What samples are taken at.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The event of the kernel's trace with this number, also in the threads that the thread starts.
    Trace(u16),
    /// Code of a program, at this offset in the file, in this thread only. `kind` is the kernel's number for such events.
    Probe { kind: u32, path: &'a CStr, at: u64 },
}

/// The event to sample, of which thread, and what to copy at each.
#[derive(Clone, Copy, Debug)]
pub struct Sampled<'a> {
    pub event: Event<'a>,
    pub tid: u32,
    /// The only CPU on which samples are taken; `None` if on each.
    pub cpu: Option<u32>,
    /// The registers, a bit for each, numbered as perf does.
    pub registers: u64,
    pub stack_bytes: u32,
    /// Whether mappings of files, copied processes and starts of programs are recorded as well.
    pub tells_mappings: bool,
}

/// An event of a thread. It is off until it is enabled.
#[derive(Debug)]
pub struct SampleEvent {
    fd: OwnedFd,
}

impl SampleEvent {
    pub fn open(of: Sampled<'_>) -> io::Result<Self> {
        let (kind, config, inherit, path, at) = match of.event {
            Event::Trace(event) => (TRACEPOINT, event.into(), INHERIT, std::ptr::null(), 0),
            Event::Probe { kind, path, at } => (kind, 0, 0, path.as_ptr(), at),
        };
        let mappings = if of.tells_mappings { TELLS_MAPPINGS } else { 0 };
        let attr = Attr {
            kind,
            size: SIZE,
            config,
            config1: path.expose_provenance() as u64,
            config2: at,
            sample_period: 1,
            sample_kind: SAMPLED,
            flags: FLAGS | inherit | mappings,
            sample_regs_user: of.registers,
            sample_stack_user: of.stack_bytes,
            clock: libc::CLOCK_MONOTONIC,
            ..Attr::default()
        };
        let task = libc::pid_t::try_from(of.tid).map_err(|_| io::ErrorKind::InvalidInput)?;
        Ok(Self { fd: open(&attr, task, of.cpu, None)? })
    }

    /// An event at this offset in a file, which tells only when the thread passes it. `kind` is the kernel's number for
    /// such events. A sample has the number of the event, the process, the thread and the time.
    pub fn at_code(kind: u32, tid: u32, path: &CStr, at: u64) -> io::Result<Self> {
        let attr = Attr {
            kind,
            size: SIZE,
            config1: path.as_ptr().expose_provenance() as u64,
            config2: at,
            sample_period: 1,
            sample_kind: PASSED,
            flags: FLAGS,
            clock: libc::CLOCK_MONOTONIC,
            ..Attr::default()
        };
        let task = libc::pid_t::try_from(tid).map_err(|_| io::ErrorKind::InvalidInput)?;
        Ok(Self { fd: open(&attr, task, None, None)? })
    }

    /// The number of the event, which its samples have.
    pub fn id(&self) -> io::Result<u64> {
        let mut id = 0_u64;
        // SAFETY: this request writes eight bytes to the place, which lives until the call returns.
        let done = unsafe { libc::ioctl(self.fd.as_raw_fd(), ID, std::ptr::from_mut(&mut id)) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(id) }
    }

    /// Writes the samples to the ring of another event of the same CPU, or of the same thread if both are of each CPU.
    pub fn write_to(&self, other: &Self) -> io::Result<()> {
        self.control(SET_OUTPUT, other.fd.as_raw_fd())
    }

    pub fn switch(&self, on: bool) -> io::Result<()> {
        self.control(if on { ENABLE } else { DISABLE }, 0)
    }

    /// Enables it for this many samples more; the kernel disables it after them. For probes only.
    pub fn allow(&self, samples: u32) -> io::Result<()> {
        self.control(REFRESH, libc::c_int::try_from(samples).map_err(|_| io::ErrorKind::InvalidInput)?)
    }

    fn control(&self, request: libc::Ioctl, argument: libc::c_int) -> io::Result<()> {
        // SAFETY: these requests take a number and access no memory of ours.
        let done = unsafe { libc::ioctl(self.fd.as_raw_fd(), request, argument) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// The ring of an event: a page of positions, then data.
#[derive(Debug)]
pub struct Ring {
    start: NonNull<u8>,
    page: usize,
    data: usize,
}

impl Ring {
    /// Places in the first page, which the kernel's `struct perf_event_mmap_page` fixes.
    const HEAD: usize = 1024;
    const TAIL: usize = 1032;

    /// Maps a ring of `pages` pages of data, a power of two.
    pub fn of(event: &SampleEvent, pages: usize) -> io::Result<Self> {
        let page = page_size();
        let data = pages.checked_mul(page).filter(|_| pages.is_power_of_two()).ok_or(io::ErrorKind::InvalidInput)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the address, so no existing mapping is replaced.
        let start = unsafe { mmap(std::ptr::null_mut(), page + data, protection, MapFlags::SHARED, &event.fd, 0) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, page, data })
    }

    fn position(&self, at: usize) -> &AtomicU64 {
        // SAFETY: both places lie in the first page, which stays mapped while `self` lives.
        let place = unsafe { self.start.add(at) };
        // SAFETY: the place is aligned to eight bytes, and both sides access it as an atomic word.
        unsafe { place.cast::<AtomicU64>().as_ref() }
    }

    /// Gives the records written so far to `each`: the kind, further bits, and the contents.
    pub fn read(&mut self, mut each: impl FnMut(u32, u16, &[u8])) {
        let head = self.position(Self::HEAD).load(Ordering::Acquire);
        let mut tail = self.position(Self::TAIL).load(Ordering::Relaxed);
        let mut record = Vec::new();
        while tail < head {
            self.copy(tail, HEADER, &mut record);
            let Some([k0, k1, k2, k3, m0, m1, s0, s1]) = record.first_chunk().copied() else { break };
            let size = usize::from(u16::from_ne_bytes([s0, s1]));
            if size < HEADER {
                break;
            }
            self.copy(tail, size, &mut record);
            let kind = u32::from_ne_bytes([k0, k1, k2, k3]);
            each(kind, u16::from_ne_bytes([m0, m1]), record.get(HEADER..).unwrap_or_default());
            tail += size as u64;
        }
        // What was not understood is given back as well.
        self.position(Self::TAIL).store(head, Ordering::Release);
    }

    /// Copies bytes that the kernel does not touch before the tail has passed them. They may go around the end.
    fn copy(&self, from: u64, length: usize, into: &mut Vec<u8>) {
        into.clear();
        let from = usize::try_from(from % self.data as u64).unwrap_or_default();
        let length = length.min(self.data);
        let until_end = length.min(self.data - from);
        for (place, count) in [(from, until_end), (0, length - until_end)] {
            // SAFETY: `place + count` is at most the length of the data, which begins at the second page.
            let begin = unsafe { self.start.add(self.page + place) };
            // SAFETY: the bytes are mapped, and the kernel does not write them while the tail is before them.
            into.extend_from_slice(unsafe { std::slice::from_raw_parts(begin.as_ptr(), count) });
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: there are no references to the memory any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.page + self.data) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_exist_is_refused() {
        let event = Event::Trace(u16::MAX);
        let of = Sampled { event, tid: 0, cpu: Some(0), registers: 0, stack_bytes: 1024, tells_mappings: true };
        assert!(SampleEvent::open(of).is_err());
        assert!(SampleEvent::open(Sampled { cpu: Some(1 << 20), ..of }).is_err());
        assert!(SampleEvent::open(Sampled { tid: u32::MAX, ..of }).is_err());
        let event = Event::Probe { kind: u32::MAX, path: c"/none", at: 0 };
        assert!(SampleEvent::open(Sampled { event, cpu: None, ..of }).is_err());
    }
}
