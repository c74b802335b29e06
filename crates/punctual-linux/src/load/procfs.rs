//! Reads through `/proc`, as `ps`, `top` and monitoring agents do.
//!
//! Files are left out if reading them blocks, consumes data, or causes work on every CPU or in a device.

use super::worker::Worker;
use rustix::fs::{Mode, OFlags};
use std::fs::{DirEntry, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const ROOT: &str = "/proc";
/// Depth of the walk; threads of a process are at depth four.
const DEPTH: u32 = 4;
const MOST_BYTES: u64 = 64 * 1024;
/// Top folders that are read in addition to those of processes. Other folders belong to drivers and buses, where a read
/// may have effects.
const FOLDERS: [&str; 4] = ["irq", "pressure", "sys", "sysvipc"];
/// Files that are left out: reading them blocks (kmsg), waits for every CPU (locks: one RCU grace period each),
/// accesses physical or foreign memory, or causes work on every CPU (`stat_refresh`).
const SKIPPED: [&str; 10] =
    ["kmsg", "kcore", "kpagecgroup", "kpagecount", "kpageflags", "locks", "mem", "pagemap", "stat_refresh", "vmcore"];

pub(super) fn run(worker: &Worker) -> io::Result<()> {
    let device = std::fs::metadata(ROOT)
        .and_then(|root| std::fs::read_dir(ROOT).map(|_| root.dev()))
        .map_err(|error| io::Error::new(error.kind(), format!("cannot read the folder {ROOT}: {error}")))?;
    worker.begun();
    while worker.wanted() {
        walk(worker, Path::new(ROOT), device, DEPTH);
    }
    Ok(())
}

fn walk(worker: &Worker, folder: &Path, device: u64, depth: u32) {
    let top = depth == DEPTH;
    let Ok(entries) = std::fs::read_dir(folder) else { return }; // gone, or not for us
    for entry in entries.flatten() {
        if !worker.wanted() {
            return;
        }
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth > 0 && (!top || is_walked(&entry)) {
            // Other file systems are not entered, because looking into some of them mounts them.
            if entry.metadata().is_ok_and(|meta| meta.dev() == device) {
                walk(worker, &entry.path(), device, depth - 1);
            }
        } else if kind.is_file() && entry.file_name().to_str().is_some_and(|name| !SKIPPED.contains(&name)) {
            worker.count(u64::from(read(&entry.path())));
        }
    }
}

/// Whether a top folder is read: that of a process, or one of [`FOLDERS`].
fn is_walked(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let Some(name) = name.to_str() else { return false };
    name.bytes().all(|byte| byte.is_ascii_digit()) || FOLDERS.contains(&name)
}

/// Reads the beginning of a file. Returns whether this succeeded.
fn read(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::open(path, flags, Mode::empty()) else { return false };
    io::copy(&mut File::from(file).take(MOST_BYTES), &mut io::sink()).is_ok()
}
