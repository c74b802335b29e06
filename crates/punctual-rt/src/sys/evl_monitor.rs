//! Locks and semaphores of the EVL core, which calls both *monitors*: a lock is a gate, a semaphore an event that counts.

use super::clock::timespec;
use super::evl::{CallForm, CoreInfo, in_band_ioctl, ioctl, make, request};
use super::{CoreMemory, CountCalls, LockCalls, checked};
use punctual_hist::MonoTime;
use std::os::fd::RawFd;

/// Numbers of the core's ABI.
const WRITE: u32 = 1;
const READ_WRITE: u32 = 3;
const ENTER: u32 = request::<[i64; 2]>(WRITE, b'm', 0);
const TRY_ENTER: u32 = request::<()>(0, b'm', 1);
const EXIT: u32 = request::<()>(0, b'm', 2);
const WAIT: u32 = request::<Wait>(READ_WRITE, b'm', 3);
const SIGNAL: u32 = request::<i32>(WRITE, b'm', 6);

/// What a new monitor is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Monitor {
    /// A lock with priority inheritance.
    Lock,
    /// A semaphore with this number of posts.
    Count(u32),
}

#[repr(C)]
struct Attributes {
    clock: i32,
    /// Two bits of type, then four of protocol.
    kind: u32,
    initial: u32,
}

#[repr(C)]
struct Wait {
    deadline: u64,
    gate: i32,
    status: i32,
    value: i32,
}

/// Maps the memory in which the core keeps the states of threads and monitors.
pub(crate) fn map_shared_memory(control: RawFd, info: &CoreInfo) -> Result<CoreMemory, i32> {
    /// The thread has no priority on the core, or is warned of wrong use of locks.
    const WEAK: u32 = 0x2000;
    const WARNED_OF_LOCKS: u32 = 0x1_0000;
    let bytes = usize::try_from(info.shared_memory_bytes).map_err(|_| libc::EFBIG)?;
    CoreMemory::map(control, bytes, WEAK | WARNED_OF_LOCKS)
}

/// A monitor of the core, which ends when this value is dropped.
pub(crate) struct EvlMonitor {
    fd: RawFd,
    form: CallForm,
    memory: CoreMemory,
}

impl EvlMonitor {
    /// Makes a monitor, and returns it with the place of its state in `memory`.
    pub(crate) fn new(form: CallForm, memory: CoreMemory, monitor: Monitor) -> Result<(Self, u32), i32> {
        const EVENT: u32 = 0;
        const GATE: u32 = 1;
        const COUNT: u32 = 1 << 2;
        /// The core's number for the clock that is `CLOCK_MONOTONIC`.
        const MONOTONIC: i32 = -libc::CLOCK_MONOTONIC;
        let (kind, initial) = match monitor {
            Monitor::Lock => (GATE, 0),
            Monitor::Count(posts) => (EVENT | COUNT, posts),
        };
        let attributes = Attributes { clock: MONOTONIC, kind, initial };
        // SAFETY: the path ends with NUL.
        let factory = unsafe { libc::open(c"/dev/evl/monitor/clone".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
        checked(factory.into())?;
        let made = make(factory, &attributes);
        // SAFETY: the descriptor was opened above and is not used again.
        unsafe { libc::close(factory) };
        let made = made?;
        Ok((Self { fd: made.descriptor, form, memory }, made.state_offset))
    }

    fn ioctl<T>(&self, number: u32, argument: *mut T) -> Result<(), i32> {
        ioctl(self.form, self.fd, number, argument)
    }
}

/// The core's form of a deadline, in which 0 is none.
fn until(deadline: Option<MonoTime>) -> [i64; 2] {
    let at = timespec(deadline.map_or(0, |deadline| deadline.as_ns().max(1)));
    #[allow(clippy::useless_conversion, reason = "the C library's types are narrower on 32-bit machines")]
    [at.tv_sec.into(), at.tv_nsec.into()]
}

impl LockCalls for EvlMonitor {
    const OWNER: u32 = 0x3FFF_FFFF;

    #[inline(never)]
    fn enter(&self, deadline: Option<MonoTime>) -> Result<(), i32> {
        let mut deadline = until(deadline);
        self.ioctl(ENTER, &raw mut deadline)
    }

    #[inline(never)]
    fn try_enter(&self) -> Result<(), i32> {
        self.ioctl(TRY_ENTER, std::ptr::null_mut::<()>())
    }

    #[inline(never)]
    fn exit(&self) -> Result<(), i32> {
        self.ioctl(EXIT, std::ptr::null_mut::<()>())
    }
}

impl CountCalls for EvlMonitor {
    #[inline(never)]
    fn wait(&self, deadline: Option<MonoTime>) -> Result<(), i32> {
        let deadline = until(deadline);
        let deadline = (&raw const deadline).expose_provenance() as u64;
        let mut wait = Wait { deadline, gate: -1, status: -libc::EINVAL, value: 0 };
        self.ioctl(WAIT, &raw mut wait)
    }

    #[inline(never)]
    fn post(&self) -> Result<(), i32> {
        let mut posts = 1i32;
        if self.memory.caller().is_some_and(|caller| !caller.is_in_band) {
            return self.ioctl(SIGNAL, &raw mut posts);
        }
        in_band_ioctl(self.fd, SIGNAL, &raw mut posts).map(drop)
    }
}

impl Drop for EvlMonitor {
    fn drop(&mut self) {
        // SAFETY: this value owns the descriptor.
        unsafe { libc::close(self.fd) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These numbers and sizes are part of the core's ABI.
    #[test]
    fn requests_have_the_numbers_of_the_core() {
        let numbers = [ENTER, TRY_ENTER, EXIT, WAIT, SIGNAL].map(|number| format!("{number:#x}"));
        let known = [0x4010_6d00u32, 0x6d01, 0x6d02, 0xc018_6d03, 0x4004_6d06].map(|number| format!("{number:#x}"));
        assert_eq!(numbers, known);
        assert_eq!((size_of::<Attributes>(), size_of::<Wait>()), (12, 24));
    }

    #[test]
    fn no_deadline_is_an_instant_of_zero_and_a_deadline_never_is() {
        assert_eq!(until(None), [0, 0]);
        assert_eq!(until(Some(MonoTime::from_ns(0))), [0, 1]);
        assert_eq!(until(Some(MonoTime::from_ns(2_000_000_003))), [2, 3]);
    }
}
