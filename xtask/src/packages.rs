//! `packages`: the crates that strangers can depend on are packed together, and each is built from its package alone.
//!
//! A file that a crate needs and that is not in its package, or a dependency without a version, would be noticed by nobody
//! else before they are published.

use crate::run;
use anyhow::{Result, ensure};
use std::path::Path;

/// Each package with files that it must hold though no compiler asks for them.
const PACKAGES: [(&str, &[&str]); 3] = [
    ("punctual-hist", &["README.md"]),
    ("punctual-rt", &["README.md"]),
    ("punctual-capi", &["README.md", "include/punctual_rt.h", "include/punctual_rt.hpp"]),
];

/// Packs and builds them without the network, in a target folder of their own: about 15 s.
pub fn check(root: &Path) -> Result<()> {
    for (package, needed) in PACKAGES {
        let listed = run::read(&mut run::cargo(root, &["package", "--list", "--allow-dirty", "--package", package]))?;
        let missing = missing(&listed, needed);
        ensure!(missing.is_empty(), "the package of {package} lacks {}", missing.join(", "));
    }
    let selected = PACKAGES.iter().flat_map(|(package, _)| ["--package", package]);
    let mut command = run::cargo(root, &["package", "--offline", "--allow-dirty", "--target-dir", "target/packages"]);
    run::show(command.args(selected))
}

fn missing<'a>(listed: &str, needed: &[&'a str]) -> Vec<&'a str> {
    needed.iter().copied().filter(|file| !listed.lines().any(|line| line == *file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_packed_is_missed() {
        let listed = "Cargo.toml\nREADME.md\ninclude/punctual_rt.h.old\n";
        assert_eq!(missing(listed, &["README.md", "include/punctual_rt.h"]), ["include/punctual_rt.h"]);
    }
}
