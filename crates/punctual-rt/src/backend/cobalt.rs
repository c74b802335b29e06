//! The Cobalt core: whether it serves this process, and how a thread is attached to it.

use super::out_of_band::Core;
use crate::CoreRefusal;
use crate::sys::{BindRefused, COBALT_SLEEP, CobaltCalls, Member, SleepCall};
use punctual_hist::MonoTime;
use std::os::fd::RawFd;

/// Asks the core to serve this process. Safe on any kernel: a kernel without Cobalt does not know the call.
pub(super) fn find(system: &impl CobaltCalls) -> Result<(), CoreRefusal> {
    system.bind().map_err(|BindRefused { errno, abi }| match errno {
        libc::ENOSYS => CoreRefusal::Absent,
        libc::EAGAIN => CoreRefusal::Stopped,
        libc::ENOEXEC => CoreRefusal::Abi { oldest: abi, newest: abi },
        libc::EPERM | libc::EACCES => CoreRefusal::NotAllowed(errno),
        libc::ENOMEM | libc::ENOSPC => CoreRefusal::Full(errno),
        libc::ENODEV => CoreRefusal::Device(errno),
        _ => CoreRefusal::Call(errno),
    })
}

/// A Cobalt thread: the calling one.
pub(crate) struct Cobalt<S: CobaltCalls> {
    system: S,
    member: Member,
    /// The timer file for which the thread waits instead of sleeping.
    timer: Option<RawFd>,
}

impl<S: CobaltCalls> Cobalt<S> {
    /// Makes the calling thread a Cobalt thread on one of `cpus`. The memory of the process must be locked.
    pub(super) fn attach(system: S, priority: u8, cpus: &[u32]) -> Result<Self, CoreRefusal> {
        let window_offset = system.set_fifo(priority).map_err(|errno| match errno {
            libc::EBUSY => CoreRefusal::AlreadyAttached,
            libc::EPERM | libc::EACCES => CoreRefusal::NotAllowed(errno),
            libc::ENOMEM | libc::ENOSPC | libc::EAGAIN => CoreRefusal::Full(errno),
            _ => CoreRefusal::Call(errno),
        })?;
        // From here on, dropping `cobalt` takes the thread off the core's real-time class.
        let member = Member { handle: 0, window_offset };
        let mut cobalt = Self { system, member, timer: None };
        // Without a handle, only locks and semaphores of the core cannot be used.
        cobalt.member.handle = cobalt.system.handle().unwrap_or(0);
        let state = cobalt.system.state().map_err(CoreRefusal::Call)?;
        // The core moves a thread whose CPU it does not serve.
        if cpus.contains(&state.cpu) { Ok(cobalt) } else { Err(CoreRefusal::Cpus) }
    }

    /// Lets the thread wait for a timer file from now on.
    pub(super) fn with_timer(mut self) -> Result<Self, CoreRefusal> {
        self.timer = Some(self.system.new_timer().map_err(CoreRefusal::Call)?);
        Ok(self)
    }
}

impl<S: CobaltCalls> Core for Cobalt<S> {
    #[inline]
    fn sleep_until(&self, at: MonoTime) -> Result<(), i32> {
        match self.timer {
            None => self.system.sleep_until(at),
            Some(timer) => self.system.wait_for_timer(timer, at),
        }
    }

    fn switches(&self) -> Result<u64, i32> {
        self.system.state().map(|state| state.switches)
    }

    fn warn(&self, on: bool) -> Result<(), i32> {
        self.system.warn(on)
    }

    fn member(&self) -> Member {
        self.member
    }

    fn sleep_call(&self) -> SleepCall {
        COBALT_SLEEP
    }
}

impl<S: CobaltCalls> Drop for Cobalt<S> {
    fn drop(&mut self) {
        // A thread cannot leave Cobalt before it ends, but it can give up its priority there.
        if let Some(timer) = self.timer {
            self.system.close(timer);
        }
        let _ = self.system.set_fifo(0);
        let _ = self.system.go_in_band();
    }
}
