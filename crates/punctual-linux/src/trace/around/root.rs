//! Files below a root folder that stay open and are read repeatedly.

use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, getrlimit};
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

const MOST_BYTES: usize = 16 << 20;
const USUAL_BYTES: usize = 4096;

/// The root folder, and how many more files may be opened below it.
#[derive(Debug)]
pub(super) struct Root {
    root: PathBuf,
    left: Cell<u64>,
}

impl Root {
    /// At most half of the files that this process may open are opened here; the rest is left for other uses.
    pub(super) fn new(root: &Path) -> Self {
        let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        Self { root: root.into(), left: Cell::new(most / 2) }
    }

    /// Whether these are the files of the machine that the program runs on.
    pub(super) fn is_this_machine(&self) -> bool {
        self.root == Path::new("/")
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    pub(super) fn open(&self, path: &str) -> Result<Open, String> {
        let place = self.path(path);
        let told = |e: &dyn std::fmt::Display| format!("{}: {e}", place.display());
        if self.left.get() == 0 {
            return Err("more files than this process may have open (see ulimit -n)".to_owned());
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::open(&place, flags, Mode::empty()).map_err(|e| told(&e))?;
        self.left.set(self.left.get() - 1);
        Ok(Open(File::from(file)))
    }

    /// The text of a small file without its line end.
    pub(super) fn text(&self, path: &str) -> Result<String, String> {
        let mut buffer = Vec::new();
        let told = |e: io::Error| format!("{}: {e}", self.path(path).display());
        let text = self.open(path)?.whole(&mut buffer).map(|text| String::from_utf8_lossy(text).trim().to_owned());
        self.left.set(self.left.get() + 1);
        text.map_err(told)
    }
}

#[derive(Debug)]
pub(super) struct Open(pub(super) File);

impl Open {
    /// Device and inode, which are the same under every name of the file; `None` if the system does not tell.
    pub(super) fn identity(&self) -> Option<(u64, u64)> {
        self.0.metadata().ok().map(|found| (found.dev(), found.ino()))
    }

    /// Reads the whole file. The kernel returns long tables in pieces.
    pub(super) fn whole<'a>(&self, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        self.read(buffer, false)
    }

    /// Reads once, which is enough for a file with one value.
    pub(super) fn small<'a>(&self, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        self.read(buffer, true)
    }

    fn read<'a>(&self, buffer: &'a mut Vec<u8>, once: bool) -> io::Result<&'a [u8]> {
        let mut length = 0;
        loop {
            if buffer.len() - length < USUAL_BYTES {
                if length > MOST_BYTES {
                    return Err(io::Error::other(format!("larger than {MOST_BYTES} bytes")));
                }
                buffer.resize((2 * buffer.len()).max(2 * USUAL_BYTES), 0);
            }
            let room = buffer.get_mut(length..).unwrap_or_default();
            let read = match self.0.read_at(room, length as u64) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            length += read;
            if read == 0 || once {
                return Ok(buffer.get(..length).unwrap_or_default());
            }
        }
    }
}
