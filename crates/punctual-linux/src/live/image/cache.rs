//! Caches what was read from a kernel image, because unpacking an image takes most of a second.
//!
//! There is one file per kernel, named by its build id, so that no file becomes stale. Root stores it for all users;
//! other users store their own. A file is used only if nobody except root and the reader could have written it, and if
//! its checksum at the end is right. Otherwise it counts as missing. Failing to store it is not an error.

use crate::live::files::{bounded, open};
use rustix::fs::{Mode, OFlags};
use std::env;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// Folder in which root stores files for all users.
const SHARED: &str = "/var/cache/punctual";
const NAME: &str = "punctual";
/// The first line. Other versions have another number.
const MARK: &str = "punctual-kernel-words 1";
const MOST_BYTES: u64 = 1 << 20;

pub(super) fn find(id: &[u8]) -> Option<String> {
    let name = name(id);
    places().iter().find_map(|folder| opened(&folder.join(&name), owner()).and_then(|bytes| content(&bytes, id)))
}

pub(super) fn keep(id: &[u8], text: &str) {
    if let Some(folder) = places().first() {
        // If the text cannot be stored, the next read takes as long as this one.
        let _ = write(folder, &name(id), &wrapped(id, text));
    }
}

/// Folders in which files are searched for. New files are stored in the first folder.
fn places() -> Vec<PathBuf> {
    let shared = PathBuf::from(SHARED);
    if owner() == 0 {
        return vec![shared];
    }
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let own = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    own.map(|own| own.join(NAME)).into_iter().chain([shared]).collect()
}

fn owner() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn name(id: &[u8]) -> String {
    let digits: Vec<String> = id.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("words-{}", digits.concat())
}

/// The bytes of a file that only root and `user` could have written or replaced.
fn opened(path: &Path, user: u32) -> Option<Vec<u8>> {
    let is_safe = |meta: &fs::Metadata| (meta.uid() == 0 || meta.uid() == user) && meta.mode() & 0o022 == 0;
    let folder = fs::symlink_metadata(path.parent()?).ok()?;
    if !folder.is_dir() || !is_safe(&folder) {
        return None;
    }
    if !fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let file = open(path).ok()?;
    let meta = file.metadata().ok()?;
    if !meta.is_file() || !is_safe(&meta) {
        return None;
    }
    bounded(file, MOST_BYTES).ok()
}

fn head(id: &[u8]) -> String {
    format!("{MARK} {}\n", name(id))
}

fn sum(text: &str) -> u32 {
    crc32fast::hash(text.as_bytes())
}

fn wrapped(id: &[u8], text: &str) -> String {
    format!("{}{text}end {:08x}\n", head(id), sum(text))
}

/// The text between the first and the last line; `None` if a part is missing or was changed.
fn content(bytes: &[u8], id: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?.strip_prefix(&head(id))?;
    let (text, end) = text.split_at_checked(text.len().checked_sub("end 00000000\n".len())?)?;
    (end == format!("end {:08x}\n", sum(text))).then(|| text.to_owned())
}

fn write(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
    let draft = folder.join(format!(".{name}-{}", std::process::id()));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(&draft, flags, Mode::from_raw_mode(0o644))?);
    let written = file.write_all(text.as_bytes()).and_then(|()| fs::rename(&draft, folder.join(name)));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    const ID: &[u8] = &[0xab, 0x01, 0xff];

    #[test]
    fn what_was_kept_is_found_whole_or_not_at_all() {
        let text = "complete\nearly quiet\n";
        let kept = wrapped(ID, text);
        assert_eq!(content(kept.as_bytes(), ID).as_deref(), Some(text));
        for end in 0..kept.len() {
            assert_eq!(content(&kept.as_bytes()[..end], ID), None, "cut at {end}");
        }
        for at in 0..kept.len() {
            let mut changed = kept.clone().into_bytes();
            changed[at] ^= 1;
            assert_eq!(content(&changed, ID), None, "changed at {at}");
        }
        assert_eq!(content(kept.as_bytes(), b"another"), None);
    }

    #[test]
    fn what_others_could_have_written_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let mine = folder.path().join("cache");
        write(&mine, "words", "text").unwrap();
        let path = mine.join("words");
        let user = owner();
        let mode = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(opened(&path, user).as_deref(), Some(b"text".as_slice()));
        mode(&path, 0o664);
        assert_eq!(opened(&path, user), None);
        mode(&path, 0o644);
        mode(&mine, 0o777);
        assert_eq!(opened(&path, user), None);
        mode(&mine, 0o755);
        assert!(opened(&path, user).is_some());
        // A file of root is used for every user, and a file of another user for nobody else.
        assert_eq!(opened(&path, user + 1).is_some(), user == 0);
        std::os::unix::fs::symlink(&path, mine.join("link")).unwrap();
        assert_eq!(opened(&mine.join("link"), user), None);
    }

    #[test]
    fn it_is_written_in_one_step_and_leaves_no_draft() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["first", "second"] {
            write(folder.path(), "words", text).unwrap();
        }
        assert_eq!(fs::read_to_string(folder.path().join("words")).unwrap(), "second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
