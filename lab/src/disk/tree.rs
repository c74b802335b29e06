//! All files of a disk that is switched off, as one value, so that the difference of two disks is a list of paths.
//!
//! The file system is read from the disk's image by a library, so the result depends neither on the guest's kernel nor
//! on the product. Contents are kept as SHA-256. Times are left out, because a restored file may have another time than
//! an untouched one.

use anyhow::{Context, Result};
use ext4_view::{Ext4, Ext4Read};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A file, folder, link or device in a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Permissions, owner and group, such as `755 0:0`.
    pub access: String,
    /// Kind and content: `file SHA256`, `link TARGET`, `folder`, or the name of another kind.
    pub contents: String,
}

/// The files of a disk by path.
pub type Files = BTreeMap<String, Entry>;

/// One path that differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub path: String,
    /// The difference: `gone`, `new`, or what changed.
    pub what: String,
}

/// Paths that change by themselves, each with the reason. A path that ends in `/` includes everything below it.
pub type Exceptions = [(&'static str, &'static str)];

/// Reads the whole file system that begins at `offset` in a disk's image.
pub fn read(disk: &Path, offset: u64) -> Result<Files> {
    let what = || format!("read the file system in {}", disk.display());
    let file = File::open(disk).with_context(what)?;
    let system = Ext4::load(Box::new(Partition { file, offset })).with_context(what)?;
    let mut files = Files::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let shown = if folder.is_empty() { "/" } else { &folder };
        for entry in system.read_dir(shown).with_context(what)? {
            let entry = entry.with_context(what)?;
            let name = entry.file_name();
            if matches!(name.as_ref(), b"." | b"..") {
                continue;
            }
            let path = format!("{folder}/{}", name.display());
            let known = entry_of(&system, &path).with_context(|| format!("read {path} in {}", disk.display()))?;
            if known.contents == "folder" {
                folders.push(path.clone());
            }
            files.insert(path, known);
        }
    }
    Ok(files)
}

/// Reads one file of a disk that is switched off.
pub fn read_one(disk: &Path, offset: u64, path: &str) -> Result<Vec<u8>> {
    let file = File::open(disk).with_context(|| format!("open {}", disk.display()))?;
    let system = Ext4::load(Box::new(Partition { file, offset }))?;
    system.read(path).with_context(|| format!("read {path} in {}", disk.display()))
}

/// The differences between two trees, except for paths that change by themselves.
pub fn differences(before: &Files, after: &Files, exceptions: &Exceptions) -> Vec<Difference> {
    let paths: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let excepted = |path: &str| exceptions.iter().any(|(except, _)| covers(except, path));
    paths
        .into_iter()
        .filter(|path| !excepted(path))
        .filter_map(|path| {
            let what = match (before.get(path), after.get(path)) {
                (Some(old), Some(new)) if old == new => return None,
                (Some(old), Some(new)) => format!("{} {} -> {} {}", old.access, old.contents, new.access, new.contents),
                (Some(_), None) => "gone".to_owned(),
                (None, Some(new)) => format!("new: {} {}", new.access, new.contents),
                (None, None) => return None,
            };
            Some(Difference { path: path.clone(), what })
        })
        .collect()
}

fn covers(except: &str, path: &str) -> bool {
    if except.ends_with('/') { path.starts_with(except) } else { path == except }
}

fn entry_of(system: &Ext4, path: &str) -> Result<Entry> {
    let about = system.symlink_metadata(path)?;
    let kind = about.file_type();
    let contents = if kind.is_dir() {
        "folder".to_owned()
    } else if kind.is_symlink() {
        format!("link {}", system.read_link(path)?.display())
    } else if kind.is_regular_file() {
        format!("file {}", digest(system, path)?)
    } else {
        format!("{kind:?}")
    };
    Ok(Entry { access: format!("{:o} {}:{}", about.mode(), about.uid(), about.gid()), contents })
}

fn digest(system: &Ext4, path: &str) -> Result<String> {
    let mut file = system.open(path)?;
    let mut hash = Sha256::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        match file.read_bytes(&mut piece)? {
            0 => break,
            long => hash.update(piece.get(..long).unwrap_or_default()),
        }
    }
    Ok(hex(&hash.finalize()))
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The part of a disk's image from `offset` to its end.
struct Partition {
    file: File,
    offset: u64,
}

impl Ext4Read for Partition {
    fn read(&mut self, from: u64, into: &mut [u8]) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.file.read_exact_at(into, self.offset + from)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(contents: &str) -> Entry {
        Entry { access: "644 0:0".into(), contents: format!("file {contents}") }
    }

    #[test]
    fn whatever_changed_is_named_once_and_exceptions_are_left_out() {
        let before = Files::from([("/a".into(), file("1")), ("/b".into(), file("1")), ("/c".into(), file("1"))]);
        let after = Files::from([("/a".into(), file("1")), ("/b".into(), file("2")), ("/d/x".into(), file("1"))]);
        let paths = |exceptions: &Exceptions| -> Vec<String> {
            differences(&before, &after, exceptions).into_iter().map(|difference| difference.path).collect()
        };
        assert_eq!(paths(&[]), ["/b", "/c", "/d/x"]);
        assert_eq!(paths(&[("/d/", "grows"), ("/b", "counts")]), ["/c"]);
        assert_eq!(paths(&[("/d", "not what is below")]), ["/b", "/c", "/d/x"]);
    }

    #[test]
    fn a_changed_mode_is_a_difference() {
        let other = Entry { access: "600 0:0".into(), ..file("1") };
        let found = differences(&Files::from([("/a".into(), file("1"))]), &Files::from([("/a".into(), other)]), &[]);
        assert!(found.first().is_some_and(|difference| difference.what.contains("644 0:0 file 1 -> 600")), "{found:?}");
    }

    #[test]
    fn a_file_system_behind_an_offset_is_read_as_it_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("from");
        std::fs::create_dir_all(from.join("etc")).unwrap();
        std::fs::write(from.join("etc/name"), "abc").unwrap();
        std::os::unix::fs::symlink("etc/name", from.join("link")).unwrap();
        let disk = folder.path().join("disk");
        File::create(&disk).unwrap().set_len(9 << 20).unwrap();
        let made = std::process::Command::new("/sbin/mke2fs")
            .args(["-q", "-t", "ext4", "-E", "offset=1048576", "-d"])
            .args([from.as_os_str(), disk.as_os_str(), "8m".as_ref()])
            .status();
        let Ok(made) = made else { return }; // A machine without e2fsprogs has no lab either.
        assert!(made.success());
        let files = read(&disk, 1 << 20).unwrap();
        let sha = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(files.get("/etc/name").map(|entry| entry.contents.as_str()), Some(format!("file {sha}").as_str()));
        assert_eq!(files.get("/link").map(|entry| entry.contents.as_str()), Some("link etc/name"));
        assert_eq!(read_one(&disk, 1 << 20, "/etc/name").unwrap(), b"abc");
        assert!(read(&disk, 0).is_err());
    }
}
