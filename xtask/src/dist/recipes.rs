//! Holds the recipes in `packaging/`, by which others build packages, to what our own packages have: version, files, licences.

use super::package::VERSION;
use crate::run;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// What every recipe installs. A recipe may name a folder's files by `*`.
const INSTALLED: [&str; 9] = [
    "man/*.1",
    "completions/punctual.bash",
    "completions/_punctual",
    "completions/punctual.fish",
    "examples/campaigns/*",
    "examples/realtime-group/*",
    "packaging/systemd/*",
    "schemas/*",
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
    for path in [
        "packaging/arch/PKGBUILD",
        "packaging/arch/punctual.install",
        "packaging/debian/try.sh",
        "packaging/debian/try-library.sh",
        "packaging/debian/story.sh",
        "packaging/link.sh",
    ] {
        let read = Command::new("bash").arg("-n").arg(root().join(path)).output().unwrap();
        assert!(read.status.success(), "{path}: {}", String::from_utf8_lossy(&read.stderr));
    }
}

/// Runs the part of a recipe that installs, on the sources and a program that was not really built. Returns the installed
/// paths.
fn installed(script: &str, program: &str) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let sources = folder.path().join(format!("punctual-{VERSION}"));
    fs::create_dir(&sources).unwrap();
    for entry in fs::read_dir(root()).unwrap().map(Result::unwrap).filter(|entry| entry.file_name() != "target") {
        symlink(entry.path().canonicalize().unwrap(), sources.join(entry.file_name())).unwrap();
    }
    let program = sources.join(program);
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::write(program, "").unwrap();
    let recipes = root().canonicalize().unwrap().join("packaging");
    run::read(Command::new("bash").args(["-euc", script]).current_dir(&folder).env("RECIPES", recipes)).unwrap();
    let listed =
        run::read(Command::new("find").args(["made", "-type", "f", "-printf", "%P\n"]).current_dir(&folder)).unwrap();
    listed.lines().map(str::to_owned).collect()
}

fn holds_what_our_packages_have(name: &str, installed: &BTreeSet<String>) {
    let pages = fs::read_dir(root().join("man")).unwrap().map(|page| page.unwrap().file_name().into_string().unwrap());
    let mut wanted: Vec<String> = pages.map(|page| format!("usr/share/man/man1/{page}")).collect();
    for path in [
        "bin/punctual",
        "share/bash-completion/completions/punctual",
        "share/zsh/site-functions/_punctual",
        "share/fish/vendor_completions.d/punctual.fish",
        "share/doc/punctual/examples/realtime-group/limits.conf",
        "lib/systemd/system/punctual-check.service",
        "share/punctual/campaigns/suite-2002.toml",
        "share/punctual/schemas/report-3.schema.json",
    ] {
        wanted.push(format!("usr/{path}"));
    }
    for path in wanted {
        assert!(installed.contains(&path), "{name} does not install {path}: {installed:?}");
    }
}

#[test]
fn the_recipe_of_arch_installs_what_our_packages_have() {
    let script =
        "srcdir=$PWD pkgdir=$PWD/made; source \"$RECIPES/arch/PKGBUILD\"; [ \"$install\" = punctual.install ]; package";
    holds_what_our_packages_have("arch", &installed(script, "target/small/punctual"));
}

#[test]
fn the_recipe_of_yocto_installs_what_our_packages_have() {
    // BitBake replaces its variables before a shell gets the function.
    let recipe = text(&format!("packaging/yocto/punctual_{VERSION}.bb"));
    let body = recipe.split_once("\ndo_install() {\n").unwrap().1.split_once("\n}\n").unwrap().0;
    let variables = format!(
        "S=$PWD/punctual-{VERSION} B=$S D=$PWD/made CARGO_TARGET_SUBDIR=release bindir=/usr/bin datadir=/usr/share \
         mandir=/usr/share/man docdir=/usr/share/doc systemd_system_unitdir=/usr/lib/systemd/system\n"
    );
    holds_what_our_packages_have("yocto", &installed(&(variables + body), "target/release/punctual"));
}
