//! The places in which a change can be made to outlive the next boot, as data. The audit prints it for this machine's
//! boot loader and init.
//!
//! Each variant is a kind of place. [`Lasting::Other`] is a text for places of no other kind. [`Lasting::here`] and
//! [`Lasting::undo_here`] return commands as text; nothing here runs them.

mod cmdline;
mod places;
mod rule;

pub use rule::{Attribute, Event, Rule, Then, attribute};

use super::case::Case;
use super::setting::{Each, File, Setting, Value};
use super::template::{Part, Template};
use crate::programs::Silencing;
use punctual_facts::profile::Kind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    Word(Template<'static>),
    /// A word to remove from the kernel's command line: its name, without a value.
    NoWord(&'static str),
    /// A value to write at boot: a line of `/etc/sysctl.d`, or a file.
    Set(Setting),
    Udev(Rule),
    /// An `options` line of `/etc/modprobe.d`, without the word `options`.
    Module(Template<'static>),
    NoModule(&'static str),
    /// The programs that the table of programs lists to be silenced for the knob with this id.
    Silence(&'static str),
    /// A setting of the application's own unit, in its `[Service]` section.
    Unit(Template<'static>),
    /// The configuration of systemd itself, which restricts everything that systemd starts to the housekeeping CPUs.
    Manager,
    Limit(Template<'static>),
    /// An option that the kernel has to be built with or, if `is_on` is false, without.
    Kernel {
        option: &'static str,
        is_on: bool,
    },
    /// A setting of the firmware, with its usual place in the firmware's menus.
    Firmware(&'static str),
    /// A sentence about the kernel or its command line, where no single word or option says it all.
    Boot(Template<'static>),
    Other(Template<'static>),
    /// One of two places, chosen by the machine or the work.
    Either {
        when: When,
        then: &'static Lasting,
        otherwise: &'static Lasting,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Polls,
    TscIsSound,
    ThreadsKeepOffIsolated,
    OthersRemain,
}

impl When {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Polls => ("For busy-polling work", "for other work"),
            Self::TscIsSound => ("With constant_tsc and nonstop_tsc among the CPU's flags", "without"),
            Self::ThreadsKeepOffIsolated => ("From 7.0 on", "before"),
            Self::OthersRemain => ("If CPUs remain for other work", "if none remain"),
        }
    }

    fn holds(self, case: &Case<'_>) -> bool {
        match self {
            Self::Polls => case.is(Kind::Poll),
            Self::TscIsSound => case.has_sound_tsc() == Ok(true),
            Self::ThreadsKeepOffIsolated => case.threads_keep_off_isolated(),
            Self::OthersRemain => !case.has_no_others(),
        }
    }
}

impl Lasting {
    pub const fn word(word: &'static str) -> Self {
        Self::Word(Template::new(word))
    }

    pub const fn sysctl(name: &'static str, value: &'static str) -> Self {
        Self::Set(Setting { file: File::Sysctl(name), value: Value::text(value) })
    }

    pub const fn write(path: &'static str, value: &'static str) -> Self {
        Self::Set(Setting { file: File::Path(path), value: Value::text(value) })
    }

    pub const fn module(line: &'static str) -> Self {
        Self::Module(Template::new(line))
    }

    pub const fn unit(line: &'static str) -> Self {
        Self::Unit(Template::new(line))
    }

    pub const fn limit(line: &'static str) -> Self {
        Self::Limit(Template::new(line))
    }

    pub const fn built_with(option: &'static str) -> Self {
        Self::Kernel { option, is_on: true }
    }

    pub const fn built_without(option: &'static str) -> Self {
        Self::Kernel { option, is_on: false }
    }

    pub const fn boot(sentence: &'static str) -> Self {
        Self::Boot(Template::new(sentence))
    }

    pub const fn other(sentence: &'static str) -> Self {
        Self::Other(Template::new(sentence))
    }

    #[allow(clippy::redundant_closure_for_method_calls, reason = "the method itself is of one lifetime only")]
    pub fn anywhere(&self) -> String {
        self.told(|text| text.anywhere())
    }

    fn filled(&self, case: &Case<'_>) -> String {
        self.told(|text| case.fill(text))
    }

    fn told(&self, fill: impl Fn(Template<'_>) -> String + Copy) -> String {
        match self {
            Self::Word(word) => format!("Kernel command line: {}", fill(*word)),
            Self::NoWord(word) => format!("Kernel command line: without {word}"),
            Self::Set(setting) => setting.told(fill),
            Self::Udev(rule) => format!("udev rule: {}", rule.told(fill)),
            Self::Module(line) => format!("/etc/modprobe.d: options {}", fill(*line)),
            Self::NoModule(module) => format!("/etc/modprobe.d: blacklist {module}"),
            Self::Silence(knob) => Silencing::of(knob).told(|units| format!("systemctl mask {units}")),
            Self::Unit(line) => format!("In the application's unit: {}", fill(*line)),
            Self::Manager => fill(MANAGER),
            Self::Limit(line) => format!("/etc/security/limits.d: {}", fill(*line)),
            Self::Kernel { option, is_on } => {
                format!("Build the kernel with CONFIG_{option}={}", if *is_on { 'y' } else { 'n' })
            }
            Self::Firmware(place) => format!("Firmware: {place}"),
            Self::Boot(sentence) | Self::Other(sentence) => fill(*sentence),
            Self::Either { when, then, otherwise } => {
                let (here, elsewhere) = when.words();
                format!("{here}: {}; {elsewhere}: {}", then.told(fill), otherwise.told(fill))
            }
        }
    }

    pub fn names_housekeeping(&self) -> bool {
        match self {
            Self::Word(text)
            | Self::Module(text)
            | Self::Unit(text)
            | Self::Limit(text)
            | Self::Boot(text)
            | Self::Other(text) => text.names_housekeeping(),
            Self::Set(setting) => setting.names_housekeeping(),
            Self::Udev(rule) => rule.names_housekeeping(),
            Self::Manager => true,
            Self::Either { then, otherwise, .. } => then.names_housekeeping() || otherwise.names_housekeeping(),
            Self::NoWord(_) | Self::NoModule(_) | Self::Silence(_) | Self::Kernel { .. } | Self::Firmware(_) => false,
        }
    }

    /// The place to name if nothing is known about the machine and the work: the first one of [`Self::Either`].
    pub(super) fn usual(&self) -> &Self {
        if let Self::Either { then, .. } = self { then.usual() } else { self }
    }

    pub fn here(&self, case: &Case<'_>) -> String {
        self.chosen(case).on(case, Direction::Do)
    }

    /// How to undo the lasting change on this machine. Values that were written at run time stay until the next boot.
    /// `None` if the knob's own undo suffices.
    pub fn undo_here(&self, case: &Case<'_>) -> Option<String> {
        let chosen = self.chosen(case);
        let undone = (!matches!(chosen, Self::Firmware(_) | Self::Boot(_) | Self::Other(_)))
            .then(|| chosen.on(case, Direction::Undo));
        undone.filter(|how| !how.is_empty())
    }

    pub(crate) fn chosen(&self, case: &Case<'_>) -> &Self {
        match self {
            Self::Either { when, then, otherwise } => (if when.holds(case) { *then } else { *otherwise }).chosen(case),
            plain => plain,
        }
    }

    fn on(&self, case: &Case<'_>, direction: Direction) -> String {
        let boot = &case.machine.boot;
        let is_ours = matches!(self, Self::Unit(_) | Self::Limit(_) | Self::Other(_) | Self::Firmware(_));
        if let (Some(container), false) = (&boot.container, is_ours) {
            let what = self.filled(case);
            return match direction {
                Direction::Undo if matches!(self, Self::Kernel { .. }) => on_host(container, KERNEL_BEFORE),
                Direction::Do => on_host(container, &what),
                Direction::Undo => {
                    format!("On the host, not in this container ({container}), undo this change: {what}")
                }
            };
        }
        match self {
            Self::Word(word) => cmdline::word(case, &choice(case, *word), direction),
            Self::NoWord(name) => cmdline::no_word(case, name, direction),
            Self::Set(Setting { file: File::Sysctl(name), value }) => {
                places::sysctl(case, name, &value.here(case), direction)
            }
            Self::Set(Setting { file, value }) => places::write(case, *file, &value.here(case), direction),
            Self::Udev(rule) => places::udev(&rule.told(|text| case.fill(text)), direction),
            Self::Module(line) => places::modprobe(case, &format!("options {}", case.fill(*line)), direction),
            Self::NoModule(module) => places::modprobe(case, &format!("blacklist {module}"), direction),
            Self::Silence(knob) => places::silence(case, &case.silencing(knob), direction),
            Self::Unit(line) => places::unit(case, &case.fill(*line), direction),
            Self::Manager => places::manager(case, direction),
            Self::Limit(line) => places::limit(case, &line.anywhere(), direction),
            Self::Kernel { .. } if direction == Direction::Undo => KERNEL_BEFORE.to_owned(),
            Self::Kernel { .. } | Self::Firmware(_) | Self::Boot(_) | Self::Other(_) => self.filled(case),
            Self::Either { .. } => self.chosen(case).on(case, direction),
        }
    }
}

const KERNEL_BEFORE: &str = "Boot the kernel that was there before";

/// What to do, for a reader in a container whose host alone can do it.
pub(super) fn on_host(container: &str, what: &str) -> String {
    format!("On the host, not in this container ({container}): {what}")
}

const MANAGER: Template<'static> =
    Template::new("With systemd: [Manager] CPUAffinity=<H> in /etc/systemd/system.conf.d");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Do,
    Undo,
}

/// Fills in a word about CPUs. If no housekeeping CPU remains, the user has not chosen CPUs yet, so the word then holds
/// a blank and not the list of all CPUs.
fn choice(case: &Case<'_>, word: Template<'_>) -> String {
    if case.housekeeping().is_empty() {
        word.filled(|part| match part {
            Part::Cpus | Part::CpusApart => "CPUS".to_owned(),
            Part::Housekeeping | Part::HousekeepingMask => "OTHER-CPUS".to_owned(),
            Part::Blank(text) | Part::Text(text) => text.to_owned(),
        })
    } else {
        case.fill(word)
    }
}

#[cfg(test)]
mod tests;
