//! What stands against relying on the verdict of a test.

/// Each can hide a broken promise. None of them excuses one that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// The system refused real-time threads.
    NoRealTime,
    /// The machine has a real-time core that refused threads.
    NoOutOfBand,
    /// No register of this architecture is known.
    NoRegisters,
    /// The test ended before it had tried anything.
    NothingTried,
    /// The system refused to lock memory.
    NotLocked,
    /// The program that takes memory away from others did not run to the end.
    NoPressure,
    /// Locks without inheritance were not seen to invert priorities, so those with it may not have been tried either.
    NoInversionSeen,
    /// A corruption was planted and not noticed.
    PlantMissed,
    /// A test of the second kernel's own did not come to its end.
    OwnTestsFailed,
}
