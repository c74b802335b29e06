//! Builds the program and the C library for one kind of machine.

use super::platform::Platform;
use crate::{capi, run};
use anyhow::{Context, Result, anyhow};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Features of the program in packages.
pub const WHOLE: &[&str] = &["--features", "parquet,png"];
/// The program for boards.
const SMALL: &[&str] = &["--no-default-features"];

/// What was built for one kind of machine.
pub struct Built {
    pub program: PathBuf,
    /// The program for boards, which measures and does little else.
    pub measure: PathBuf,
    /// Folder with `include` and `lib`, as `cargo xtask capi` installs it.
    pub library: PathBuf,
}

/// Builds for all of these platforms, in their order. The programs of two platforms are built at the same time, because a
/// program that is optimised as a whole keeps one CPU busy for minutes.
pub fn all(root: &Path, platforms: &[Platform]) -> Result<Vec<Built>> {
    let mut built = Vec::new();
    for two in platforms.chunks(2) {
        let ended: Vec<_> = std::thread::scope(|scope| {
            let begun: Vec<_> = two.iter().map(|platform| scope.spawn(move || programs(root, platform))).collect();
            begun
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| Err(anyhow!("the thread of a build panicked"))))
                .collect()
        });
        for (platform, programs) in two.iter().zip(ended) {
            let (program, measure) = programs?;
            built.push(Built { program, measure, library: library(root, platform)? });
        }
    }
    Ok(built)
}

/// Builds the whole program, and the one for boards.
fn programs(root: &Path, platform: &Platform) -> Result<(PathBuf, PathBuf)> {
    let built = target_folder(root, platform)?.join(platform.program).join("small/punctual");
    let keep = |name: &str| -> Result<PathBuf> {
        let kept = built.with_file_name(name);
        fs::copy(&built, &kept).with_context(|| format!("copy {}", built.display()))?;
        Ok(kept)
    };
    program(root, platform, SMALL)?;
    let measure = keep("punctual-for-boards")?;
    program(root, platform, WHOLE)?;
    Ok((keep("punctual-whole")?, measure))
}

/// Each platform has a target folder of its own, because Cargo builds one thing at a time in a folder.
fn target_folder(root: &Path, platform: &Platform) -> Result<PathBuf> {
    Ok(run::target_folder(root)?.join("dist").join(platform.debian))
}

/// Builds the static program as packages have it. Neither the folder nor the Cargo home of this machine is in it.
fn program(root: &Path, platform: &Platform, features: &[&str]) -> Result<()> {
    let target = platform.program;
    let mut cargo = run::cargo(root, &["build", "--profile", "small", "--package", "punctual", "--target", target]);
    cargo.args(features).arg("--target-dir").arg(target_folder(root, platform)?);
    let mut flags = capi::flags(root);
    flags.push("\x1f-Ctarget-feature=+crt-static");
    if platform.debian == "armhf" {
        // Every ARMv7 has the shorter Thumb instructions. With them, and with equal functions only once, the program is a
        // quarter smaller. The compiler warns that it may drop the feature, and the standard library stays as it is.
        flags.push(",+thumb-mode");
    }
    flags.push("\x1f-Cforce-unwind-tables=no");
    let bin = compiler_folder()?;
    if target.ends_with("musl") {
        // The linker that comes with Rust needs no libraries of this machine. Its relative relocations are a tenth as long
        // when they are packed; musl unpacks them from 1.2.4 on. Functions with the same code become one, because nothing
        // here compares their addresses.
        flags.push("\x1f-Clinker-flavor=ld.lld\x1f-Clink-arg=-zpack-relative-relocs\x1f-Clink-arg=--icf=all");
        cargo.env("PUNCTUAL_LINKER", "rust-lld");
    } else {
        // Without the flavor, rustc gives the script the arguments of ld, which the C compiler behind it refuses. The C
        // compiler knows where its library is, and finds the linker that comes with Rust by this variable. On x86-64, rustc
        // chooses that linker anyway; elsewhere, the C compiler's own linker cannot replace equal functions by one.
        flags.push("\x1f-Clinker-flavor=gcc\x1f-Clink-arg=-fuse-ld=lld\x1f-Clink-arg=-Wl,--icf=all");
        cargo.env("PUNCTUAL_LINKER", platform.compiler()).env("COMPILER_PATH", bin.join("gcc-ld"));
    }
    let path = std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&path())))?;
    cargo.env(Platform::linker_variable(target), root.join("packaging/link.sh")).env("PATH", path);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags).env_remove("RUSTFLAGS").env_remove("CARGO_BUILD_TARGET");
    run::show(&mut cargo)
}

fn path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

/// The folder of the programs that come with the compiler: its linker, and the one that takes sections out of objects.
fn compiler_folder() -> Result<PathBuf> {
    let read = |what: &str| run::read(Command::new("rustc").args(["--print", what]));
    let host = read("host-tuple")?;
    Ok(PathBuf::from(read("sysroot")?.trim()).join("lib/rustlib").join(host.trim()).join("bin"))
}

fn library(root: &Path, platform: &Platform) -> Result<PathBuf> {
    let top = root.join("target/dist-library").join(platform.debian);
    if top.is_dir() {
        fs::remove_dir_all(&top)?;
    }
    capi::install(root, &top, Some((platform.library, &platform.compiler())))?;
    Ok(top)
}
