//! Reads the statistics of another process, which is not trusted: nothing it does can crash or hang the reader.
//!
//! Pages are recognised by the names of the memory behind the process's file descriptors. No other file is opened.

use super::snapshot::StatsReader;
use super::{MEMORY_NAME, is_obeyed};
use crate::PageError;
use crate::page::{CycleSlot, FLIGHT_LENGTHS, Head, LAYOUT_VERSION, MAGIC};
use crate::sys::{PageMemory, page_bytes};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

/// Start of the link to the memory of a page, under `/proc/PID/fd`.
const LINK: &str = "/memfd:";
const DELETED: &str = " (deleted)";

/// A statistics page of a process, recognised by the name of its memory.
struct Found {
    name: String,
    descriptor: std::path::PathBuf,
}

/// The names of the tasks of a process to whose statistics a reader can [attach](StatsReader::attach).
///
/// # Real-time
/// Allocates, reads files: not for a loop.
///
/// # Kernel
/// Reads `/proc`. Needs the right to trace the process: the same user, or `CAP_SYS_PTRACE`.
///
/// # Errors
/// [`PageError::Open`] if the process has ended or belongs to another user.
pub fn task_names(pid: u32) -> Result<Vec<String>, PageError> {
    Ok(pages_of(pid)?.into_iter().map(|found| found.name).collect())
}

impl StatsReader {
    /// Attaches to the statistics of task `name` of process `pid`, read-only. They stay readable after the process has
    /// ended.
    ///
    /// # Real-time
    /// Allocates, reads files, maps memory: not for a loop.
    ///
    /// # Kernel
    /// The same as for [`task_names`].
    ///
    /// # Errors
    /// [`PageError::NoSuchTask`], [`PageError::Open`], or if the page is refused [`PageError::Unsealed`],
    /// [`PageError::Version`], [`PageError::Foreign`].
    pub fn attach(pid: u32, name: &str) -> Result<Self, PageError> {
        let found = pages_of(pid)?.into_iter().find(|found| found.name == name).ok_or(PageError::NoSuchTask)?;
        // The descriptor may have been replaced since. The flags prevent waiting for a pipe and acquiring a terminal.
        let careful = libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = OpenOptions::new().read(true).custom_flags(careful).open(&found.descriptor);
        Ok(Self::new(Arc::new(page_in(&file.map_err(|e| open_error(&e))?)?)))
    }
}

fn pages_of(pid: u32) -> Result<Vec<Found>, PageError> {
    let folder = Path::new("/proc").join(pid.to_string()).join("fd");
    let entries = std::fs::read_dir(folder).map_err(|e| open_error(&e))?;
    let found = |entry: io::Result<std::fs::DirEntry>| {
        let descriptor = entry.ok()?.path();
        let link = std::fs::read_link(&descriptor).ok()?;
        let name = link.to_str()?.strip_prefix(LINK)?.strip_prefix(MEMORY_NAME)?.strip_suffix(DELETED)?;
        // Our names never contain these characters, which would control a terminal.
        (!name.contains(is_obeyed)).then(|| Found { name: name.to_owned(), descriptor })
    };
    let mut pages: Vec<Found> = entries.filter_map(found).collect();
    pages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(pages)
}

fn open_error(error: &io::Error) -> PageError {
    PageError::Open(error.raw_os_error().unwrap_or(libc::EIO))
}

/// Maps the page in a file. Refuses, before mapping it, a file that is not a page, has another version, or can change
/// its size.
pub(super) fn page_in(file: &File) -> Result<PageMemory, PageError> {
    let [magic, version, bytes] = first_words(file)?;
    if magic != MAGIC {
        return Err(PageError::Foreign);
    }
    if version != LAYOUT_VERSION {
        return Err(PageError::Version(version));
    }
    let slots = slots_in(bytes).ok_or(PageError::Foreign)?;
    PageMemory::map_foreign(file, slots).map_err(|errno| match errno {
        libc::EPERM => PageError::Unsealed,
        libc::EMSGSIZE => PageError::Foreign,
        other => PageError::Open(other),
    })
}

fn first_words(file: &File) -> Result<[u64; 3], PageError> {
    let mut bytes = [0; 24];
    file.read_exact_at(&mut bytes, 0).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof => PageError::Foreign,
        _ => open_error(&e),
    })?;
    let mut words = bytes.chunks_exact(8).filter_map(|word| word.try_into().ok()).map(u64::from_ne_bytes);
    Ok([(); 3].map(|()| words.next().unwrap_or(0)))
}

/// Number of slots in a page of `bytes` bytes; `None` if no page has this size.
fn slots_in(bytes: u64) -> Option<u32> {
    let tail = usize::try_from(bytes).ok()?.checked_sub(size_of::<Head>())?;
    let slots = u32::try_from(tail.checked_div(size_of::<CycleSlot>())?).ok()?;
    let exact = page_bytes(slots) as u64 == bytes;
    (exact && slots.is_power_of_two() && FLIGHT_LENGTHS.contains(&slots)).then_some(slots)
}
