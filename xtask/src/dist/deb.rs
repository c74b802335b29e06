//! Writes a package for Debian, with `dpkg-deb`.

use super::package::{MAINTAINER, Package, VERSION};
use super::tree::Tree;
use crate::run;
use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `arch` is Debian's name of the architecture, or `all`.
pub fn write(package: &Package, arch: &str, folder: &Path, made: u64) -> Result<PathBuf> {
    let tree = Tree::of(package, folder, made)?;
    let control = tree.top.join("DEBIAN");
    fs::create_dir(&control).context("create the folder DEBIAN")?;
    put(&control.join("control"), &control_file(package, arch, tree.bytes), 0o644)?;
    put(&control.join("md5sums"), &tree.md5sums()?, 0o644)?;
    for (name, script) in scripts(package) {
        put(&control.join(name), &script, 0o755)?;
    }
    if package.name.starts_with("libpunctual-rt0") {
        put(&control.join("triggers"), "activate-noawait ldconfig\n", 0o644)?;
        put(&control.join("shlibs"), &format!("libpunctual_rt 0 libpunctual-rt0 (>= {VERSION})\n"), 0o644)?;
    }
    tree.settle()?;
    let file = folder.join(format!("{}_{VERSION}_{arch}.deb", package.name));
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.args(["--root-owner-group", "-Zxz", "--build"]).arg(&tree.top).arg(&file);
    run::read(dpkg.env("SOURCE_DATE_EPOCH", made.to_string()))?;
    Ok(file)
}

fn put(path: &Path, text: &str, mode: u32) -> Result<()> {
    fs::write(path, text).with_context(|| format!("write {}", path.display()))?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).with_context(|| format!("set {}", path.display()))
}

fn control_file(package: &Package, arch: &str, bytes: u64) -> String {
    let depends = match package.depends.as_slice() {
        [] => String::new(),
        depends => format!("Depends: {}\n", depends.join(", ")),
    };
    let multi = if package.section.starts_with("lib") { "same" } else { "foreign" };
    format!(
        "Package: {}\nVersion: {VERSION}\nArchitecture: {arch}\nMulti-Arch: {multi}\nMaintainer: {MAINTAINER}\nInstalled-Size: \
         {}\n{depends}Section: {}\nPriority: optional\nDescription: {}\n {}\n",
        package.name,
        bytes.div_ceil(1024),
        package.section,
        package.summary,
        package.description.replace('\n', "\n "),
    )
}

/// (file name, text) of the scripts that dpkg runs.
fn scripts(package: &Package) -> Vec<(&'static str, String)> {
    let script = |when: &str, body: &str| {
        let body: Vec<String> = body.lines().map(|line| format!("    {line}")).collect();
        format!("#!/bin/sh\nset -e\nif [ \"$1\" = {when} ]; then\n{}\nfi\n", body.join("\n"))
    };
    let removal = package.before_removal.map(|body| ("prerm", script("remove", body)));
    let purge = package.at_purge.map(|body| ("postrm", script("purge", body)));
    removal.into_iter().chain(purge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_act_only_on_the_word_that_dpkg_gives_for_them() {
        let package = Package {
            name: "example",
            section: "utils",
            summary: "an example",
            description: "One line.\nAnother.",
            depends: vec!["libc6".into()],
            files: Vec::new(),
            before_removal: Some("true\n"),
            at_purge: None,
        };
        let expected = "#!/bin/sh\nset -e\nif [ \"$1\" = remove ]; then\n    true\nfi\n";
        assert_eq!(scripts(&package), [("prerm", expected.to_owned())]);
        let control = control_file(&package, "arm64", 1025);
        assert!(control.contains("Architecture: arm64\n") && control.contains("Installed-Size: 2\nDepends: libc6\n"));
        assert!(control.ends_with("Description: an example\n One line.\n Another.\n"), "{control}");
    }
}
