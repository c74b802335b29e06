//! Measures in the kernel, through the drivers with which real-time cores measure themselves: `latmus` of EVL and
//! `timerbench` of Cobalt.
//!
//! A driver wakes a task of its own, or reads the clock in its timer handler. It tells extremes and the sum once a second,
//! and a histogram at the end. A thread of this program only waits in the driver.

mod bench;
mod gravity;
mod latmus;
mod told;

pub use gravity::{Gravities, reset as reset_gravity, tune as tune_gravity};
pub use told::{Cells, Second};

use crate::sys::core_driver::{CoreDevice, be_interruptible};
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::scenario::{Core, CoreContext};
use punctual_rt::{Backend, CoreThread};
use std::ffi::CStr;
use std::path::Path;
use thiserror::Error;

/// Longest measurement by a driver at a stretch. Only at its end the driver tells a histogram, so this limits what is lost if
/// the machine dies. The next stretch begins after another warm-up of the driver.
const STRETCH_MAX: Nanos = Nanos::from_secs(60);

/// Why a driver of a core cannot measure.
#[derive(Debug, Error)]
pub enum DriverError {
    #[error("{0}")]
    Core(#[from] punctual_rt::Error),
    /// The device is missing or cannot be opened.
    #[error("{core} measures in the kernel by its driver {driver}, and {path} cannot be opened: {}", why(*.errno))]
    Device { core: Backend, driver: &'static str, path: &'static str, errno: i32 },
    #[error("the driver {driver} of {core} refused to measure: {}", why(*.errno))]
    Refused { core: Backend, driver: &'static str, errno: i32 },
    /// The driver cannot be told on which CPU its task runs.
    #[error("Cobalt runs the task of its driver on CPU {runs_on}, and cannot be told to use another one")]
    OtherCpu { runs_on: u32 },
}

impl DriverError {
    pub fn remedy(&self) -> String {
        match self {
            Self::Core(refused) => refused.remedy().to_owned(),
            Self::Device { errno: libc::ENOENT | libc::ENODEV | libc::ENXIO, driver, .. } => {
                let option = match *driver {
                    "latmus" => "CONFIG_EVL_LATMUS=y",
                    "autotune" => "CONFIG_XENO_DRIVERS_AUTOTUNE=y",
                    _ => "CONFIG_XENO_DRIVERS_TIMERBENCH=y",
                };
                format!("build the kernel with {option} (as a module: load it), or leave --context and --gravity out")
            }
            Self::Device { .. } => "run as root, or leave --context and --gravity out".to_owned(),
            Self::Refused { .. } => "look at the kernel's log (dmesg), or leave --context and --gravity out".to_owned(),
            Self::OtherCpu { runs_on } => format!("measure the CPU that it uses: --cpus {runs_on}"),
        }
    }
}

fn why(errno: i32) -> std::io::Error {
    std::io::Error::from_raw_os_error(errno)
}

/// The driver of a core that is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    Latmus,
    Timerbench,
    Autotune,
}

impl Device {
    pub const fn that_measures(core: Core) -> Self {
        match core {
            Core::Evl => Self::Latmus,
            Core::Cobalt => Self::Timerbench,
        }
    }

    pub const fn that_tunes(core: Core) -> Self {
        match core {
            Core::Evl => Self::Latmus,
            Core::Cobalt => Self::Autotune,
        }
    }

    const fn core(self) -> Backend {
        match self {
            Self::Latmus => Backend::Evl,
            Self::Timerbench | Self::Autotune => Backend::Cobalt,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Latmus => "latmus",
            Self::Timerbench => "timerbench",
            Self::Autotune => "autotune",
        }
    }

    const fn path(self) -> (&'static str, &'static CStr) {
        match self {
            Self::Latmus => ("/dev/latmus", c"/dev/latmus"),
            Self::Timerbench => ("/dev/rtdm/timerbench", c"/dev/rtdm/timerbench"),
            Self::Autotune => ("/dev/rtdm/autotune", c"/dev/rtdm/autotune"),
        }
    }

    /// Looks whether the core and the device exist, without opening the device.
    ///
    /// # Errors
    /// The reason why they cannot be used.
    pub fn look(self) -> Result<(), DriverError> {
        self.core().look()?;
        Path::new(self.path().0)
            .metadata()
            .map(drop)
            .map_err(|error| self.unopened(error.raw_os_error().unwrap_or(libc::EIO)))
    }

    fn open(self, thread: &CoreThread) -> Result<CoreDevice, DriverError> {
        CoreDevice::open(thread.calls(), self.path().1).map_err(|errno| self.unopened(errno))
    }

    const fn unopened(self, errno: i32) -> DriverError {
        DriverError::Device { core: self.core(), driver: self.name(), path: self.path().0, errno }
    }

    const fn refused(self, errno: i32) -> DriverError {
        DriverError::Refused { core: self.core(), driver: self.name(), errno }
    }
}

/// What a driver is to measure.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    pub core: Core,
    pub context: CoreContext,
    pub cpu: u32,
    pub period: Nanos,
    pub priority: u8,
}

/// Who is told what a driver measures, and who says when it must end.
pub trait Listener: Send {
    /// Takes a second that ended at `at`.
    fn second(&mut self, at: MonoTime, second: &Second);
    /// Whether the measurement must end before its time.
    fn stops(&self) -> bool;
}

/// The calling thread, attached to a core in whose driver it waits.
pub struct Driver {
    ask: Ask,
    /// Dropped before the thread leaves the core.
    device: CoreDevice,
    _thread: CoreThread,
}

impl Driver {
    /// Attaches the calling thread, which must be kept to the CPU that is to be measured.
    pub fn attach(ask: Ask) -> Result<Self, DriverError> {
        let needed = Device::that_measures(ask.core);
        let thread = CoreThread::attach(needed.core(), ask.priority)?;
        let device = needed.open(&thread)?;
        be_interruptible().map_err(|error| needed.refused(error.raw_os_error().unwrap_or(libc::EIO)))?;
        Ok(Self { ask, device, _thread: thread })
    }

    /// Measures until `end`, at most [`STRETCH_MAX`], or until the listener stops it. Returns the histogram, and all seconds
    /// together.
    ///
    /// # Errors
    /// What the driver or the core refused.
    pub fn measure(&self, end: MonoTime, listener: &mut dyn Listener) -> Result<(Cells, Second), DriverError> {
        let end = end.min(punctual_rt::now().plus(STRETCH_MAX));
        let refused = |errno| Device::that_measures(self.ask.core).refused(errno);
        match self.ask.core {
            Core::Evl => {
                let system = latmus::System::new(&self.device, &self.ask).map_err(refused)?;
                latmus::measure(&system, end, listener).map_err(refused)
            }
            Core::Cobalt => {
                bench::measure(&bench::System::new(&self.device), &self.ask, end, listener).map_err(|failed| {
                    match failed {
                        bench::Failed::Refused(errno) => refused(errno),
                        bench::Failed::OtherCpu { runs_on } => DriverError::OtherCpu { runs_on },
                    }
                })
            }
        }
    }
}
