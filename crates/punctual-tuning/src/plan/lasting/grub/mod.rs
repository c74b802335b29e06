//! GRUB. A trial is a separate entry in a file that `grub.cfg` reads anyway, and a variable in GRUB's environment block
//! makes GRUB boot the entry once. Adopted words become a fragment that `grub-mkconfig` reads.
//!
//! `grub.cfg` itself is never edited, and for a trial it is not even generated: after a failed trial the machine has
//! the file that it had before. The trial's entry is a copy of the entry that booted the running kernel, so that its
//! disks, modules and initial RAM disk are right.

mod environment;
mod menu;
mod place;

pub(super) use environment::Environment;
pub use environment::grub_unchosen;
pub(super) use place::{not_once, once};

use super::line::{Settled, fitting};
use super::{
    ENTRY, Lasted, MADE_BY, Obstacle, Starts, Trial, Wanted, block, doing, edit, optional, own, required, shell, tried,
    undoing,
};
use crate::plan::{Invocation, Step};
use menu::MenuEntry;
use punctual_facts::fact::Fact;
use punctual_facts::machine::{Loader, Machine, configured};
use punctual_facts::tree::Tree;

const DEFAULTS: &str = "/etc/default/grub";
const FRAGMENTS: &str = "/etc/default/grub.d";
/// The variables with words for the kernel: first the one for all entries, then the one for all entries except
/// recovery. Their values stand in this order on the command line.
const VARIABLES: [&str; 2] = ["GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT"];
/// The script that adds our entry to a `grub.cfg` that does not read `custom.cfg`.
const GENERATOR: &str = "/etc/grub.d/42_punctual";

pub(super) fn folder(machine: &Machine) -> &'static str {
    if machine.boot.is_grub2 { "/boot/grub2" } else { "/boot/grub" }
}

fn mkconfig(machine: &Machine) -> Invocation {
    if machine.boot.loaders.iter().any(|sign| sign.what == Loader::UpdateGrub) {
        return Invocation::new("update-grub", []);
    }
    let name = if machine.boot.is_grub2 { "grub2-mkconfig" } else { "grub-mkconfig" };
    Invocation::new(name, ["-o", &format!("{}/grub.cfg", folder(machine))])
}

/// Plans a separate entry that is booted once.
pub(super) fn trial(tree: &dyn Tree, machine: &Machine, wanted: &Wanted) -> Result<Trial, Obstacle> {
    let folder = folder(machine);
    let path = format!("{folder}/grub.cfg");
    let config = required(tree, &path)?;
    let entry = MenuEntry::running(&config, machine).ok_or_else(|| Obstacle::Strange {
        path: path.clone(),
        why: "has no entry for the kernel that runs".to_owned(),
    })?;
    let args = entry.args().map_err(|why| Obstacle::Strange { path: path.clone(), why })?;
    if Settled::of(args, wanted)?.line == args {
        return Ok(Trial::not_needed());
    }
    let line = tried(args, wanted)?;
    fitting(format!("BOOT_IMAGE={} {line}", entry.image))?;
    let text = entry.with(&line);
    let mut steps = place_entry(tree, machine, &config, &text)?;
    let once = once(tree, folder, &config, ENTRY)?;
    steps.extend(once.steps);
    let mut limits = once.limits;
    if wanted.panic_seconds > 0 {
        limits.push(only_panics(wanted.panic_seconds));
    }
    limits.extend(another_default(&config, &entry));
    let starts = if once.by_itself { Starts::NextBoot } else { Starts::Menu(super::TITLE.to_owned()) };
    Ok(Trial { steps, limits, starts })
}

/// The warning that the default entry boots another kernel than the trial.
fn another_default(config: &str, tried: &MenuEntry<'_>) -> Option<String> {
    let first = MenuEntry::first(config).filter(|first| first.image != tried.image)?;
    config.contains("set default=\"0\"").then(|| {
        format!(
            "the trial boots the kernel that runs now ({}), but the default entry boots another one ({}): once the words are \
             adopted, that kernel gets them without a trial",
            tried.image, first.image
        )
    })
}

pub(super) fn only_panics(seconds: u32) -> String {
    format!(
        "if the kernel panics, the machine boots the old entry by itself {seconds} s later; if the kernel hangs, it \
        boots the old entry once a person or a watchdog resets it"
    )
}

/// Adds the entry to the file `custom.cfg`, which `grub.cfg` reads. If `grub.cfg` does not read it, the entry goes into
/// a newly generated `grub.cfg`.
fn place_entry(tree: &dyn Tree, machine: &Machine, config: &str, text: &str) -> Result<Vec<Step>, Obstacle> {
    let custom = format!("{}/custom.cfg", folder(machine));
    if !config.lines().any(|line| line.trim_start().starts_with("source ") && line.contains("/custom.cfg")) {
        let script = format!("#!/bin/sh\n{MADE_BY}cat <<'PUNCTUAL'\n{text}PUNCTUAL\n");
        let generator = Step::Own { path: GENERATOR.to_owned(), content: script, mode: 0o755 };
        return Ok(vec![undoing(mkconfig(machine)), generator, doing(mkconfig(machine))]);
    }
    Ok(match optional(tree, &custom)? {
        Some(seen) if !seen.starts_with(MADE_BY) => {
            let base = block::base(&seen);
            vec![edit(&custom, &seen, block::appended(&base, text))]
        }
        _ => vec![own(&custom, format!("{MADE_BY}{text}"))],
    })
}

/// Removes a trial's entry, and its choice for the next boot.
fn without_trial(tree: &dyn Tree, machine: &Machine) -> Result<Vec<Step>, Obstacle> {
    let folder = folder(machine);
    let custom = format!("{folder}/custom.cfg");
    let mut steps = Vec::new();
    if let Some(seen) = optional(tree, &custom)? {
        if seen.starts_with(MADE_BY) {
            steps.push(Step::Remove { path: custom });
        } else if let Some(base) = block::without(&seen) {
            steps.push(edit(&custom, &seen, base));
        }
    }
    if optional(tree, GENERATOR)?.is_some() {
        steps.push(Step::Remove { path: GENERATOR.to_owned() });
    }
    steps.extend(not_once(tree, folder, ENTRY)?);
    Ok(steps)
}

/// Writes the words into a fragment of our own. If GRUB's configuration reads no fragments, they go to the end of the
/// file of defaults.
pub(super) fn adopt(
    tree: &dyn Tree,
    machine: &Machine,
    wanted: &Wanted,
    has_fragments: bool,
) -> Result<Lasted, Obstacle> {
    let file = if has_fragments {
        shell::File::of_our_own(tree, crate::own_files::GRUB)?
    } else {
        shell::File::of_others(DEFAULTS, required(tree, DEFAULTS)?)
    };
    let all = shell::with_earlier(file.earlier(), &VARIABLES, wanted);
    let Some(settled) = settle(tree, machine, wanted, &all, &shell::stripped(file.earlier()))? else {
        return Ok(wrapped(machine, Vec::new(), without_trial(tree, machine)?));
    };
    if has_fragments {
        let sets = |text: &str| text.lines().any(|line| line.trim_start().starts_with(VARIABLES[0]));
        shell::refuse_later(tree, FRAGMENTS, ".cfg", sets)?;
    }
    Ok(wrapped(machine, vec![file.with(&fragment(&settled))], without_trial(tree, machine)?))
}

/// The fragment with the words for all entries except the recovery entries, which stay unchanged as a way back. If the
/// line has words for init, our words go to all entries, because they must stand before the words for init.
pub(super) fn fragment(settled: &Settled) -> String {
    let [all, ordinary] = VARIABLES;
    let has_inits = settled.line.split_whitespace().any(|word| word == "--");
    if has_inits { shell::fragment(all, &[ordinary], settled) } else { shell::fragment(ordinary, &[all], settled) }
}

/// Merges the wanted words with the words in the user's files; `None` if the files already have the wanted words.
fn settle(
    tree: &dyn Tree,
    machine: &Machine,
    wanted: &Wanted,
    all: &Wanted,
    before: &[String],
) -> Result<Option<Settled>, Obstacle> {
    let booted = machine.cmdline.known().map(punctual_facts::machine::Cmdline::for_the_kernel).unwrap_or_default();
    // The next boot's command line will be about this boot's line with our words, so this fails if that line would be
    // too long.
    Settled::of(&booted, all)?;
    let places = configured(tree, &machine.boot, machine.kernel.release.known().map(String::as_str));
    let line = match places.into_iter().next().map(|place| place.line) {
        Some(Fact::Known(line)) => line,
        Some(Fact::Denied) => return Err(Obstacle::Denied { path: DEFAULTS.to_owned() }),
        // The user's file holds shell code, so its words are not known. Our fragment removes words when a shell reads
        // it, whatever that code does.
        _ => return Settled::of(&booted, all).map(Some),
    };
    if Settled::of(&line, wanted)?.line == line {
        return Ok(None);
    }
    Ok(Some(Settled::of(&line, all)?.stripping_only(&line, before)))
}

/// Adds the steps that generate `grub.cfg`: after the files were changed, and on undo after the files were restored.
fn wrapped(machine: &Machine, files: Vec<Step>, trial: Vec<Step>) -> Lasted {
    let mut steps: Vec<Step> = files.into_iter().chain(trial).collect();
    if !steps.is_empty() {
        steps.insert(0, undoing(mkconfig(machine)));
        steps.push(doing(mkconfig(machine)));
    }
    Lasted { steps, ..Lasted::default() }
}
