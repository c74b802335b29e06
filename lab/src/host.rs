//! The programs and packages that the lab needs on this machine.

use crate::program;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};

/// Names of packages, one per line.
const PACKAGES: &str = include_str!("../packages.txt");
/// Programs that the lab starts, each with its package.
const PROGRAMS: [(&str, &str); 9] = [
    ("apt-cache", "apt"),
    ("apt-get", "apt"),
    ("depmod", "kmod"),
    ("dpkg-deb", "dpkg"),
    ("modinfo", "kmod"),
    ("qemu-system-aarch64", "qemu-system-arm"),
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("setpriv", "util-linux"),
    ("unshare", "util-linux"),
];

/// The programs that are not installed.
pub fn missing() -> Result<Vec<String>> {
    ensure!(cfg!(target_os = "linux"), "the lab runs on Linux");
    let missing = PROGRAMS.iter().filter(|(name, _)| program::place(name).is_none());
    Ok(missing.map(|(name, package)| format!("{name} ({package})")).collect())
}

/// Installs the packages of the lab.
pub fn install() -> Result<()> {
    let packages: Vec<&str> = packages().collect();
    program::show(program::find("apt-get")?.arg("update"))?;
    let mut command = program::find("apt-get")?;
    command.args(["install", "--yes", "--no-install-recommends"]).args(&packages);
    program::show(command.env("DEBIAN_FRONTEND", "noninteractive"))
}

fn packages() -> impl Iterator<Item = &'static str> {
    PACKAGES.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The folder for packages: `asked`, or else the one that `PUNCTUAL_LAB_CACHE` names, or else one in the user's cache.
pub fn cache(asked: Option<&Path>) -> Result<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let place = asked.map(Path::to_owned).or_else(|| named("PUNCTUAL_LAB_CACHE"));
    let place = place.or_else(|| named("XDG_CACHE_HOME").map(|folder| folder.join("punctual-lab")));
    let place = place.or_else(|| named("HOME").map(|folder| folder.join(".cache/punctual-lab")));
    place.context("find a folder for packages: neither HOME nor XDG_CACHE_HOME is set; give one by --cache")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_comes_with_a_package_of_the_list_or_with_debian() {
        for (name, package) in PROGRAMS {
            assert!(
                ["apt", "dpkg", "util-linux"].contains(&package) || packages().any(|listed| listed == package),
                "{name}"
            );
        }
    }
}
