//! The calls of the EVL core (Xenomai 4), without any library: devices, `ioctl`, and out-of-band calls inside `prctl`.
//!
//! This module holds numbers and layouts. The decisions are made in `backend/evl.rs`, which knows the calls only by the
//! trait [`EvlCalls`], so that tests can answer in place of a kernel.

use super::{SleepCall, checked, clock::timespec};
use punctual_hist::MonoTime;
use std::ffi::CStr;
use std::os::fd::RawFd;

/// How an out-of-band call is made. Each generation of the core accepts another form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallForm {
    /// A system call number with bit 28 set (ABI 26).
    Number,
    /// `prctl` whose first argument is the call's number with bit 28 set (ABI 32).
    Option,
    /// `prctl(PR_OOB_SYSCALL, number, ...)` (ABI 36).
    OobSyscall,
}

/// A device of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EvlDevice {
    Control,
    ThreadFactory,
    MonotonicClock,
}

/// The answer of the control device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct CoreInfo {
    /// Oldest ABI that the core accepts.
    pub(crate) abi_base: u32,
    /// Newest ABI that the core accepts.
    pub(crate) abi_current: u32,
    fpu_features: u32,
    padding: u32,
    pub(super) shared_memory_bytes: u64,
}

impl CoreInfo {
    #[cfg(test)]
    pub(crate) fn of_abi(abi_base: u32, abi_current: u32) -> Self {
        Self { abi_base, abi_current, ..Self::default() }
    }
}

/// The calls that a thread needs to become an EVL thread and to sleep. Each fails with an `errno`.
pub(crate) trait EvlCalls {
    fn open(&self, device: EvlDevice) -> Result<RawFd, i32>;
    fn close(&self, fd: RawFd);
    fn core_info(&self, control: RawFd) -> Result<CoreInfo, i32>;
    /// Whether the core schedules threads on this CPU.
    fn takes_cpu(&self, control: RawFd, cpu: u32) -> Result<bool, i32>;
    /// Makes the calling thread an EVL thread of this name.
    fn attach(&self, factory: RawFd, name: &CStr) -> Result<Made, i32>;
    /// Gives the calling thread `SCHED_FIFO` in the core, or with priority 0 the policy of threads that are in-band
    /// between their calls.
    fn set_fifo(&self, form: CallForm, thread: RawFd, priority: u8) -> Result<(), i32>;
    /// Number of times that the thread left the out-of-band stage.
    fn switches(&self, form: CallForm, thread: RawFd) -> Result<u64, i32>;
    /// Whether the core sends a signal when the thread leaves the out-of-band stage.
    fn warn(&self, form: CallForm, thread: RawFd, on: bool) -> Result<(), i32>;
    fn sleep_until(&self, form: CallForm, clock: RawFd, at: MonoTime) -> Result<(), i32>;
    fn detach(&self, thread: RawFd) -> Result<(), i32>;
}

/// The kernel's own answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EvlSystem;

const OOB_SYSCALL_BIT: i32 = 0x1000_0000;
const PR_OOB_SYSCALL: i32 = 0x4f4f_4243;
/// Number of `ioctl` among the out-of-band calls.
const OOB_IOCTL: i32 = 2;

const READ: u32 = 2;
const WRITE: u32 = 1;

/// The number of an `ioctl` request by the kernel's general rule.
pub(super) const fn request<T>(direction: u32, group: u8, number: u8) -> u32 {
    #[allow(clippy::cast_possible_truncation, reason = "no structure here is larger than 56 bytes")]
    let bytes = size_of::<T>() as u32;
    direction << 30 | bytes << 16 | (group as u32) << 8 | number as u32
}

/// What a clone request gives to the core, and what the core fills in.
#[derive(Default)]
#[repr(C)]
struct CloneRequest {
    name: u64,
    attributes: u64,
    flags: u32,
    minor: u32,
    handle: u32,
    state_offset: u32,
    descriptor: u32,
}

/// What the core made at a clone request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) descriptor: RawFd,
    /// The handle by which the core knows it.
    pub(crate) handle: u32,
    /// Where in the shared memory its state is.
    pub(crate) state_offset: u32,
}

#[derive(Default)]
#[repr(C)]
struct Scheduling {
    policy: i32,
    priority: i32,
    of_other_policies: [u64; 2],
}

#[derive(Default)]
#[repr(C)]
struct ThreadState {
    scheduling: Scheduling,
    cpu: u32,
    state: u32,
    in_band_switches: u32,
    context_switches: u32,
    calls: u32,
    wake_ups: u32,
    run_time: u64,
}

#[repr(C)]
struct CpuState {
    cpu: u32,
    answer: u64,
}

#[repr(C)]
struct Time {
    seconds: i64,
    nanoseconds: i64,
}

const GET_CORE_INFO: u32 = request::<CoreInfo>(READ, b'C', 0);
const GET_CPU_STATE: u32 = request::<CpuState>(READ, b'C', 2);
const CLONE: u32 = request::<CloneRequest>(READ | WRITE, b'f', 0);
const SLEEP: u32 = request::<Time>(WRITE, b'c', 0);
const SET_SCHEDULING: u32 = request::<Scheduling>(WRITE, b'T', 1);
const GET_STATE: u32 = request::<ThreadState>(READ, b'T', 4);
const DETACH: u32 = request::<()>(0, b'T', 7);
const SET_MODE: u32 = request::<u32>(READ | WRITE, b'T', 8);
const CLEAR_MODE: u32 = request::<u32>(READ | WRITE, b'T', 9);

/// The core's policy of threads that are in-band except during their calls.
const SCHED_WEAK: i32 = 43;
/// The bit of a CPU's state by which the core schedules threads there.
const CPU_OUT_OF_BAND: u32 = 1;
/// The mode in which the core tells when the thread leaves the out-of-band stage.
const WARN_ON_SWITCH: u32 = 0x8000;
/// The mode in which the core tells so by a signal to the thread.
const WARN_BY_SIGNAL: u32 = 0x0010_0000;

pub(super) fn in_band_ioctl<T>(fd: RawFd, number: u32, argument: *mut T) -> Result<libc::c_long, i32> {
    // SAFETY: each caller passes a structure of the size that is part of the number, or none where the size is 0.
    checked(unsafe { libc::syscall(libc::SYS_ioctl, fd, libc::c_ulong::from(number), argument) })
}

fn clone_request(factory: RawFd, mut clone: CloneRequest) -> Result<Made, i32> {
    in_band_ioctl(factory, CLONE, &raw mut clone)?;
    let CloneRequest { handle, state_offset, descriptor, .. } = clone;
    let descriptor = RawFd::try_from(descriptor).map_err(|_| libc::EBADF)?;
    Ok(Made { descriptor, handle, state_offset })
}

/// Makes something without a name, of which a factory wants to know these attributes.
pub(super) fn make<T>(factory: RawFd, attributes: &T) -> Result<Made, i32> {
    let attributes = std::ptr::from_ref(attributes).expose_provenance() as u64;
    clone_request(factory, CloneRequest { attributes, ..CloneRequest::default() })
}

/// An `ioctl` on the out-of-band stage. It moves the calling thread there.
#[inline]
pub(super) fn ioctl<T>(form: CallForm, fd: RawFd, number: u32, argument: *mut T) -> Result<(), i32> {
    let fd = libc::c_long::from(fd);
    let (number, argument) = (libc::c_ulong::from(number), argument.expose_provenance() as libc::c_ulong);
    let [marked, option, call] = [OOB_SYSCALL_BIT | OOB_IOCTL, PR_OOB_SYSCALL, OOB_IOCTL].map(libc::c_long::from);
    checked(match form {
        CallForm::Number => {
            // SAFETY: each caller passes a structure of the size that is part of the number.
            unsafe { libc::syscall(marked, fd, number, argument) }
        }
        CallForm::Option => {
            // SAFETY: as above.
            unsafe { libc::syscall(libc::SYS_prctl, marked, fd, number, argument, 0) }
        }
        CallForm::OobSyscall => {
            // SAFETY: as above.
            unsafe { libc::syscall(libc::SYS_prctl, option, call, fd, number, argument) }
        }
    })
    .map(drop)
}

/// The sleep as [`ioctl`] makes it, by the descriptor of a clock.
pub(crate) fn sleep_call(form: CallForm, clock: RawFd) -> SleepCall {
    let fd = u64::from(clock.unsigned_abs());
    let number = u64::from(SLEEP);
    let [marked, option, call] =
        [OOB_SYSCALL_BIT | OOB_IOCTL, PR_OOB_SYSCALL, OOB_IOCTL].map(|word| u64::from(word.unsigned_abs()));
    match form {
        CallForm::Number => SleepCall::new(libc::c_long::from(OOB_SYSCALL_BIT | OOB_IOCTL), [fd, number, 0, 0, 0], 2),
        CallForm::Option => SleepCall::new(libc::SYS_prctl, [marked, fd, number, 0, 0], 3),
        CallForm::OobSyscall => SleepCall::new(libc::SYS_prctl, [option, call, fd, number, 0], 4),
    }
}

impl EvlCalls for EvlSystem {
    fn open(&self, device: EvlDevice) -> Result<RawFd, i32> {
        let path = match device {
            EvlDevice::Control => c"/dev/evl/control",
            EvlDevice::ThreadFactory => c"/dev/evl/thread/clone",
            EvlDevice::MonotonicClock => c"/dev/evl/clock/monotonic",
        };
        // SAFETY: the path ends with NUL.
        let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
        checked(libc::c_long::from(fd)).map(|_| fd)
    }

    fn close(&self, fd: RawFd) {
        // SAFETY: the caller owns the descriptor and does not use it again.
        unsafe { libc::close(fd) };
    }

    fn core_info(&self, control: RawFd) -> Result<CoreInfo, i32> {
        let mut info = CoreInfo::default();
        in_band_ioctl(control, GET_CORE_INFO, &raw mut info).map(|_| info)
    }

    fn takes_cpu(&self, control: RawFd, cpu: u32) -> Result<bool, i32> {
        let mut state = 0u32;
        let mut asked = CpuState { cpu, answer: (&raw mut state).expose_provenance() as u64 };
        in_band_ioctl(control, GET_CPU_STATE, &raw mut asked)?;
        Ok(std::hint::black_box(state) & CPU_OUT_OF_BAND != 0)
    }

    fn attach(&self, factory: RawFd, name: &CStr) -> Result<Made, i32> {
        let name = name.as_ptr().expose_provenance() as u64;
        clone_request(factory, CloneRequest { name, ..CloneRequest::default() })
    }

    fn set_fifo(&self, form: CallForm, thread: RawFd, priority: u8) -> Result<(), i32> {
        let policy = if priority == 0 { SCHED_WEAK } else { libc::SCHED_FIFO };
        let mut asked = Scheduling { policy, priority: priority.into(), ..Scheduling::default() };
        ioctl(form, thread, SET_SCHEDULING, &raw mut asked)
    }

    fn switches(&self, form: CallForm, thread: RawFd) -> Result<u64, i32> {
        let mut state = ThreadState::default();
        ioctl(form, thread, GET_STATE, &raw mut state).map(|()| state.in_band_switches.into())
    }

    fn warn(&self, form: CallForm, thread: RawFd, on: bool) -> Result<(), i32> {
        let mut mode = WARN_ON_SWITCH | if on { WARN_BY_SIGNAL } else { 0 };
        ioctl(form, thread, if on { SET_MODE } else { CLEAR_MODE }, &raw mut mode)
    }

    #[inline]
    fn sleep_until(&self, form: CallForm, clock: RawFd, at: MonoTime) -> Result<(), i32> {
        let at = timespec(at.as_ns());
        #[allow(clippy::useless_conversion, reason = "the C library's types are narrower on 32-bit machines")]
        let mut at = Time { seconds: at.tv_sec.into(), nanoseconds: at.tv_nsec.into() };
        ioctl(form, clock, SLEEP, &raw mut at)
    }

    fn detach(&self, thread: RawFd) -> Result<(), i32> {
        in_band_ioctl(thread, DETACH, std::ptr::null_mut::<()>()).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sleep_has_its_instant_where_each_generation_reads_it() {
        const AT: u64 = 0x7f00;
        let places = [CallForm::Number, CallForm::Option, CallForm::OobSyscall].map(|form| {
            let arguments = sleep_call(form, 5).arguments(AT);
            let place = |value| arguments.iter().position(|argument| *argument == value);
            (place(5), place(SLEEP.into()), place(AT))
        });
        assert_eq!(places, [0, 1, 2].map(|fd| (Some(fd), Some(fd + 1), Some(fd + 2))));
    }

    /// These numbers are part of the core's ABI.
    #[test]
    fn requests_have_the_numbers_of_the_core() {
        let numbers = [GET_CORE_INFO, GET_CPU_STATE, CLONE, SLEEP, SET_SCHEDULING, GET_STATE, DETACH, SET_MODE];
        let known =
            [0x8018_4300, 0x8010_4302, 0xc028_6600, 0x4010_6300, 0x4018_5401, 0x8038_5404, 0x0000_5407, 0xc004_5408];
        assert_eq!(numbers.map(|n| format!("{n:#x}")), known.map(|n: u32| format!("{n:#x}")));
    }
}
