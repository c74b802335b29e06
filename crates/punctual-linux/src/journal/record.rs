//! The records of the journal as types of this program, which may change freely. Only `format` knows how they are
//! written.

use punctual_tuning::plan::{Before, Keep, Lasts, Step, subject};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalRecord {
    Begun(Begun),
    Intent(Intent),
    /// The machine already had the value of a step, so there is nothing to undo.
    Was(Was),
    Outcome {
        transaction: u32,
        number: u32,
        outcome: StepOutcome,
    },
    Applied {
        transaction: u32,
    },
    Confirmed {
        transaction: u32,
    },
    Leaving {
        transaction: u32,
    },
    /// A step was undone, or needed no undoing.
    Undone {
        transaction: u32,
        number: u32,
        how: Undone,
    },
    Reverted {
        transaction: u32,
    },
}

impl JournalRecord {
    pub fn transaction(&self) -> u32 {
        match self {
            Self::Begun(begun) => begun.transaction,
            Self::Intent(intent) => intent.transaction,
            Self::Was(was) => was.transaction,
            Self::Outcome { transaction, .. }
            | Self::Applied { transaction }
            | Self::Confirmed { transaction }
            | Self::Leaving { transaction }
            | Self::Undone { transaction, .. }
            | Self::Reverted { transaction } => *transaction,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Number of the transaction; later ones have larger numbers.
    pub transaction: u32,
    pub at_unix_s: u64,
    pub boot: String,
    /// Version of the program that wrote the record.
    pub version: String,
    pub asked: TuningRequest,
    pub kind: Purpose,
    /// The process that makes the changes, or that supervises a command for which they are made.
    pub owner: Owner,
    /// The time of `CLOCK_BOOTTIME`, in nanoseconds, at which the transaction is undone unless it was confirmed.
    pub confirm_by_ns: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TuningRequest {
    pub cpus: String,
    pub profile: String,
    pub arguments: Vec<String>,
    pub keeps: Vec<KeptSetting>,
}

/// A setting that is kept across boots for the knob with this id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptSetting {
    pub knob: String,
    pub keep: Keep,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    Tuned,
    ForCommand {
        command: Vec<String>,
    },
    /// Makes the changes of transaction `of` permanent, which had tried them out.
    Adopted {
        of: u32,
    },
    /// Settings that have to be written again at each boot.
    Boot,
    /// One part of a measurement campaign that spans boots.
    Campaign {
        folder: String,
    },
    /// The unit of a watch that keeps what it sees in this folder.
    Watch {
        store: String,
    },
}

/// A process, identified by its number and start time because numbers are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub pid: u32,
    /// Clock ticks from boot to the start of the process.
    pub started: u64,
}

/// A step that is about to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Intent {
    pub transaction: u32,
    /// Number of the step within its transaction.
    pub number: u32,
    /// Id of the change that the step belongs to.
    pub change: String,
    /// Until when the change holds if it is not undone.
    pub lasts: Lasts,
    #[serde(rename = "what", serialize_with = "subject_of")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub step: Step,
    #[serde(skip)]
    pub before: Before,
}

/// A step is published by its subject, because its content may be a whole file.
fn subject_of<S: serde::Serializer>(step: &Step, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&subject(step))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Was {
    pub transaction: u32,
    pub change: String,
    pub step: Step,
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum StepOutcome {
    /// The step was done, and its value was seen to be in force.
    Effective,
    /// The value was accepted but is not in force yet; for example, an interrupt moves when it occurs next.
    Waits {
        /// The value in force.
        seen: String,
    },
    /// The value in force differs from the wanted one.
    Differs { seen: String },
    /// The step could not be done.
    Refused { why: String },
    /// The subject of the step has gone.
    Gone { what: String },
}

/// The result of undoing a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum Undone {
    /// The previous value is restored.
    Restored,
    /// There was nothing to undo.
    Nothing { why: String },
    /// Somebody else's change was left in place, as the user requested.
    Left {
        #[serde(rename = "why")]
        what: String,
    },
}
