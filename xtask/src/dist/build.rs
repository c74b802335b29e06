//! Builds the program and the C library for one kind of machine.

use super::platform::Platform;
use crate::{capi, run};
use anyhow::Result;
use std::fs;
use std::path::{Path, PathBuf};

/// What was built for one kind of machine.
pub struct Built {
    pub program: PathBuf,
    /// Folder with `include` and `lib`, as `cargo xtask capi` installs it.
    pub library: PathBuf,
}

pub fn build(root: &Path, platform: &Platform) -> Result<Built> {
    Ok(Built { program: program(root, platform)?, library: library(root, platform)? })
}

/// Builds the static program as packages have it. Neither the folder nor the Cargo home of this machine is in it.
fn program(root: &Path, platform: &Platform) -> Result<PathBuf> {
    let target = platform.program;
    let folder = run::target_folder(root)?;
    let words =
        ["build", "--profile", "dist", "--package", "punctual", "--features", "parquet,png", "--target", target];
    let mut cargo = run::cargo(root, &words);
    let mut flags = capi::flags(root);
    flags.push("\x1f-Ctarget-feature=+crt-static");
    if target.ends_with("musl") {
        // The linker that comes with Rust needs no libraries of this machine.
        cargo.env(Platform::linker_variable(target), "rust-lld");
    } else {
        cargo.env(Platform::linker_variable(target), platform.compiler());
    }
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags).env_remove("RUSTFLAGS").env_remove("CARGO_BUILD_TARGET");
    run::show(&mut cargo)?;
    Ok(folder.join(target).join("dist/punctual"))
}

fn library(root: &Path, platform: &Platform) -> Result<PathBuf> {
    let top = root.join("target/dist-library").join(platform.debian);
    if top.is_dir() {
        fs::remove_dir_all(&top)?;
    }
    capi::install(root, &top, Some((platform.library, &platform.compiler())))?;
    Ok(top)
}
