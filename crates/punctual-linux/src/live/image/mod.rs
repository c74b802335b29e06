//! The command line words that the running kernel was built with, read from its image.
//!
//! The kernel looks up words of its command line in two tables, and nothing on a running machine lists them. A word
//! that is in neither table has no effect. The path is: image -> [`payload`] -> kernel -> [`elf`] or [`arm64`] ->
//! [`setup`] -> words. An image is used only if it is that of the running kernel, and its tables only if they are
//! complete; otherwise the answer gives the reason. This module does not know the effects of words, nor about modules
//! that are loaded from files.
//!
//! In the answer's text, the first line is `complete` or `undetermined: WHY`. After `complete` there is one line per
//! word: `early NAME` (compared as a whole), `setup NAME` (compared by its beginning), `param NAME PERMISSION`
//! (compared as a whole).

mod arm64;
mod cache;
mod elf;
mod payload;
mod setup;
#[cfg(test)]
mod tests;

use super::files::{Files, bounded, open};
use memchr::memmem;
pub use payload::MOST_BYTES;
use punctual_facts::fact::Fact;
use punctual_facts::machine::Arch;
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::Path;

const RELEASE: &str = "/proc/sys/kernel/osrelease";
const VERSION: &str = "/proc/version";
/// ELF notes of the running kernel, which contain its build id.
const NOTES: &str = "/sys/kernel/notes";
/// Paths of kernel images: the text before and after the kernel release.
const PLACES: [(&str, &str); 5] = [
    ("/boot/vmlinuz-", ""),
    ("/usr/lib/modules/", "/vmlinuz"),
    ("/lib/modules/", "/vmlinuz"),
    ("/boot/Image-", ""),
    ("/boot/vmlinux-", ""),
];
const OF_BOARDS: [&str; 2] = ["/boot/Image", "/boot/vmlinuz"];
/// Start of the kernel's description of itself.
const BANNER: &str = "Linux version ";
const MOST_OF_BANNER: usize = 512;

/// The reason why the words of an image cannot be determined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Undetermined(String);

impl From<String> for Undetermined {
    fn from(why: String) -> Self {
        Self(why)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageWord {
    /// The word as registered, including `=` if that is part of it.
    pub name: String,
    pub kind: WordKind,
}

/// How the kernel compares a word with those of its command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WordKind {
    /// `early_param`: the whole word.
    Early,
    /// `__setup`: the beginning of the word.
    Setup,
    /// A parameter: the whole word. The number is the mode of its file in sysfs, 0 if it has none.
    Param(u16),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    pub arch: Arch,
    /// The kernel's description of itself: `Linux version ...`.
    pub banner: String,
    pub words: Vec<ImageWord>,
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "complete")?;
        for ImageWord { name, kind } in &self.words {
            match kind {
                WordKind::Early => writeln!(f, "early {name}")?,
                WordKind::Setup => writeln!(f, "setup {name}")?,
                WordKind::Param(permission) => writeln!(f, "param {name} {permission:04o}")?,
            }
        }
        Ok(())
    }
}

pub fn words(image: &[u8]) -> Result<Words, Undetermined> {
    let kernel = payload::kernel(image)?;
    Ok(Unpacked::new(&kernel)?.words()?)
}

/// A kernel without the parts around it that boot loaders need, and without compression.
struct Unpacked<'a> {
    arch: Arch,
    bytes: &'a [u8],
    words: fn(&[u8]) -> Result<Vec<ImageWord>, String>,
}

impl<'a> Unpacked<'a> {
    fn new(kernel: &'a [u8]) -> Result<Self, String> {
        if payload::is_elf(kernel) { elf::kernel(kernel) } else { Ok(arm64::kernel(kernel)) }
    }

    fn words(&self) -> Result<Words, String> {
        // The first description may be a template without the build number.
        let banners: Vec<String> = self.banners().collect();
        let banner = banners.iter().find(|banner| banner.contains(" #1") || banner.contains(" #2")).or(banners.first());
        let banner = banner.ok_or("it does not say which kernel it is")?.clone();
        let words: BTreeSet<ImageWord> = (self.words)(self.bytes)?.into_iter().collect();
        Ok(Words { arch: self.arch, banner, words: words.into_iter().collect() })
    }

    fn banners(&self) -> impl Iterator<Item = String> + '_ {
        memmem::find_iter(self.bytes, BANNER).filter_map(|at| {
            let text = &self.bytes[at..self.bytes.len().min(at + MOST_OF_BANNER)];
            let end = text.iter().position(|b| matches!(b, b'\n' | 0))?;
            let text = std::str::from_utf8(&text[..end]).ok()?;
            let is_one = text[BANNER.len()..].starts_with(|c: char| c.is_ascii_digit());
            is_one.then(|| text.to_owned())
        })
    }
}

/// Reads the words of the running kernel from the cache, or from the kernel's image if they are not in the cache.
pub(super) fn read(files: &Files) -> Fact<Vec<u8>> {
    let running = match Running::ask(files) {
        Fact::Known(running) => running,
        other => return other.map(|_| Vec::new()),
    };
    let id = running.build_id.as_deref().filter(|_| files.are_of_this_machine());
    if let Some(text) = id.and_then(cache::find) {
        return Fact::Known(text.into_bytes());
    }
    match running.words(files) {
        Ok(words) => {
            let text = words.to_string();
            if let Some(id) = id {
                cache::keep(id, &text);
            }
            Fact::Known(text.into_bytes())
        }
        Err(why) => Fact::Known(format!("undetermined: {why}\n").into_bytes()),
    }
}

struct Running {
    release: String,
    version: String,
    build_id: Option<Vec<u8>>,
}

impl Running {
    fn ask(files: &Files) -> Fact<Self> {
        let text = |path: &str| files.file(path).map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
        let build_id = files.file(NOTES).known().and_then(|notes| build_id(notes));
        text(RELEASE).and_then(|release| {
            text(VERSION).map(|version| Self { release: release.clone(), version, build_id: build_id.clone() })
        })
    }

    /// The words of the first image that belongs to the running kernel.
    fn words(&self, files: &Files) -> Result<Words, String> {
        // A release with a slash would lead out of the folders of kernel images.
        if self.release.contains('/') {
            return Err(format!("'{}' is no kernel release", self.release));
        }
        let named = PLACES.iter().map(|(before, after)| format!("{before}{}{after}", self.release));
        let mut reasons = Vec::new();
        for path in named.chain(OF_BOARDS.map(str::to_owned)) {
            let why = match files.place(&path).and_then(|place| image(&place)) {
                Ok(image) => match self.words_of(&image) {
                    Ok(words) => return Ok(words),
                    Err(why) => why,
                },
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                Err(e) => e.to_string(),
            };
            reasons.push(format!("{path}: {why}"));
        }
        if reasons.is_empty() {
            return Err("no image of the running kernel is found in /boot or beside its modules".to_owned());
        }
        Err(reasons.join("; "))
    }

    fn words_of(&self, image: &[u8]) -> Result<Words, String> {
        let kernel = payload::kernel(image)?;
        let unpacked = Unpacked::new(&kernel)?;
        let is_it = unpacked.banners().any(|banner| banner == self.version);
        let has_id = self.build_id.as_ref().is_none_or(|id| memmem::find(unpacked.bytes, id).is_some());
        if !is_it || !has_id {
            return Err("it is another kernel than the one that runs".to_owned());
        }
        unpacked.words()
    }
}

fn image(place: &Path) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(place)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    bounded(open(place)?, MOST_BYTES)
}

fn build_id(notes: &[u8]) -> Option<Vec<u8>> {
    const GNU_BUILD_ID: usize = 3;
    let mut rest = notes;
    loop {
        let number = |at: usize| Some(u32::from_le_bytes(rest.get(at..at + 4)?.try_into().ok()?) as usize);
        let (name, content, kind) = (number(0)?, number(4)?, number(8)?);
        let start = 12_usize.checked_add(name.checked_next_multiple_of(4)?)?;
        let id = rest.get(start..start.checked_add(content)?)?;
        if kind == GNU_BUILD_ID && rest.get(12..16) == Some(b"GNU\0") && (8..=64).contains(&content) {
            return Some(id.to_vec());
        }
        rest = rest.get(start.checked_add(content.checked_next_multiple_of(4)?)?..)?;
    }
}
