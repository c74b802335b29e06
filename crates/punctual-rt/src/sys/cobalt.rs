//! The calls of the Cobalt core (Xenomai 3), without any library: system call numbers with bit 28 set.
//!
//! This module holds numbers and layouts. The decisions are made in `backend/cobalt.rs`, which knows the calls only by
//! the trait [`CobaltCalls`], so that tests can answer in place of a kernel.

use super::{SleepCall, checked, clock::timespec, thread_id};
use punctual_hist::MonoTime;
use std::ffi::{CStr, c_void};
use std::os::fd::RawFd;

/// The ABI of the core's calls that this module speaks. Every architecture numbers its own.
pub(crate) const ABI: u32 = if cfg!(target_arch = "aarch64") { 20 } else { 19 };

/// Why the core refused to serve the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BindRefused {
    pub(crate) errno: i32,
    /// The core's own ABI, if it told.
    pub(crate) abi: u32,
}

/// What the core knows about the calling thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CobaltState {
    /// Number of times that the thread left the out-of-band stage.
    pub(crate) switches: u64,
    /// The CPU on which the core runs the thread.
    pub(crate) cpu: u32,
}

/// The calls that a thread needs to become a Cobalt thread and to sleep. Each fails with an `errno`.
pub(crate) trait CobaltCalls {
    /// Asks the core to serve this process.
    fn bind(&self) -> Result<(), BindRefused>;
    /// Makes the calling thread a Cobalt thread, unless it is one, and gives it `SCHED_FIFO`, or with priority 0 no
    /// real-time class. Returns where in the process's heap the core keeps its state.
    fn set_fifo(&self, priority: u8) -> Result<u32, i32>;
    /// The handle by which the core knows the calling thread.
    fn handle(&self) -> Result<u32, i32>;
    fn state(&self) -> Result<CobaltState, i32>;
    /// Whether the core sends a signal when the thread leaves the out-of-band stage.
    fn warn(&self, on: bool) -> Result<(), i32>;
    fn sleep_until(&self, at: MonoTime) -> Result<(), i32>;
    /// Makes a timer file of `CLOCK_MONOTONIC`.
    fn new_timer(&self) -> Result<RawFd, i32>;
    /// Arms the timer file for `at` and waits until it fires.
    fn wait_for_timer(&self, timer: RawFd, at: MonoTime) -> Result<(), i32>;
    fn close(&self, fd: RawFd);
    /// Moves the calling thread in-band.
    fn go_in_band(&self) -> Result<(), i32>;
}

/// The kernel's own answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CobaltSystem;

const BIND: libc::c_long = call(0);
const SET_MODE: libc::c_long = call(3);
const SET_SCHEDULING: libc::c_long = call(7);
const GET_STATE: libc::c_long = call(9);
const NANOSLEEP: libc::c_long = call(25);
const TIMER_CREATE: libc::c_long = call(57);
/// Takes 64-bit seconds. Call 58, without that, takes 32-bit ones even on 64-bit machines.
const TIMER_SET: libc::c_long = call(118);
const OPEN: libc::c_long = call(77);
const CLOSE: libc::c_long = call(79);
const IOCTL: libc::c_long = call(80);
const READ: libc::c_long = call(81);
const MIGRATE: libc::c_long = call(88);
const GET_CURRENT: libc::c_long = call(92);

/// The system call number of a call of Cobalt.
pub(super) const fn call(number: libc::c_long) -> libc::c_long {
    const COBALT_BIT: libc::c_long = 0x1000_0000;
    COBALT_BIT | number
}

const WARN_ON_SWITCH: libc::c_long = 0x4000;
const IN_BAND: libc::c_long = 0;

#[repr(C)]
struct BindRequest {
    features_wanted: u32,
    abi: u32,
    answer: Features,
}

#[repr(C)]
struct Features {
    reserved: (u64, u32),
    abi: u32,
    all: u32,
    mandatory: u32,
    requested: u32,
    missing: u32,
    names: [[u8; 64]; 4],
}

/// Longer than any version of the kernel's structure, because the kernel reads all of its own.
#[repr(C)]
struct Scheduling {
    priority: i32,
    padding: i32,
    of_other_policies: [u64; 15],
}

#[derive(Default)]
#[repr(C)]
struct ThreadState {
    run_time: u64,
    timeout: u64,
    mode_switches: u64,
    context_switches: u64,
    calls: u64,
    status: u32,
    faults: u32,
    cpu: i32,
    priority: i32,
    names: [[u8; 32]; 2],
}

/// The sleep of [`CobaltCalls::sleep_until`].
pub(crate) const SLEEP_CALL: SleepCall =
    SleepCall::new(NANOSLEEP, [libc::CLOCK_MONOTONIC as u64, libc::TIMER_ABSTIME as u64, 0, 0, 0], 2);

impl CobaltCalls for CobaltSystem {
    fn bind(&self) -> Result<(), BindRefused> {
        let answer =
            Features { reserved: (0, 0), abi: 0, all: 0, mandatory: 0, requested: 0, missing: 0, names: [[0; 64]; 4] };
        let mut request = BindRequest { features_wanted: 0, abi: ABI, answer };
        // SAFETY: the structure is as large as the core's own, which it reads and fills.
        let result = unsafe { libc::syscall(BIND, &raw mut request) };
        checked(result).map(drop).map_err(|errno| BindRefused { errno, abi: request.answer.abi })
    }

    fn set_fifo(&self, priority: u8) -> Result<u32, i32> {
        let policy = if priority == 0 { libc::SCHED_OTHER } else { libc::SCHED_FIFO };
        let asked = Scheduling { priority: priority.into(), padding: 0, of_other_policies: [0; 15] };
        let (mut window_offset, mut promoted) = (0u32, 0i32);
        // The core names threads by a number that is unique in the process.
        let name = libc::c_ulong::from(thread_id());
        // SAFETY: the pointers are valid for the call, and the first structure is longer than what the core reads.
        let result = unsafe {
            let (asked, window, promoted) = (&raw const asked, &raw mut window_offset, &raw mut promoted);
            libc::syscall(SET_SCHEDULING, name, policy, asked, window, promoted)
        };
        checked(result).map(|_| std::hint::black_box(window_offset))
    }

    fn handle(&self) -> Result<u32, i32> {
        let mut handle = 0u32;
        // SAFETY: the core fills the number.
        checked(unsafe { libc::syscall(GET_CURRENT, &raw mut handle) }).map(|_| std::hint::black_box(handle))
    }

    fn state(&self) -> Result<CobaltState, i32> {
        let mut state = ThreadState::default();
        // SAFETY: the structure is as large as the core's own, which it fills.
        checked(unsafe { libc::syscall(GET_STATE, 0, &raw mut state) })?;
        Ok(CobaltState { switches: state.mode_switches, cpu: u32::try_from(state.cpu).unwrap_or(u32::MAX) })
    }

    fn warn(&self, on: bool) -> Result<(), i32> {
        let (clear, set) = if on { (0, WARN_ON_SWITCH) } else { (WARN_ON_SWITCH, 0) };
        // SAFETY: the former mode is not asked for.
        checked(unsafe { libc::syscall(SET_MODE, clear, set, std::ptr::null_mut::<i32>()) }).map(drop)
    }

    #[inline]
    fn sleep_until(&self, at: MonoTime) -> Result<(), i32> {
        let at = timespec(at.as_ns());
        let (clock, none) = (libc::CLOCK_MONOTONIC, std::ptr::null_mut::<libc::timespec>());
        // SAFETY: the instant is valid for the call; no remainder is asked for.
        checked(unsafe { libc::syscall(NANOSLEEP, clock, libc::TIMER_ABSTIME, &raw const at, none) }).map(drop)
    }

    fn new_timer(&self) -> Result<RawFd, i32> {
        // SAFETY: no pointers are passed.
        let fd = checked(unsafe { libc::syscall(TIMER_CREATE, libc::CLOCK_MONOTONIC, 0) })?;
        RawFd::try_from(fd).map_err(|_| libc::EBADF)
    }

    #[inline]
    fn wait_for_timer(&self, timer: RawFd, at: MonoTime) -> Result<(), i32> {
        let once = libc::itimerspec { it_interval: timespec(0), it_value: timespec(at.as_ns()) };
        let former = std::ptr::null_mut::<libc::itimerspec>();
        // SAFETY: the setting is valid for the call; the former one is not asked for.
        checked(unsafe { libc::syscall(TIMER_SET, timer, libc::TFD_TIMER_ABSTIME, &raw const once, former) })?;
        let mut expirations = 0u64;
        // SAFETY: the buffer has the size that is passed.
        checked(unsafe { libc::syscall(READ, timer, &raw mut expirations, size_of::<u64>()) }).map(drop)
    }

    fn close(&self, fd: RawFd) {
        close(fd);
    }

    fn go_in_band(&self) -> Result<(), i32> {
        // SAFETY: no pointers are passed.
        checked(unsafe { libc::syscall(MIGRATE, IN_BAND) }).map(drop)
    }
}

/// Opens a device of the core. An ordinary `open` gives a descriptor that only answers in-band.
pub(super) fn open(path: &CStr) -> libc::c_long {
    // SAFETY: the path ends with NUL.
    unsafe { libc::syscall(OPEN, path.as_ptr(), libc::O_RDWR) }
}

pub(super) fn close(fd: RawFd) {
    // SAFETY: the caller owns the descriptor and does not use it again.
    unsafe { libc::syscall(CLOSE, fd) };
}

/// # Safety
/// `argument` must be what the driver reads and writes for `request`.
pub(super) unsafe fn ioctl(fd: RawFd, request: u32, argument: *mut c_void) -> libc::c_long {
    // SAFETY: the caller vouches for the argument.
    unsafe { libc::syscall(IOCTL, fd, request, argument) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The core reads and writes as many bytes as these.
    #[test]
    fn structures_are_as_large_as_those_of_the_core() {
        assert_eq!((size_of::<BindRequest>(), size_of::<ThreadState>()), (304, 120));
        assert!(size_of::<Scheduling>() >= 72);
    }
}
