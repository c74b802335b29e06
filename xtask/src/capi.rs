//! Builds and installs the C library: `libpunctual_rt.a`, the shared library made from it, headers, pkg-config files.
//!
//! Needs only `cc` and Cargo. No installed file holds a path of the building machine, so the folder can be moved.

use crate::run;
use anyhow::{Context, Result, bail, ensure};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Version of the library's symbols. Functions that are added later get a version of their own.
const NODE: &str = "PRT_0.1";
/// Number of the binary interface. It must change when programs linked with an older library would no longer run.
const ABI: &str = "0";
/// Linker options for the C libraries that a Rust program needs.
const NEEDED: [&str; 5] = ["-lgcc_eh", "-lpthread", "-ldl", "-lm", "-lc"];
/// Linker option for programs: all calls are bound when the program starts, because late binding would take time in the
/// first cycle of a loop.
const BOUND: &str = "-Wl,-z,now";
const HEADERS: [&str; 3] = ["punctual_rt.h", "punctual_rt.hpp", "punctual_marks.h"];

/// Folders to install into. Each of them is below `destdir`, which stands for the root of the machine.
struct Target {
    include: PathBuf,
    lib: PathBuf,
}

pub fn run(root: &Path, words: &[&str]) -> Result<()> {
    let (mut prefix, mut destdir) = (root.join("target/punctual_rt"), None);
    let mut rest = words;
    while let [option, value, after @ ..] = rest {
        match *option {
            "--prefix" => prefix = std::path::absolute(value).context("make the prefix absolute")?,
            "--destdir" => destdir = Some(std::path::absolute(value).context("make the destdir absolute")?),
            other => bail!("unknown option `{other}`"),
        }
        rest = after;
    }
    ensure!(rest.is_empty(), "`{}` needs a folder", rest.join(" "));
    let top = destdir.map_or_else(|| prefix.clone(), |top| top.join(prefix.strip_prefix("/").unwrap_or(&prefix)));
    install(root, &top, None)
}

/// Builds and installs into the folder `top`: for this machine, or for the Rust target and with the C compiler that are
/// given.
pub fn install(root: &Path, top: &Path, other: Option<(&str, &str)>) -> Result<()> {
    let target = Target { include: top.join("include"), lib: top.join("lib") };
    for folder in [&target.include, &target.lib.join("pkgconfig")] {
        fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    }
    let version = env!("CARGO_PKG_VERSION");
    let archive = build(root, other.map(|(target, _)| target))?;
    let installed = target.lib.join("libpunctual_rt.a");
    copy(&archive, &installed)?;
    let compiler = other.map_or_else(own_compiler, |(_, compiler)| compiler.into());
    link(root, &compiler, &installed, &target.lib, version)?;
    for header in HEADERS {
        copy(&root.join("crates/punctual-capi/include").join(header), &target.include.join(header))?;
    }
    for (name, text) in descriptions(version) {
        write(&target.lib.join("pkgconfig").join(name), &text)?;
    }
    println!("installed {version} in {}", top.display());
    Ok(())
}

/// Builds the static library, optimised as a whole, for this machine or for `target`. It has a target folder of its
/// own, because its compiler flags differ.
pub fn build(root: &Path, target: Option<&str>) -> Result<PathBuf> {
    let folder = root.join("target/capi");
    let mut cargo = run::cargo(root, &["rustc", "--profile", "dist", "--package", "punctual-capi", "--lib"]);
    cargo.args(["--crate-type", "staticlib", "--target-dir"]).arg(&folder);
    cargo.args(target.iter().flat_map(|target| ["--target", target]));
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags(root)).env("CARGO_PROFILE_DIST_DEBUG", "false");
    cargo.env_remove("RUSTFLAGS").env_remove("CARGO_BUILD_TARGET");
    run::show(&mut cargo)?;
    Ok(folder.join(target.unwrap_or_default()).join("dist/libpunctual_capi.a"))
}

/// The user's compiler flags, and flags that keep paths of this machine out of panic messages.
pub fn flags(root: &Path) -> OsString {
    let mut flags = std::env::var_os("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let folders = home.iter().map(|home| (home.as_path(), "cargo")).chain([(root, "punctual")]);
    for (folder, name) in folders {
        if !flags.is_empty() {
            flags.push("\x1f");
        }
        flags.push("--remap-path-prefix=");
        flags.push(folder);
        flags.push("=");
        flags.push(name);
    }
    flags
}

/// Links the shared library from the static one. It exports only what the header declares, and binds all calls at
/// start, because late binding would happen in a loop.
fn link(root: &Path, compiler: &OsStr, archive: &Path, lib: &Path, version: &str) -> Result<()> {
    let script = root.join("target/capi/symbols.map");
    write(&script, &format!("{NODE} {{ global: prt_*; local: *; }};\n"))?;
    let (soname, file) = (format!("libpunctual_rt.so.{ABI}"), format!("libpunctual_rt.so.{version}"));
    let mut cc = Command::new(compiler);
    cc.args(["-shared", "-o"]).arg(lib.join(&file));
    cc.arg(format!("-Wl,-soname,{soname}")).arg(prefixed("-Wl,--version-script=", &script));
    cc.args(["-Wl,--gc-sections", "-Wl,-z,defs", "-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,nodelete", "-Wl,--strip-all"]);
    cc.arg("-Wl,--whole-archive").arg(archive).arg("-Wl,--no-whole-archive").args(NEEDED);
    run::show(&mut cc)?;
    link_name(&file, &lib.join(&soname))?;
    link_name(&soname, &lib.join("libpunctual_rt.so"))
}

fn own_compiler() -> OsString {
    std::env::var_os("CC").unwrap_or_else(|| "cc".into())
}

fn prefixed(option: &str, path: &Path) -> OsString {
    let mut whole = OsString::from(option);
    whole.push(path);
    whole
}

fn link_name(to: &str, at: &Path) -> Result<()> {
    if at.symlink_metadata().is_ok() {
        fs::remove_file(at).with_context(|| format!("remove {}", at.display()))?;
    }
    std::os::unix::fs::symlink(to, at).with_context(|| format!("link {}", at.display()))
}

/// Contents of the pkg-config files: one for the shared library, one for programs that link the static one.
fn descriptions(version: &str) -> [(&'static str, String); 2] {
    let needed = NEEDED.join(" ");
    let both = |about: &str, libs: &str| {
        format!(
            "prefix=${{pcfiledir}}/../..\nincludedir=${{prefix}}/include\nlibdir=${{prefix}}/lib\n\n\
             Name: punctual_rt\nDescription: Keeps an application's period{about}\nVersion: {version}\n\
             Cflags: -I${{includedir}}\n{libs}\n"
        )
    };
    let shared = format!("Libs: -L${{libdir}} -lpunctual_rt {BOUND}\nLibs.private: {needed}");
    let whole = format!("Libs: ${{libdir}}/libpunctual_rt.a {BOUND} {needed}");
    [("punctual_rt.pc", both("", &shared)), ("punctual_rt-static.pc", both(", linked statically", &whole))]
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("copy {} to {}", from.display(), to.display())).map(drop)
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pkg_config_reads_can_be_moved() {
        for (name, text) in descriptions("1.2.3") {
            assert!(text.starts_with("prefix=${pcfiledir}/../..\n"), "{name}: {text}");
            assert!(text.contains("\nVersion: 1.2.3\n") && text.ends_with("-lc\n"), "{name}: {text}");
            assert!(text.contains("\nLibs: ") && text.contains(" -Wl,-z,now"), "{name}: {text}");
        }
    }

    #[test]
    fn options_are_not_guessed() {
        let root = Path::new("/nonexistent");
        assert_eq!(run(root, &["--prefix"]).unwrap_err().to_string(), "`--prefix` needs a folder");
        assert_eq!(run(root, &["--prefx", "x"]).unwrap_err().to_string(), "unknown option `--prefx`");
    }
}
