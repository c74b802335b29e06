//! The EVL core: which of its generations runs, and how a thread is attached to it.

use super::out_of_band::Core;
use crate::CoreRefusal;
use crate::sys::{
    CallForm, CoreInfo, CoreMemory, EvlCalls, EvlDevice, EvlSystem, Made, Member, SleepCall, evl_sleep,
    map_shared_memory,
};
use punctual_hist::MonoTime;
use std::ffi::CString;
use std::os::fd::RawFd;

/// The ABIs that this library was tested with, and how each makes out-of-band calls. A core accepts a range of ABIs, and
/// the newest of these within the range is used.
const TESTED: [(u32, CallForm); 3] = [(36, CallForm::OobSyscall), (32, CallForm::Option), (26, CallForm::Number)];

/// How calls are made to a core that states this range of ABIs.
pub(super) fn form_of(info: &CoreInfo) -> Result<CallForm, CoreRefusal> {
    let accepted = info.abi_base..=info.abi_current;
    let tested = TESTED.iter().find(|(abi, _)| accepted.contains(abi));
    tested.map(|(_, form)| *form).ok_or(CoreRefusal::Abi { oldest: info.abi_base, newest: info.abi_current })
}

/// The meaning of an `errno` with which a device refused to be opened.
fn unopened(errno: i32) -> CoreRefusal {
    match errno {
        libc::EACCES | libc::EPERM => CoreRefusal::NotAllowed(errno),
        _ => CoreRefusal::Device(errno),
    }
}

/// A descriptor that is closed when this value is dropped.
struct Opened<S: EvlCalls> {
    system: S,
    fd: RawFd,
}

impl<S: EvlCalls + Clone> Opened<S> {
    fn new(system: &S, device: EvlDevice) -> Result<Self, i32> {
        system.open(device).map(|fd| Self { system: system.clone(), fd })
    }
}

impl<S: EvlCalls> Drop for Opened<S> {
    fn drop(&mut self) {
        self.system.close(self.fd);
    }
}

/// A core of a known ABI.
pub(crate) struct FoundEvl<S: EvlCalls> {
    system: S,
    control: Opened<S>,
    info: CoreInfo,
    form: CallForm,
}

impl FoundEvl<EvlSystem> {
    /// Maps the memory that the core shares with this process.
    pub(super) fn map(&self) -> Result<CoreMemory, i32> {
        map_shared_memory(self.control.fd, &self.info)
    }
}

impl<S: EvlCalls + Clone> FoundEvl<S> {
    /// Looks for the core. Safe on any kernel: it opens a device, and asks it for its ABI.
    pub(crate) fn find(system: S) -> Result<Self, CoreRefusal> {
        let control = Opened::new(&system, EvlDevice::Control).map_err(|errno| match errno {
            libc::ENOENT | libc::ENOTDIR => CoreRefusal::Absent,
            _ => unopened(errno),
        })?;
        let info = system.core_info(control.fd).map_err(|errno| match errno {
            libc::ENOTTY => CoreRefusal::UnknownAbi,
            _ => CoreRefusal::Call(errno),
        })?;
        let form = form_of(&info)?;
        Ok(Self { system, control, info, form })
    }

    pub(super) const fn form(&self) -> CallForm {
        self.form
    }

    /// The oldest and the newest ABI that the core accepts.
    pub(super) const fn abis(&self) -> (u32, u32) {
        (self.info.abi_base, self.info.abi_current)
    }

    /// Makes the calling thread an EVL thread on one of `cpus`. The memory of the process must be locked.
    pub(crate) fn attach(self, tid: u32, priority: u8, cpus: &[u32]) -> Result<Evl<S>, CoreRefusal> {
        let Self { system, control, form, .. } = self;
        let takes = |cpu: &u32| system.takes_cpu(control.fd, *cpu) == Ok(true);
        if !cpus.iter().any(takes) {
            return Err(CoreRefusal::Cpus);
        }
        let clock = Opened::new(&system, EvlDevice::MonotonicClock).map_err(unopened)?;
        let factory = Opened::new(&system, EvlDevice::ThreadFactory).map_err(unopened)?;
        // Names of EVL threads are unique on a machine.
        let name = CString::new(format!("punctual:{tid}")).map_err(|_| CoreRefusal::Call(libc::EINVAL))?;
        let made = system.attach(factory.fd, &name).map_err(|errno| match errno {
            libc::ENXIO => CoreRefusal::Stopped,
            libc::EBUSY => CoreRefusal::AlreadyAttached,
            libc::EPERM | libc::EACCES => CoreRefusal::NotAllowed(errno),
            libc::ENOMEM | libc::ENOSPC | libc::EAGAIN | libc::EMFILE | libc::ENFILE => CoreRefusal::Full(errno),
            libc::ENODEV => CoreRefusal::Device(errno),
            _ => CoreRefusal::Call(errno),
        })?;
        // From here on, dropping `evl` detaches the thread.
        let Made { descriptor: thread, handle, state_offset: window_offset } = made;
        let member = Member { handle, window_offset };
        let evl = Evl { thread: Opened { system, fd: thread }, member, clock, form, _control: control };
        let system = &evl.thread.system;
        system.set_fifo(form, thread, priority).map_err(|errno| match errno {
            libc::EPERM => CoreRefusal::NotAllowed(errno),
            _ => CoreRefusal::Call(errno),
        })?;
        Ok(evl)
    }
}

/// An EVL thread: the calling one.
pub(crate) struct Evl<S: EvlCalls> {
    thread: Opened<S>,
    member: Member,
    clock: Opened<S>,
    form: CallForm,
    /// The process stays known to the core as long as the control device is open.
    _control: Opened<S>,
}

impl<S: EvlCalls> Core for Evl<S> {
    #[inline]
    fn sleep_until(&self, at: MonoTime) -> Result<(), i32> {
        self.clock.system.sleep_until(self.form, self.clock.fd, at)
    }

    fn switches(&self) -> Result<u64, i32> {
        self.thread.system.switches(self.form, self.thread.fd)
    }

    fn warn(&self, on: bool) -> Result<(), i32> {
        self.thread.system.warn(self.form, self.thread.fd, on)
    }

    fn member(&self) -> Member {
        self.member
    }

    fn sleep_call(&self) -> SleepCall {
        evl_sleep(self.form, self.clock.fd)
    }
}

impl<S: EvlCalls> Drop for Evl<S> {
    fn drop(&mut self) {
        // A thread that cannot be detached stays attached until it ends, which harms nothing.
        let _ = self.thread.system.detach(self.thread.fd);
    }
}
