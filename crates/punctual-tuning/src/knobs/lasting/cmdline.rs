//! How to add words to the kernel command line, or remove them, where this machine's boot loader reads them.
//!
//! The files and options in the commands are documented in manuals. If a command could not be checked against a manual
//! or another tool's code, its text says so.

use super::{Case, Direction};
use crate::own_files::GRUB;
use punctual_facts::machine::{Cmdline, Initramfs, Loader};

/// How to add a word, or how to remove it again. A word that this boot's command line has already is neither added nor
/// removed, unless the loader's files lack it.
pub(super) fn word(case: &Case<'_>, word: &str, direction: Direction) -> String {
    let name = word.split('=').next().unwrap_or(word);
    let standing = standing(case, name);
    let is_lost = standing.is_none() && !case.configured().is_empty();
    if is_booted(case, name, word) && !is_lost {
        return match direction {
            Direction::Do => format!("{word} is on this boot's command line already"),
            Direction::Undo => String::new(),
        };
    }
    if let Some((place, _)) = standing.as_ref().filter(|(_, old)| old == word) {
        match direction {
            Direction::Do => return format!("{word} is in {place} already; it takes effect at the next boot"),
            Direction::Undo => {
                return each_loader(case, |loader| out_of(case, loader, word, place)).unwrap_or_default();
            }
        }
    }
    let how = each_loader(case, |loader| match direction {
        Direction::Do => add(case, loader, word),
        Direction::Undo => take_off(case, loader, word),
    });
    let how = how.unwrap_or_else(|| match direction {
        Direction::Do => format!("Kernel command line: {word} (which boot loader this machine has is not known)"),
        Direction::Undo => format!("Take {word} off the kernel's command line"),
    });
    match standing.filter(|_| direction == Direction::Do && !accumulates(name)) {
        Some((place, old)) => format!("{how}; take {old} out of {place}"),
        None => how,
    }
}

fn is_booted(case: &Case<'_>, name: &str, word: &str) -> bool {
    let value = case.machine.cmdline.known().and_then(|line| line.value(name));
    value.is_some_and(|value| word.split_once('=').map_or("", |(_, wanted)| wanted) == value)
}

pub(super) fn no_word(case: &Case<'_>, name: &str, direction: Direction) -> String {
    let name = name.split('=').next().unwrap_or(name);
    let standing = standing(case, name);
    let is_seen = !case.configured().is_empty() && case.machine.cmdline.known().is_some();
    if is_seen && standing.is_none() && !case.requested(name) {
        return format!("Nothing to do: {name} is not on the kernel's command line");
    }
    let word = match (&standing, case.machine.cmdline.known().and_then(|line| line.value(name))) {
        (Some((_, word)), _) => word.clone(),
        (None, Some("") | None) => name.to_owned(),
        (None, Some(value)) if is_plain(value) => format!("{name}={value}"),
        (None, Some(_)) => name.to_owned(),
    };
    if direction == Direction::Undo {
        return match &standing {
            Some((place, _)) => each_loader(case, |loader| put_back(case, loader, &word, place)).unwrap_or_default(),
            None => self::word(case, &word, Direction::Do),
        };
    }
    let is_readable =
        !case.configured().is_empty() && case.configured().iter().all(|place| place.line.known().is_some());
    let how = each_loader(case, |loader| match &standing {
        Some((place, _)) => out_of(case, loader, &word, place),
        None if is_readable && !has_tool(loader) => {
            format!("{word} is in none of the boot loader's files any more; boot again")
        }
        None => take_off(case, loader, &word),
    });
    how.unwrap_or_else(|| format!("Kernel command line: without {word}"))
}

/// Whether a text that comes from the machine may be part of a command that a person will copy: it holds no quotes,
/// blanks or other characters that a shell or sed interprets.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b"=,.:-_/+@%".contains(&b))
}

/// Whether a word may be given several times on one command line, with each occurrence taking effect.
fn accumulates(name: &str) -> bool {
    matches!(name, "console" | "earlycon" | "module_blacklist" | "initcall_blacklist" | "hugepagesz" | "hugepages")
}

/// The file of the boot loader that holds a word of this name, and the word as it is written there.
fn standing(case: &Case<'_>, name: &str) -> Option<(String, String)> {
    case.configured().iter().find_map(|place| {
        let line = Cmdline::parse(place.line.known()?);
        let value = line.value(name)?;
        let word = if value.is_empty() { name.to_owned() } else { format!("{name}={value}") };
        // Of several files that contain the name, the last one is returned, since it overrides the earlier ones.
        let names_it = |file: &&String| case.peek(file).known().is_some_and(|text| text.contains(name));
        let file = place.files.iter().rev().find(names_it).unwrap_or(&place.place);
        let file = if is_plain(file) { file.as_str() } else { "the boot loader's files" };
        is_plain(&word).then(|| (file.to_owned(), word))
    })
}

/// What to do with the boot loader that started the machine. If several loaders may have, the text covers each of them.
/// `None` if no loader is known.
fn each_loader(case: &Case<'_>, how: impl Fn(Loader) -> String) -> Option<String> {
    match case.machine.boot.loaders.as_slice() {
        [] => None,
        [one] => Some(how(one.what)),
        several => {
            let each: Vec<String> =
                several.iter().map(|l| format!("if {} boots the machine: {}", l.what.name(), how(l.what))).collect();
            Some(each.join("; or, "))
        }
    }
}

/// Whether the loader comes with a program that edits the words, so that the text names no file.
fn has_tool(loader: Loader) -> bool {
    matches!(loader, Loader::Bls | Loader::Ostree | Loader::Kernelstub | Loader::MachineConfig)
}

fn out_of(case: &Case<'_>, loader: Loader, word: &str, place: &str) -> String {
    if has_tool(loader) {
        take_off(case, loader, word)
    } else {
        edited(case, loader, &format!("Take {word} out of {place}"))
    }
}

fn put_back(case: &Case<'_>, loader: Loader, word: &str, place: &str) -> String {
    if has_tool(loader) {
        add(case, loader, word)
    } else {
        edited(case, loader, &format!("Put {word} back into {place}"))
    }
}

/// A text with the edit of a file, followed by the command that puts the edited file into force.
fn edited(case: &Case<'_>, loader: Loader, edit: &str) -> String {
    match loader {
        Loader::UpdateGrub => format!("{edit}, then update-grub"),
        Loader::Grub => format!("{edit}, then {}", mkconfig(case)),
        Loader::UBootMenu => format!("{edit}, then u-boot-update"),
        Loader::SystemdBoot | Loader::Uki => format!("{edit}, then {}", install(case)),
        Loader::Bls
        | Loader::Ostree
        | Loader::Kernelstub
        | Loader::Extlinux
        | Loader::Armbian
        | Loader::RaspberryPi
        | Loader::UBootEnv
        | Loader::UbuntuCore
        | Loader::NixOs
        | Loader::MachineConfig
        | Loader::Talos
        | Loader::Yocto => edit.to_owned(),
    }
}

fn mkconfig(case: &Case<'_>) -> &'static str {
    if case.machine.boot.is_grub2 {
        "grub2-mkconfig -o /boot/grub2/grub.cfg"
    } else {
        "grub-mkconfig -o /boot/grub/grub.cfg"
    }
}

/// The command that writes the boot loader entry of the running kernel again. Debian keeps the kernel's image in
/// another folder than other distributions.
fn install(case: &Case<'_>) -> &'static str {
    if case.machine.boot.initramfs == Some(Initramfs::InitramfsTools) {
        "kernel-install add \"$(uname -r)\" \"/boot/vmlinuz-$(uname -r)\""
    } else {
        "kernel-install add \"$(uname -r)\" \"/usr/lib/modules/$(uname -r)/vmlinuz\""
    }
}

fn has_kernel_cmdline(case: &Case<'_>) -> bool {
    case.configured().iter().any(|place| place.place == "/etc/kernel/cmdline")
}

fn pi_file(case: &Case<'_>) -> String {
    let found = case.configured().iter().find(|place| place.place.ends_with("cmdline.txt"));
    found.map_or_else(|| "/boot/firmware/cmdline.txt".to_owned(), |place| place.place.clone())
}

fn entries(case: &Case<'_>) -> String {
    let entry = case.configured().iter().find_map(|place| Some(place.place.split_once("/entries")?.0));
    let mut signs = case.machine.boot.loaders.iter();
    let folder = entry.or_else(|| signs.find_map(|sign| Some(sign.seen.split_once("/loader.conf")?.0)));
    format!("{}/entries/*.conf", folder.unwrap_or("/boot/loader"))
}

fn add(case: &Case<'_>, loader: Loader, word: &str) -> String {
    match loader {
        Loader::UpdateGrub => format!(
            "mkdir -p /etc/default/grub.d && echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {word}\"' >> {GRUB} && \
             update-grub"
        ),
        // A shell reads this file, so a line appended at its end takes effect whatever the lines before it are.
        Loader::Grub => {
            format!(
                "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {word}\"' >> /etc/default/grub && {}",
                mkconfig(case)
            )
        }
        Loader::Bls => format!("grubby --update-kernel=ALL --args='{word}'"),
        Loader::Ostree => format!(
            "rpm-ostree kargs --append-if-missing='{word}' (bootc: a file in /usr/lib/bootc/kargs.d of the image)"
        ),
        Loader::SystemdBoot if has_kernel_cmdline(case) => {
            format!("sed -i 's|$| {word}|' /etc/kernel/cmdline && {}", install(case))
        }
        Loader::SystemdBoot => format!("sed -i '/^options/ s|$| {word}|' {}", entries(case)),
        Loader::Uki => format!(
            "sed -i 's|$| {word}|' /etc/kernel/cmdline && {}, then sign the image as before (unverified where \
             another tool builds it)",
            install(case)
        ),
        Loader::Kernelstub => format!("kernelstub -a '{word}'"),
        Loader::Extlinux => {
            format!("sed -i '/^[[:space:]]*[Aa][Pp][Pp][Ee][Nn][Dd]/ s|$| {word}|' /boot/extlinux/extlinux.conf")
        }
        Loader::UBootMenu => format!(
            "echo 'U_BOOT_PARAMETERS=\"${{U_BOOT_PARAMETERS:-ro quiet}} {word}\"' >> /etc/default/u-boot && u-boot-update"
        ),
        Loader::Armbian => format!(
            "grep -q '^extraargs=' /boot/armbianEnv.txt || echo extraargs= >> /boot/armbianEnv.txt; \
             sed -i '/^extraargs=/ s|$| {word}|' /boot/armbianEnv.txt"
        ),
        Loader::RaspberryPi => {
            format!("sed -i '1 s|$| {word}|' {} (the file must remain a single line)", pi_file(case))
        }
        Loader::UBootEnv => format!(
            "fw_setenv bootargs \"$(fw_printenv -n bootargs) {word}\" (unverified: boot scripts that build bootargs \
             themselves need the word there)"
        ),
        Loader::UbuntuCore => format!(
            "snap set system system.kernel.dangerous-cmdline-append='{word}' (replaces an earlier value of this \
            setting; works on models of grade dangerous only, others need the word in the gadget)"
        ),
        Loader::NixOs => format!("boot.kernelParams = [ \"{word}\" ]; in the configuration, then nixos-rebuild boot"),
        Loader::MachineConfig => format!("In a MachineConfig of the node's pool: spec.kernelArguments: [\"{word}\"]"),
        Loader::Talos => {
            format!(
                "In the machine configuration: machine.install.extraKernelArgs: [\"{word}\"], then talosctl upgrade (unverified)"
            )
        }
        Loader::Yocto => {
            format!(
                "In the image's recipe or local.conf: APPEND += \"{word}\" (unverified: some boards' layers use another variable)"
            )
        }
    }
}

fn take_off(case: &Case<'_>, loader: Loader, word: &str) -> String {
    let cut = format!("s| {word}||");
    // Matches only the whole line that was added, not a longer line with the same end.
    let ours = format!("\\|^GRUB_CMDLINE_LINUX=\"[$]GRUB_CMDLINE_LINUX {word}\"$|d");
    match loader {
        Loader::UpdateGrub => format!("sed -i '{ours}' {GRUB} && update-grub"),
        Loader::Grub => format!("sed -i '{ours}' /etc/default/grub && {}", mkconfig(case)),
        Loader::Bls => format!("grubby --update-kernel=ALL --remove-args='{word}'"),
        Loader::Ostree => format!("rpm-ostree kargs --delete-if-present='{word}'"),
        Loader::SystemdBoot if has_kernel_cmdline(case) => {
            format!("sed -i '{cut}' /etc/kernel/cmdline && {}", install(case))
        }
        Loader::SystemdBoot => format!("sed -i '/^options/ {cut}' {}", entries(case)),
        Loader::Uki => {
            format!("sed -i '{cut}' /etc/kernel/cmdline && {}, then sign the image as before", install(case))
        }
        Loader::Kernelstub => format!("kernelstub -d '{word}'"),
        Loader::Extlinux => format!("sed -i '{cut}' /boot/extlinux/extlinux.conf"),
        Loader::UBootMenu => format!(
            "sed -i '\\|^U_BOOT_PARAMETERS=\"[$]{{U_BOOT_PARAMETERS:-ro quiet}} {word}\"$|d' /etc/default/u-boot && \
             u-boot-update"
        ),
        Loader::Armbian => format!("sed -i '/^extraargs=/ {cut}' /boot/armbianEnv.txt"),
        Loader::RaspberryPi => format!("sed -i '1 {cut}' {}", pi_file(case)),
        Loader::UBootEnv => format!("fw_setenv bootargs \"$(fw_printenv -n bootargs | sed '{cut}')\""),
        Loader::UbuntuCore => "snap unset system system.kernel.dangerous-cmdline-append".to_owned(),
        Loader::NixOs => format!("Take \"{word}\" out of boot.kernelParams, then nixos-rebuild boot"),
        Loader::MachineConfig => format!("Take {word} out of spec.kernelArguments of the MachineConfig"),
        Loader::Talos => format!("Take {word} out of machine.install.extraKernelArgs, then talosctl upgrade"),
        Loader::Yocto => format!("Take {word} out of APPEND and build the image again"),
    }
}
