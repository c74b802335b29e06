//! `punctual tune --print`: one artefact alone, for people who build images.

use super::{planned, wishes};
use crate::cli::{ArtefactName, TuneArgs};
use crate::exit::Exit;
use crate::render;
use anyhow::{Context, Result, anyhow};
use punctual_facts::machine::{Arch, Flavour, Machine, Version};
use punctual_facts::tree::Tree;
use punctual_tuning::plan::lasting::{self, Artefact};
use punctual_tuning::plan::print::{evl_words, kconfig, resctrl, rk3568_l3, xenomai_words};

/// The version of Xenomai the words are for, where none is given.
const XENOMAI: Version = Version { major: 3, minor: 3 };

/// Prints it.
pub fn print(what: ArtefactName, args: &TuneArgs, tree: &dyn Tree, machine: &Machine) -> Result<Exit> {
    let text = match what {
        ArtefactName::Kconfig => of_kernel(args, machine)?,
        ArtefactName::Rk3568L3 => l3_word(args)?,
        ArtefactName::Resctrl => {
            let plan = planned(tree, machine, &wishes(args)?)?;
            resctrl(tree, &plan.choice.cpus, &plan.choice.housekeeping)
                .map_err(|refusal| anyhow!("{refusal}; {}", refusal.remedy()))?
                .to_string()
        }
        _ => of_plan(artefact(what), args, tree, machine)?,
    };
    render::print(&text).context("cannot write to standard output")?;
    Ok(Exit::Fine)
}

fn artefact(what: ArtefactName) -> Artefact {
    match what {
        ArtefactName::Grub => Artefact::Grub,
        ArtefactName::Extlinux => Artefact::Extlinux,
        ArtefactName::Uboot => Artefact::Uboot,
        ArtefactName::SystemdBoot => Artefact::SystemdBoot,
        ArtefactName::Sysctl => Artefact::Sysctl,
        ArtefactName::Tmpfiles => Artefact::Tmpfiles,
        ArtefactName::Systemd => Artefact::Systemd,
        _ => Artefact::Cmdline,
    }
}

/// What the plan wants to last, as that artefact; a co-kernel's words among those for the kernel.
fn of_plan(what: Artefact, args: &TuneArgs, tree: &dyn Tree, machine: &Machine) -> Result<String> {
    let plan = planned(tree, machine, &wishes(args)?)?;
    let mut wanted = plan.wanted;
    let flavour = args.flavour.map(Flavour::from).or_else(|| machine.kernel.flavour.known().copied());
    let added = match flavour {
        Some(Flavour::Cobalt) => Some(xenomai_words(args.xenomai.unwrap_or(XENOMAI), &plan.choice.cpus)?),
        Some(Flavour::Evl) => Some(evl_words(&plan.choice.cpus)?),
        _ => None,
    };
    if let Some(added) = added {
        added.notes.iter().for_each(|note| render::say(note));
        wanted.words.extend(added.words);
    }
    let text = lasting::print(what, &wanted, machine)?;
    // A new image has no journal that would tell what is to be set anew.
    let anew = format!("{} tune --until-reboot --yes {}", wanted.exe, asked().join(" "));
    Ok(text.replace(&format!("{} __boot", wanted.exe), anew.trim_end()))
}

/// What was typed, as a unit repeats it.
fn asked() -> Vec<String> {
    let mut asked = Vec::new();
    let mut words = std::env::args().skip(2);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--print" | "--machine" | "--flavour" | "--kernel" | "--arch" | "--xenomai" => drop(words.next()),
            word if word.starts_with("--print=") || word.starts_with("--machine=") => {}
            "--json" | "--dry-run" | "--yes" | "-y" | "--until-reboot" => {}
            _ => asked.push(word),
        }
    }
    asked
}

fn of_kernel(args: &TuneArgs, machine: &Machine) -> Result<String> {
    let kernel = &machine.kernel;
    let unknown = |what: &str, option: &str| anyhow!("this machine does not say {what}; give it with {option}");
    // Nobody asks how to build a kernel that is not made for real time.
    let here = kernel.flavour.known().copied().filter(|flavour| matches!(flavour, Flavour::Cobalt | Flavour::Evl));
    let flavour = args.flavour.map(Flavour::from).or(here).unwrap_or(Flavour::Rt);
    let version = args.kernel.or_else(|| kernel.version.known().copied());
    let arch = args.arch.map(Arch::from).or_else(|| kernel.arch.known().copied());
    Ok(kconfig(
        flavour,
        version.ok_or_else(|| unknown("which kernel it runs", "--kernel"))?,
        arch.ok_or_else(|| unknown("its architecture", "--arch"))?,
    )?)
}

fn l3_word(args: &TuneArgs) -> Result<String> {
    let owners = args.owners.as_deref().ok_or_else(|| {
        anyhow!(
            "which CPUs own which quarters of the cache? Give it with --owners, for example --owners '0-2=0-1;3=2-3'"
        )
    })?;
    let split = rk3568_l3(owners)?;
    split.notes.iter().for_each(|note| render::say(note));
    Ok(format!("[BOOT1_PARAM]\nWORD_3={:#x}\n", split.word))
}
