//! How a change is made to outlive the next boot, as data: the audit prints it, for the boot loader and the init the
//! machine has.
//!
//! One kind of place, one variant. What none of them describes is [`Lasting::Other`], in words. [`Lasting::here`] and
//! [`Lasting::undo_here`] turn it into commands: whoever prints them runs nothing.

mod cmdline;
mod places;

use super::{Case, clocks, isolation};
use punctual_facts::profile::Kind;

/// One place that makes a change last. `<I>`, `<H>` and `<H mask>` stand for CPUs, as in every text of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// A word to add to the kernel's command line.
    Word(&'static str),
    /// A word to take off the kernel's command line: its name, without a value.
    NoWord(&'static str),
    /// A line `name = value` of `/etc/sysctl.d`.
    Sysctl(&'static str),
    /// A file to write at boot.
    Write {
        /// The file; may hold `*` for all of a kind, `cpu<I>` for each of the real-time CPUs, `cpu<H>` for the others.
        path: &'static str,
        /// What to write.
        value: &'static str,
    },
    /// A udev rule, for devices that come and go.
    Udev(&'static str),
    /// An `options` line of `/etc/modprobe.d`, without the word `options`.
    Module(&'static str),
    /// A module to keep from loading.
    NoModule(&'static str),
    /// A service (or timer, or target) to keep from running: its unit's name.
    NoService(&'static str),
    /// A setting of the application's own unit, in its `[Service]` section.
    Unit(&'static str),
    /// The other CPUs for everything that systemd starts, in its own configuration.
    Manager,
    /// A line of `/etc/security/limits.d`.
    Limit(&'static str),
    /// An option to build the kernel with: `PREEMPT_RT=y`.
    Kernel(&'static str),
    /// A setting of the firmware, and where it is usually found.
    Firmware(&'static str),
    /// Anything else, as a sentence.
    Other(&'static str),
    /// One place or another, as the case may be.
    Either {
        /// What decides.
        when: When,
        /// Where that holds.
        then: &'static Lasting,
        /// Where it does not, or is not known.
        otherwise: &'static Lasting,
    },
}

/// What a place may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The work never gives up its CPU.
    Polls,
    /// The flags of the CPU promise a TSC that keeps its pace and does not stop.
    TscIsSound,
    /// Kernel threads keep off CPUs that are isolated.
    ThreadsKeepOffIsolated,
}

impl When {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Polls => ("For busy-polling work", "for other work"),
            Self::TscIsSound => ("With constant_tsc and nonstop_tsc among the CPU's flags", "without"),
            Self::ThreadsKeepOffIsolated => ("From 7.0 on", "before"),
        }
    }

    fn holds(self, case: &Case<'_>) -> bool {
        match self {
            Self::Polls => case.is(Kind::Poll),
            Self::TscIsSound => clocks::is_sound(case) == Ok(true),
            Self::ThreadsKeepOffIsolated => isolation::keep_off_isolated(case),
        }
    }
}

impl Lasting {
    /// What to do on any machine.
    pub fn anywhere(&self) -> String {
        match self {
            Self::Word(word) => format!("Kernel command line: {word}"),
            Self::NoWord(word) => format!("Kernel command line: without {word}"),
            Self::Sysctl(line) => format!("/etc/sysctl.d: {line}"),
            Self::Write { path, value } => format!("At boot: write {value} to {path}"),
            Self::Udev(rule) => format!("udev rule: {rule}"),
            Self::Module(line) => format!("/etc/modprobe.d: options {line}"),
            Self::NoModule(module) => format!("/etc/modprobe.d: blacklist {module}"),
            Self::NoService(unit) => format!("systemctl mask {unit}"),
            Self::Unit(line) => format!("In the application's unit: {line}"),
            Self::Manager => "With systemd: [Manager] CPUAffinity=<H> in /etc/systemd/system.conf.d".to_owned(),
            Self::Limit(line) => format!("/etc/security/limits.d: {line}"),
            Self::Kernel(option) => format!("Build the kernel with CONFIG_{option}"),
            Self::Firmware(place) => format!("Firmware: {place}"),
            Self::Other(sentence) => (*sentence).to_owned(),
            Self::Either { when, then, otherwise } => {
                let (here, elsewhere) = when.words();
                format!("{here}: {}; {elsewhere}: {}", then.anywhere(), otherwise.anywhere())
            }
        }
    }

    /// What to do on this machine, with its boot loader and its init.
    pub fn here(&self, case: &Case<'_>) -> String {
        self.chosen(case).on(case, Direction::Do)
    }

    /// How to take that back on this machine; what was written at run time stays until the next boot. `None` where the
    /// knob's own words on undoing have to do.
    pub fn undo_here(&self, case: &Case<'_>) -> Option<String> {
        let chosen = self.chosen(case);
        let undone = (!matches!(chosen, Self::Firmware(_) | Self::Other(_))).then(|| chosen.on(case, Direction::Undo));
        undone.filter(|how| !how.is_empty())
    }

    /// The place that counts in this case.
    pub(crate) fn chosen(&self, case: &Case<'_>) -> &Self {
        match self {
            Self::Either { when, then, otherwise } => (if when.holds(case) { *then } else { *otherwise }).chosen(case),
            plain => plain,
        }
    }

    fn on(&self, case: &Case<'_>, direction: Direction) -> String {
        let boot = &case.machine.boot;
        let is_ours =
            matches!(self, Self::Unit(_) | Self::Limit(_) | Self::Other(_) | Self::Kernel(_) | Self::Firmware(_));
        if let (Some(container), false) = (&boot.container, is_ours) {
            let what = case.fill(&self.anywhere());
            return match direction {
                Direction::Do => format!("On the host, not in this container ({container}): {what}"),
                Direction::Undo => format!("On the host, not in this container ({container}), take back: {what}"),
            };
        }
        match self {
            Self::Word(word) => cmdline::word(case, &choice(case, word), direction),
            Self::NoWord(name) => cmdline::no_word(case, name, direction),
            Self::Sysctl(line) => places::sysctl(case, &case.fill(line), direction),
            Self::Write { path, value } => places::write(case, path, &case.fill(value), direction),
            Self::Udev(rule) => places::udev(&case.fill(rule), direction),
            Self::Module(line) => places::modprobe(case, &format!("options {}", case.fill(line)), direction),
            Self::NoModule(module) => places::modprobe(case, &format!("blacklist {module}"), direction),
            Self::NoService(unit) => places::no_service(case, unit, direction),
            Self::Unit(line) => places::unit(case, &case.fill(line), direction),
            Self::Manager => places::manager(case, direction),
            Self::Limit(line) => places::limit(case, line, direction),
            Self::Kernel(_) if direction == Direction::Undo => "Boot the kernel that was there before".to_owned(),
            Self::Kernel(_) | Self::Firmware(_) | Self::Other(_) => case.fill(&self.anywhere()),
            Self::Either { .. } => self.chosen(case).on(case, direction),
        }
    }
}

/// To make a change last, or to take that back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Do,
    Undo,
}

/// A word about CPUs. Where all are meant for real-time work nobody has chosen yet, and a word that names all of them
/// must not be printed for copying.
fn choice(case: &Case<'_>, word: &str) -> String {
    if case.housekeeping.is_empty() {
        word.replace("<I>", "CPUS").replace("<H>", "OTHER-CPUS")
    } else {
        case.fill(word)
    }
}

#[cfg(test)]
mod tests;
