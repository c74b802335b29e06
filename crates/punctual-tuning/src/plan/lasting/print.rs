//! Prints the files that would be written, as texts for people who build images.

use super::line::Settled;
use super::{ENTRY, MADE_BY, Obstacle, TITLE, Wanted, check, files, grub};
use punctual_facts::machine::Machine;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Artefact {
    Cmdline,
    /// A fragment for `/etc/default/grub.d`.
    Grub,
    /// A label of `extlinux.conf`.
    Extlinux,
    Uboot,
    SystemdBoot,
    /// A file for `/etc/sysctl.d`.
    Sysctl,
    /// A file for `/etc/tmpfiles.d`.
    Tmpfiles,
    Systemd,
}

/// The text of an artefact. An artefact that is a whole command line has this boot's words and the wanted words.
pub fn print(kind: Artefact, wanted: &Wanted, machine: &Machine) -> Result<String, Obstacle> {
    check::cmdline(wanted)?;
    files::checked(wanted)?;
    let booted = machine.cmdline.known().map(punctual_facts::machine::Cmdline::for_the_kernel).unwrap_or_default();
    let current: Vec<&str> = booted.split(' ').filter(|word| !is_loaders(word)).collect();
    let settled = Settled::of(&current.join(" "), wanted)?;
    Ok(match kind {
        Artefact::Cmdline => format!("{}\n", settled.add.join(" ")),
        Artefact::Grub => format!("{MADE_BY}{}", grub::fragment(&settled)),
        Artefact::Extlinux => format!("LABEL {ENTRY}\n    MENU LABEL {TITLE}\n    APPEND {}\n", settled.line),
        Artefact::Uboot => format!("extraargs={}\n", settled.add.join(" ")),
        Artefact::SystemdBoot => format!("title {TITLE}\noptions {}\n", settled.line),
        Artefact::Sysctl => files::sysctl_text(&wanted.sysctls),
        Artefact::Tmpfiles => files::tmpfiles_text(&wanted.writes),
        Artefact::Systemd => {
            let file = |files::UnitFile { path, text }| format!("# {path}\n{text}");
            files::units(wanted).into_iter().map(file).collect::<Vec<_>>().join("\n")
        }
    })
}

/// Whether a boot loader adds this word itself.
fn is_loaders(word: &str) -> bool {
    ["BOOT_IMAGE=", "initrd="].iter().any(|start| word.starts_with(start))
}
