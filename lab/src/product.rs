//! The product as guests run it: one static program for each architecture.
//!
//! Where the toolchain has no standard library for static programs (Debian's own has none), the one for this machine is
//! built as usual and its libraries go with it; for another architecture there is then nothing to run.

use crate::kernel::Arch;
use crate::program;
use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program and the libraries it needs: where the guest expects each, and where it is here.
#[derive(Clone, Debug)]
pub struct Product {
    pub program: PathBuf,
    /// None for a static one.
    pub libraries: Vec<(String, PathBuf)>,
}

/// Builds it; `None` where this toolchain cannot.
pub fn build(root: &Path, arch: Arch) -> Result<Option<Product>> {
    build_package(root, arch, "punctual")
}

/// The same for any package of the workspace whose program has its name.
pub fn build_package(root: &Path, arch: Arch, package: &str) -> Result<Option<Product>> {
    let target = format!("{}-unknown-linux-musl", arch.machine());
    if has_target(root, &target)? {
        let program = cargo_build(root, Some(&target), package)?;
        return Ok(Some(Product { program, libraries: Vec::new() }));
    }
    if arch.machine() != std::env::consts::ARCH {
        return Ok(None);
    }
    crate::say(&format!(
        "no standard library for {target} (`rustup target add {target}`): guests get a dynamic program"
    ));
    let program = cargo_build(root, None, package)?;
    let libraries = libraries(&program)?;
    Ok(Some(Product { program, libraries }))
}

fn has_target(root: &Path, target: &str) -> Result<bool> {
    let mut rustc = Command::new("rustc");
    let folder = program::read(rustc.args(["--print", "target-libdir", "--target", target]).current_dir(root))?;
    Ok(Path::new(folder.trim()).is_dir())
}

fn cargo_build(root: &Path, target: Option<&str>, package: &str) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    // Both programs that guests get at once: by itself each would have its dependencies built with features of its own.
    command.args(["build", "--quiet", "--package", "punctual", "--package", "causes"]).current_dir(root);
    // The linker that comes with Rust: it links for any architecture. It needs to be told only for another's.
    command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER", "rust-lld");
    match target {
        Some(target) => command.args(["--target", target]),
        // With the examples Cargo chooses the features that tests get, as the step `features` of CI has built them.
        None => command.args(["--bins", "--examples"]),
    };
    let shown = target.unwrap_or("this machine");
    crate::say(&format!("building {package} for {shown}"));
    // Its warnings are for those who build for themselves; when it fails, all it said is shown.
    program::read(&mut command)?;
    let folder = target_folder(root)?.join(target.unwrap_or_default()).join("debug");
    let program = folder.join(package);
    ensure!(program.is_file(), "cargo left no {}", program.display());
    Ok(program)
}

/// Where Cargo puts what it builds.
pub fn target_folder(root: &Path) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    let said = program::read(command.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(root))?;
    let said: serde_json::Value = serde_json::from_str(&said).context("read what cargo metadata says")?;
    let folder = said.get("target_directory").and_then(serde_json::Value::as_str);
    folder.map(PathBuf::from).context("find `target_directory` in what cargo metadata says")
}

/// What the dynamic linker would load, and the linker itself.
fn libraries(program: &Path) -> Result<Vec<(String, PathBuf)>> {
    let listed = program::read(program::find("ldd")?.arg(program))?;
    let paths = listed.lines().filter_map(|line| {
        let path = line.split_once("=>").map_or(line, |(_, path)| path).split_whitespace().next()?;
        path.starts_with('/').then(|| (path.to_owned(), PathBuf::from(path)))
    });
    Ok(paths.collect())
}
