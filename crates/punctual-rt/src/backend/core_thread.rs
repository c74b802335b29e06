//! A thread that belongs to a real-time core without being paced, for calls to the core's drivers.

use super::{Attached, Backend, InBand, Needs, find_only};
use crate::sys::{DriverCalls, SleepCall};
use crate::{ConfigError, Error, Stopper};

/// Higher priorities belong to kernel threads.
const PRIORITY_MAX: u8 = 95;

/// The calling thread as a thread of a real-time core, for the core's locks and semaphores, and for calls to its drivers (RTDM of Cobalt, out-of-band
/// `ioctl` of EVL).
///
/// Tasks that a core paces belong to it already. This is for threads that only wait
/// there. The thread belongs to the
/// core until this value is dropped, and the value cannot leave the thread.
///
/// ```no_run
/// use punctual_rt::{Backend, CoreThread};
///
/// let thread = CoreThread::attach(Backend::Cobalt, 50)?;
/// let device = thread.calls().open(c"/dev/rtdm/timerbench");
/// # Ok::<(), punctual_rt::Error>(())
/// ```
pub struct CoreThread {
    calls: DriverCalls,
    /// Not `Send`, because it stands for the thread that made it.
    attached: (Attached, std::marker::PhantomData<*const ()>),
}

impl CoreThread {
    /// Attaches the calling thread with `SCHED_FIFO` at this priority. With priority 0 it remains a thread of Linux, which is
    /// out-of-band only while it waits in the core or holds a lock of it. Locks the memory of the process.
    ///
    /// # Errors
    /// [`SetupError::Evl`](crate::SetupError::Evl) or [`SetupError::Cobalt`](crate::SetupError::Cobalt) with the reason why
    /// the core cannot be used; [`ConfigError::OnlyInBand`] for [`Backend::Linux`], which has no such threads;
    /// [`ConfigError::Priority`] above 95.
    ///
    /// # Real-time
    /// Enters the kernel, allocates, and may fault: call before the loop.
    ///
    /// # Kernel
    /// See [`Backend`].
    pub fn attach(backend: Backend, priority: u8) -> Result<Self, Error> {
        if priority > PRIORITY_MAX {
            return Err(Error::Config(ConfigError::Priority(priority)));
        }
        let found = find_only(backend)?.ok_or(Error::Config(ConfigError::OnlyInBand))?;
        let calls = found.driver_calls();
        let (in_band, stop, report) = (InBand::Count, Stopper::default(), Box::new(|_| ()));
        let needs = Needs { priority, in_band, by_timer: false, memory_is_locked: false, stop, report };
        Ok(Self { calls, attached: (Attached::new(found, needs)?, std::marker::PhantomData) })
    }

    /// How the drivers of the core are called. Other threads of the core may use it, too.
    ///
    /// # Real-time
    /// Reads memory.
    pub const fn calls(&self) -> DriverCalls {
        self.calls
    }

    /// The system call by which this thread sleeps on the core. Only this thread may make it, and only until this value is
    /// dropped.
    ///
    /// # Real-time
    /// Reads memory.
    ///
    /// # Kernel
    /// See [`Backend`].
    pub fn sleep_call(&self) -> SleepCall {
        self.attached.0.sleep_call()
    }

    /// How often the thread was taken in-band since the first call of this, which returns 0. A call that fails because the
    /// core was stopped returns the number of the last one.
    ///
    /// # Real-time
    /// One call of the core, which moves the thread out-of-band.
    ///
    /// # Kernel
    /// See [`Backend`].
    pub fn switches(&mut self) -> u64 {
        self.attached.0.count_switches()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_has_no_threads_of_a_core() {
        let refused = CoreThread::attach(Backend::Linux, 1).err();
        assert_eq!(refused.map(|error| error.to_string()), Some(Error::Config(ConfigError::OnlyInBand).to_string()));
        let refused = CoreThread::attach(Backend::Evl, 96).err();
        assert_eq!(refused, Some(Error::Config(ConfigError::Priority(96))), "before anything is asked of the kernel");
    }
}
