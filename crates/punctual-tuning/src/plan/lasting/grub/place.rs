//! Whether GRUB can boot an entry just once, and how to choose that entry.
//!
//! GRUB clears the choice by writing into its environment block. If it cannot write (LVM, RAID, btrfs, ZFS), it would
//! boot the entry again and again, even if the entry's kernel does not come up. A person then has to choose the entry
//! in the menu.

use super::super::{Obstacle, optional, own};
use super::Environment;
use super::environment::NEXT;
use crate::plan::Step;
use punctual_facts::tree::{Tree, text};

/// Types of file systems on which GRUB can write.
const WRITTEN: &[&str] = &["ext2", "ext3", "ext4", "vfat", "xfs"];

/// How an entry is chosen for the next boot: the steps, and restrictions that the user must know.
pub(in crate::plan::lasting) struct Once {
    pub(in crate::plan::lasting) steps: Vec<Step>,
    pub(in crate::plan::lasting) limits: Vec<String>,
    /// Whether the next boot takes the entry without a person. If not, a person has to choose the entry in the menu.
    pub(in crate::plan::lasting) by_itself: bool,
}

/// Plans to choose an entry for the next boot. `config` is the content of `grub.cfg`.
pub(in crate::plan::lasting) fn once(
    tree: &dyn Tree,
    folder: &str,
    config: &str,
    entry: &str,
) -> Result<Once, Obstacle> {
    let path = environment_path(tree, folder);
    if let Some(why) = no_write(tree, &path).or_else(|| no_code(config)) {
        let limit = format!("{why}: the trial's entry is in the boot menu and has to be chosen there by hand");
        return Ok(Once { steps: Vec::new(), limits: vec![limit], by_itself: false });
    }
    let mut limits = Vec::new();
    if text(tree, MOUNTS).known().is_none() {
        limits.push(format!("whether GRUB can write to {path} could not be checked, since {MOUNTS} cannot be read"));
    }
    Ok(Once { steps: chosen(tree, &path, entry)?, limits, by_itself: true })
}

/// The step that removes `entry` from GRUB's environment as the entry of the next boot only; `None` if the environment
/// does not hold that choice, because the entry was booted or another entry was chosen since.
pub(in crate::plan::lasting) fn not_once(tree: &dyn Tree, folder: &str, entry: &str) -> Result<Option<Step>, Obstacle> {
    let path = environment_path(tree, folder);
    let Some(seen) = optional(tree, &path)? else { return Ok(None) };
    let Some(block) = Environment::parse(seen.as_bytes()).filter(|block| block.value(NEXT) == Some(entry)) else {
        return Ok(None);
    };
    Ok(block.with(NEXT, "").to_text().map(|content| written(&path, &seen, content, Vec::new())))
}

fn chosen(tree: &dyn Tree, path: &str, entry: &str) -> Result<Vec<Step>, Obstacle> {
    let strange = |why: &str| Obstacle::Strange { path: path.to_owned(), why: why.to_owned() };
    let Some(seen) = optional(tree, path)?.filter(|seen| !seen.is_empty()) else {
        let content = Environment::new().with(NEXT, entry).to_text().unwrap_or_default();
        return Ok(vec![own(path, content)]);
    };
    let block = Environment::parse(seen.as_bytes()).ok_or_else(|| strange("is no environment block of GRUB"))?;
    match block.value(NEXT) {
        Some(other) if other == entry => return Ok(Vec::new()),
        Some(other) if !other.is_empty() => {
            let other = punctual_facts::fact::printable(other, 80);
            let why = format!("chooses another entry for the next boot already ({other})");
            return Err(Obstacle::Conflict { path: path.to_owned(), why });
        }
        _ => {}
    }
    let new = block.with(NEXT, entry);
    let content = new.to_text().ok_or_else(|| strange("has no room left"))?;
    let also_ours = left_by_grub(&new).iter().filter_map(Environment::to_text).map(String::into_bytes).collect();
    Ok(vec![written(path, &seen, content, also_ours)])
}

/// The contents that the block may have after GRUB and its tools changed it. GRUB empties the choice, and its tools may
/// remove it; Ubuntu notes that a boot has begun, and Fedora that it has succeeded.
fn left_by_grub(new: &Environment) -> Vec<Environment> {
    let mut left = vec![new.clone(), new.with(NEXT, ""), new.without(NEXT)];
    for name in ["boot_success", "boot_indeterminate"] {
        if new.value(name).is_some() {
            left = left.iter().flat_map(|block| ["0", "1"].map(|value| block.with(name, value))).collect();
        }
    }
    let noted: Vec<Environment> = left.iter().map(|block| block.with("recordfail", "1")).collect();
    left.extend(noted);
    left.retain(|block| block != new);
    left
}

fn written(path: &str, seen: &str, content: String, also_ours: Vec<Vec<u8>>) -> Step {
    let seen = seen.as_bytes().to_vec();
    Step::Edit { path: path.to_owned(), seen, content: content.into_bytes(), also_ours, in_place: true }
}

/// The real path of the environment block, which on some machines is a link to the EFI partition.
fn environment_path(tree: &dyn Tree, folder: &str) -> String {
    let path = format!("{folder}/grubenv");
    let Some(target) = tree.link(&path).known().cloned() else { return path };
    if target.starts_with('/') {
        return target;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            name => parts.push(name),
        }
    }
    format!("/{}", parts.join("/"))
}

const MOUNTS: &str = "/proc/mounts";

/// The reason why GRUB cannot write a file; `None` if no reason is known.
fn no_write(tree: &dyn Tree, path: &str) -> Option<String> {
    let mounts = text(tree, MOUNTS);
    let below = |folder: &str| folder == "/" || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    let fields = mounts.known()?.lines().filter_map(|line| {
        let mut fields = line.split(' ');
        Some((fields.next()?, fields.next()?, fields.next()?))
    });
    // Of several mounts on the same folder, the last one hides the earlier ones.
    let (device, _, kind) = fields.filter(|(_, folder, _)| below(folder)).max_by_key(|(_, folder, _)| folder.len())?;
    if !WRITTEN.contains(&kind) {
        return Some(format!("GRUB cannot write to {path}, which is on {kind}"));
    }
    let is_mapped = ["/dev/mapper/", "/dev/dm-", "/dev/md"].iter().any(|start| device.starts_with(start));
    is_mapped.then(|| format!("GRUB cannot write to {path}, which is on {device}"))
}

/// The reason why GRUB would ignore the choice; `None` if its configuration honours the choice.
fn no_code(config: &str) -> Option<String> {
    let asks = config.contains("${next_entry}") && config.contains("save_env next_entry");
    (!asks).then(|| "GRUB's configuration knows no entry that is booted once".to_owned())
}
