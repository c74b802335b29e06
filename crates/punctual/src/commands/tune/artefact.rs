//! `punctual tune --print`: prints a single configuration file or text, for people who build images.

use super::{planned, wishes};
use crate::cli::{Printed, TuneArgs};
use crate::commands::source::{Source, given_or_told};
use crate::exit::Exit;
use crate::render;
use anyhow::{Result, anyhow};
use punctual_facts::machine::{Flavour, Machine, Version};
use punctual_tuning::plan::lasting::{self, Artefact};
use punctual_tuning::plan::print::{evl_words, kconfig, resctrl, rk3568_l3, xenomai_words};

/// Default version of Xenomai for `--print cmdline`.
const XENOMAI: Version = Version { major: 3, minor: 3 };

pub fn print(what: Printed, args: &TuneArgs, source: &Source) -> Result<Exit> {
    let text = match what {
        Printed::Kconfig => of_kernel(args, &source.machine)?,
        Printed::Rk3568L3 => l3_word(args)?,
        Printed::Resctrl => {
            let plan = planned(source, &wishes(args)?)?;
            resctrl(source.tree(), &plan.choice.cpus, &plan.choice.housekeeping)
                .map_err(|refusal| anyhow!("{refusal}; {}", refusal.remedy()))?
                .to_string()
        }
        Printed::Lasting(artefact) => of_plan(artefact, args, source)?,
    };
    render::print(&text)?;
    Ok(Exit::Fine)
}

/// The lasting settings of the plan, in the format of this artefact. Words for a co-kernel are added to those for the
/// kernel.
fn of_plan(what: Artefact, args: &TuneArgs, source: &Source) -> Result<String> {
    let plan = planned(source, &wishes(args)?)?;
    let mut wanted = plan.wanted;
    let flavour = args.flavour.or_else(|| source.machine.kernel.flavour.known().copied());
    let added = match flavour {
        Some(Flavour::Cobalt) => Some(xenomai_words(args.xenomai.unwrap_or(XENOMAI), &plan.choice.cpus)?),
        Some(Flavour::Evl) => Some(evl_words(&plan.choice.cpus)?),
        _ => None,
    };
    if let Some(added) = added {
        added.notes.iter().for_each(|note| render::say(note));
        wanted.words.extend(added.words);
    }
    let text = lasting::print(what, &wanted, &source.machine)?;
    // A new image has no journal, so its unit repeats this command line instead of reading the journal's transactions.
    let anew = format!("{} tune --until-reboot --yes {}", wanted.exe, asked().join(" "));
    Ok(text.replace(&format!("{} __boot", wanted.exe), anew.trim_end()))
}

/// The typed command line without options about printing, for a unit that repeats it.
fn asked() -> Vec<String> {
    let mut asked = Vec::new();
    let mut words = std::env::args().skip(2);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--print" | "--machine" | "--root" | "--flavour" | "--kernel" | "--arch" | "--xenomai" => {
                drop(words.next());
            }
            word if ["--print=", "--machine=", "--root="].iter().any(|start| word.starts_with(start)) => {}
            "--json" | "--dry-run" | "--yes" | "-y" | "--until-reboot" => {}
            _ => asked.push(word),
        }
    }
    asked
}

fn of_kernel(args: &TuneArgs, machine: &Machine) -> Result<String> {
    let kernel = &machine.kernel;
    // A kernel that is not made for real time is not worth configuring, so the configuration is for PREEMPT_RT unless
    // this kernel is a co-kernel.
    let here = kernel.flavour.known().copied().filter(|flavour| matches!(flavour, Flavour::Cobalt | Flavour::Evl));
    let flavour = args.flavour.or(here).unwrap_or(Flavour::Rt);
    let version = given_or_told(args.kernel, &kernel.version, "which kernel it runs", "--kernel")?;
    let arch = given_or_told(args.arch, &kernel.arch, "its architecture", "--arch")?;
    Ok(kconfig(flavour, version, arch)?)
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
