//! From findings to changes: what to do about a machine, in which order, and how each change is undone and proven.
//!
//! ```text
//! Findings -> Remedies -> Changes (now) -\
//!                     \-> Wanted (lasting) -> steps of the boot loader and the init -> Plan
//! ```
//!
//! A plan is data: nothing here changes the machine. [`Step`] lists every kind of action on a machine; the code that
//! carries out a plan works on steps only.

mod boot;
mod changes;
pub mod choice;
pub mod conflicts;
mod derive;
mod kernel;
pub mod lasting;
mod make;
mod policy;
pub mod print;
mod reading;
pub mod remedies;
mod standing;
mod step;
mod wanted;
mod wishes;

pub use boot::{BootChange, DEFAULT, ENTRY, FILES, HOOK, WATCH, adoption, hook, trial, watch};
pub use changes::{Left, Reason};
pub use kernel::{may_be_written, sysctl_file};
pub use make::{Plan, plan};
pub use standing::{Requested, Standing, StatusRow, standing, subject};
pub use step::{Before, Expected, Invocation, NicSetting, Reading, SchedPolicy, Step, SystemdOrder, TaskName};
pub use wanted::{is_given, last_of_each, wanted};
pub use wishes::Wishes;

use crate::knobs::Blast;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::tree::Tree;
use serde::Serialize;

/// How long the effect of a change lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Lasts {
    /// The change holds while a process of this program lives.
    Process,
    /// The change holds until the next boot.
    Reboot,
    /// The change holds until it is undone.
    ForGood,
}

/// When a change takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Takes {
    Now,
    NextBoot,
}

/// One change of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// The knob's id, as `audit --explain` takes it.
    pub id: String,
    pub title: String,
    /// The values that are in force now.
    pub before: String,
    /// The values that will be in force after the change.
    pub after: String,
    /// Why the change is made: mostly what the present state does to the real-time work.
    pub why: String,
    pub cost: String,
    /// What can go wrong with the change.
    pub risk: String,
    pub blast: Blast,
    pub lasts: Lasts,
    pub takes: Takes,
    /// How the change is undone, in words.
    pub undo: String,
    /// How to see that the change took effect.
    pub proof: String,
    /// The steps in order; they are undone in reverse order.
    pub steps: Vec<Step>,
    /// Settings that are kept for later boots.
    pub keeps: Vec<Keep>,
    /// Ids of other knobs that the change serves.
    pub also: Vec<String>,
    /// Whether each step stands alone, so that some may fail. If not, the change is made as a whole or not at all.
    pub is_apart: bool,
}

/// A setting that is kept for later boots, in the place that this machine has for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", content = "what", rename_all = "kebab-case")]
pub enum Keep {
    /// A word of the kernel's command line.
    Word(String),
    /// A word to remove from the command line, by its name.
    NoWord(String),
    /// A sysctl by its name with dots, and its value.
    Sysctl { name: String, value: String },
    /// A file below `/sys`, and its value.
    Write { path: String, value: String },
    /// Options of a module, beginning with its name.
    ModuleOptions(String),
    /// A module to keep from loading.
    NoModule(String),
    /// A udev rule that sets attributes of devices that appear later.
    Udev(String),
    /// A limit for log-ins, in the syntax of PAM: `@realtime - rtprio 95`.
    Limit(String),
    /// CPUs for everything that systemd starts.
    Manager(CpuSet),
    /// The longest exit latency from idle, in microseconds. A process of this program holds this limit permanently.
    Hold(u32),
    /// The steps are planned again and done at each boot, because the numbers of interrupts, threads and devices that
    /// they name change.
    Anew,
}

impl Keep {
    /// Whether the setting writes this file at each boot.
    pub fn writes(&self, file: &str) -> bool {
        match self {
            Self::Sysctl { name, .. } => sysctl_file(name) == file,
            Self::Write { path, .. } => path == file,
            Self::Word(_)
            | Self::NoWord(_)
            | Self::ModuleOptions(_)
            | Self::NoModule(_)
            | Self::Udev(_)
            | Self::Limit(_)
            | Self::Manager(_)
            | Self::Hold(_)
            | Self::Anew => false,
        }
    }

    /// The subject of the setting, such as the name of a word. Of two settings with the same subject, only one can
    /// hold.
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

pub fn has_network_device(tree: &dyn Tree, name: &str) -> bool {
    tree.list("/sys/class/net").known().is_some_and(|names| names.iter().any(|known| known == name))
}
