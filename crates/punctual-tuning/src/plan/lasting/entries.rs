//! Boot loader entries, one file per kernel. systemd-boot reads them, and so does GRUB on Fedora and related
//! distributions.
//!
//! A trial is a file of its own, a copy of the running kernel's entry. Adopted words are written into the entries of
//! the installed kernels, below a remark, and into the file from which later kernels take their words. Entries that
//! name another root belong to another system on the same disk, and stay as they are.

use super::grub::{self, Environment};
use super::line::Settled;
use super::{
    Lasted, MADE_BY, Obstacle, Starts, TITLE, Trial, Wanted, edit, ending, optional, own, release, required, tried,
};
use crate::plan::{Invocation, Step};
use punctual_facts::cmdline::words;
use punctual_facts::machine::{Cmdline, ESPS, Machine, efi_variable};
use punctual_facts::tree::Tree;

/// The name of a trial's entry file. If no default is set, loaders boot the entry whose name sorts highest; this name
/// sorts lowest.
const NAME: &str = "a-punctual-trial";
const REMARK: &str = "# Options changed by punctual; undone by `punctual revert`.\n";
/// The file with the words for the entries of kernels that are installed later.
const KERNEL_INSTALL: &str = "/etc/kernel/cmdline";
/// The file with the remark about `KERNEL_INSTALL`, which cannot hold a remark itself.
const NOTE: &str = "/etc/kernel/cmdline.punctual";

struct LoaderEntry {
    path: String,
    content: String,
}

impl LoaderEntry {
    fn options(&self) -> String {
        let lines = self.content.lines().filter_map(|line| value(line, "options"));
        lines.collect::<Vec<_>>().join(" ")
    }

    fn with(&self, options: &str) -> String {
        let mut is_first = true;
        let lines = self.content.lines().filter_map(|line| match value(line, "options") {
            Some(_) if std::mem::take(&mut is_first) => Some(format!("options {options}\n")),
            Some(_) => None,
            None => Some(format!("{line}\n")),
        });
        let text: String = lines.collect();
        if is_first { format!("{text}options {options}\n") } else { text }
    }

    /// The text of a trial's entry: it has our title, and no key that sorts it before other entries.
    fn tried(&self, options: &str) -> String {
        let ours = self.with(options);
        let is_kept = |line: &&str| !["title", "sort-key", "id"].iter().any(|key| value(line, key).is_some());
        let rest = ours.lines().filter(is_kept).filter(|line| !line.starts_with('#'));
        rest.fold(format!("{MADE_BY}title {TITLE}\n"), |text, line| text + line + "\n")
    }

    fn names_linux(&self) -> bool {
        self.content.lines().any(|line| value(line, "linux").is_some())
    }

    /// Whether the entry boots this system: its root is the root of this boot. True if the root of this boot is not
    /// known.
    fn is_of(&self, machine: &Machine) -> bool {
        let root = machine.cmdline.known().and_then(|line| line.value("root"));
        let options = self.options();
        root.is_none_or(|root| options.contains('$') || Cmdline::parse(&options).value("root") == Some(root))
    }
}

fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let rest = line.trim_start().strip_prefix(key)?;
    rest.starts_with(char::is_whitespace).then(|| rest.trim())
}

/// The entries of Linux kernels in a folder, the highest name first. Rescue entries and our own entry are left out.
fn read(tree: &dyn Tree, folder: &str, machine: &Machine) -> Result<Vec<LoaderEntry>, Obstacle> {
    let mut found = Vec::new();
    for name in ending(tree, folder, ".conf")?.iter().rev() {
        if !name.starts_with(NAME) && !name.contains("rescue") {
            let path = format!("{folder}/{name}");
            let entry = LoaderEntry { content: required(tree, &path)?, path };
            found.extend(Some(entry).filter(|entry| entry.names_linux() && entry.is_of(machine)));
        }
    }
    Ok(found)
}

/// The entry that was booted. It is found by the EFI variable of systemd-boot, by the kernel's release, or because it
/// is the only entry.
fn running(tree: &dyn Tree, folder: &str, machine: &Machine) -> Result<LoaderEntry, Obstacle> {
    let mut found = read(tree, folder, machine)?;
    let selected = efi_variable(tree, "LoaderEntrySelected");
    let is_selected = |entry: &LoaderEntry| selected.as_ref().is_some_and(|id| entry.path.ends_with(&format!("/{id}")));
    let release = release(machine)?;
    let at = found.iter().position(is_selected).or_else(|| found.iter().position(|e| e.content.contains(release)));
    match at.or((found.len() == 1).then_some(0)) {
        Some(at) => Ok(found.swap_remove(at)),
        None => Err(Obstacle::Missing { path: format!("{folder}/*.conf (an entry of the kernel {release})") }),
    }
}

fn systemd_folder(tree: &dyn Tree) -> Result<String, Obstacle> {
    let mut is_denied = None;
    for esp in ESPS {
        let folder = format!("{esp}/loader/entries");
        match ending(tree, &folder, ".conf") {
            Ok(names) if !names.is_empty() => return Ok(folder),
            Ok(_) => {}
            Err(why) => is_denied = Some(why),
        }
    }
    Err(is_denied.unwrap_or(Obstacle::Missing { path: format!("{}/loader/entries/*.conf", ESPS.join(", ")) }))
}

const BLS: &str = "/boot/loader/entries";

/// Plans a separate entry that systemd-boot boots once.
pub(super) fn systemd_trial(tree: &dyn Tree, machine: &Machine, wanted: &Wanted) -> Result<Trial, Obstacle> {
    let folder = systemd_folder(tree)?;
    let entry = running(tree, &folder, machine)?;
    let options = entry.options();
    if Settled::of(&options, wanted)?.line == options {
        return Ok(Trial::not_needed());
    }
    let id = format!("{NAME}.conf");
    let once = Step::Run {
        doing: Some(Invocation::new("bootctl", ["set-oneshot", &id])),
        undoing: Some(Invocation::new("bootctl", ["set-oneshot", ""])),
    };
    let steps = vec![own(&format!("{folder}/{id}"), entry.tried(&tried(&options, wanted)?)), once];
    Ok(Trial { steps, limits: limits(wanted), starts: Starts::NextBoot })
}

/// Plans a separate entry that GRUB boots once.
pub(super) fn bls_trial(tree: &dyn Tree, machine: &Machine, wanted: &Wanted) -> Result<Trial, Obstacle> {
    let entry = running(tree, BLS, machine)?;
    let folder = grub::folder(machine);
    let options = expanded(tree, folder, &entry.options())?;
    if Settled::of(&options, wanted)?.line == options {
        return Ok(Trial::not_needed());
    }
    let mut steps = vec![own(&format!("{BLS}/{NAME}.conf"), entry.tried(&tried(&options, wanted)?))];
    let config = required(tree, &format!("{folder}/grub.cfg"))?;
    let once = grub::once(tree, folder, &config, NAME)?;
    steps.extend(once.steps);
    let starts = if once.by_itself { Starts::NextBoot } else { Starts::Menu(TITLE.to_owned()) };
    Ok(Trial { steps, limits: once.limits.into_iter().chain(limits(wanted)).collect(), starts })
}

fn limits(wanted: &Wanted) -> Vec<String> {
    if wanted.panic_seconds > 0 { vec![grub::only_panics(wanted.panic_seconds)] } else { Vec::new() }
}

const KERNELOPTS: [&str; 2] = ["$kernelopts", "${kernelopts}"];

/// Replaces the variable `kernelopts` by its value. Older Fedora releases keep the words of all entries in that
/// variable.
fn expanded(tree: &dyn Tree, folder: &str, options: &str) -> Result<String, Obstacle> {
    if !KERNELOPTS.iter().any(|name| options.contains(name)) {
        return Ok(options.to_owned());
    }
    let path = format!("{folder}/grubenv");
    let content = required(tree, &path)?;
    let block = Environment::parse(content.as_bytes());
    let kept = block.as_ref().and_then(|block| block.value("kernelopts"));
    let kept = kept
        .ok_or(Obstacle::Strange { path, why: "has no kernelopts, which the boot loader's entry names".to_owned() })?;
    Ok(KERNELOPTS.iter().fold(options.to_owned(), |text, name| text.replace(name, kept)))
}

/// Writes the words into every entry of this system's kernels, and into the file for kernels that are installed later.
pub(super) fn systemd_adopt(tree: &dyn Tree, machine: &Machine, wanted: &Wanted) -> Result<Lasted, Obstacle> {
    let folder = systemd_folder(tree)?;
    adopt(tree, machine, wanted, &folder)
}

/// Writes the words into every entry of this system's kernels that GRUB reads. If a trial was chosen for the next boot
/// and not booted, that choice is removed.
pub(super) fn bls_adopt(tree: &dyn Tree, machine: &Machine, wanted: &Wanted) -> Result<Lasted, Obstacle> {
    let mut lasted = adopt(tree, machine, wanted, BLS)?;
    lasted.steps.extend(grub::not_once(tree, grub::folder(machine), NAME)?);
    Ok(lasted)
}

fn adopt(tree: &dyn Tree, machine: &Machine, wanted: &Wanted, folder: &str) -> Result<Lasted, Obstacle> {
    running(tree, folder, machine)?;
    let mut lasted = Lasted::default();
    for entry in read(tree, folder, machine)? {
        let options = entry.options();
        if KERNELOPTS.iter().any(|name| options.contains(name)) {
            return Err(Obstacle::ByHand(grubby(wanted)));
        }
        let settled = Settled::of(&options, wanted)?;
        if settled.line != options {
            let remark = if entry.content.starts_with(REMARK) { "" } else { REMARK };
            let content = format!("{remark}{}", entry.with(&settled.line));
            lasted.steps.push(edit(&entry.path, &entry.content, content));
        }
    }
    lasted.steps.extend(to_come(tree, wanted)?);
    let trial = format!("{folder}/{NAME}.conf");
    if optional(tree, &trial)?.is_some() {
        lasted.steps.push(Step::Remove { path: trial });
    }
    if !lasted.steps.is_empty() {
        lasted.limits.push(
            "kernels that are installed while these words are in force may copy them from the running command line, \
            and then keep them even after punctual revert"
                .to_owned(),
        );
    }
    Ok(lasted)
}

/// Changes the words for kernels that are installed later, if there is a file for them.
fn to_come(tree: &dyn Tree, wanted: &Wanted) -> Result<Vec<Step>, Obstacle> {
    let Some(seen) = optional(tree, KERNEL_INSTALL)? else { return Ok(Vec::new()) };
    let settled = Settled::of(seen.trim_end(), wanted)?;
    if words(settled.line.as_bytes()) == words(seen.trim_end().as_bytes()) {
        return Ok(Vec::new());
    }
    let note = format!("{MADE_BY}# {KERNEL_INSTALL} was changed; it cannot hold a remark itself.\n");
    Ok(vec![own(NOTE, note), edit(KERNEL_INSTALL, &seen, format!("{}\n", settled.line))])
}

fn grubby(wanted: &Wanted) -> String {
    let mut command = "grubby --update-kernel=ALL".to_owned();
    if !wanted.no_words.is_empty() {
        command = format!("{command} --remove-args='{}'", wanted.no_words.join(" "));
    }
    if !wanted.words.is_empty() {
        command = format!("{command} --args='{}'", wanted.words.join(" "));
    }
    command
}
