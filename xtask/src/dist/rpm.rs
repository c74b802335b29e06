//! Writes a package for RPM, with `rpmbuild`, from the same description as Debian's.

use super::package::{Package, VERSION, What};
use super::platform::Platform;
use super::tree::Tree;
use crate::run;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files that only Debian's checker reads.
const DEBIAN_ALONE: &str = "usr/share/lintian";
/// Where zsh of Debian looks for completions of packages, and where zsh of other distributions does.
const DEBIAN_ZSH: &str = "usr/share/zsh/vendor-completions";
const ZSH: &str = "usr/share/zsh/site-functions";

pub fn write(package: &Package, platform: &Platform, folder: &Path, made: u64) -> Result<PathBuf> {
    let tree = Tree::of(package, folder, made)?;
    tree.settle()?;
    // RPM's own scripts take a path with a space for two, so it works in a folder without one.
    let work = std::env::temp_dir().join(format!("punctual-rpm-{}", std::process::id()));
    fs::create_dir_all(&work).with_context(|| format!("create {}", work.display()))?;
    let spec = work.join("package.spec");
    fs::write(&spec, text(package, &tree.top)).context("write the description of the package")?;
    let define = |name: &str, value: &str| format!("{name} {value}");
    let mut rpmbuild = Command::new("rpmbuild");
    rpmbuild.args(["-bb", "--quiet", "--target", &format!("{}-linux", platform.rpm)]);
    for (name, value) in [
        ("_topdir", work.to_string_lossy().as_ref()),
        ("_rpmdir", folder.to_string_lossy().as_ref()),
        ("_build_name_fmt", "%%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm"),
        ("_buildhost", "localhost"),
        ("use_source_date_epoch_as_buildtime", "1"),
        ("clamp_mtime_to_source_date_epoch", "1"),
        ("_build_id_links", "none"),
        ("_binary_payload", "w9.gzdio"),
    ] {
        rpmbuild.args(["--define", &define(name, value)]);
    }
    run::read(rpmbuild.arg(&spec).env("SOURCE_DATE_EPOCH", made.to_string()))?;
    fs::remove_dir_all(&work).with_context(|| format!("remove {}", work.display()))?;
    Ok(folder.join(format!("{}-{VERSION}-1.{}.rpm", package.name, platform.rpm)))
}

/// The description. The files are there already, so its build only copies them. Nothing is stripped or looked through,
/// because the program is static.
fn text(package: &Package, top: &Path) -> String {
    let listed: Vec<String> = package
        .files
        .iter()
        .filter(|placed| !placed.path.starts_with(DEBIAN_ALONE))
        .map(|placed| match placed.what {
            What::Program(_) => format!("%attr(755,root,root) /{}", placed.path),
            _ => format!("/{}", placed.path.replace(DEBIAN_ZSH, ZSH)),
        })
        .collect();
    // RPM passes the number of versions that are left: 0 when the package is removed, and not upgraded.
    let removal = package
        .before_removal
        .map_or_else(String::new, |body| format!("%preun\nif [ \"$1\" = 0 ]; then\n{body}fi\n\n"));
    format!(
        "Name: {}\nVersion: {VERSION}\nRelease: 1\nSummary: {}\nLicense: Apache-2.0 OR MIT\nAutoReqProv: no\n\n%global \
         __os_install_post %{{nil}}\n%global debug_package %{{nil}}\n\n%description\n{}\n\n%install\nmkdir -p %{{buildroot}}\ncp -a \
         '{}/usr' %{{buildroot}}/\nrm -r %{{buildroot}}/{DEBIAN_ALONE}\nmkdir -p %{{buildroot}}/{ZSH}\nmv \
         %{{buildroot}}/{DEBIAN_ZSH}/* %{{buildroot}}/{ZSH}/\nrmdir %{{buildroot}}/{DEBIAN_ZSH}\n\n{removal}%files\n%defattr(644,root,root,755)\n{}\n",
        package.name,
        package.summary,
        package.description,
        top.display(),
        listed.join("\n"),
    )
}
