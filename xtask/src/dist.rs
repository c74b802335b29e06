//! Makes what users install: static programs, packages for Debian and for RPM, checksums, a bill of materials and the
//! list of licences. Two builds of one commit give the same bytes, in whatever folder they run.

mod archive;
mod build;
mod deb;
mod materials;
mod package;
mod platform;
#[cfg(test)]
mod recipes;
mod rpm;
mod tree;

use crate::run;
use anyhow::{Context, Result, bail, ensure};
use platform::{PLATFORMS, Platform};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn run(root: &Path, names: &[&str]) -> Result<()> {
    let wanted = wanted(names)?;
    let folder = run::target_folder(root)?.join("made");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let made = time_of_sources(root)?;
    let mut files = Vec::new();
    let mut missing = Vec::new();
    for platform in wanted {
        let commands = platform.missing(root)?;
        if commands.is_empty() {
            files.extend(all_of(root, &platform, &folder, made)?);
        } else {
            missing.push(format!("{}: {}", platform.debian, commands.join("; ")));
        }
    }
    files.extend(materials::write(root, &folder, made)?);
    fs::remove_dir_all(folder.join("tree")).ok();
    sums(&folder, &files)?;
    for file in &files {
        println!("{:>11} bytes  {}", file.metadata()?.len(), file.display());
    }
    ensure!(missing.is_empty(), "not made, because something has to be installed first\n  {}", missing.join("\n  "));
    Ok(())
}

fn wanted(names: &[&str]) -> Result<Vec<Platform>> {
    if names.is_empty() {
        return Ok(PLATFORMS.to_vec());
    }
    let of = |name: &&str| PLATFORMS.into_iter().find(|platform| platform.debian == *name);
    names.iter().map(|name| of(name).with_context(|| format!("unknown architecture `{name}`: {}", known()))).collect()
}

fn known() -> String {
    PLATFORMS.map(|platform| platform.debian).join(", ")
}

/// Everything that is made for one kind of machine.
fn all_of(root: &Path, platform: &Platform, folder: &Path, made: u64) -> Result<Vec<PathBuf>> {
    let built = build::build(root, platform)?;
    let program = package::program(root, &built, made)?;
    let packages = [
        &program,
        &package::library(root, &built, platform, made)?,
        &package::development(root, &built, platform, made)?,
    ];
    let mut files = vec![archive::write(&program, platform, folder, made)?];
    for package in packages {
        files.push(deb::write(package, platform, folder, made)?);
    }
    if run::has_program("rpmbuild") {
        files.push(rpm::write(&program, platform, folder, made)?);
    } else {
        println!("no package for RPM: rpmbuild is not installed (apt install rpm)");
    }
    Ok(files)
}

/// Time of the last commit, in seconds since 1970, which all files of the packages bear. `SOURCE_DATE_EPOCH` has
/// precedence, which is also what sources without a repository need.
fn time_of_sources(root: &Path) -> Result<u64> {
    let said = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(said) => said,
        Err(_) => run::read(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root))
            .context("find the time of the sources; without a repository, set SOURCE_DATE_EPOCH")?,
    };
    let Ok(time) = said.trim().parse() else { bail!("`{}` is no number of seconds since 1970", said.trim()) };
    Ok(time)
}

fn sums(folder: &Path, files: &[PathBuf]) -> Result<()> {
    let names = files.iter().filter_map(|file| file.file_name());
    let text = run::read(Command::new("sha256sum").args(names).current_dir(folder))?;
    fs::write(folder.join("SHA256SUMS"), text).context("write SHA256SUMS")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_architecture_is_refused_with_those_that_are_known() {
        assert_eq!(wanted(&["arm64"]).unwrap()[0].gnu, "aarch64-linux-gnu");
        assert_eq!(wanted(&[]).unwrap().len(), PLATFORMS.len());
        let error = wanted(&["amd64", "x86"]).unwrap_err().to_string();
        assert_eq!(error, "unknown architecture `x86`: amd64, arm64, armhf, riscv64");
    }
}
