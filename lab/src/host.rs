//! The programs and packages that the lab needs on this machine.

use crate::program::{self, PROGRAMS};
use anyhow::{Result, ensure};

/// Names of packages, one per line.
const PACKAGES: &str = include_str!("../packages.txt");
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
