//! Makes what users install: static programs, packages for Debian and for RPM, checksums, a bill of materials and the
//! list of licences. Two builds of one commit give the same bytes, in whatever folder they run; with `--twice` this is checked.

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

use crate::{book, run};
use anyhow::{Context, Result, bail, ensure};
use build::Built;
use package::Package;
use platform::{PLATFORMS, Platform};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sizes in bytes that the programs must not exceed: they go into the memory of boards.
const LIMIT: u64 = 12 << 20;
const LIMIT_FOR_BOARDS: u64 = 3 << 20;

pub fn run(root: &Path, words: &[&str]) -> Result<()> {
    let (options, names): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
    let wanted = wanted(&names)?;
    match options.as_slice() {
        [] => made(root, &wanted, time_of_sources(root)?).map(drop),
        ["--twice"] => twice(root, &wanted),
        other => bail!("unknown option `{}`", other.join(" ")),
    }
}

/// Makes everything a second time from a copy of the commit in another folder, and compares the bytes.
fn twice(root: &Path, wanted: &[Platform]) -> Result<()> {
    let changed = run::read(Command::new("git").args(["status", "--porcelain"]).current_dir(root))?;
    ensure!(changed.is_empty(), "commit first, because the copy is made of the commit; changed here:\n{changed}");
    let time = time_of_sources(root)?;
    let one = made(root, wanted, time)?;
    let copy = run::target_folder(root)?.join("made-again/elsewhere");
    if copy.exists() {
        fs::remove_dir_all(&copy).with_context(|| format!("remove {}", copy.display()))?;
    }
    run::show(Command::new("git").args(["clone", "--quiet"]).arg(root).arg(&copy))?;
    let other = made(&copy, wanted, time)?;
    let sums = |folder: &Path| fs::read_to_string(folder.join("SHA256SUMS")).context("read the sums");
    let (one, other) = (sums(&one)?, sums(&other)?);
    let differ: Vec<&str> = one.lines().filter(|line| !other.lines().any(|again| again == *line)).collect();
    ensure!(differ.is_empty(), "a second build gives other bytes for\n{}", differ.join("\n"));
    println!("{} files have the same bytes in both builds", one.lines().count());
    Ok(())
}

/// Makes everything for these machines, and returns its folder.
fn made(root: &Path, wanted: &[Platform], time: u64) -> Result<PathBuf> {
    let folder = run::target_folder(root)?.join("made");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let (mut possible, mut missing) = (Vec::new(), Vec::new());
    for platform in wanted {
        let commands = platform.missing(root)?;
        if commands.is_empty() {
            possible.push(*platform);
        } else {
            missing.push(format!("{}: {}", platform.debian, commands.join("; ")));
        }
    }
    let mut files = Vec::new();
    for (platform, built) in possible.iter().zip(build::all(root, &possible)?) {
        files.extend(all_of(root, platform, &built, &folder, time)?);
    }
    match book::folder(root)? {
        Some(pages) => files.extend(formats(&package::documentation(root, &pages, time)?, None, &folder, time)?),
        None => missing.push(format!("punctual-doc: {}", book::MISSING)),
    }
    files.extend(materials::write(root, &folder, time)?);
    fs::remove_dir_all(folder.join("tree")).ok();
    sums(&folder, &files)?;
    for file in &files {
        println!("{:>11} bytes  {}", file.metadata()?.len(), file.display());
    }
    ensure!(missing.is_empty(), "not made, because something has to be installed first\n  {}", missing.join("\n  "));
    Ok(folder)
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

/// Everything that is made of what was built for one kind of machine.
fn all_of(root: &Path, platform: &Platform, built: &Built, folder: &Path, made: u64) -> Result<Vec<PathBuf>> {
    for (program, limit) in [(&built.program, LIMIT), (&built.measure, LIMIT_FOR_BOARDS)] {
        let size = program.metadata().with_context(|| format!("look at {}", program.display()))?.len();
        println!("{size:>11} bytes  {}", program.display());
        ensure!(
            size <= limit,
            "{} has {size} bytes, and {limit} are its limit: find what made it grow",
            program.display()
        );
    }
    let program = package::program(root, built, made)?;
    let packages = [
        &program,
        &package::library(root, built, platform, made)?,
        &package::development(root, built, platform, made)?,
    ];
    let small = package::measure(root, built, made)?;
    let mut files = Vec::new();
    for package in [&program, &small] {
        files.push(archive::write(package, platform, folder, made)?);
    }
    for package in packages {
        files.extend(formats(package, Some(platform), folder, made)?);
    }
    Ok(files)
}

/// One package in the formats of Debian and of RPM. `platform` is none for a package that is the same for every machine.
fn formats(package: &Package, platform: Option<&Platform>, folder: &Path, made: u64) -> Result<Vec<PathBuf>> {
    let mut files = vec![deb::write(package, platform.map_or("all", |platform| platform.debian), folder, made)?];
    if run::has_program("rpmbuild") {
        files.push(rpm::write(package, platform, folder, made)?);
    } else {
        println!("no {} for RPM: rpmbuild is not installed (apt install rpm)", package.name);
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
