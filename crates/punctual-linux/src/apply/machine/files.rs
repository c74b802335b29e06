//! Changes to files and folders. Each change is on the disk when its function returns.

use crate::hand::{FileKind, Lock, LockAnswer, Meta};
use rustix::fs::{FallocateFlags, FlockOperation, XattrFlags, fallocate, flock};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Largest number of bytes read of a file, more than any file that is tuned has. The limit keeps an endless file of the
/// kernel from filling the memory.
const LONGEST: u64 = 16 << 20;
const ACCESS_BITS: u32 = 0o7777;

pub fn stat(path: &Path) -> io::Result<Option<Meta>> {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let kind = match meta.file_type() {
        kind if kind.is_file() => FileKind::Regular,
        kind if kind.is_dir() => FileKind::Folder,
        kind if kind.is_symlink() => FileKind::Link,
        _ => FileKind::Other,
    };
    Ok(Some(Meta { kind, mode: meta.mode() & ACCESS_BITS, uid: meta.uid(), gid: meta.gid() }))
}

fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NOCTTY).open(path)
}

pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(OpenOptions::new().read(true), path)?.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

pub fn list(path: &Path) -> io::Result<Vec<String>> {
    let name = |entry: io::Result<fs::DirEntry>| {
        entry?.file_name().into_string().map_err(|name| {
            io::Error::new(io::ErrorKind::InvalidData, format!("'{}' is no name of ours", name.to_string_lossy()))
        })
    };
    let mut names: Vec<String> = fs::read_dir(path)?.map(name).collect::<io::Result<_>>()?;
    names.sort_unstable();
    Ok(names)
}

/// Writes a value in one call and with a line end, as a shell's `echo` does, because some files accept nothing else.
pub fn write_value(path: &Path, value: &str) -> io::Result<()> {
    let mut file = open(OpenOptions::new().write(true).truncate(true), path)?;
    let line = format!("{value}\n");
    let written = file.write(line.as_bytes())?;
    if written < value.len() { Err(io::ErrorKind::WriteZero.into()) } else { Ok(()) }
}

pub fn create(path: &Path, bytes: &[u8], meta: Meta) -> io::Result<()> {
    let mut file = open(OpenOptions::new().write(true).create_new(true).mode(0o600), path)?;
    let filled = file.write_all(bytes).and_then(|()| {
        let made = file.metadata()?;
        if (made.uid(), made.gid()) != (meta.uid, meta.gid) {
            std::os::unix::fs::fchown(&file, Some(meta.uid), Some(meta.gid))?;
        }
        file.set_permissions(Permissions::from_mode(meta.mode & ACCESS_BITS))?;
        file.sync_all()
    });
    if filled.is_err() {
        // A partly written file is of no use. Removing it is safe, because this call created it.
        let _best_effort = fs::remove_file(path);
    }
    filled?;
    sync_folder(path);
    Ok(())
}

pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    keep_labels(to, from);
    fs::rename(from, to)?;
    sync_folder(to);
    Ok(())
}

/// Copies security labels and access lists of the replaced file to the new one.
fn keep_labels(old: &Path, new: &Path) {
    let mut names = vec![0_u8; 4096];
    let Ok(length) = rustix::fs::llistxattr(old, &mut names) else { return };
    names.truncate(length);
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0_u8; 4096];
        if let Ok(length) = rustix::fs::lgetxattr(old, name, &mut value) {
            // If this fails, the kernel gives the new file the label of its folder.
            let _ = rustix::fs::lsetxattr(new, name, &value[..length.min(value.len())], XattrFlags::empty());
        }
    }
}

pub fn overwrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = open(OpenOptions::new().write(true), path)?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}

pub fn append(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = open(OpenOptions::new().append(true), path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

pub fn truncate(path: &Path, length: u64) -> io::Result<()> {
    let file = open(OpenOptions::new().write(true), path)?;
    file.set_len(length)?;
    file.sync_all()
}

pub fn reserve(path: &Path, length: u64, bytes: u64) -> io::Result<()> {
    let file = open(OpenOptions::new().write(true), path)?;
    match fallocate(&file, FallocateFlags::KEEP_SIZE, length, bytes) {
        // If the file system cannot reserve space, the write itself reports a full disk.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

pub fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    sync_folder(path);
    Ok(())
}

/// Creates a folder. `mode` is given only for our own folders; for folders such as control groups the kernel chooses
/// it.
pub fn make_folder(path: &Path, mode: Option<u32>) -> io::Result<()> {
    fs::DirBuilder::new().mode(mode.unwrap_or(0o755)).create(path)?;
    if let Some(mode) = mode {
        fs::set_permissions(path, Permissions::from_mode(mode))?;
        sync_folder(path);
    }
    Ok(())
}

pub fn remove_folder(path: &Path) -> io::Result<()> {
    fs::remove_dir(path)?;
    sync_folder(path);
    Ok(())
}

/// Syncs the folder of a file. Otherwise a power failure may lose the file's name although its content is on the disk.
/// A refusal is ignored, because some file systems cannot sync folders.
fn sync_folder(path: &Path) {
    if let Some(folder) = path.parent() {
        let _best_effort = File::open(folder).and_then(|folder| folder.sync_all());
    }
}

pub fn lock(path: &Path) -> io::Result<LockAnswer> {
    loop {
        let mut options = OpenOptions::new();
        let mut file = open(options.read(true).write(true).create(true).truncate(false).mode(0o600), path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let mut said = String::new();
                let by = file.read_to_string(&mut said).ok().and_then(|_| said.trim().parse().ok());
                return Ok(LockAnswer::Held { by });
            }
            Err(error) => return Err(error.into()),
        }
        // The previous holder may have removed the file together with the journal. Then this lock protects nothing.
        let (mine, there) = (file.metadata()?, fs::symlink_metadata(path));
        if !there.is_ok_and(|there| (there.dev(), there.ino()) == (mine.dev(), mine.ino())) {
            continue;
        }
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        // The process id is only information for other processes, so an error (for example a full disk) is ignored.
        let _ = writeln!(file, "{}", std::process::id());
        return Ok(LockAnswer::Taken(Lock(file)));
    }
}
