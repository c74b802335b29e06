//! Unpacks packages together with all their dependencies into one tree. Programs in the tree need nothing of this
//! machine except its kernel.
//!
//! Kernel modules for another release are built with that release's compiler and tools, which need a newer C library
//! than this machine may have. Packages are only unpacked and not installed, so their installation scripts do not run.

use super::{Archive, Shelf};
use crate::kernel::{Arch, Release};
use crate::program;
use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

/// The content of a tree.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Name of the tree in the cache.
    pub name: &'a str,
    /// Names of packages, each of which is taken in its newest version.
    pub packages: &'a [&'a str],
    /// Name and version of a package that others depend on but that the tree does not need.
    pub spared: Option<(&'a str, &'a str)>,
}

impl Shelf {
    /// Returns the tree with these packages, which is made at the first call.
    pub fn closure(&self, release: Release, arch: Arch, wanted: Wanted<'_>) -> Result<PathBuf> {
        let name = format!("{}-{}-{}", release.codename(), arch.debian(), wanted.name);
        let tree = self.cache.join("trees").join(&name);
        if tree.is_dir() {
            return Ok(tree);
        }
        let parts = self.cache.join("parts").join(format!("{name}.{}", std::process::id()));
        let made = self.make(release, arch, wanted, &parts, &tree);
        // If making the tree failed, its parts are of no use.
        let removed = fs::remove_dir_all(&parts).with_context(|| format!("remove {}", parts.display()));
        made.with_context(|| format!("unpack {} of {}", wanted.packages.join(", "), release.codename()))?;
        removed.map(|()| tree)
    }

    fn make(&self, release: Release, arch: Arch, wanted: Wanted<'_>, parts: &Path, tree: &Path) -> Result<()> {
        let mut archive = Archive::of(&self.cache, release, arch)?;
        archive.update()?;
        archive.assume(parts, wanted.spared)?;
        let debs = parts.join("archives");
        fs::create_dir_all(debs.join("partial")).with_context(|| format!("create {}", debs.display()))?;
        (self.say)(&format!("downloading {} with what they need", wanted.packages.join(", ")));
        let mut apt = archive.apt("apt-get")?;
        apt.arg("-o").arg(format!("Dir::Cache::archives={}", debs.display()));
        apt.args(["-o", "Debug::NoLocking=1", "install", "-qq", "--yes", "--no-install-recommends", "--download-only"]);
        program::read(apt.args(wanted.packages))?;
        let unpacked = parts.join("tree");
        fs::create_dir_all(&unpacked).with_context(|| format!("create {}", unpacked.display()))?;
        let mut files: Vec<PathBuf> = fs::read_dir(&debs)
            .with_context(|| format!("list {}", debs.display()))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|end| end == "deb"))
            .collect();
        // `base-files` comes first, because it contains the links that stand for folders, through which all other
        // packages must be unpacked.
        files.sort_by_key(|path| {
            !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("base-files_"))
        });
        for file in &files {
            program::read(program::find("dpkg-deb")?.arg("-x").arg(file).arg(&unpacked))?;
        }
        complete(&unpacked)?;
        fs::rename(&unpacked, tree).with_context(|| format!("put {} in its place", tree.display()))
    }
}

/// Does the part of an installation that building needs.
fn complete(tree: &Path) -> Result<()> {
    let awk = tree.join("usr/bin/awk");
    if tree.join("usr/bin/gawk").is_file() && !awk.exists() {
        symlink("gawk", &awk).with_context(|| format!("link {}", awk.display()))?;
    }
    Ok(())
}

impl Archive {
    /// From now on, apt takes only the package `spared` for installed.
    fn assume(&mut self, folder: &Path, spared: Option<(&str, &str)>) -> Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        let path = folder.join("status");
        let text = spared.map_or_else(String::new, |(package, version)| {
            format!(
                "Package: {package}\nStatus: install ok installed\nArchitecture: {}\nVersion: {version}\nMaintainer: -\nDescription: -\n",
                self.arch.debian()
            )
        });
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
        self.status = path;
        Ok(())
    }
}

/// A command that runs with the tree as its root folder, and with this machine's devices.
pub fn inside(tree: &Path, words: &[&str]) -> Result<Command> {
    let mut command = program::find("unshare")?;
    command.arg("--mount");
    // Without root's rights, the command becomes root in a namespace of its own.
    let is_root = fs::metadata("/proc/self").is_ok_and(|data| data.uid() == 0);
    if !is_root {
        command.arg("--map-root-user");
    }
    command.args(["sh", "-c", "mount --rbind /dev \"$0/dev\" && exec chroot \"$0\" \"$@\""]).arg(tree).args(words);
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C");
    Ok(command)
}
