//! The catalogue of knobs: one entry per knob, with its words, its sources, and the check of its effective state.
//!
//! Help, the book's reference page and coverage are derived from these entries, and tests run over all of them. Adding
//! a knob touches one file here and one in `fixtures/knobs`. An entry ends in `..KNOB`, a constant with the fields that
//! most knobs of its file share. Fields that are set neither in the entry nor in `KNOB` follow from the check.
//!
//! A knob reads and judges; other crates decide how findings are shown.

mod case;
mod check;
mod fix;
mod lasting;
mod prelude;
mod seen;
mod setting;
mod template;

mod agreement;
mod boards;
mod caches;
mod clocks;
mod command_line;
mod console;
mod devices;
mod firmware;
mod frequency;
mod graphics;
mod guests;
mod idle;
mod interrupts;
mod isolation;
mod kernel;
mod memory;
mod network;
mod pcie;
mod privileges;
mod scheduler;
mod second_kernel;
mod security;
mod services;
mod smt;
mod uncore;
mod watchdogs;

pub use case::{Case, Doubt, Judged, Missing, TASKS, Task};
pub(crate) use case::{DEADLINE, FAIR_SERVER_SINCE, FIFO, InterruptLine, KERNEL_THREAD, RR};
pub use check::{Check, Want};
pub use fix::Fix;
pub use lasting::{Lasting, When};
pub(crate) use memory::meminfo;
pub(crate) use seen::groups::SLICES;
pub(crate) use seen::idle::{LATENCY_DEVICE, NO_LIMIT_US, read_latency_device_us};
pub(crate) use seen::isolation::{QUEUES, with_rcu_thread};
pub(crate) use seen::links::{LINK_STATES, NO_PCI, PCI};
pub(crate) use seen::uncore::{BUS, Clocked, DEVFREQ, GPU, MEMORY, NPU, UNCORE};
pub use setting::{File, Setting, Value};
pub use template::{Part, Template};

use punctual_facts::finding::{Confidence, Severity, State};
use punctual_facts::profile::Kind;
use serde::Serialize;
use std::sync::LazyLock;

#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// The identifier of the knob: a prefix shared by related knobs, a dot, and a word.
    pub id: &'static str,
    /// The good state of the knob, in a few words.
    pub title: &'static str,
    pub family: Family,
    /// How much the bad state matters for each kind of work.
    pub severity: Weight,
    /// Fails if the knob makes no difference on this machine. It is called before the check.
    pub applies: fn(&Case<'_>) -> Result<(), Doubt>,
    pub check: Check,
    /// Fails if the bad state does no harm on this machine. It is called only if the check returned "bad".
    pub excused: fn(&Case<'_>) -> Result<(), Doubt>,
    pub why: &'static str,
    /// How to change the state while the machine runs.
    pub fix: Fix,
    /// How to make the change last, beyond what the check itself implies.
    pub persist: &'static [Lasting],
    pub undo: Fix,
    pub cost: &'static str,
    pub blast: Blast,
    pub confidence: Confidence,
    /// Manuals, kernel sources and reports that prove the statements of this entry. A source that begins with
    /// `unverified` marks a statement that nobody checked.
    pub sources: &'static [&'static str],
    /// The use of this program that helps to change the state or to try the change, if there is one.
    pub resort: Option<Resort>,
}

/// A use of this program. Only the command-line crate names the options for it, since this library knows no options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resort {
    /// To name the real-time CPUs and leave some for housekeeping.
    ChooseCpus,
    /// To measure while the program limits the depth of idle states on all CPUs.
    LimitSleep,
}

impl Knob {
    pub(crate) fn judge(&self, case: &Case<'_>) -> Result<State, Doubt> {
        (self.applies)(case)?;
        let state = self.check.judge(self.id, case)?;
        if state == State::Bad {
            (self.excused)(case)?;
        }
        Ok(state)
    }

    /// The defaults for an entry. A test finds entries that leave a text empty.
    pub const fn of(family: Family) -> Self {
        Self {
            id: "",
            title: "",
            family,
            severity: Weight::all(Severity::Info),
            applies: |_| Ok(()),
            check: Check::advice(""),
            excused: |_| Ok(()),
            why: "",
            fix: Fix::Implied,
            persist: &[],
            undo: Fix::Implied,
            cost: "",
            blast: Blast::Harmless,
            confidence: Confidence::High,
            sources: &[],
            resort: None,
        }
    }
}

/// The severity of a knob's bad state, by kind of work.
#[derive(Clone, Copy, Debug)]
pub struct Weight {
    pub periodic: Severity,
    pub poll: Severity,
    pub audio: Severity,
    adjust: Adjust,
}

/// How the state of the machine changes the severity.
#[derive(Clone, Copy, Debug)]
enum Adjust {
    AtMost(Severity, fn(&Case<'_>) -> bool),
    AtLeast(Severity, fn(&Case<'_>) -> bool),
    By(fn(&Case<'_>, Severity) -> Severity),
}

impl Weight {
    pub const fn of(periodic: Severity, poll: Severity, audio: Severity) -> Self {
        Self { periodic, poll, audio, adjust: Adjust::By(|_, severity| severity) }
    }

    pub const fn all(severity: Severity) -> Self {
        Self::of(severity, severity, severity)
    }

    /// Lowers the severity to `most` at most, on machines where the condition holds.
    #[must_use]
    pub const fn at_most(self, most: Severity, holds: fn(&Case<'_>) -> bool) -> Self {
        Self { adjust: Adjust::AtMost(most, holds), ..self }
    }

    /// Raises the severity to `least` at least, on machines where the condition holds.
    #[must_use]
    pub const fn at_least(self, least: Severity, holds: fn(&Case<'_>) -> bool) -> Self {
        Self { adjust: Adjust::AtLeast(least, holds), ..self }
    }

    /// Lets a function compute the severity from the one for the kind of work.
    #[must_use]
    pub const fn adjusted(self, by: fn(&Case<'_>, Severity) -> Severity) -> Self {
        Self { adjust: Adjust::By(by), ..self }
    }

    /// The severity on this machine, given the severity for the kind of work.
    pub fn here(&self, case: &Case<'_>, severity: Severity) -> Severity {
        match self.adjust {
            Adjust::AtMost(most, holds) if holds(case) => severity.min(most),
            Adjust::AtLeast(least, holds) if holds(case) => severity.max(least),
            Adjust::AtMost(..) | Adjust::AtLeast(..) => severity,
            Adjust::By(by) => by(case, severity),
        }
    }

    /// The severity for a kind of work, before [`Weight::here`] changes it.
    pub fn for_kind(&self, kind: Kind) -> Severity {
        match kind {
            Kind::Periodic => self.periodic,
            Kind::Poll => self.poll,
            Kind::Audio => self.audio,
        }
    }
}

punctual_facts::named! {
    /// The harm that a change can do to a running machine.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Blast {
        /// The change disturbs nothing.
        Harmless = "harmless",
        /// The change disturbs running real-time work for a moment.
        Disturbing = "disturbing",
        /// The change can break a service or lose a function.
        Breaking = "breaking",
    }
}

macro_rules! families {
    ($($variant:ident = $name:literal in [$($module:ident $(:: $part:ident)?),* $(,)?];)*) => {
        /// The family of related knobs that a knob belongs to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String", inline))]
        pub enum Family {
            $($variant,)*
        }

        impl Family {
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl serde::Serialize for Family {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        const LISTS: &[&[Knob]] = &[$($($module$(::$part)?::KNOBS),*),*];
    };
}

// Each family with its name in texts, and the modules that hold its knobs.
families! {
    Kernel = "kernel" in [kernel, kernel::build];
    SecondKernel = "second kernel" in [
        second_kernel::evl,
        second_kernel::cobalt,
        second_kernel::build,
        second_kernel::cobalt_build,
    ];
    CommandLine = "command line" in [command_line];
    Isolation = "isolation" in [
        isolation,
        isolation::cpusets,
        isolation::rcu,
        isolation::threads,
        isolation::workqueues,
        isolation::tick,
    ];
    Interrupts = "interrupts" in [interrupts, interrupts::lines, interrupts::threads];
    Scheduler = "scheduler" in [scheduler, scheduler::classes, scheduler::balance];
    Idle = "idle" in [idle::states, idle::limits, idle::drivers];
    Frequency = "frequency" in [frequency::governors, frequency::preferences, frequency::heat];
    Uncore = "uncore and DRAM" in [uncore];
    Clocks = "clocks" in [clocks::sources, clocks::events, clocks::setting];
    Watchdogs = "watchdogs and RAS" in [watchdogs::lockups, watchdogs::panics, watchdogs::errors];
    Memory = "memory" in [memory];
    Caches = "caches" in [caches];
    Smt = "SMT siblings" in [smt];
    Graphics = "GPU and display" in [graphics];
    Pcie = "PCIe and device power" in [pcie::links, pcie::devices, pcie::system];
    Console = "console and tracing" in [console];
    Security = "security features" in [security];
    Network = "network" in [network];
    Devices = "storage and devices" in [devices];
    Services = "services" in [services];
    Privileges = "privileges" in [privileges];
    Guests = "guests and hosts" in [guests];
    Firmware = "firmware and host" in [
        firmware::host,
        firmware::interruptions,
        firmware::settings,
        firmware::memory,
        firmware::advice,
    ];
    Boards = "boards" in [boards::cores, boards::amp, boards::vendor];
    Agreement = "agreement" in [
        agreement::masks,
        agreement::placement,
        agreement::requests,
        agreement::choice,
        agreement::effects,
        agreement::owners,
        agreement::sysctls,
    ];
}

/// Every knob, ordered by family.
pub static ALL: LazyLock<Vec<Knob>> = LazyLock::new(|| LISTS.concat());

pub fn find(id: &str) -> Option<&'static Knob> {
    ALL.iter().find(|knob| knob.id == id)
}

/// The knob ids that are most similar to a misspelt one, best first.
pub fn near(id: &str) -> Vec<&'static str> {
    let wanted = id.to_ascii_lowercase();
    let is_part = |knob: &str| !wanted.is_empty() && (knob.contains(&wanted) || wanted.contains(knob));
    let mut found: Vec<(usize, &str)> = ALL
        .iter()
        .map(|knob| (if is_part(knob.id) { 0 } else { strsim::levenshtein(&wanted, knob.id) }, knob.id))
        .filter(|(distance, _)| *distance <= 3)
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, id)| id).take(5).collect()
}

#[cfg(test)]
mod blind;
#[cfg(test)]
pub(crate) mod tests;
