//! What the journal tells: values only, free to change. How they are written down is known to `format` alone.

use punctual_tuning::plan::{Before, Keep, Lasts, Step, subject};
use serde::Serialize;

/// One thing that was announced or has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    Begun(Begun),
    /// A step is about to be done.
    Intent(Intent),
    /// A step was not needed: the machine was so already. There is nothing to undo.
    Was(Was),
    /// How a step ended.
    Outcome {
        transaction: u32,
        number: u32,
        outcome: Outcome,
    },
    /// All changes of a transaction were tried.
    Applied {
        transaction: u32,
    },
    /// The user said that a transaction is good.
    Confirmed {
        transaction: u32,
    },
    /// A transaction is being undone.
    Leaving {
        transaction: u32,
    },
    /// A step is undone, or needs no undoing.
    Undone {
        transaction: u32,
        number: u32,
        /// What was done for it.
        how: Undone,
    },
    /// Nothing of a transaction is left.
    Reverted {
        transaction: u32,
    },
}

impl Record {
    /// The transaction it is about.
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

/// The beginning of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Its number; later ones are larger.
    pub transaction: u32,
    /// When, in seconds of Unix time.
    pub at_unix_s: u64,
    /// In which run of the machine.
    pub boot: String,
    /// The program that did it.
    pub version: String,
    /// What was asked for.
    pub asked: Asked,
    /// What it is for.
    pub kind: Kind,
    /// The process that does it, and for [`Kind::ForCommand`] watches over it.
    pub owner: Owner,
    /// Everything goes back at this time since the machine was started (`CLOCK_BOOTTIME`), unless confirmed.
    pub confirm_by_ns: Option<u64>,
}

/// What the user asked for, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    pub cpus: String,
    pub profile: String,
    /// The words of the command line.
    pub arguments: Vec<String>,
    /// What is to be kept for the boots to come, and for which knob.
    pub keeps: Vec<(String, Keep)>,
}

/// What a transaction is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A machine is tuned.
    Tuned,
    /// A machine is tuned as long as a command runs.
    ForCommand {
        /// The command and its arguments.
        command: Vec<String>,
    },
    /// What was tried out is made the default.
    Adopted {
        /// The transaction that tried it.
        of: u32,
    },
    /// What has to be set anew whenever the machine starts.
    Boot,
    /// A part of a campaign of measurements across boots.
    Campaign {
        /// The folder of the campaign.
        folder: String,
    },
}

/// A process that cannot be mistaken for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub pid: u32,
    /// When it was started, in clock ticks since boot.
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

/// A step that was not needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Was {
    pub transaction: u32,
    /// The change it belongs to.
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
