//! Temporary files that cannot be left behind: they have no name, so the kernel removes them even after `kill -9`.

use super::room::MIB;
use super::worker::Worker;
use rustix::fs::{Advice, Mode, OFlags};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Largest size of one file, in bytes.
const LARGEST: u64 = 64 * MIB as u64;
/// Largest total size of the files of one load, in bytes.
const TOGETHER: u64 = 256 * MIB as u64;

/// A nameless file of limited size. When it is full, writing continues at its beginning.
pub(super) struct Scratch {
    file: File,
    dir: PathBuf,
    most: u64,
    size: u64,
    next: u64,
}

impl Scratch {
    /// Creates an empty file. Each worker may have `files` files, which share the space of the load.
    pub(super) fn create(worker: &Worker, files: u64) -> io::Result<Self> {
        let dir = worker.dir();
        let file = nameless(dir).or_else(|_| unnamed(dir)).map_err(explain(
            "create a file",
            dir,
            "give a directory that can be written",
        ))?;
        let all = files.saturating_mul(u64::try_from(worker.workers()).unwrap_or(u64::MAX)).max(1);
        // At most a quarter of the free space, because the user's programs need space as well.
        let free = rustix::fs::fstatvfs(&file).map_or(u64::MAX, |fs| fs.f_bavail.saturating_mul(fs.f_frsize));
        let most = LARGEST.min(TOGETHER / all).min(free / 4 / all) / MIB as u64 * MIB as u64;
        Ok(Self { file, dir: dir.to_owned(), most: most.max(MIB as u64), size: 0, next: 0 })
    }

    /// Appends one block, unless the file has reached its largest size.
    pub(super) fn grow(&mut self, block: &[u8]) -> io::Result<()> {
        if self.size < self.most { self.write_next(block) } else { Ok(()) }
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Writes the next block and waits until it is on the device.
    pub(super) fn write_next(&mut self, block: &[u8]) -> io::Result<()> {
        if self.next >= self.most {
            self.next = 0;
        }
        let done = self.file.write_all_at(block, self.next).and_then(|()| self.file.sync_data());
        done.map_err(explain("write a file", &self.dir, "give a directory with room on a sound device"))?;
        self.next += block.len() as u64;
        self.size = self.size.max(self.next);
        Ok(())
    }

    /// Reads a block from the device; for this it is first removed from the page cache.
    pub(super) fn read(&self, block: &mut [u8], offset: u64) -> io::Result<()> {
        let _ =
            rustix::fs::fadvise(&self.file, offset, std::num::NonZeroU64::new(block.len() as u64), Advice::DontNeed);
        self.file.read_exact_at(block, offset).map_err(explain("read a file", &self.dir, "is the device sound?"))
    }

    fn clear(&mut self) {
        let _ = self.file.set_len(0);
        (self.size, self.next) = (0, 0);
    }
}

/// Returns whether a step was done. If the file system is full, reports it once, frees the space and waits a little.
/// Other errors are returned.
pub(super) fn survive(worker: &Worker, step: io::Result<()>, files: &mut [&mut Scratch]) -> io::Result<bool> {
    match step {
        Ok(()) => Ok(true),
        Err(error) if is_no_room(&error) => {
            worker.report(|| format!("{error}; it went on with less"));
            for file in files {
                file.clear();
            }
            worker.pause();
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

fn is_no_room(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

fn explain(operation: &str, dir: &Path, remedy: &str) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("cannot {operation} in '{}': {error}; {remedy}", dir.display()))
}

/// Opens a file that never has a name.
fn nameless(dir: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    Ok(rustix::fs::open(dir, flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// Opens a file and unlinks it at once, for file systems without nameless files.
fn unnamed(dir: &Path) -> io::Result<File> {
    let thread = rustix::thread::gettid().as_raw_nonzero();
    for attempt in 0..100 {
        let path = dir.join(format!(".punctual-load-{thread}-{attempt}"));
        match File::options().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => return std::fs::remove_file(&path).map(|()| file),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// A block of random bytes, so that no device can compress it.
pub(super) fn block() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut block = Vec::with_capacity(MIB);
    while block.len() < MIB {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        block.extend_from_slice(&state.to_ne_bytes());
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_kind_of_file_has_no_name_and_holds_what_is_written() {
        let dir = tempfile::tempdir().unwrap();
        for make in [unnamed, nameless] {
            let file = make(dir.path()).unwrap();
            file.write_all_at(b"here", 3).unwrap();
            assert_eq!(file.metadata().unwrap().len(), 7);
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn a_full_file_starts_over() {
        let dir = tempfile::tempdir().unwrap();
        let file = unnamed(dir.path()).unwrap();
        let mut scratch = Scratch { file, dir: dir.path().to_owned(), most: 8, size: 0, next: 0 };
        for text in [b"aaaa", b"bbbb", b"cccc"] {
            scratch.write_next(text).unwrap();
        }
        scratch.grow(b"dddd").unwrap();
        let mut held = [0; 8];
        scratch.read(&mut held, 0).unwrap();
        assert_eq!(&held, b"ccccbbbb");
        scratch.clear();
        assert_eq!(scratch.file.metadata().unwrap().len(), 0);
    }
}
