//! Builds the product for guests: one static program for each architecture.
//!
//! The toolchain may have no standard library for static programs (Debian's has none). Then the program for this
//! machine's architecture is built as usual and copied with its libraries, and there is none for the other
//! architecture.

use crate::kernel::Arch;
use crate::program;
use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program and the libraries that it needs: for each, the path in the guest and the path on this machine.
#[derive(Clone, Debug)]
pub struct Product {
    pub program: PathBuf,
    /// Empty if the program is static.
    pub libraries: Vec<(String, PathBuf)>,
}

/// Builds the product; `None` if this toolchain cannot build it for this architecture.
pub fn build(root: &Path, arch: Arch) -> Result<Option<Product>> {
    build_package(root, arch, "punctual")
}

/// Builds the program of any package of the workspace, which must have the name of the package.
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
    let mut command = cargo(root);
    // Both programs for guests are built by one command. Two commands would build common dependencies twice, with
    // different features.
    command.args(["build", "--quiet", "--package", "punctual", "--package", "causes"]);
    // The linker that comes with Rust links for any architecture. It has to be named only for an architecture other
    // than this machine's.
    command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER", "rust-lld");
    match target {
        Some(target) => command.args(["--target", target]),
        // With the examples, Cargo chooses the same features as for tests, which the step `features` of CI has already
        // built.
        None => command.args(["--bins", "--examples"]),
    };
    let shown = target.unwrap_or("this machine");
    crate::say(&format!("building {package} for {shown}"));
    // Warnings are not shown, because they do not concern the lab. If the build fails, the error contains its whole
    // output.
    program::read(&mut command)?;
    let folder = target_folder(root)?.join(target.unwrap_or_default()).join("debug");
    let program = folder.join(package);
    ensure!(program.is_file(), "cargo left no {}", program.display());
    Ok(program)
}

/// Cargo, in the repository.
pub fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.current_dir(root);
    command
}

/// Returns the folder into which Cargo builds.
pub fn target_folder(root: &Path) -> Result<PathBuf> {
    let said = program::read(cargo(root).args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let said: serde_json::Value = serde_json::from_str(&said).context("read what cargo metadata says")?;
    let folder = said.get("target_directory").and_then(serde_json::Value::as_str);
    folder.map(PathBuf::from).context("find `target_directory` in what cargo metadata says")
}

/// The libraries that the dynamic linker would load, and the linker itself.
fn libraries(program: &Path) -> Result<Vec<(String, PathBuf)>> {
    let listed = program::read(program::find("ldd")?.arg(program))?;
    let paths = listed.lines().filter_map(|line| {
        let path = line.split_once("=>").map_or(line, |(_, path)| path).split_whitespace().next()?;
        path.starts_with('/').then(|| (path.to_owned(), PathBuf::from(path)))
    });
    Ok(paths.collect())
}
