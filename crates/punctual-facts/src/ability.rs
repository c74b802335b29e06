//! What this program can do on a machine, and what keeps it from the rest.

use serde::Serialize;

/// Something that a machine may refuse this program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ability {
    /// Threads with a real-time priority, which every measurement that is to be trusted needs.
    RealTimePriority,
    /// Memory that is never paged out, with room for a measurement.
    LockMemory,
    /// Keeping CPUs out of deep idle states while measuring.
    HoldIdleStates,
    /// The kernel's trace, from which causes and the cycles of other programs are told.
    KernelTrace,
    /// The processor's counter of interrupts by the firmware.
    FirmwareCounter,
    /// Changing settings of the machine.
    ChangeSettings,
    /// A load by an outside program with this name.
    Load(String),
}

impl Ability {
    /// Whether a measurement cannot be trusted without it.
    pub fn is_essential(&self) -> bool {
        matches!(self, Self::RealTimePriority | Self::LockMemory)
    }
}

/// Why something does not work here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Obstacle {
    /// Only root may do this.
    NotRoot,
    /// The limit on real-time priorities of this user.
    PriorityLimit(u64),
    /// The limit on locked memory of this user, in bytes.
    MemoryLimit(u64),
    /// The control group of this process has no real-time run time.
    GroupWithoutRunTime,
    /// This process has a PID namespace of its own.
    PidNamespace,
    /// A file of the kernel that is missing.
    NoFile(String),
    NoProgram {
        /// The name of the missing program.
        program: String,
        /// The package of Debian that has it.
        package: String,
    },
    /// There is no display to draw on.
    NoDisplay,
    /// What the kernel or the system said.
    NotGranted(String),
}

/// An ability that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tried {
    /// What this program tried to do on this machine.
    pub ability: Ability,
    /// Why it does not work here; null if it works.
    pub obstacle: Option<Obstacle>,
}
