//! Finds the kernel's trace: a mounted tracefs, or one that is mounted detached, which nobody else sees.
//!
//! All files are opened relative to the descriptor of the folder, so a detached mount works like any other, and a test
//! may pass any folder. This module does not know events or instances.

use super::TraceError;
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, fstatfs, openat};
use rustix::io::{Errno, read, write};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

pub const INSTANCES: &str = "instances";
pub const OURS: &str = "punctual-";
const TRACEFS_MAGIC: u64 = 0x7472_6163;
const MOUNTED: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Inode number of the machine's own PID namespace, the same in every kernel since 3.8.
const PID_NAMESPACE: u64 = 0xEFFF_FFFC;

#[derive(Debug)]
pub struct TraceFolder {
    fd: OwnedFd,
    name: String,
}

/// The kernel's trace, mounted somewhere or detached. The error says why none can be used here.
pub fn tracefs() -> Result<TraceFolder, TraceError> {
    numbers_are_ours()?;
    MOUNTED.iter().find_map(|path| mounted(path)).map_or_else(detached, Ok)
}

/// Refuses where the kernel's trace names threads by other numbers than this process does.
pub fn numbers_are_ours() -> Result<(), TraceError> {
    let is_other = std::fs::metadata("/proc/self/ns/pid").is_ok_and(|namespace| namespace.ino() != PID_NAMESPACE);
    if is_other { Err(TraceError::Namespace) } else { Ok(()) }
}

fn mounted(path: &str) -> Option<TraceFolder> {
    let fd = open_folder(CWD, path).ok()?;
    let kind = fstatfs(&fd).ok()?.f_type;
    (u64::try_from(kind).ok()? == TRACEFS_MAGIC).then(|| TraceFolder { fd, name: path.to_owned() })
}

/// Mounts a tracefs without a place in the file system. The mount ends with its descriptor.
fn detached() -> Result<TraceFolder, TraceError> {
    let refused = |errno: Errno| TraceError::NoTracefs(why_no_mount(errno));
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC).map_err(refused)?;
    fsconfig_create(context.as_fd()).map_err(refused)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let fd = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes).map_err(refused)?;
    let folder = TraceFolder { fd, name: "tracefs (mounted detached)".to_owned() };
    // Under lockdown a tracefs can be mounted, but has no files.
    folder.read("trace_clock")?;
    Ok(folder)
}

fn why_no_mount(errno: Errno) -> String {
    let why = match errno {
        Errno::PERM | Errno::ACCESS => "this process may not mount it (CAP_SYS_ADMIN, or a filter of system calls)",
        Errno::MFILE => "this process may not open any more files: raise the limit, ulimit -n",
        Errno::NODEV => "the kernel was built without CONFIG_TRACING",
        Errno::NOSYS => {
            "it is not mounted, and the kernel is too old to mount it detached: mount it at /sys/kernel/tracing"
        }
        _ => "it is not mounted and cannot be",
    };
    format!("{why}: {errno}")
}

fn open_folder(at: BorrowedFd<'_>, path: &str) -> Result<OwnedFd, Errno> {
    openat(at, path, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

impl TraceFolder {
    /// Stands in for a tracefs in tests: a folder of an ordinary file system.
    #[cfg(test)]
    pub fn of(path: &std::path::Path) -> Self {
        let name = path.display().to_string();
        Self { fd: open_folder(CWD, &name).unwrap(), name }
    }

    pub fn folder(&self, path: &str) -> Result<Self, TraceError> {
        let fd = open_folder(self.fd.as_fd(), path).map_err(|errno| self.error("open", path, errno))?;
        let name = if path == "." { self.name.clone() } else { format!("{}/{path}", self.name) };
        Ok(Self { fd, name })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub fn error(&self, operation: &'static str, path: &str, errno: Errno) -> TraceError {
        TraceError::File { operation, path: format!("{}/{path}", self.name), errno }
    }

    pub fn open(&self, path: &str, flags: OFlags) -> Result<OwnedFd, TraceError> {
        openat(&self.fd, path, flags | OFlags::CLOEXEC, Mode::empty()).map_err(|errno| self.error("open", path, errno))
    }

    pub fn read(&self, path: &str) -> Result<String, TraceError> {
        let fd = self.open(path, OFlags::RDONLY)?;
        let mut text = Vec::new();
        let mut chunk = [0; 4096];
        loop {
            match read(&fd, &mut chunk) {
                Ok(0) => return Ok(String::from_utf8_lossy(&text).into_owned()),
                Ok(n) => text.extend_from_slice(chunk.get(..n).unwrap_or_default()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(self.error("read", path, errno)),
            }
        }
    }

    /// Writes in one call, as the kernel requires. What the file said before is replaced.
    pub fn write(&self, path: &str, text: &str) -> Result<(), TraceError> {
        self.write_to(path, OFlags::WRONLY | OFlags::TRUNC, text)
    }

    /// Adds to a list that the kernel keeps.
    pub fn append(&self, path: &str, text: &str) -> Result<(), TraceError> {
        self.write_to(path, OFlags::WRONLY, text)
    }

    fn write_to(&self, path: &str, flags: OFlags, text: &str) -> Result<(), TraceError> {
        let fd = self.open(path, flags)?;
        loop {
            match write(&fd, text.as_bytes()) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(self.error("write", path, errno)),
            }
        }
    }

    pub fn folders(&self, path: &str) -> Vec<String> {
        let Ok(fd) = open_folder(self.fd.as_fd(), path) else { return Vec::new() };
        let Ok(entries) = Dir::read_from(&fd) else { return Vec::new() };
        let name = |entry: rustix::fs::DirEntry| {
            let known = matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
            known.then(|| entry.file_name().to_string_lossy().into_owned())
        };
        entries.flatten().filter_map(name).filter(|name| name != "." && name != "..").collect()
    }
}
