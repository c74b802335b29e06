//! Writes an archive of files in the form that the kernel unpacks at boot: cpio, variant "newc".
//!
//! The program `cpio` is not used, because it can archive a device file only if the device file exists, and only root
//! can create one.

use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;

const DIRECTORY: u32 = 0o040_755;
const FILE: u32 = 0o100_000;
const CHARACTER_DEVICE: u32 = 0o020_600;

/// An archive to which files are added. The folders of a file are added with it; everything belongs to root.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    folders: BTreeSet<String>,
    entries: u32,
}

impl Archive {
    /// Adds a folder and the folders above it. Names have no leading slash.
    pub fn folder(&mut self, name: &str) -> Result<()> {
        let ends = name.match_indices('/').map(|(at, _)| at).chain([name.len()]);
        for folder in ends.filter_map(|end| name.get(..end)).filter(|folder| !folder.is_empty()) {
            if self.folders.insert(folder.to_owned()) {
                self.entry(folder, DIRECTORY, (0, 0), &[])?;
            }
        }
        Ok(())
    }

    /// Adds a file and the folders above it.
    pub fn file(&mut self, name: &str, is_program: bool, contents: &[u8]) -> Result<()> {
        self.within(name)?;
        self.entry(name, FILE | if is_program { 0o755 } else { 0o644 }, (0, 0), contents)
    }

    pub fn device(&mut self, name: &str, number: (u32, u32)) -> Result<()> {
        self.within(name)?;
        self.entry(name, CHARACTER_DEVICE, number, &[])
    }

    pub fn finish(mut self) -> Result<Vec<u8>> {
        self.entry("TRAILER!!!", 0, (0, 0), &[])?;
        Ok(self.bytes)
    }

    fn within(&mut self, name: &str) -> Result<()> {
        name.rsplit_once('/').map_or(Ok(()), |(folder, _)| self.folder(folder))
    }

    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), contents: &[u8]) -> Result<()> {
        ensure!(!name.starts_with('/') && !name.contains('\0'), "'{name}' is no name for an archive");
        self.entries += 1;
        let size = u32::try_from(contents.len()).ok().with_context(|| format!("{name} is too big for an archive"))?;
        let name_size = u32::try_from(name.len() + 1).context("name too long")?;
        // The fields are: inode, mode, owner, group, links, time, size, device (2), number of a device file (2), length
        // of the name, checksum.
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, device.0, device.1, name_size, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(contents);
        self.pad();
        Ok(())
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_first_and_once_and_everything_is_aligned() {
        let mut archive = Archive::default();
        archive.file("a/b/c", true, b"12345").unwrap();
        archive.file("a/b/d", false, b"").unwrap();
        archive.device("dev/console", (5, 1)).unwrap();
        let bytes = archive.finish().unwrap();
        assert_eq!(bytes.len() % 4, 0);
        let text = String::from_utf8_lossy(&bytes);
        let heads: Vec<&str> = text.split("070701").skip(1).collect();
        let names: Vec<&str> = heads.iter().map(|head| head[104..].split('\0').next().unwrap()).collect();
        assert_eq!(names, ["a", "a/b", "a/b/c", "a/b/d", "dev", "dev/console", "TRAILER!!!"]);
        assert_eq!(&heads[2][8..16], "000081ED");
        assert_eq!(&heads[2][48..56], "00000005");
        assert_eq!((&heads[5][72..80], &heads[5][80..88]), ("00000005", "00000001"));
    }

    #[test]
    fn absolute_names_are_refused() {
        assert!(Archive::default().file("/etc/x", false, b"").is_err());
    }
}
