//! Making changes outlive the next boot: what is wanted, as steps for the boot loader and the init that this machine
//! has.
//!
//! ```text
//! Wanted -> trial  (own boot entry, booted once) -> adopt (the default, for kernels to come as well)
//!        \-> files (sysctl.d, tmpfiles.d, udev, modprobe.d, limits.d, units)
//! ```
//!
//! One module for each kind of boot loader, one for each kind of init. All of it is planned from what a [`Tree`] shows;
//! nothing here runs or writes anything, and nothing knows of knobs.

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

pub use files::{files, hook};
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

/// What is to hold after the next boot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Words for the kernel: `name=value` or `name`.
    pub words: Vec<String>,
    /// Words to take off the command line: `name`, or `name=value` for that value alone.
    pub no_words: Vec<String>,
    pub sysctls: Vec<KeptValue>,
    /// Files of the kernel and what is written to them at boot; a path may hold `*`.
    pub writes: Vec<KeptValue>,
    /// Rules for udev, one a line.
    pub udev: Vec<String>,
    /// Options of modules: `snd_hda_intel power_save=0`.
    pub module_options: Vec<String>,
    /// Modules that are not to be loaded.
    pub no_modules: Vec<String>,
    /// Limits of log-ins: `@realtime - rtprio 95`.
    pub limits: Vec<String>,
    /// CPUs for everything that the init starts.
    pub manager_cpus: Option<CpuSet>,
    /// The longest time to wake from idle that a service of ours asks for, in microseconds.
    pub hold_latency_us: Option<u32>,
    /// Whether this program is to run once at every boot.
    pub boot_service: bool,
    pub exe: String,
    /// After how many seconds a kernel that panics in the trial boots again; 0 leaves that to the kernel.
    pub panic_seconds: u32,
}

/// A value that is written at each boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptValue {
    /// A sysctl's name, or a file of the kernel.
    pub place: String,
    pub value: String,
}

impl Wanted {
    fn touches_cmdline(&self) -> bool {
        !(self.words.is_empty() && self.no_words.is_empty())
    }
}

/// What is done, and what it cannot do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lasted {
    /// What is done, in order; undone in reverse order.
    pub steps: Vec<Step>,
    /// What somebody who relies on it has to know, one sentence each.
    pub limits: Vec<String>,
    /// What would not count, and is left out.
    pub lost: Vec<Lost>,
}

/// A value that would not outlive the next boot, since somebody else's counts more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The name for sysctl, or the file of the kernel.
    pub what: String,
    pub why: String,
}

/// A command line that is tried before it is adopted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// What is done, in order; undone in reverse order.
    pub steps: Vec<Step>,
    /// What somebody who relies on it has to know, one sentence each.
    pub limits: Vec<String>,
    pub starts: Starts,
}

/// How a machine comes to boot what is tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", content = "by", rename_all = "kebab-case")]
pub enum Starts {
    /// The machine has these words already, or none are wanted.
    NotNeeded,
    /// By the next reboot, and by that one only.
    NextBoot,
    /// By a reboot with these words, and by that one only.
    Reboot(Invocation),
    /// By hand, from the boot loader's menu: the entry of this name.
    Menu(String),
}

impl Trial {
    fn not_needed() -> Self {
        Self { steps: Vec::new(), limits: Vec::new(), starts: Starts::NotNeeded }
    }
}

/// What every text of ours begins with.
const MADE_BY: &str = "# Made by punctual; undone by `punctual revert`.\n";
/// What a boot entry of ours is called.
const ENTRY: &str = "punctual-trial";
/// How it is called in a menu.
const TITLE: &str = "punctual: tried once";
/// How our files are named where the last one counts.
const LAST: &str = crate::own_files::LAST;

/// Puts the wanted command line where it is booted once.
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
        Loader::Armbian => Err(Obstacle::NoTrial(
            "Armbian's boot script knows one command line only; adopt it where somebody can reach the console"
                .to_owned(),
        )),
        other => Err(by_hand::why(other, wanted)),
    }
}

/// Makes the wanted command line the default, and takes away what a trial left.
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

/// The boot loader that started the machine.
fn the_loader(machine: &Machine) -> Result<Loader, Obstacle> {
    if let Some(container) = &machine.boot.container {
        return Err(Obstacle::Container(container.clone()));
    }
    match machine.boot.loaders.as_slice() {
        [] => Err(Obstacle::NoLoader),
        [one] => Ok(one.what),
        several => {
            Err(Obstacle::SeveralLoaders(several.iter().map(|l| format!("{} ({})", l.what.name(), l.seen)).collect()))
        }
    }
}

/// A file that must be there.
fn required(tree: &dyn Tree, path: &str) -> Result<String, Obstacle> {
    match text_exactly(tree, path) {
        Fact::Known(content) => Ok(content),
        Fact::Absent => Err(Obstacle::Missing { path: path.to_owned() }),
        Fact::Denied => Err(Obstacle::Denied { path: path.to_owned() }),
        Fact::Garbled(why) => Err(Obstacle::Strange { path: path.to_owned(), why }),
    }
}

/// A file that may be missing.
fn optional(tree: &dyn Tree, path: &str) -> Result<Option<String>, Obstacle> {
    match required(tree, path) {
        Ok(content) => Ok(Some(content)),
        Err(Obstacle::Missing { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

/// The file as text, with the newline at its end.
fn text_exactly(tree: &dyn Tree, path: &str) -> Fact<String> {
    let bytes = tree.read(path);
    bytes.and_then(|bytes| {
        String::from_utf8(bytes).map_or_else(|_| Fact::Garbled("holds bytes that are not text".to_owned()), Fact::Known)
    })
}

/// The names in a folder, none where it is not there.
fn names(tree: &dyn Tree, folder: &str) -> Result<Vec<String>, Obstacle> {
    match tree.list(folder) {
        Fact::Known(names) => Ok(names),
        Fact::Absent => Ok(Vec::new()),
        Fact::Denied => Err(Obstacle::Denied { path: folder.to_owned() }),
        Fact::Garbled(why) => Err(Obstacle::Strange { path: folder.to_owned(), why }),
    }
}

/// The names in a folder that end so, none where it is not there.
fn ending(tree: &dyn Tree, folder: &str, end: &str) -> Result<Vec<String>, Obstacle> {
    let mut found = names(tree, folder)?;
    found.retain(|name| name.strip_suffix(end).is_some());
    Ok(found)
}

/// A file of ours, readable by all.
fn own(path: &str, content: String) -> Step {
    Step::Own { path: path.to_owned(), content, mode: 0o644 }
}

/// A file of somebody else, replaced by another text.
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

/// The words after the change, with the one that brings back a kernel that does not come up.
fn tried(line: &str, wanted: &Wanted) -> Result<String, Obstacle> {
    let settled = Settled::of(line, wanted)?;
    settled.with_panic(wanted.panic_seconds)
}

/// The release of the kernel that runs.
fn release(machine: &Machine) -> Result<&str, Obstacle> {
    machine.kernel.release.known().map(String::as_str).ok_or_else(|| Obstacle::Missing { path: RELEASE.to_owned() })
}

/// Where the kernel says its release.
const RELEASE: &str = "/proc/sys/kernel/osrelease";

/// The first of these files that is there.
fn first_there<'a>(tree: &dyn Tree, paths: &[&'a str]) -> Option<&'a str> {
    paths.iter().copied().find(|path| text(tree, path) != Fact::Absent)
}
