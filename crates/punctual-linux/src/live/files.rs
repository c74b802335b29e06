//! Reads one file with care. Only regular files and one known device are opened, because opening another file may have
//! effects. No more than a limit is read, and nothing that may hold secrets. Every failure becomes a fact. The caller
//! decides how long a read may take.

use super::inside;
use punctual_facts::fact::Fact;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The largest number of bytes read of one file. The largest file in use is `/proc/cpuinfo`, with about 1.5 KiB per
/// CPU.
pub(super) const MOST_BYTES: u64 = 4 << 20;
/// The table of interrupts has a row per interrupt and a column per CPU, so it has a limit of its own.
const INTERRUPTS: &str = "/proc/interrupts";
const MOST_BYTES_OF_INTERRUPTS: u64 = 16 << 20;
/// The largest number of names listed of one folder. `/proc/irq` of the largest machines has some thousands.
const MOST_NAMES: usize = 16_384;
/// The only device that may be read, because opening it has no effect.
const READABLE_DEVICE: &str = "/dev/cpu_dma_latency";
/// Initial size of the read buffer. Most files fit, and are read with two system calls.
const USUAL_BYTES: usize = 4096;

#[derive(Debug)]
pub(super) struct Files {
    root: PathBuf,
}

impl Files {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(super) fn are_of_this_machine(&self) -> bool {
        self.root == Path::new("/")
    }

    /// # Errors
    ///
    /// Fails if the files are those of another system and the path goes through too many links.
    pub(super) fn place(&self, path: &str) -> io::Result<PathBuf> {
        if self.are_of_this_machine() { Ok(PathBuf::from(path)) } else { inside::place(&self.root, path) }
    }

    pub(super) fn file(&self, path: &str) -> Fact<Vec<u8>> {
        // Environments of processes may contain passwords.
        if path.starts_with("/proc/") && path.ends_with("/environ") {
            return Fact::Denied;
        }
        let limit = if path == INTERRUPTS { MOST_BYTES_OF_INTERRUPTS } else { MOST_BYTES };
        // Opening a watchdog starts it, and opening a tape rewinds it, so only regular files are opened.
        let read = || {
            let place = self.place(path)?;
            if std::fs::metadata(&place)?.is_file() || (path == READABLE_DEVICE && self.are_of_this_machine()) {
                bounded(open(&place)?, limit)
            } else {
                Err(io::Error::other("not a regular file"))
            }
        };
        fact(read())
    }

    pub(super) fn list(&self, path: &str) -> Fact<Vec<String>> {
        let names = self.place(path).and_then(std::fs::read_dir).and_then(|entries| {
            let mut names = Vec::new();
            for entry in entries {
                if names.len() == MOST_NAMES {
                    return Err(io::Error::other(format!("more than {MOST_NAMES} names")));
                }
                // Names that are not UTF-8 are left out, because all names that the audit looks for are UTF-8.
                names.extend(entry?.file_name().into_string().ok());
            }
            names.sort_unstable();
            Ok(names)
        });
        fact(names)
    }

    pub(super) fn link(&self, path: &str) -> Fact<String> {
        let (folder, name) = path.rsplit_once('/').unwrap_or_default();
        let folder = if folder.is_empty() { "/" } else { folder };
        let target = self.place(folder).and_then(|folder| std::fs::read_link(folder.join(name)));
        fact(target.map(|target| target.into_os_string().into_string())).and_then(|target| {
            target.map_or_else(|_| Fact::Garbled("points to a name that is not text".to_owned()), Fact::Known)
        })
    }
}

pub(super) fn open(place: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(place, flags, Mode::empty())?))
}

/// Reads to the end; more than `most_bytes` bytes are an error.
pub(super) fn bounded(source: impl Read, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(USUAL_BYTES);
    source.take(most_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most_bytes {
        return Err(io::Error::other(format!("larger than {most_bytes} bytes")));
    }
    Ok(bytes)
}

pub(super) fn fact<T>(result: io::Result<T>) -> Fact<T> {
    match result {
        Ok(value) => Fact::Known(value),
        Err(e) => match e.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Fact::Absent,
            io::ErrorKind::PermissionDenied => Fact::Denied,
            _ => Fact::Garbled(e.to_string()),
        },
    }
}

pub(super) fn line(number: u64) -> Vec<u8> {
    format!("{number}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_become_facts() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("small"), "1\n").unwrap();
        std::fs::write(folder.path().join("large"), vec![b'x'; 5 << 20]).unwrap();
        std::os::unix::fs::symlink("small", folder.path().join("link")).unwrap();
        let tree = Files::new(folder.path().to_owned());
        assert_eq!(tree.file("/small"), Fact::Known(b"1\n".to_vec()));
        assert_eq!(tree.file("/link"), Fact::Known(b"1\n".to_vec()));
        assert_eq!(tree.link("/link"), Fact::Known("small".to_owned()));
        assert_eq!(tree.file("/none"), Fact::Absent);
        assert_eq!(tree.file("/small/below"), Fact::Absent);
        assert!(matches!(tree.file("/large"), Fact::Garbled(_)));
        assert!(matches!(Files::new("/".into()).file("/dev/zero"), Fact::Garbled(_)));
        assert!(matches!(tree.file("/"), Fact::Garbled(_)));
        assert_eq!(tree.list("/").known().unwrap().len(), 3);
    }

    #[test]
    fn errors_of_the_kernel_keep_their_meaning() {
        let of = |errno: i32| fact::<()>(Err(io::Error::from_raw_os_error(errno)));
        assert_eq!([of(libc::EACCES), of(libc::EPERM)], [Fact::Denied, Fact::Denied]);
        assert_eq!([of(libc::ENOENT), of(libc::ENOTDIR)], [Fact::Absent, Fact::Absent]);
        assert_eq!(of(libc::EIO), Fact::Garbled("Input/output error (os error 5)".to_owned()));
    }

    #[test]
    fn no_environment_is_read() {
        let tree = Files::new("/".into());
        assert_eq!(tree.file("/proc/1/environ"), Fact::Denied);
        assert_eq!(tree.file("/proc/self/environ"), Fact::Denied);
    }
}
