//! Makes changes outlive the next boot, with steps for the boot loader and the init of this machine.
//!
//! ```text
//! Wanted -> trial  (own boot entry, booted once) -> adopt (the default, for kernels to come as well)
//!        \-> files (sysctl.d, tmpfiles.d, udev, modprobe.d, limits.d, units)
//! ```
//!
//! There is one module for each kind of boot loader and of init. Steps are planned from the files in a [`Tree`]. These
//! modules neither run nor write anything, and do not depend on the knobs.

mod armbian;
mod block;
mod by_hand;
mod check;
mod entries;
mod extlinux;
mod files;
mod grub;
mod line;
mod obstacle;
mod print;
mod raspberry_pi;
mod shell;
#[cfg(test)]
mod tests;

pub use files::{files, hook, watch};
pub use grub::grub_unchosen;
pub use line::merge;
pub use obstacle::Obstacle;
pub use print::{Artefact, print};

use super::{Invocation, Step};
use line::Settled;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;
use punctual_facts::machine::{Loader, Machine};
use punctual_facts::tree::{Tree, text};
use serde::Serialize;

/// The settings that are to hold after the next boot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Words to add to the kernel's command line: `name=value` or `name`.
    pub words: Vec<String>,
    /// Words to remove from the command line: `name`, or `name=value` for that value alone.
    pub no_words: Vec<String>,
    pub sysctls: Vec<KeptValue>,
    /// Kernel files with the values that are written to them at boot. A path may hold `*`.
    pub writes: Vec<KeptValue>,
    /// Rules for udev, each of a single line.
    pub udev: Vec<String>,
    /// Options of modules, each with the module's name: `snd_hda_intel power_save=0`.
    pub module_options: Vec<String>,
    /// Modules to keep from loading.
    pub no_modules: Vec<String>,
    /// Limits for log-ins, in the syntax of PAM: `@realtime - rtprio 95`.
    pub limits: Vec<String>,
    /// CPUs for everything that the init starts; `None` means all CPUs.
    pub manager_cpus: Option<CpuSet>,
    /// The longest exit latency from idle, in microseconds, that a service of ours allows.
    pub hold_latency_us: Option<u32>,
    /// Whether this program is to run once at every boot.
    pub boot_service: bool,
    pub exe: String,
    /// Seconds after which a kernel that panics in the trial reboots; with 0, the kernel's own setting stays.
    pub panic_seconds: u32,
}

/// A value that is written at each boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptValue {
    /// The name of a sysctl, or the path of a kernel file.
    pub place: String,
    pub value: String,
}

impl Wanted {
    fn touches_cmdline(&self) -> bool {
        !(self.words.is_empty() && self.no_words.is_empty())
    }
}

/// The steps that make settings last, and what the user must know about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lasted {
    /// The steps in order; they are undone in reverse order.
    pub steps: Vec<Step>,
    /// Restrictions that the user must know, one sentence each.
    pub limits: Vec<String>,
    /// Values that were left out because another file overrides them.
    pub lost: Vec<Lost>,
}

/// A value that would not hold after the next boot, because another file overrides it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The name of a sysctl, or the path of a kernel file.
    pub what: String,
    pub why: String,
}

/// A command line that is tried before it is adopted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    pub steps: Vec<Step>,
    pub limits: Vec<String>,
    pub starts: Starts,
}

/// How the command line of a trial is booted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", content = "by", rename_all = "kebab-case")]
pub enum Starts {
    /// No boot is needed: the command line already has these words, or no words are wanted.
    NotNeeded,
    /// The next boot uses the new command line, and later boots do not.
    NextBoot,
    /// A reboot by this command uses the new command line, and other boots do not.
    Reboot(Invocation),
    /// A person chooses the entry of this name in the boot loader's menu.
    Menu(String),
}

impl Trial {
    fn not_needed() -> Self {
        Self { steps: Vec::new(), limits: Vec::new(), starts: Starts::NotNeeded }
    }
}

/// The first line of each file that this program creates.
const MADE_BY: &str = "# Made by punctual; undone by `punctual revert`.\n";
/// The id of our boot entry, and its title in a menu.
const ENTRY: &str = "punctual-trial";
const TITLE: &str = "punctual: tried once";
const LAST: &str = crate::own_files::LAST;

/// Plans a boot entry with the wanted command line that is booted once.
pub fn trial(tree: &dyn Tree, machine: &Machine, wanted: &Wanted) -> Result<Trial, Obstacle> {
    check::cmdline(wanted)?;
    if !wanted.touches_cmdline() {
        return Ok(Trial::not_needed());
    }
    match the_loader(machine)? {
        Loader::UpdateGrub | Loader::Grub => grub::trial(tree, machine, wanted),
        Loader::Bls => entries::bls_trial(tree, machine, wanted),
        Loader::SystemdBoot => entries::systemd_trial(tree, machine, wanted),
        Loader::Extlinux | Loader::UBootMenu => extlinux::trial(tree, wanted),
        Loader::RaspberryPi => raspberry_pi::trial(tree, wanted),
        Loader::Armbian => {
            let why = "Armbian's boot script knows one command line only; adopt the new one only if somebody can reach \
                    the console";
            Err(Obstacle::NoTrial(why.to_owned()))
        }
        other => Err(by_hand::why(other, wanted)),
    }
}

/// Plans to make the wanted command line the default, and to remove the files of a trial.
pub fn adopt(tree: &dyn Tree, machine: &Machine, wanted: &Wanted) -> Result<Lasted, Obstacle> {
    check::cmdline(wanted)?;
    if !wanted.touches_cmdline() {
        return Ok(Lasted::default());
    }
    match the_loader(machine)? {
        Loader::UpdateGrub => grub::adopt(tree, machine, wanted, true),
        Loader::Grub => grub::adopt(tree, machine, wanted, false),
        Loader::Bls => entries::bls_adopt(tree, machine, wanted),
        Loader::SystemdBoot => entries::systemd_adopt(tree, machine, wanted),
        Loader::Extlinux => extlinux::adopt(tree, wanted),
        Loader::UBootMenu => extlinux::adopt_menu(tree, machine, wanted),
        Loader::RaspberryPi => raspberry_pi::adopt(tree, wanted),
        Loader::Armbian => armbian::adopt(tree, wanted),
        other => Err(by_hand::why(other, wanted)),
    }
}

fn the_loader(machine: &Machine) -> Result<Loader, Obstacle> {
    if let Some(container) = &machine.boot.container {
        return Err(Obstacle::Container(container.clone()));
    }
    match machine.boot.loaders.as_slice() {
        [] => Err(Obstacle::NoLoader),
        [one] => Ok(one.what),
        several => {
            let told = several.iter().map(|loader| format!("{} ({})", loader.what.name(), loader.seen));
            Err(Obstacle::SeveralLoaders(told.collect()))
        }
    }
}

/// The text of a file that must exist, with the line end at its end.
fn required(tree: &dyn Tree, path: &str) -> Result<String, Obstacle> {
    let text = |bytes| String::from_utf8(bytes).map_err(|_| "holds bytes that are not text".to_owned());
    known(path, tree.read(path).and_then(|bytes| text(bytes).map_or_else(Fact::Garbled, Fact::Known)))
}

fn known<T>(path: &str, fact: Fact<T>) -> Result<T, Obstacle> {
    let path = path.to_owned();
    match fact {
        Fact::Known(value) => Ok(value),
        Fact::Absent => Err(Obstacle::Missing { path }),
        Fact::Denied => Err(Obstacle::Denied { path }),
        Fact::Garbled(why) => Err(Obstacle::Strange { path, why }),
    }
}

/// The text of a file; `None` if the file does not exist.
fn optional(tree: &dyn Tree, path: &str) -> Result<Option<String>, Obstacle> {
    match required(tree, path) {
        Ok(content) => Ok(Some(content)),
        Err(Obstacle::Missing { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

/// The names in a folder; none if the folder does not exist.
fn names(tree: &dyn Tree, folder: &str) -> Result<Vec<String>, Obstacle> {
    match tree.list(folder) {
        Fact::Absent => Ok(Vec::new()),
        found => known(folder, found),
    }
}

fn ending(tree: &dyn Tree, folder: &str, end: &str) -> Result<Vec<String>, Obstacle> {
    Ok(names(tree, folder)?.into_iter().filter(|name| name.ends_with(end)).collect())
}

/// The step that writes a file of ours, readable by everybody.
fn own(path: &str, content: String) -> Step {
    Step::Own { path: path.to_owned(), content, mode: 0o644 }
}

/// The step that changes the text of a file that is not ours.
fn edit(path: &str, seen: &str, content: String) -> Step {
    Step::Edit {
        path: path.to_owned(),
        seen: seen.as_bytes().to_vec(),
        content: content.into_bytes(),
        also_ours: Vec::new(),
        in_place: false,
    }
}

fn doing(invocation: Invocation) -> Step {
    Step::Run { doing: Some(invocation), undoing: None }
}

fn undoing(invocation: Invocation) -> Step {
    Step::Run { doing: None, undoing: Some(invocation) }
}

/// The command line of a trial: the merged line, with the word that makes a kernel reboot after a panic.
fn tried(line: &str, wanted: &Wanted) -> Result<String, Obstacle> {
    Settled::of(line, wanted)?.with_panic(wanted.panic_seconds)
}

fn release(machine: &Machine) -> Result<&str, Obstacle> {
    let missing = || Obstacle::Missing { path: "/proc/sys/kernel/osrelease".to_owned() };
    machine.kernel.release.known().map(String::as_str).ok_or_else(missing)
}

fn first_there<'a>(tree: &dyn Tree, paths: &[&'a str]) -> Option<&'a str> {
    paths.iter().copied().find(|path| text(tree, path) != Fact::Absent)
}
