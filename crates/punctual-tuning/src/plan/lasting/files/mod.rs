//! Files of our own that the init and its helpers read at boot. Each is named after punctual, and begins with a remark
//! that says how to undo it.
//!
//! If several files may set the same value, ours is named so that its value takes effect: it is the last file for
//! sysctl and the first for tmpfiles. If another file overrides a value nevertheless, that value is left out. Lines
//! that an earlier plan wrote into our files stay in them.

mod lists;
mod outweighed;
mod script;
mod systemd;

pub(super) use lists::{sysctl_text, tmpfiles_text};
pub(super) use systemd::{UnitFile, units};

use super::{KeptValue, Lasted, Lost, Obstacle, Wanted, check};
use crate::plan::Step;
use punctual_facts::machine::{Init, Loader, Machine};
use punctual_facts::tree::Tree;

/// The steps for all lasting settings except the words of the kernel's command line.
pub fn files(tree: &dyn Tree, machine: &Machine, wanted: &Wanted) -> Result<Lasted, Obstacle> {
    checked(wanted)?;
    if is_empty(wanted) {
        return Ok(Lasted::default());
    }
    if let Some(container) = &machine.boot.container {
        return Err(Obstacle::Container(container.clone()));
    }
    made_elsewhere(machine, wanted)?;
    let init = machine.boot.init.as_ref().map(|sign| sign.what);
    let (wanted, lost) = outweighed::without(tree, init, wanted)?;
    let wanted = &wanted;
    let mut lasted = lists::steps(tree, wanted)?;
    let told = |lost: &Lost| format!("{} is not kept for the boots to come: {}", lost.what, lost.why);
    lasted.limits.extend(lost.iter().map(told));
    lasted.lost = lost;
    lasted.steps.extend(lists::sysctls(tree, init, wanted)?);
    match init {
        Some(Init::Systemd) => systemd::steps(tree, wanted, &mut lasted)?,
        other => script::steps(tree, other, wanted, &mut lasted)?,
    }
    Ok(lasted)
}

/// Steps for a unit that continues the campaign in `folder` once after each boot.
pub fn hook(machine: &Machine, exe: &str, verb: &str, folder: &str) -> Result<Vec<Step>, Obstacle> {
    check::exe(exe)?;
    check::exe(folder)?;
    if let Some(container) = &machine.boot.container {
        return Err(Obstacle::Container(container.clone()));
    }
    made_elsewhere(machine, &Wanted::default())?;
    if !machine.boot.is_systemd() {
        return Err(Obstacle::ByHand(format!("go on with the campaign in {folder} after each boot")));
    }
    Ok(systemd::hook(exe, verb, folder))
}

/// Steps for a unit that watches from now on, also after each boot.
pub fn watch(machine: &Machine, exe: &str, store: &str, words: &[String]) -> Result<Vec<Step>, Obstacle> {
    check::exe(exe)?;
    check::line(store)?;
    words.iter().try_for_each(|word| check::line(word))?;
    if let Some(container) = &machine.boot.container {
        return Err(Obstacle::Container(container.clone()));
    }
    made_elsewhere(machine, &Wanted::default())?;
    if !machine.boot.is_systemd() {
        return Err(Obstacle::ByHand(format!("start `{exe} watch` after each boot")));
    }
    Ok(systemd::watch(exe, store, words))
}

fn is_empty(wanted: &Wanted) -> bool {
    let cmdline_only = Wanted { words: wanted.words.clone(), no_words: wanted.no_words.clone(), ..Wanted::default() };
    let plain = Wanted { exe: String::new(), panic_seconds: 0, ..wanted.clone() };
    plain == cmdline_only
}

/// Checks all values, before the first of them is written.
pub(super) fn checked(wanted: &Wanted) -> Result<(), Obstacle> {
    wanted.sysctls.iter().try_for_each(|kept| check::sysctl(&kept.place, &kept.value))?;
    wanted.writes.iter().try_for_each(|write| check::write(&write.place, &write.value))?;
    wanted.udev.iter().try_for_each(|rule| check::rule(rule))?;
    wanted.module_options.iter().try_for_each(|options| check::module_options(options))?;
    wanted.no_modules.iter().try_for_each(|name| check::module(name))?;
    wanted.limits.iter().try_for_each(|limit| check::limit(limit))?;
    if wanted.manager_cpus.as_ref().is_some_and(punctual_facts::cpu_set::CpuSet::is_empty) {
        let why = "the init needs a CPU to start programs on".to_owned();
        return Err(Obstacle::Unfit { value: String::new(), why });
    }
    if wanted.boot_service || wanted.hold_latency_us.is_some() { check::exe(&wanted.exe) } else { Ok(()) }
}

/// Fails on systems where files in `/etc` do not last, because the folder is generated, read-only, or replaced with the
/// image.
fn made_elsewhere(machine: &Machine, wanted: &Wanted) -> Result<(), Obstacle> {
    let Some(loader) = machine.boot.loaders.first().map(|sign| sign.what) else { return Ok(()) };
    let how = match loader {
        Loader::NixOs => nixos(wanted),
        Loader::Talos => "in the machine configuration: machine.sysctls and machine.sysfs, then talosctl apply-config".to_owned(),
        Loader::MachineConfig => {
            "in a MachineConfig of the node's pool: spec.config.storage.files (the artefacts sysctl, tmpfiles and systemd)"
                .to_owned()
        }
        Loader::UbuntuCore => "in the gadget snap: system.kernel settings and a service of a snap of your own".to_owned(),
        _ => return Ok(()),
    };
    Err(Obstacle::ByHand(how))
}

fn nixos(wanted: &Wanted) -> String {
    let sysctl = |kept: &KeptValue| format!("boot.kernel.sysctl.\"{}\" = \"{}\";", kept.place, kept.value);
    let rule = |write| format!("systemd.tmpfiles.rules = [ \"{}\" ];", lists::tmpfiles_line(write));
    let options = |options: &String| format!("boot.extraModprobeConfig = \"options {options}\";");
    let values = wanted.sysctls.iter().map(sysctl).chain(wanted.writes.iter().map(rule));
    let all: Vec<String> = values.chain(wanted.module_options.iter().map(options)).collect();
    format!("in the configuration, then nixos-rebuild boot: {}", all.join(" "))
}
