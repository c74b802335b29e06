//! Writes the program as an archive to be unpacked anywhere, for machines without a package manager.

use super::package::{Package, VERSION};
use super::platform::Platform;
use super::tree::Tree;
use crate::run;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn write(package: &Package, platform: &Platform, folder: &Path, made: u64) -> Result<PathBuf> {
    let tree = Tree::of(package, folder, made)?;
    tree.settle()?;
    let top = format!("{}-{VERSION}-{}", package.name, platform.gnu);
    let file = folder.join(format!("{top}.tar.xz"));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu", "-cJf"]).arg(&file);
    tar.args([&format!("--transform=s,^usr,{top},"), &format!("--mtime=@{made}"), "-C"]).arg(&tree.top).arg("usr");
    run::read(tar.env("XZ_OPT", "-6 -T1"))?;
    Ok(file)
}
