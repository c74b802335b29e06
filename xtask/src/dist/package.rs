//! What is in each package, whatever its format.

use super::build::Built;
use super::platform::Platform;
use crate::run;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub const VERSION: &str = env!("CARGO_PKG_VERSION");
pub const MAINTAINER: &str = "The punctual authors <punctual@users.noreply.example.org>";

/// A file of a package.
#[derive(Clone, Debug)]
pub struct Placed {
    /// Path on the machine, without the first `/`.
    pub path: String,
    pub what: What,
}

#[derive(Clone, Debug)]
pub enum What {
    Bytes(Vec<u8>),
    /// A file that may be executed.
    Program(PathBuf),
    File(PathBuf),
    Link(String),
}

#[derive(Clone, Debug)]
pub struct Package {
    pub name: &'static str,
    pub section: &'static str,
    pub summary: &'static str,
    pub description: &'static str,
    /// Debian's names of the packages that this one needs.
    pub depends: Vec<String>,
    pub files: Vec<Placed>,
    /// Script that runs before the package is removed. It is not run by an upgrade.
    pub before_removal: Option<&'static str>,
    /// Script that runs when the package's configuration is to be forgotten too, which only Debian knows.
    pub at_purge: Option<&'static str>,
}

/// Settings that are in force would stay for good without the program that puts them back. Units of the package that the
/// user has turned on are turned off.
const PUT_BACK: &str = r#"if [ -e /var/lib/punctual/journal ]; then
    punctual revert || {
        echo "punctual: not everything could be put back; see punctual status, and remove the package then" >&2
        exit 1
    }
fi
if [ -d /run/systemd/system ]; then
    systemctl --quiet disable --now punctual-check.service punctual-watch.service || true
fi
"#;

/// (folder of the repository, folder on the machine) whose files are in the package of the program.
const FOLDERS: [(&str, &str); 4] = [
    ("packaging/systemd", "usr/lib/systemd/system"),
    ("examples/campaigns", "usr/share/punctual/campaigns"),
    ("examples/realtime-group", "usr/share/doc/punctual/examples/realtime-group"),
    ("schemas", "usr/share/punctual/schemas"),
];

const FORGET: &str = "rm -rf /var/lib/punctual\n";

/// The program with its manual pages and completions, its units, which are off, campaigns and schemas.
pub fn program(root: &Path, built: &Built, made: u64) -> Result<Package> {
    let mut files = vec![Placed { path: "usr/bin/punctual".into(), what: What::Program(built.program.clone()) }];
    for page in listed(&root.join("man"))? {
        let name = page.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.push(bytes(format!("usr/share/man/man1/{name}.gz"), zipped(&page)?));
    }
    for (name, path) in [
        ("punctual.bash", "usr/share/bash-completion/completions/punctual"),
        ("_punctual", "usr/share/zsh/vendor-completions/_punctual"),
        ("punctual.fish", "usr/share/fish/vendor_completions.d/punctual.fish"),
    ] {
        files.push(Placed { path: path.into(), what: What::File(root.join("completions").join(name)) });
    }
    for (from, to) in FOLDERS {
        files.extend(folder(&root.join(from), to)?);
    }
    let permitted = "punctual: statically-linked-binary [usr/bin/punctual]\n\
        punctual: shared-library-lacks-prerequisites [usr/bin/punctual]\n";
    files.push(bytes("usr/share/lintian/overrides/punctual".into(), permitted.into()));
    Ok(Package {
        name: "punctual",
        section: "utils",
        summary: "what stands between a Linux machine and real time",
        description: "Audits a machine, measures how late its threads wake up while it works,\ntells who made them late, \
            and says whether a stated need is held. Changes\nsettings when told to, and puts back exactly what was there.",
        depends: Vec::new(),
        files: documented(root, "punctual", files, made)?,
        before_removal: Some(PUT_BACK),
        at_purge: Some(FORGET),
    })
}

/// The book, which a browser shows from its folder.
pub fn documentation(root: &Path, book: &Path, made: u64) -> Result<Package> {
    Ok(Package {
        name: "punctual-doc",
        section: "doc",
        summary: "what stands between a Linux machine and real time (book)",
        description: "Tutorial, concepts, recipes and reference of punctual as web pages. Begin at\n\
            /usr/share/doc/punctual-doc/html/index.html",
        depends: Vec::new(),
        files: documented(root, "punctual-doc", folder(book, "usr/share/doc/punctual-doc/html")?, made)?,
        before_removal: None,
        at_purge: None,
    })
}

/// The program for boards. It is called as the whole one is, because it tells people what to type.
pub fn measure(root: &Path, built: &Built, made: u64) -> Result<Package> {
    let files = vec![Placed { path: "usr/bin/punctual".into(), what: What::Program(built.measure.clone()) }];
    Ok(Package {
        name: "punctual-measure",
        section: "utils",
        summary: "measures how late the threads of a board wake up",
        description: "Measures, exports and shows reports, in English. What it wrote is\njudged by the whole \
            program on another machine.",
        depends: Vec::new(),
        files: documented(root, "punctual-measure", files, made)?,
        before_removal: None,
        at_purge: None,
    })
}

/// The shared library that programs need at run time.
pub fn library(root: &Path, built: &Built, platform: &Platform, made: u64) -> Result<Package> {
    let folder = format!("usr/lib/{}", platform.gnu);
    let file = format!("libpunctual_rt.so.{VERSION}");
    let path = built.library.join("lib").join(&file);
    let needs = glibc_of(&fs::read(&path).with_context(|| format!("read {}", path.display()))?);
    let files = vec![
        Placed { path: format!("{folder}/{file}"), what: What::File(path) },
        Placed { path: format!("{folder}/libpunctual_rt.so.0"), what: What::Link(file) },
    ];
    Ok(Package {
        name: "libpunctual-rt0",
        section: "libs",
        summary: "keeps an application's period (shared library)",
        description: "Releases, deadlines, waits and shared data for the loops of real-time programs.",
        depends: vec![needs, "libgcc-s1".into()],
        files: documented(root, "libpunctual-rt0", files, made)?,
        before_removal: None,
        at_purge: None,
    })
}

/// What is needed to build programs with the library.
pub fn development(root: &Path, built: &Built, platform: &Platform, made: u64) -> Result<Package> {
    let folder = format!("usr/lib/{}", platform.gnu);
    let of = |name: &str| built.library.join(name);
    let mut files = vec![
        Placed { path: format!("{folder}/libpunctual_rt.a"), what: What::File(of("lib/libpunctual_rt.a")) },
        Placed { path: format!("{folder}/libpunctual_rt.so"), what: What::Link("libpunctual_rt.so.0".into()) },
    ];
    for header in ["punctual_rt.h", "punctual_rt.hpp", "punctual_marks.h"] {
        let path = format!("usr/include/{header}");
        files.push(Placed { path, what: What::File(of("include").join(header)) });
    }
    for name in ["punctual_rt.pc", "punctual_rt-static.pc"] {
        let text = fs::read_to_string(of("lib/pkgconfig").join(name)).with_context(|| format!("read {name}"))?;
        let placed = text.replace("${pcfiledir}/../..", "/usr").replace("${prefix}/lib", &format!("/{folder}"));
        files.push(bytes(format!("{folder}/pkgconfig/{name}"), placed.into_bytes()));
    }
    Ok(Package {
        name: "libpunctual-rt-dev",
        section: "libdevel",
        summary: "keeps an application's period (headers, static library)",
        description: "Headers for C and C++, pkg-config files and the static library of punctual-rt.",
        depends: vec![format!("libpunctual-rt0 (= {VERSION})"), "libc6-dev".into()],
        files: documented(root, "libpunctual-rt-dev", files, made)?,
        before_removal: None,
        at_purge: None,
    })
}

fn bytes(path: String, bytes: Vec<u8>) -> Placed {
    Placed { path, what: What::Bytes(bytes) }
}

/// Adds what Debian wants in every package: the licence, and the changes in its own form, which point to ours.
fn documented(root: &Path, name: &str, mut files: Vec<Placed>, made: u64) -> Result<Vec<Placed>> {
    let folder = format!("usr/share/doc/{name}");
    let licence = fs::read_to_string(root.join("LICENSE-MIT")).context("read LICENSE-MIT")?;
    files.push(bytes(format!("{folder}/copyright"), copyright(&licence).into_bytes()));
    let date = run::read(Command::new("date").args(["-u", "-R", "-d", &format!("@{made}")]).env("LC_ALL", "C"))?;
    let changes = format!(
        "{name} ({VERSION}) unstable; urgency=medium\n\n  * What is new for users is in NEWS.gz.\n\n -- {MAINTAINER}  {date}"
    );
    files.push(bytes(format!("{folder}/changelog.gz"), zip(changes.as_bytes())?));
    files.push(bytes(format!("{folder}/NEWS.gz"), zipped(&root.join("CHANGELOG.md"))?));
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

/// The licences in the form that Debian reads. The text of the second is on every Debian machine.
fn copyright(mit: &str) -> String {
    let indented: Vec<String> =
        mit.lines().map(|line| if line.trim().is_empty() { " .".to_owned() } else { format!(" {line}") }).collect();
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: \
         punctual\n\nFiles: *\nCopyright: 2026 The punctual authors\nLicense: Apache-2.0 or MIT\n\nLicense: Apache-2.0\n On \
         Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n\nLicense: MIT\n{}\n",
        indented.join("\n")
    )
}

fn zipped(path: &Path) -> Result<Vec<u8>> {
    zip(&fs::read(path).with_context(|| format!("read {}", path.display()))?)
}

/// Compressed without a name or a time, so that equal contents give equal bytes.
fn zip(bytes: &[u8]) -> Result<Vec<u8>> {
    run::filter(Command::new("gzip").args(["-9", "-n", "-c"]), bytes)
}

/// All files of a folder and of the folders in it.
fn folder(from: &Path, to: &str) -> Result<Vec<Placed>> {
    let mut files = Vec::new();
    for path in listed(from)? {
        let to = format!("{to}/{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            files.extend(folder(&path, &to)?);
        } else {
            files.push(Placed { path: to, what: What::File(path) });
        }
    }
    Ok(files)
}

fn listed(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.sort();
    Ok(paths)
}

/// The newest version of the C library that a program names is the oldest that runs it.
fn glibc_of(program: &[u8]) -> String {
    let text = String::from_utf8_lossy(program);
    let versions = text.split("GLIBC_2.").skip(1).filter_map(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok()
    });
    versions.max().map_or_else(|| "libc6".to_owned(), |minor| format!("libc6 (>= 2.{minor})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_that_is_named_is_needed() {
        assert_eq!(glibc_of(b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.17\0\xff"), "libc6 (>= 2.34)");
        assert_eq!(glibc_of(b"nothing of the kind"), "libc6");
    }

    #[test]
    fn empty_lines_of_a_licence_are_marked_as_debian_wants() {
        let text = copyright("MIT License\n\nPermission is granted\n");
        assert!(text.ends_with("License: MIT\n MIT License\n .\n Permission is granted\n"), "{text}");
    }
}
