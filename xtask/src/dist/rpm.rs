//! Writes a package for RPM, with `rpmbuild`, from the same description as Debian's.

use super::package::{Package, Placed, VERSION, What};
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
const ZSH: (&str, &str) = ("usr/share/zsh/vendor-completions", "usr/share/zsh/site-functions");

/// `platform` is none for a package that is the same for every machine.
pub fn write(package: &Package, platform: Option<&Platform>, folder: &Path, made: u64) -> Result<PathBuf> {
    let package = with_places(package, platform);
    let tree = Tree::of(&package, folder, made)?;
    tree.settle()?;
    // RPM's own scripts take a path with a space for two, so it works in a folder without one.
    let work = std::env::temp_dir().join(format!("punctual-rpm-{}", std::process::id()));
    fs::create_dir_all(&work).with_context(|| format!("create {}", work.display()))?;
    let spec = work.join("package.spec");
    fs::write(&spec, text(&package, &tree.top)).context("write the description of the package")?;
    let arch = platform.map_or("noarch", |platform| platform.rpm);
    let define = |name: &str, value: &str| format!("{name} {value}");
    let mut rpmbuild = Command::new("rpmbuild");
    rpmbuild.args(["-bb", "--quiet", "--target", &format!("{arch}-linux")]);
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
    Ok(folder.join(format!("{}-{VERSION}-1.{arch}.rpm", name(package.name))))
}

/// The package with its files where distributions that use RPM look for them.
fn with_places(package: &Package, platform: Option<&Platform>) -> Package {
    let libraries = platform.map(|platform| (format!("usr/lib/{}", platform.gnu), platform.libraries));
    let place = |text: &str| {
        let text = text.replace(ZSH.0, ZSH.1);
        libraries.iter().fold(text, |text, (debian, rpm)| text.replace(debian, rpm))
    };
    let moved = |placed: &Placed| Placed {
        path: place(&placed.path),
        what: match &placed.what {
            // Files for pkg-config name the folder of the library.
            What::Bytes(bytes) if placed.path.contains("/pkgconfig/") => {
                What::Bytes(place(&String::from_utf8_lossy(bytes)).into_bytes())
            }
            what => what.clone(),
        },
    };
    let kept = package.files.iter().filter(|placed| !placed.path.starts_with(DEBIAN_ALONE));
    Package { files: kept.map(moved).collect(), ..package.clone() }
}

/// What Debian calls `-dev` is called `-devel` elsewhere.
fn name(debian: &str) -> String {
    debian.strip_suffix("-dev").map_or_else(|| debian.to_owned(), |stem| format!("{stem}-devel"))
}

/// The description. The files are there already, so its build only copies them, and nothing is stripped. RPM itself finds
/// which libraries a package needs; our own packages are the only ones whose names are the same in all distributions.
fn text(package: &Package, top: &Path) -> String {
    let listed: Vec<String> = package
        .files
        .iter()
        .map(|placed| match placed.what {
            What::Program(_) => format!("%attr(755,root,root) /{}", placed.path),
            _ => format!("/{}", placed.path),
        })
        .collect();
    let ours = package.depends.iter().filter_map(|needed| needed.strip_suffix(')')?.split_once(" (= "));
    let requires: Vec<String> = ours.map(|(name, version)| format!("Requires: {name} = {version}\n")).collect();
    let finds_libraries = if package.depends.is_empty() { "no" } else { "yes" };
    // RPM passes the number of versions that are left: 0 when the package is removed, and not upgraded.
    let removal = package
        .before_removal
        .map_or_else(String::new, |body| format!("%preun\nif [ \"$1\" = 0 ]; then\n{body}fi\n\n"));
    format!(
        "Name: {}\nVersion: {VERSION}\nRelease: 1\nSummary: {}\nLicense: Apache-2.0 OR MIT\nAutoReqProv: \
         {finds_libraries}\n{}\n%global __os_install_post %{{nil}}\n%global debug_package %{{nil}}\n\n%description\n{}\n\n\
         %install\nmkdir -p %{{buildroot}}\ncp -a '{}/usr' %{{buildroot}}/\n\n{removal}%files\n%defattr(644,root,root,755)\n{}\n",
        name(package.name),
        package.summary,
        requires.concat(),
        package.description,
        top.display(),
        listed.join("\n"),
    )
}

#[cfg(test)]
mod tests {
    use super::super::platform::PLATFORMS;
    use super::*;

    fn package() -> Package {
        let file = |path: &str, text: &str| Placed { path: path.into(), what: What::Bytes(text.into()) };
        Package {
            name: "example-dev",
            section: "libdevel",
            summary: "an example",
            description: "One line.",
            depends: vec!["libc6 (>= 2.34)".into(), "example0 (= 0.1.0)".into()],
            files: vec![
                file("usr/lib/x86_64-linux-gnu/pkgconfig/example.pc", "libdir=/usr/lib/x86_64-linux-gnu\n"),
                file("usr/share/lintian/overrides/example", ""),
                file("usr/share/zsh/vendor-completions/_example", "of usr/lib/x86_64-linux-gnu"),
            ],
            before_removal: None,
            at_purge: None,
        }
    }

    #[test]
    fn files_move_from_debians_folders_to_those_of_others() {
        let amd64 = PLATFORMS.iter().find(|platform| platform.debian == "amd64");
        let moved = with_places(&package(), amd64);
        let bytes = |placed: &Placed| match &placed.what {
            What::Bytes(bytes) => String::from_utf8(bytes.clone()).unwrap(),
            other => panic!("{other:?}"),
        };
        let files: Vec<_> = moved.files.iter().map(|placed| (placed.path.as_str(), bytes(placed))).collect();
        assert_eq!(
            files,
            [
                ("usr/lib64/pkgconfig/example.pc", "libdir=/usr/lib64\n".to_owned()),
                ("usr/share/zsh/site-functions/_example", "of usr/lib/x86_64-linux-gnu".to_owned()),
            ]
        );
    }

    #[test]
    fn only_our_own_packages_are_required_by_name() {
        let spec = text(&package(), Path::new("/tree"));
        assert!(spec.starts_with("Name: example-devel\n"), "{spec}");
        assert!(spec.contains("\nAutoReqProv: yes\nRequires: example0 = 0.1.0\n\n"), "{spec}");
        assert!(!spec.contains("libc6"), "{spec}");
    }
}
