//! Finds the boot loader that started the machine. Files of several loaders may exist, so traces of the loader that ran
//! decide.

use super::{Sign, has_file, has_folder, os_release};
use crate::fact::Fact;
use crate::machine::CMDLINE;
use crate::tree::{Tree, text};

crate::named! {
    /// The boot loader or tool that provides the words for the kernel.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Loader {
        /// GRUB of Debian and Ubuntu, with `/etc/default/grub.d` and `update-grub`.
        UpdateGrub = "GRUB (update-grub)",
        /// GRUB of other distributions, with `/etc/default/grub` and `grub-mkconfig`.
        Grub = "GRUB",
        /// GRUB with one file per kernel, which `grubby` edits.
        Bls = "GRUB (grubby)",
        /// An image-based system: rpm-ostree or bootc.
        Ostree = "ostree",
        SystemdBoot = "systemd-boot",
        /// A kernel image that contains its command line.
        Uki = "unified kernel image",
        /// The loader systemd-boot in the way in which Pop!_OS sets it up.
        Kernelstub = "systemd-boot (kernelstub)",
        /// `extlinux.conf`, read by U-Boot or by extlinux itself.
        Extlinux = "extlinux.conf",
        /// `extlinux.conf`, written by Debian's u-boot-menu.
        UBootMenu = "U-Boot (u-boot-menu)",
        Armbian = "Armbian",
        /// The firmware of a Raspberry Pi.
        RaspberryPi = "Raspberry Pi",
        /// U-Boot with its command line in its own environment.
        UBootEnv = "U-Boot",
        UbuntuCore = "Ubuntu Core",
        NixOs = "NixOS",
        /// A node of `OpenShift`, whose kernel command line is set by a `MachineConfig`.
        MachineConfig = "MachineConfig",
        Talos = "Talos",
        /// An image of Yocto or `OpenEmbedded`.
        Yocto = "Yocto",
    }
}

impl Loader {
    fn is_grub(self) -> bool {
        matches!(self, Self::UpdateGrub | Self::Grub | Self::Bls)
    }

    fn is_systemd_boot(self) -> bool {
        matches!(self, Self::SystemdBoot | Self::Kernelstub | Self::Uki)
    }
}

/// Folders in which the EFI system partition may be mounted.
pub const ESPS: [&str; 3] = ["/boot", "/efi", "/boot/efi"];
/// The folder of firmware variables. A boot loader leaves its name in one of these variables.
const EFIVARS: &str = "/sys/firmware/efi/efivars";
const VENDOR: &str = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";

pub(super) fn read(tree: &dyn Tree) -> Vec<Sign<Loader>> {
    if let Some(image) = image(tree) {
        return vec![image];
    }
    let found: Vec<Sign<Loader>> =
        [grub(tree), systemd_boot(tree), unified(tree)].into_iter().flatten().chain(board(tree)).collect();
    decide(tree, found)
}

/// Recognises systems whose image is built elsewhere, whatever their boot loader is. An edit on the machine itself
/// would be lost there.
fn image(tree: &dyn Tree) -> Option<Sign<Loader>> {
    let line = text(tree, CMDLINE);
    if line.known().is_some_and(|line| line.split_whitespace().any(|word| word.starts_with("snapd_recovery_mode="))) {
        return Some(Sign::new(Loader::UbuntuCore, format!("{CMDLINE}: snapd_recovery_mode=")));
    }
    if has_folder(tree, "/etc/machine-config-daemon") {
        return Some(Sign::new(Loader::MachineConfig, "/etc/machine-config-daemon"));
    }
    if has_file(tree, "/run/ostree-booted") {
        return Some(Sign::new(Loader::Ostree, "/run/ostree-booted"));
    }
    let id = os_release(tree, "ID")?;
    let loader = match id.as_str() {
        "ubuntu-core" => Loader::UbuntuCore,
        "nixos" => Loader::NixOs,
        "talos" => Loader::Talos,
        "poky" | "nodistro" => Loader::Yocto,
        _ => return None,
    };
    Some(Sign::new(loader, format!("/etc/os-release: ID={id}")))
}

fn grub(tree: &dyn Tree) -> Option<Sign<Loader>> {
    let defaults = text(tree, "/etc/default/grub");
    let is_bls = defaults.known().is_some_and(|text| {
        let mut lines = text.lines().map(str::trim);
        lines
            .any(|line| line.strip_prefix("GRUB_ENABLE_BLSCFG=").is_some_and(|v| v.trim_matches(['"', '\'']) == "true"))
    });
    if is_bls {
        return Some(Sign::new(Loader::Bls, "/etc/default/grub: GRUB_ENABLE_BLSCFG=true"));
    }
    let has_defaults = defaults != Fact::Absent;
    if has_defaults && (has_file(tree, "/etc/debian_version") || has_folder(tree, "/etc/default/grub.d")) {
        return Some(Sign::new(Loader::UpdateGrub, "/etc/default/grub on a Debian"));
    }
    if has_defaults {
        return Some(Sign::new(Loader::Grub, "/etc/default/grub"));
    }
    // On some machines only root can read GRUB's configuration, but every user can see the file's name.
    let folder = ["/boot/grub", "/boot/grub2"]
        .into_iter()
        .find(|folder| tree.list(folder).known().is_some_and(|names| names.iter().any(|name| name == "grub.cfg")))?;
    Some(Sign::new(Loader::Grub, format!("{folder}/grub.cfg")))
}

fn systemd_boot(tree: &dyn Tree) -> Option<Sign<Loader>> {
    if has_file(tree, "/etc/kernelstub/configuration") {
        return Some(Sign::new(Loader::Kernelstub, "/etc/kernelstub/configuration"));
    }
    let configured = ESPS.map(|esp| format!("{esp}/loader/loader.conf")).into_iter().find(|path| has_file(tree, path));
    let path =
        configured.or_else(|| loader_info(tree)?.starts_with("systemd-boot").then(|| info_path("LoaderInfo")))?;
    Some(Sign::new(Loader::SystemdBoot, path))
}

fn unified(tree: &dyn Tree) -> Option<Sign<Loader>> {
    let stub = efi_variable(tree, "StubInfo")?;
    Some(Sign::new(Loader::Uki, format!("{}: {stub}", info_path("StubInfo"))))
}

/// Boot loaders of single-board computers, the most specific first. Several are returned only if U-Boot may use any of
/// them.
fn board(tree: &dyn Tree) -> Vec<Sign<Loader>> {
    let mut found = Vec::new();
    let model = text(tree, "/proc/device-tree/model");
    if model.known().is_some_and(|model| model.contains("Raspberry Pi")) {
        let places = ["/boot/firmware/cmdline.txt", "/boot/cmdline.txt"];
        if let Some(path) = places.into_iter().find(|path| has_file(tree, path)) {
            return vec![Sign::new(Loader::RaspberryPi, path)];
        }
    }
    if has_file(tree, "/boot/armbianEnv.txt") {
        found.push(Sign::new(Loader::Armbian, "/boot/armbianEnv.txt"));
    }
    let menu = has_file(tree, "/etc/default/u-boot") || has_folder(tree, "/usr/share/u-boot-menu");
    if menu {
        found.push(Sign::new(Loader::UBootMenu, "/etc/default/u-boot or /usr/share/u-boot-menu"));
    } else if has_file(tree, "/boot/extlinux/extlinux.conf") {
        found.push(Sign::new(Loader::Extlinux, "/boot/extlinux/extlinux.conf"));
    }
    if found.is_empty() && has_file(tree, "/etc/fw_env.config") {
        found.push(Sign::new(Loader::UBootEnv, "/etc/fw_env.config"));
    }
    found
}

/// If several loaders left files, keeps the loader that ran. A firmware variable shows which loader ran, or a word on
/// the command line that only some loaders add.
fn decide(tree: &dyn Tree, mut found: Vec<Sign<Loader>>) -> Vec<Sign<Loader>> {
    let mut keep = |wanted: fn(Loader) -> bool, proof: String| {
        if found.iter().any(|sign| wanted(sign.what)) {
            found.retain(|sign| wanted(sign.what));
            for sign in found.iter_mut().filter(|sign| !sign.seen.contains(&proof)) {
                sign.seen = format!("{}; {proof}", sign.seen);
            }
            return true;
        }
        false
    };
    let is_decided = loader_info(tree).is_some_and(|info| {
        let proof = format!("{}: {info}", info_path("LoaderInfo"));
        if info.starts_with("systemd-boot") {
            keep(Loader::is_systemd_boot, proof)
        } else if info.starts_with("GRUB") {
            keep(Loader::is_grub, proof)
        } else {
            false
        }
    });
    let line = text(tree, CMDLINE);
    let has_image = line.known().is_some_and(|line| line.split_whitespace().any(|w| w.starts_with("BOOT_IMAGE=")));
    if !is_decided && has_image {
        keep(Loader::is_grub, format!("{CMDLINE}: BOOT_IMAGE="));
    }
    // A kernel image that contains its command line takes no other words, whichever loader starts it.
    if found.iter().any(|sign| sign.what == Loader::Uki) {
        found.retain(|sign| sign.what == Loader::Uki);
    }
    found
}

fn info_path(name: &str) -> String {
    format!("{EFIVARS}/{name}-{VENDOR}")
}

fn loader_info(tree: &dyn Tree) -> Option<String> {
    efi_variable(tree, "LoaderInfo")
}

/// The text that the boot loader left in a firmware variable: four bytes of attributes, then 16-bit characters that end
/// with a zero.
pub fn efi_variable(tree: &dyn Tree, name: &str) -> Option<String> {
    let bytes = tree.read(&info_path(name));
    let units = bytes.known()?.get(4..)?.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    let text: String = char::decode_utf16(units.take_while(|unit| *unit != 0)).filter_map(Result::ok).collect();
    (!text.is_empty()).then_some(text)
}
