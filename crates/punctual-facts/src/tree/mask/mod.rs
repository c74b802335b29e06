//! Masks all data that identify a captured machine and its owner, so that the capture can be shown to others.
//!
//! Masked are host names, serial numbers, UUIDs, MAC and IP addresses, user names, keys and passwords, and the values
//! of command-line words that are not for the kernel. The same secret gets the same stand-in everywhere, in file names
//! and in contents, so that no finding changes.
//!
//! The modules below recognise secrets in texts. This module lists which files hold which secrets. It processes the
//! machine twice, because a secret that is recognised in one place may also occur in other places.

mod cmdline;
mod dmi;
mod scan;

pub use cmdline::without_private_values;

use super::{CMDLINE_BYTES, MemTree, text};
use crate::fact::Fact;
use std::collections::BTreeMap;

/// Kinds of secrets, each with stand-ins of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Secret {
    Hex,
    Host,
    Ipv4,
    Ipv6,
    Mac,
    Serial,
    User,
    Uuid,
    Value,
}

/// The secrets found so far, and their stand-ins.
#[derive(Debug, Default)]
pub struct Masks {
    /// The number in the stand-in of each secret. Each kind of secret is numbered by itself.
    numbers: BTreeMap<(Secret, String), usize>,
    counts: BTreeMap<Secret, usize>,
    /// Words that are masked everywhere, with their stand-ins. The key is the word's first byte, in lower case.
    words: BTreeMap<u8, Vec<(String, String)>>,
    /// The kernel's release, which is kept although it may look like an address.
    release: String,
}

const CMDLINE: &str = "/proc/cmdline";
/// Names of files that hold one serial number or another identifier.
const IDENTITIES: &str = "asset_tag board_asset_tag board_serial boot_id chassis_asset_tag chassis_serial eui hostid iccid \
    imei machine-id nguid node_guid phys_port_id phys_switch_id product_serial product_uuid serial serial-number \
    serial_number sys_image_guid unique_id uuid wwid";
/// Names of files that hold serial numbers in a binary form. No finding needs these files.
const OPAQUE: [&str; 3] = ["edid", "vpd", "vpd_pg80"];
const HOST_FILES: [&str; 2] = ["/proc/sys/kernel/hostname", "/etc/hostname"];
/// Beginnings of paths that are not masked: UUIDs in them belong to makers of firmware and drivers, not to a machine.
const PUBLIC_NAMES: [&str; 3] = ["/sys/firmware/efi/", "/sys/bus/wmi/", "/sys/bus/vmbus/drivers/"];
/// The least length, in characters, of a word that is masked everywhere. Shorter words occur with other meanings.
const LEAST_CHARS: usize = 4;
/// The greatest length, in bytes, of a word that is masked everywhere. Longer words are masked only where they were
/// found.
const LONGEST_WORD: usize = 255;
/// Host and user names that identify nobody and that also occur with other meanings.
const ORDINARY: &str = "acpi_pm admin alpine arch archlinux armbian audio balance centos cloud conservative daemon \
    debian default desktop fedora gentoo guest hpet intel internal iommu jiffies kernel kvm-clock laptop linux local \
    localhost machine manjaro mask masked menu module nixos node none ondemand opensuse orangepi pcie performance \
    poky powersave preempt preempt_dynamic preempt_rt proxmox raspberrypi raspbian realtime redhat rhel rock root \
    schedutil server suse switch system systemd test ubuntu unknown user userspace virtual voyage windows workstation \
    xenomai xeon yocto";

/// The machine with everything masked that identifies it or its owner.
pub fn masked(tree: &MemTree) -> MemTree {
    let mut masks = Masks::default();
    masks.learn(tree);
    // The first pass finds the secrets, and the second pass masks them wherever they occur.
    masks.over(tree);
    let mut out = masks.over(tree);
    let is_masked = tree.files.contains_key(CMDLINE_BYTES);
    if let Some(line) = text(tree, CMDLINE).known().filter(|_| !is_masked) {
        // Stand-ins change the length of the line. The audit needs the true length to judge whether the kernel cut the
        // line.
        out.file(CMDLINE_BYTES, Fact::Known(format!("{}\n", line.len()).into_bytes()));
    }
    out
}

impl Masks {
    /// Collects names and numbers that identify the machine from the files that hold them.
    fn learn(&mut self, tree: &MemTree) {
        let text_of = |path: &str| match tree.files.get(path) {
            Some(Fact::Known(bytes)) => String::from_utf8_lossy(bytes).trim().to_owned(),
            _ => String::new(),
        };
        self.release = text_of("/proc/sys/kernel/osrelease");
        for path in HOST_FILES {
            let host = text_of(path);
            let short = host.split('.').next().unwrap_or_default();
            if is_telling(short) && !names_of_the_kernel(tree).any(|name| name == short) {
                self.word(short, Secret::Host);
            }
        }
        for (path, content) in &tree.files {
            let Fact::Known(bytes) = content else { continue };
            let text = String::from_utf8_lossy(bytes);
            if is_identity(path) && is_telling(text.trim()) {
                self.word(text.trim(), Secret::Serial);
            }
            if path.contains("/etc/security/limits") {
                text.lines().filter_map(limited_user).for_each(|user| self.word(user, Secret::User));
            }
            for user in homes(&text).chain(homes(path)).filter(|user| is_telling(user)) {
                self.word(user, Secret::User);
            }
            if cmdline::is_one(path) {
                for value in cmdline::private_values(path, &text) {
                    self.stand_in(Secret::Value, &value);
                    if is_telling(&value) && value.len() > LEAST_CHARS {
                        self.word(&value, Secret::Value);
                    }
                }
            }
        }
    }

    fn over(&mut self, tree: &MemTree) -> MemTree {
        let mut out = MemTree::new();
        for (path, state) in &tree.folders {
            let state = self.fact(state, |_, ()| ());
            out.folder(&self.path(path), state);
        }
        for (path, content) in &tree.files {
            let name = self.path(path);
            let content = self.fact(content, |masks, bytes| masks.content(path, bytes));
            out.file(&name, content);
        }
        for (path, target) in &tree.links {
            let (path, target) = (self.path(path), self.path(target));
            out.symlink(&path, &target);
        }
        out
    }

    fn fact<T>(&mut self, fact: &Fact<T>, known: impl FnOnce(&mut Self, &T) -> T) -> Fact<T> {
        match fact {
            Fact::Known(value) => Fact::Known(known(self, value)),
            Fact::Absent => Fact::Absent,
            Fact::Denied => Fact::Denied,
            Fact::Garbled(why) => Fact::Garbled(self.text(why)),
        }
    }

    fn path(&mut self, path: &str) -> String {
        if PUBLIC_NAMES.iter().any(|start| path.starts_with(start)) { path.to_owned() } else { self.text(path) }
    }

    fn content(&mut self, path: &str, bytes: &[u8]) -> Vec<u8> {
        let name = path.rsplit('/').next().unwrap_or_default();
        if dmi::is_table(path) {
            return dmi::masked(bytes);
        }
        if OPAQUE.contains(&name) || path.ends_with("/environ") {
            return Vec::new();
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            return if cmdline::is_one(path) { self.torn_command_lines(path, bytes) } else { self.binary(bytes) };
        };
        if HOST_FILES.contains(&path) {
            return self.instead(Secret::Host, text);
        }
        if cmdline::is_one(path) {
            let line = self.command_lines(path, text);
            return self.text(&line).into_bytes();
        }
        let masked = self.text(text);
        if is_identity(path) && masked == text && !text.trim().is_empty() {
            return self.instead(Secret::Serial, text);
        }
        masked.into_bytes()
    }

    /// Masks the command lines in a file with bytes that are not text. The text between these bytes is masked, and the
    /// bytes become 0xff.
    fn torn_command_lines(&mut self, path: &str, bytes: &[u8]) -> Vec<u8> {
        let lines = self.command_lines(path, &String::from_utf8_lossy(bytes));
        let text = self.text(&lines);
        let parts: Vec<&[u8]> = text.split(char::REPLACEMENT_CHARACTER).map(str::as_bytes).collect();
        parts.join(&0xff)
    }

    /// A stand-in for a whole text, followed by the white space at the text's end.
    fn instead(&mut self, kind: Secret, text: &str) -> Vec<u8> {
        let stand_in = self.stand_in(kind, text.trim());
        let end = &text[text.trim_end().len()..];
        format!("{stand_in}{end}").into_bytes()
    }

    /// Adds a word that is masked wherever it occurs.
    fn word(&mut self, word: &str, kind: Secret) {
        let stand_in = self.stand_in(kind, word);
        let Some(first) = word.bytes().next().filter(|_| word.len() <= LONGEST_WORD) else { return };
        let words = self.words.entry(first.to_ascii_lowercase()).or_default();
        if !words.iter().any(|(known, _)| known == word) {
            words.push((word.to_owned(), stand_in));
            // Longer words stand first, so that the longest word that matches is masked.
            words.sort_by_key(|(known, _)| std::cmp::Reverse(known.len()));
        }
    }

    fn stand_in(&mut self, kind: Secret, original: &str) -> String {
        let key = (kind, original.to_ascii_lowercase());
        let number = *self.numbers.entry(key).or_insert_with(|| {
            let count = self.counts.entry(kind).or_default();
            *count += 1;
            *count
        });
        match kind {
            Secret::Hex => format!("{number:0width$x}", width = original.len()),
            Secret::Host => "masked-host".to_owned(),
            Secret::Ipv4 => format!("198.18.{}.{}", number / 256 % 256, number % 256),
            Secret::Ipv6 => format!("2001:db8::{number:x}"),
            Secret::Mac => {
                format!("02:00:00:{:02x}:{:02x}:{:02x}", number >> 16 & 255, number >> 8 & 255, number & 255)
            }
            Secret::Serial => format!("masked-serial-{number}"),
            Secret::User => format!("masked-user-{number}"),
            Secret::Uuid => format!("00000000-0000-0000-0000-{number:012x}"),
            Secret::Value => format!("masked-{number}"),
        }
    }
}

fn is_identity(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| IDENTITIES.split(' ').any(|identity| identity == name))
}

/// Whether a word is likely to identify a machine or a person, because it seldom occurs with another meaning.
fn is_telling(word: &str) -> bool {
    let is_ordinary = |word: &str| ORDINARY.split_whitespace().any(|known| known.eq_ignore_ascii_case(word));
    word.len() >= LEAST_CHARS
        && !word.bytes().all(|b| b.is_ascii_digit() || b == b'-' || b == b'.')
        && !is_ordinary(word)
}

const DEEPER: [&str; 3] = ["/proc/sys/", "/sys/devices/system/", "/sys/kernel/"];

/// The first three parts of all paths, which are names of the kernel: masking a host called `vm` must not mask
/// `/proc/sys/vm`. Below [`DEEPER`], the fourth part is a name of the kernel as well.
fn names_of_the_kernel(tree: &MemTree) -> impl Iterator<Item = &str> {
    let paths = tree.files.keys().chain(tree.folders.keys());
    paths.filter(|path| !path.starts_with("/home/") && !path.starts_with("/sys/fs/cgroup/")).flat_map(|path| {
        let is_deeper = DEEPER.iter().any(|place| path.starts_with(place));
        path.split('/').take(if is_deeper { 5 } else { 4 })
    })
}

/// The user names in paths of home directories in a text.
fn homes(text: &str) -> impl Iterator<Item = &str> {
    text.split("/home/").skip(1).map(|rest| &rest[..scan::name_length(rest)])
}

/// The user in a line of `limits.conf`, unless the line is about a group.
fn limited_user(line: &str) -> Option<&str> {
    let user = line.split_whitespace().next()?;
    (!user.starts_with(['#', '@', '*', '%']) && is_telling(user)).then_some(user)
}

#[cfg(test)]
mod tests;
