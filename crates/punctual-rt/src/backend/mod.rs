//! The kernel that paces a thread: Linux, or a real-time core beside it.
//!
//! A core (EVL of Xenomai 4, Cobalt of Xenomai 3) has a scheduler of its own. Its threads sleep and wake *out-of-band*:
//! Linux cannot delay them. Such a thread still is a Linux thread. When it makes a Linux system call or touches a page
//! that is not in memory, the core hands it over to Linux (*in-band*), and its next sleep takes it back.
//!
//! This module speaks the kernel's own interface and needs no library. It knows neither grids nor ways to wait.

mod cobalt;
mod core_lock;
mod core_thread;
mod core_word;
mod evl;
mod out_of_band;
#[cfg(test)]
mod tests;

use crate::sys::{self, CobaltSystem, DriverCalls, EvlSystem, SleepCall};
use crate::{CoreRefusal, Error, SetupError, Stopper, lock_memory, prefault_stack};
use cobalt::Cobalt;
pub(crate) use core_lock::{CoreCount, CoreLock};
pub use core_thread::CoreThread;
use evl::{Evl, FoundEvl};
use out_of_band::OutOfBand;
use punctual_hist::MonoTime;
use std::fmt;
use std::str::FromStr;

/// The kernel that paces a thread.
///
/// # Real-time
/// Every sleep of an out-of-band task is one call of its core; ten times a second another one reads the number of switches.
///
/// # Kernel
/// EVL accepting ABI 26, 32 or 36, or Cobalt of Xenomai 3.2 or 3.3, on x86-64 and arm64. No library is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Backend {
    /// Linux, with or without `PREEMPT_RT`.
    #[default]
    Linux = 0,
    /// The EVL core of Xenomai 4.
    Evl = 1,
    /// The Cobalt core of Xenomai 3.
    Cobalt = 2,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Linux => "Linux",
            Self::Evl => "EVL",
            Self::Cobalt => "Cobalt",
        })
    }
}

impl FromStr for Backend {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "linux" => Ok(Self::Linux),
            "evl" => Ok(Self::Evl),
            "cobalt" => Ok(Self::Cobalt),
            _ => Err(format!("{word}: a back end is linux, evl or cobalt")),
        }
    }
}

impl Backend {
    /// Looks whether this kernel has this core, and one that can be used. Linux always can.
    ///
    /// # Errors
    /// [`SetupError::Evl`] or [`SetupError::Cobalt`] with the reason.
    ///
    /// # Real-time
    /// Enters the kernel: call before the loop.
    pub fn look(self) -> Result<(), Error> {
        find_only(self).map(drop)
    }

    /// The back end with this number in a page of statistics. A number that this version does not know reads as Linux.
    pub(crate) fn of_number(number: u64) -> Self {
        [Self::Evl, Self::Cobalt].into_iter().find(|other| u64::from(*other as u8) == number).unwrap_or(Self::Linux)
    }

    /// The error of this back end for a refusal of its core.
    fn refused(self, refusal: CoreRefusal) -> Error {
        Error::Setup(match self {
            Self::Cobalt => SetupError::Cobalt(refusal),
            Self::Linux | Self::Evl => SetupError::Evl(refusal),
        })
    }
}

/// What happens when an out-of-band loop is taken in-band after its first sleep. Without effect on
/// [`Backend::Linux`], whose threads are always in-band.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InBand {
    /// The switch is counted in the statistics, and the loop continues.
    #[default]
    Count,
    /// The loop ends at its next sleep, with [`Ended::InBand`](crate::Ended::InBand). The core tells about the switch by
    /// `SIGXCPU`, for which the library installs a handler. Other uses of that signal reach the handler that was there
    /// before.
    Strict,
}

/// What took an out-of-band thread in-band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchCause {
    /// A signal had to be delivered.
    Signal,
    /// The thread made a system call of Linux.
    SystemCall,
    /// The thread touched memory that was not mapped, or caused another exception of the CPU.
    Fault,
    /// Another reason, by its number in the core's interface.
    Other(u8),
}

impl SwitchCause {
    /// Both cores give the first three causes the same numbers.
    fn of_number(number: u8) -> Self {
        match number {
            1 => Self::Signal,
            2 => Self::SystemCall,
            3 => Self::Fault,
            other => Self::Other(other),
        }
    }
}

/// Why a thread can no longer be paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    /// It was taken in-band, which [`InBand::Strict`] forbids.
    InBand(SwitchCause),
    /// The core does not let the thread sleep any more; with the `errno`.
    Refused(i32),
}

/// A core that this kernel has and that this library can use.
pub(crate) enum Found {
    Evl(FoundEvl<EvlSystem>),
    Cobalt(CobaltSystem),
}

impl Found {
    pub(crate) const fn backend(&self) -> Backend {
        match self {
            Self::Evl(_) => Backend::Evl,
            Self::Cobalt(_) => Backend::Cobalt,
        }
    }

    /// How the core's drivers are called.
    const fn driver_calls(&self) -> DriverCalls {
        match self {
            Self::Evl(found) => DriverCalls::evl(found.form()),
            Self::Cobalt(_) => DriverCalls::COBALT,
        }
    }
}

/// Looks for a core of this kernel.
///
/// The search opens a device, or makes system calls that any other kernel refuses. The process stays as it was, except
/// that Cobalt, if it is found, counts it as one of its own.
pub(crate) fn find(backend: Backend) -> Result<Option<Found>, CoreRefusal> {
    match backend {
        Backend::Linux => Ok(None),
        Backend::Evl => FoundEvl::find(EvlSystem).map(|found| Some(Found::Evl(found))),
        Backend::Cobalt => cobalt::find(&CobaltSystem).map(|()| Some(Found::Cobalt(CobaltSystem))),
    }
}

/// Looks for any core. The first one that cannot be used although the kernel has it is an error.
pub(crate) fn find_any() -> Result<Option<Found>, Error> {
    for backend in [Backend::Evl, Backend::Cobalt] {
        match find(backend) {
            Err(CoreRefusal::Absent) => {}
            found => return found.map_err(|refusal| backend.refused(refusal)),
        }
    }
    Ok(None)
}

/// Looks for the core that was asked for.
pub(crate) fn find_only(backend: Backend) -> Result<Option<Found>, Error> {
    find(backend).map_err(|refusal| backend.refused(refusal))
}

/// What an out-of-band loop needs to know about the task.
pub(crate) struct Needs {
    pub(crate) priority: u8,
    pub(crate) in_band: InBand,
    /// Whether the thread waits for a timer file of the core instead of sleeping.
    pub(crate) by_timer: bool,
    /// Whether the memory of the process is locked already.
    pub(crate) memory_is_locked: bool,
    pub(crate) stop: Stopper,
    /// Receives the number of switches in-band since the first sleep, at most ten times a second.
    pub(crate) report: Box<dyn Fn(u64) + Send>,
}

/// Stack that is touched before the loop if the task does not say how much it needs.
const STACK_BYTES: usize = 64 << 10;

/// A thread that a core paces.
pub(crate) enum Attached {
    Evl(OutOfBand<Evl<EvlSystem>>),
    Cobalt(OutOfBand<Cobalt<CobaltSystem>>),
}

impl Attached {
    /// Attaches the calling thread. It is in-band afterwards, until it sleeps for the first time.
    pub(crate) fn new(found: Found, needs: Needs) -> Result<Self, Error> {
        if !needs.memory_is_locked {
            lock_memory()?;
            prefault_stack(STACK_BYTES)?;
        }
        let (name, backend) = (sys::thread_name(), found.backend());
        let refused = |refusal| backend.refused(refusal);
        let cpus = sys::affinity().map_err(SetupError::ReadBack)?;
        if needs.in_band == InBand::Strict {
            sys::hear_debug_signal().map_err(CoreRefusal::Call).map_err(refused)?;
        }
        let attached = match found {
            Found::Evl(found) => {
                let core = found.attach(sys::thread_id(), needs.priority, &cpus);
                Self::Evl(OutOfBand::new(core.map_err(refused)?, needs))
            }
            Found::Cobalt(system) => {
                let core = Cobalt::attach(system, needs.priority, &cpus);
                let core = if needs.by_timer { core.and_then(Cobalt::with_timer) } else { core };
                Self::Cobalt(OutOfBand::new(core.map_err(refused)?, needs))
            }
        };
        // The first reading of the clock out-of-band must not fault.
        sys::now();
        // EVL gives the thread another name. Besides, this call of Linux takes the thread in-band, where the rest of
        // the start belongs.
        sys::set_thread_name(&name);
        Ok(attached)
    }

    pub(crate) const fn backend(&self) -> Backend {
        match self {
            Self::Evl(_) => Backend::Evl,
            Self::Cobalt(_) => Backend::Cobalt,
        }
    }

    pub(crate) const fn departure(&self) -> Option<Departure> {
        match self {
            Self::Evl(core) => core.departure(),
            Self::Cobalt(core) => core.departure(),
        }
    }

    /// How often the thread was taken in-band since its first sleep, as of the last reading, which is at most 0.1 s old.
    pub(crate) const fn switches(&self) -> u64 {
        match self {
            Self::Evl(core) => core.switches(),
            Self::Cobalt(core) => core.switches(),
        }
    }

    /// Reads how often the thread was taken in-band since its first sleep.
    pub(crate) fn count_switches(&mut self) -> u64 {
        match self {
            Self::Evl(core) => core.count_switches(),
            Self::Cobalt(core) => core.count_switches(),
        }
    }

    /// The sleep of this thread as the system call that it is.
    fn sleep_call(&self) -> SleepCall {
        match self {
            Self::Evl(core) => core.sleep_call(),
            Self::Cobalt(core) => core.sleep_call(),
        }
    }

    /// Sleeps out-of-band until `at`. If the core refuses, or if the loop must end, returns early and stops the loop.
    ///
    /// # Real-time
    /// One kernel entry, and one or two more ten times a second and at the first sleep.
    #[inline(never)]
    pub(crate) fn sleep_until(&mut self, at: MonoTime) {
        match self {
            Self::Evl(core) => core.sleep_until(at),
            Self::Cobalt(core) => core.sleep_until(at),
        }
    }
}
