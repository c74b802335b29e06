//! The places where changes are allowed. Whatever a plan says, nothing outside of them is written.

use crate::journal::store;
use punctual_tuning::plan::may_be_written;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Folders and files where our own files are created and files of others are changed.
const OURS: [&str; 23] = [
    "/boot/",
    "/efi/",
    "/etc/conf.d/",
    "/etc/default/",
    "/etc/dracut.conf.d/",
    "/etc/grub.d/",
    "/etc/init.d/",
    "/etc/kernel/",
    "/etc/local.d/",
    "/etc/modprobe.d/",
    "/etc/modules-load.d/",
    "/etc/.rc.local.punctual",
    "/etc/rc.local",
    "/etc/security/limits.d/",
    "/etc/.sysctl.conf.punctual",
    "/etc/sysctl.conf",
    "/etc/sysctl.d/",
    "/etc/systemd/",
    "/etc/tmpfiles.d/",
    "/etc/u-boot-menu/",
    "/etc/udev/rules.d/",
    "/run/systemd/",
    "/var/lib/punctual/",
];
/// Folders in which only the kernel creates files.
const KERNEL_FOLDERS: [&str; 2] = ["/sys/fs/cgroup/", "/sys/fs/resctrl/"];

/// A path below `root`. Links are not followed, and the place is not checked.
pub fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

fn refused(path: &str, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{path}: {why}"))
}

/// Accepts only absolute paths without `.`, `..` and empty parts.
pub fn named(root: &Path, path: &str) -> io::Result<PathBuf> {
    let parts = path.strip_prefix('/').map(|rest| rest.split('/'));
    let sound = parts.is_some_and(|mut parts| parts.all(|part| !matches!(part, "" | "." | "..")));
    if sound && !path.chars().any(char::is_control) {
        Ok(below(root, path))
    } else {
        Err(refused(path, "not an absolute path in its plainest form"))
    }
}

fn is_ours(path: &str) -> bool {
    path == store::FOLDER || OURS.iter().any(|place| path.starts_with(place) || place.trim_end_matches('/') == path)
}

fn is_kernels_folder(path: &str) -> bool {
    KERNEL_FOLDERS.iter().any(|place| path.starts_with(place))
}

/// The path after following all links, relative to `root`.
fn real(root: &Path, path: &Path) -> io::Result<String> {
    let (root, path) = (fs::canonicalize(root)?, fs::canonicalize(path)?);
    let inside = path.strip_prefix(&root).ok().and_then(Path::to_str);
    let inside = inside.ok_or_else(|| refused(&path.to_string_lossy(), "a link leads out of the machine"))?;
    Ok(format!("/{inside}"))
}

/// Refuses a path unless both the path and its folder, after following all links, are allowed.
fn within(root: &Path, path: &str, allowed: fn(&str) -> bool) -> io::Result<PathBuf> {
    let full = named(root, path)?;
    let outside = || refused(path, "outside of the places that are changed");
    if !allowed(path) {
        return Err(outside());
    }
    let (Some(folder), Some(name)) = (full.parent(), full.file_name().and_then(|name| name.to_str())) else {
        return Err(outside());
    };
    let folder = real(root, folder)?;
    if allowed(&format!("{}/{name}", folder.trim_end_matches('/'))) {
        Ok(full)
    } else {
        Err(refused(path, "a link leads out of the places that are changed"))
    }
}

/// Checks the path of a file that we own or may change. A link in the last part is not followed.
pub fn ours(root: &Path, path: &str) -> io::Result<PathBuf> {
    within(root, path, is_ours)
}

/// Checks the path of a kernel file that we may write to.
pub fn kernel(root: &Path, path: &str) -> io::Result<PathBuf> {
    let full = named(root, path)?;
    if !may_be_written(path) {
        return Err(refused(path, "not a value of the kernel that is changed"));
    }
    if may_be_written(&real(root, &full)?) {
        Ok(full)
    } else {
        Err(refused(path, "a link leads to what is not changed"))
    }
}

pub fn readable(root: &Path, path: &str) -> io::Result<PathBuf> {
    if is_ours(path) { ours(root, path) } else { kernel(root, path) }
}

#[derive(Debug)]
pub struct NewFolder {
    pub path: PathBuf,
    /// Whether the kernel creates the folder's files and chooses the folder's permissions.
    pub of_kernel: bool,
}

pub fn folder(root: &Path, path: &str) -> io::Result<NewFolder> {
    let of_kernel = is_kernels_folder(path);
    let path = if of_kernel { within(root, path, is_kernels_folder) } else { ours(root, path) }?;
    Ok(NewFolder { path, of_kernel })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_of_its_places_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for made in ["etc/sysctl.d", "etc/evil", "proc/sys/kernel", "sys/power", "sys/class/net", "outside"] {
            fs::create_dir_all(root.join(made)).unwrap();
        }
        for file in ["proc/sys/kernel/numa_balancing", "proc/sys/kernel/core_pattern", "sys/power/state", "etc/passwd"]
        {
            fs::write(root.join(file), "0\n").unwrap();
        }
        std::os::unix::fs::symlink(root.join("etc/evil"), root.join("etc/udev")).unwrap();
        std::os::unix::fs::symlink("/etc", root.join("etc/kernel")).unwrap();
        std::os::unix::fs::symlink(root.join("etc/passwd"), root.join("sys/class/net/x")).unwrap();
        std::os::unix::fs::symlink(root.join("sys/power/state"), root.join("sys/class/net/y")).unwrap();
        assert!(ours(root, "/etc/sysctl.d/90-punctual.conf").is_ok());
        assert!(kernel(root, "/proc/sys/kernel/numa_balancing").is_ok());
        for path in [
            "/etc/passwd",
            "/etc/sysctl.d/../passwd",
            "/etc//sysctl.d/x",
            "etc/sysctl.d/x",
            "/etc/sysctl.d/x\n",
            "/etc/udev/rules.d/x",
            "/etc/kernel/x",
            "/proc/sys/kernel/numa_balancing",
            "/var/lib/punctualx/journal",
        ] {
            assert!(ours(root, path).is_err(), "{path}");
        }
        for path in [
            "/proc/sys/kernel/core_pattern",
            "/sys/power/state",
            "/sys/class/net/x",
            "/sys/class/net/y",
            "/sys/class/net/z",
            "/proc/1/oom_adj",
            "/etc/sysctl.d/90-punctual.conf",
        ] {
            assert!(kernel(root, path).is_err(), "{path}");
        }
        assert!(super::folder(root, "/proc/sys/x").is_err() && super::folder(root, "/sys/kernel/x").is_err());
    }
}
