//! Holds the recipes in `packaging/`, by which others build packages, to what our own packages have: version, files, licences.

use super::package::VERSION;
use crate::run;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What every recipe installs. A recipe may name a folder's files by `*`.
const INSTALLED: [&str; 6] = [
    "man/*.1",
    "completions/punctual.bash",
    "completions/_punctual",
    "completions/punctual.fish",
    "examples/realtime-group/*",
    "LICENSE-MIT",
];
/// What is done before the package is removed.
const PUT_BACK: &str = "-e /var/lib/punctual/journal ]";

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn recipes_install_what_our_packages_have_and_put_settings_back() {
    let arch = text("packaging/arch/PKGBUILD");
    assert!(arch.contains(&format!("\npkgver={VERSION}\n")));
    // The name of a recipe of Yocto holds its version.
    let yocto = text(&format!("packaging/yocto/punctual_{VERSION}.bb"));
    for file in INSTALLED {
        assert!(arch.contains(file) && yocto.contains(file), "{file} is not in each recipe");
    }
    for recipe in [&text("packaging/arch/punctual.install"), &yocto] {
        assert!(recipe.contains(PUT_BACK) && recipe.contains("punctual revert"), "{recipe}");
    }
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        let sum = run::read(Command::new("md5sum").arg(licence).current_dir(root())).unwrap();
        let sum = sum.split(' ').next().unwrap();
        assert!(yocto.contains(&format!("file://{licence};md5={sum}")), "{licence} has the sum {sum}");
    }
    let manifest = text("contrib/kubernetes/check.yaml");
    assert!(manifest.contains(&format!("image: punctual:{VERSION}\n")));
    let collection = text("contrib/ansible/galaxy.yml");
    assert!(collection.contains(&format!("\nversion: {VERSION}\n")));
}

#[test]
fn a_shell_reads_the_recipes() {
    for path in ["packaging/arch/PKGBUILD", "packaging/arch/punctual.install", "packaging/debian/try.sh"] {
        let read = Command::new("bash").arg("-n").arg(root().join(path)).output().unwrap();
        assert!(read.status.success(), "{path}: {}", String::from_utf8_lossy(&read.stderr));
    }
}
