//! The step `packages`: packs the crates that are published, and builds each from its package alone.
//!
//! Without this step, a file missing from a package, or a dependency without a version, would be noticed only after
//! publishing.

use crate::run;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};

/// (package, files): files that each package must contain although no compiler needs them.
const PACKAGES: [(&str, &[&str]); 3] = [
    ("punctual-hist", &["README.md"]),
    ("punctual-rt", &["README.md"]),
    ("punctual-capi", &["README.md", "include/punctual_rt.h", "include/punctual_rt.hpp", "include/punctual_marks.h"]),
];

/// Packs and builds the packages without the network, in a target folder of their own. It takes about 15 s.
pub fn check(root: &Path) -> Result<()> {
    for (package, needed) in PACKAGES {
        let listed = run::read(&mut run::cargo(root, &["package", "--list", "--allow-dirty", "--package", package]))?;
        let missing = missing(&listed, needed);
        ensure!(missing.is_empty(), "the package of {package} lacks {}", missing.join(", "));
    }
    forget_earlier(&cargo_home()?)?;
    // Cargo would not rebuild a package of an unchanged version, so earlier builds are removed.
    let built = root.join("target/packages");
    if built.is_dir() {
        fs::remove_dir_all(&built).with_context(|| format!("remove {}", built.display()))?;
    }
    let selected = PACKAGES.iter().flat_map(|(package, _)| ["--package", package]);
    let mut command = run::cargo(root, &["package", "--offline", "--allow-dirty", "--target-dir", "target/packages"]);
    run::show(command.args(selected))
}

fn cargo_home() -> Result<PathBuf> {
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home).context("find the home of Cargo")
}

/// Removes packages that an earlier run unpacked. Cargo unpacks them from a temporary registry into a folder whose name
/// begins with `-`, and uses them again even if the package has changed within one version.
fn forget_earlier(cargo_home: &Path) -> Result<()> {
    for kind in ["src", "cache"] {
        let Ok(registries) = fs::read_dir(cargo_home.join("registry").join(kind)) else { continue };
        for registry in registries.flatten().filter(|registry| registry.file_name().to_string_lossy().starts_with('-'))
        {
            for (package, _) in PACKAGES {
                forget(&registry.path(), package)?;
            }
        }
    }
    Ok(())
}

/// Removes every version of a package from one of Cargo's folders.
fn forget(folder: &Path, package: &str) -> Result<()> {
    let begins = format!("{package}-0");
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    for path in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(&begins)) {
        let path = path.path();
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.with_context(|| format!("remove {}", path.display()))?;
    }
    Ok(())
}

fn missing<'a>(listed: &str, needed: &[&'a str]) -> Vec<&'a str> {
    needed.iter().copied().filter(|file| !listed.lines().any(|line| line == *file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_packing_unpacked_is_forgotten() {
        let home = std::env::temp_dir().join(format!("punctual-packages-{}", std::process::id()));
        let made = ["-05ac/punctual-rt-0.1.0", "-05ac/libc-0.2.1", "index.example-19/punctual-rt-0.1.0"];
        for folder in made {
            fs::create_dir_all(home.join("registry/src").join(folder)).unwrap();
        }
        forget_earlier(&home).unwrap();
        let left = made.map(|folder| home.join("registry/src").join(folder).is_dir());
        fs::remove_dir_all(&home).unwrap();
        assert_eq!(left, [false, true, true]);
    }

    #[test]
    fn a_file_that_is_not_packed_is_missed() {
        let listed = "Cargo.toml\nREADME.md\ninclude/punctual_rt.h.old\n";
        assert_eq!(missing(listed, &["README.md", "include/punctual_rt.h"]), ["include/punctual_rt.h"]);
    }
}
