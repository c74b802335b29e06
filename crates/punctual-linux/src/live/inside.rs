//! Paths of a system that lies in a folder, with links followed inside that folder.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows in one path.
const MOST_LINKS: usize = 40;

/// The place of `path` of the system in the folder `root`. Links are followed inside that folder: an absolute target
/// begins at `root`, and `..` stops there.
///
/// # Errors
///
/// Fails if the path goes through more links than the kernel would follow.
pub(super) fn place(root: &Path, path: &str) -> io::Result<PathBuf> {
    let parts = |path: &Path| -> Vec<OsString> {
        let is_step = |part: &Component| matches!(part, Component::Normal(_) | Component::ParentDir);
        path.components().rev().filter(is_step).map(|part| part.as_os_str().to_owned()).collect()
    };
    let (mut left, mut below, mut links) = (parts(Path::new(path)), PathBuf::new(), 0);
    while let Some(part) = left.pop() {
        if part == ".." {
            below.pop();
            continue;
        }
        below.push(part);
        if let Ok(target) = std::fs::read_link(root.join(&below)) {
            links += 1;
            if links > MOST_LINKS {
                return Err(io::Error::from_raw_os_error(libc::ELOOP));
            }
            if target.is_absolute() {
                below = PathBuf::new();
            } else {
                below.pop();
            }
            left.extend(parts(&target));
        }
    }
    Ok(root.join(below))
}
