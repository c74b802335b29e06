//! What the journal tells: values only, free to change. How they are written down is known to `format` alone.

use punctual_tuning::plan::{Before, Keep, Lasts, Step, subject};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    Begun(Begun),
    /// The step is about to be done.
    Intent(Intent),
    /// The machine had the value already, so there is nothing to undo.
    Was(Was),
    /// The step has ended.
    Outcome {
        transaction: u32,
        number: u32,
        outcome: Outcome,
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
    /// The step is undone, or needed no undoing.
    Undone {
        transaction: u32,
        number: u32,
        /// What was done for it.
        how: Undone,
    },
    Reverted {
        transaction: u32,
    },
}

impl Record {
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
    /// Later transactions have larger numbers.
    pub transaction: u32,
    pub at_unix_s: u64,
    pub boot: String,
    /// The version of the program that wrote it.
    pub version: String,
    pub asked: Asked,
    pub kind: Kind,
    /// The process that makes the changes. For a command it is the one that supervises it.
    pub owner: Owner,
    /// The transaction goes back when `CLOCK_BOOTTIME` shows this, unless it was confirmed.
    pub confirm_by_ns: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    pub cpus: String,
    pub profile: String,
    /// The words of the command line.
    pub arguments: Vec<String>,
    /// Knobs and what is kept for each of them across boots.
    pub keeps: Vec<(String, Keep)>,
}

/// What a transaction is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Tuned,
    /// The machine is tuned while a command runs.
    ForCommand {
        command: Vec<String>,
    },
    /// The changes of a transaction that tried them out are made the default.
    Adopted {
        of: u32,
    },
    /// Settings that have to be written again at each boot.
    Boot,
    /// One part of a campaign of measurements across boots.
    Campaign {
        folder: String,
    },
}

/// A process, with its starting time because numbers are used again.
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
    /// Its number within the transaction.
    pub number: u32,
    /// The change it belongs to, by its id.
    pub change: String,
    /// How long the change holds by itself.
    pub lasts: Lasts,
    #[serde(rename = "what", serialize_with = "subject_of")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub step: Step,
    #[serde(skip)]
    pub before: Before,
}

/// A step is published by what it is about; its content may be a whole file.
fn subject_of<S: serde::Serializer>(step: &Step, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&subject(step))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Was {
    pub transaction: u32,
    pub change: String,
    pub step: Step,
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// Done, and seen to be in force.
    Effective,
    /// Accepted, and not in force yet (an interrupt moves when it next comes).
    Waits {
        /// What is in force.
        seen: String,
    },
    /// Something else is there than was asked for.
    Differs { seen: String },
    /// It could not be done.
    Refused { why: String },
    /// What it is about is gone.
    Gone { what: String },
}

/// What was done to undo a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum Undone {
    /// What was there is there again.
    Restored,
    /// Nothing had to be done.
    Nothing { why: String },
    /// Somebody else's change was left alone, as the user asked.
    Left {
        #[serde(rename = "why")]
        what: String,
    },
}
