//! The boot loader that starts this machine and the init that runs it, as far as files show them.
//!
//! The boot loader and the init decide which files have to be edited so that a change outlives the next boot. Every
//! result names the file that proves it. If several boot loaders left files and no trace shows which one ran, all of
//! them are named.

mod configured;
mod init;
mod loader;
#[cfg(test)]
mod tests;

pub use configured::{Configured, WITHOUT, WITHOUT_END, configured};
pub use init::Init;
pub use loader::Loader;
pub use loader::{ESPS, efi_variable};

use super::virtualisation;
use crate::fact::{Fact, printable};
use crate::tree::{Tree, text};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sign<T> {
    pub what: T,
    /// The file that proves the result, followed by its content if the content matters.
    pub seen: String,
}

impl<T> Sign<T> {
    fn new(what: T, seen: impl Into<String>) -> Self {
        Self { what, seen: seen.into() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initramfs {
    /// Debian's and Ubuntu's `update-initramfs`.
    InitramfsTools,
    Dracut,
    Mkinitcpio,
    Mkinitfs,
}

const NAME_CHARS: usize = 40;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boot {
    /// The boot loader. There are several entries if no trace shows which one ran, and none if no loader was found.
    pub loaders: Vec<Sign<Loader>>,
    pub init: Option<Sign<Init>>,
    /// Whether GRUB's files are in `/boot/grub2` and its programs are named `grub2-...`.
    pub is_grub2: bool,
    pub initramfs: Option<Initramfs>,
    /// The container engine, if this is a container. Its host then decides which changes last.
    pub container: Option<String>,
}

impl Boot {
    pub(super) fn read(tree: &dyn Tree) -> Self {
        let container = virtualisation::container(tree).map(|name| printable(&name, NAME_CHARS));
        let loaders = if container.is_some() { Vec::new() } else { loader::read(tree) };
        Self {
            loaders,
            init: init::read(tree),
            is_grub2: has_folder(tree, "/boot/grub2"),
            initramfs: initramfs(tree),
            container,
        }
    }

    pub fn is_systemd(&self) -> bool {
        self.init.as_ref().is_some_and(|init| init.what == Init::Systemd)
    }
}

fn initramfs(tree: &dyn Tree) -> Option<Initramfs> {
    let found = [
        (has_folder(tree, "/etc/initramfs-tools"), Initramfs::InitramfsTools),
        (has_file(tree, "/etc/mkinitcpio.conf"), Initramfs::Mkinitcpio),
        (has_folder(tree, "/etc/mkinitfs"), Initramfs::Mkinitfs),
        (has_file(tree, "/etc/dracut.conf") || has_folder(tree, "/etc/dracut.conf.d"), Initramfs::Dracut),
    ];
    found.into_iter().find(|(is_there, _)| *is_there).map(|(_, tool)| tool)
}

/// Whether a file exists, readable or not. The file is read and not listed, so that a capture does not keep the names
/// of other files in the folder. Where nobody can tell, as of `/run` in an unpacked system, it is taken as missing.
fn has_file(tree: &dyn Tree, path: &str) -> bool {
    matches!(tree.read(path), Fact::Known(_) | Fact::Denied)
}

/// Whether a folder exists, by the same rules.
fn has_folder(tree: &dyn Tree, path: &str) -> bool {
    matches!(tree.list(path), Fact::Known(_) | Fact::Denied)
}

/// A field of `/etc/os-release`, without quotes.
fn os_release(tree: &dyn Tree, name: &str) -> Option<String> {
    let file = text(tree, "/etc/os-release").or_else(|| text(tree, "/usr/lib/os-release"));
    let value = file.known()?.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    value.map(|value| value.trim().trim_matches(['"', '\'']).to_owned())
}
