//! Findings to changes: what to do about a machine, in which order, and how each change is undone and proven.
//!
//! ```text
//! Findings -> Remedies -> Changes (now) -\
//!                     \-> Wanted (lasting) -> steps of the boot loader and the init -> Plan
//! ```
//!
//! A plan is a value: nothing here touches the machine. [`Step`] is the whole vocabulary of what may be done to one;
//! whoever carries a plan out knows these words and no others.

mod boot;
mod changes;
pub mod choice;
pub mod conflicts;
mod derive;
mod kernel;
pub mod lasting;
mod make;
mod pattern;
mod policy;
pub mod print;
mod reading;
pub mod remedies;
mod standing;
mod step;
mod wanted;
mod wishes;

pub use boot::{BootChange, DEFAULT, ENTRY, FILES, HOOK, adoption, hook, trial};
pub use changes::{Left, Reason};
pub use kernel::{may_be_written, sysctl_file};
pub use make::{Plan, plan};
pub use standing::{Requested, Standing, StatusRow, standing, subject};
pub use step::{Before, Expected, Invocation, Reading, SchedPolicy, Step, TaskName};
pub use wanted::{is_given, last_of_each, wanted};
pub use wishes::Wishes;

use crate::knobs::Blast;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::tree::Tree;
use serde::Serialize;

/// How long a change holds by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Lasts {
    /// As long as a process of ours lives.
    Process,
    /// Until the machine is started again.
    Reboot,
    /// For good, until it is taken back.
    ForGood,
}

impl Lasts {
    pub fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Reboot => "reboot",
            Self::ForGood => "for good",
        }
    }
}

/// When a change takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Takes {
    Now,
    /// With the next start of the machine.
    NextBoot,
}

/// One change of a plan: a knob, what is done about it, and how it is undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// The knob's id, as `audit --explain` takes it.
    pub id: String,
    /// What the change does, in a few words.
    pub title: String,
    /// What is there now.
    pub before: String,
    /// What will be there.
    pub after: String,
    /// What it does for punctuality.
    pub why: String,
    /// What it costs.
    pub cost: String,
    /// What can go wrong.
    pub risk: String,
    /// What it can do to a machine at work.
    pub blast: Blast,
    /// How long it holds.
    pub lasts: Lasts,
    /// When it takes effect.
    pub takes: Takes,
    /// How it is undone, in words.
    pub undo: String,
    /// What will show that it took effect.
    pub proof: String,
    /// What is done, in order; undone in reverse order.
    pub steps: Vec<Step>,
    /// What is kept for the boots to come.
    pub keeps: Vec<Keep>,
    /// Other knobs it serves.
    pub also: Vec<String>,
    /// Whether each step stands for itself; otherwise the change is made whole or not at all.
    pub is_apart: bool,
}

/// Something that is kept for the boots to come, wherever this machine keeps such things.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", content = "what", rename_all = "kebab-case")]
pub enum Keep {
    /// A word of the kernel's command line.
    Word(String),
    /// A word that is to be on it no more, by its name.
    NoWord(String),
    /// A value of sysctl's.
    Sysctl {
        /// Its name, with dots.
        name: String,
        value: String,
    },
    /// A value of a file below `/sys`.
    Write { path: String, value: String },
    /// Options of a module, beginning with its name.
    ModuleOptions(String),
    /// A module that is not to be loaded.
    NoModule(String),
    /// A rule for udev that sets attributes of devices that come later.
    Udev(String),
    /// A limit of log-ins: `@realtime - rtprio 95`.
    Limit(String),
    /// CPUs for everything that systemd starts.
    Manager(CpuSet),
    /// The longest time to wake from idle, in microseconds, which a process of ours asks for all the time.
    Hold(u32),
    /// The steps are planned anew and done at each boot, since what they name (numbers of interrupts and threads,
    /// devices) is another then.
    Anew,
}

impl Keep {
    /// Whether it writes this file at each boot.
    pub fn writes(&self, file: &str) -> bool {
        match self {
            Self::Sysctl { name, .. } => sysctl_file(name) == file,
            Self::Write { path, .. } => path == file,
            _ => false,
        }
    }

    /// What it decides: of two with the same subject, one alone can hold.
    pub fn subject(&self) -> String {
        let name = |text: &str| text.split(['=', ' ']).next().unwrap_or_default().replace('-', "_");
        match self {
            Self::Word(word) | Self::NoWord(word) => format!("word {}", name(word)),
            Self::Sysctl { name, .. } => format!("sysctl {name}"),
            Self::Write { path, .. } => path.clone(),
            Self::ModuleOptions(line) => format!("options {line}"),
            Self::NoModule(module) => format!("module {}", name(module)),
            Self::Udev(rule) => format!("rule {rule}"),
            Self::Limit(line) => format!("limit {line}"),
            Self::Manager(_) => "manager".to_owned(),
            Self::Hold(_) => "latency".to_owned(),
            Self::Anew => "anew".to_owned(),
        }
    }
}

/// Whether the machine has a network device of that name.
pub fn has_network_device(tree: &dyn Tree, name: &str) -> bool {
    tree.list("/sys/class/net").known().is_some_and(|names| names.iter().any(|known| known == name))
}
