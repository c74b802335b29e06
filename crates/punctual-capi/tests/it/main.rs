//! Tests of the C ABI from outside: the library is built, installed and linked as a user would do it.

#![allow(unsafe_code, reason = "what is tested is called from C, and written for it")]
#![allow(clippy::unwrap_used, reason = "a test that can not go on has failed")]

mod layout;
mod programs;
mod sizes;
mod symbols;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The folder for files that tests build, provided by Cargo.
fn scratch() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

/// The folder where the library is installed, once for all tests of this program.
fn installed() -> &'static Path {
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let prefix = scratch().join("punctual_rt");
        let _ = std::fs::remove_dir_all(&prefix);
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["run", "--quiet", "--package", "xtask", "--", "capi", "--prefix"]).arg(&prefix);
        output(cargo.current_dir(root()));
        prefix
    })
}

/// Programs that these tests start, and the Debian packages that hold them.
const NEEDED: [(&str, &str); 5] =
    [("cc", "gcc"), ("c++", "g++"), ("pkg-config", "pkg-config"), ("nm", "binutils"), ("objdump", "binutils")];

/// An error message for a program that could not be started, with the package to install.
fn not_started(program: &str, error: &std::io::Error) -> String {
    match NEEDED.iter().find(|(name, _)| *name == program) {
        Some((_, package)) if error.kind() == std::io::ErrorKind::NotFound => {
            format!("the tests of the C library need `{program}`, which is not here: apt install {package}")
        }
        _ => format!("start {program}: {error}"),
    }
}

/// Runs a command to its end and returns its output. A failure panics with all output.
fn output(command: &mut Command) -> String {
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => panic!("{}", not_started(&command.get_program().to_string_lossy(), &error)),
    };
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?} ended with {}:\n{out}\n{err}", output.status);
    out.into_owned()
}

/// A compiler command that treats every warning as an error.
fn compiler(source: &Path) -> Command {
    let is_cpp = source.extension().is_some_and(|ending| ending == "cpp");
    let (program, standard) = if is_cpp { ("c++", "-std=c++17") } else { ("cc", "-std=c11") };
    let mut command = Command::new(program);
    command.args([standard, "-Wall", "-Wextra", "-Werror", "-Wconversion", "-pedantic", "-D_DEFAULT_SOURCE"]);
    command.arg("-pthread").arg(source);
    command
}

/// The compiler options that pkg-config prints for one of our libraries.
fn pkg_config(name: &str) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command.args(["--cflags", "--libs", name]).env("PKG_CONFIG_PATH", installed().join("lib/pkgconfig"));
    output(&mut command).split_whitespace().map(str::to_owned).collect()
}

/// Compiles a program with the library that pkg-config knows by this name.
fn program(source: &Path, library: &str) -> PathBuf {
    let ending = source.extension().unwrap_or_default().to_string_lossy();
    let name = format!("{}-{ending}-{library}", source.file_stem().unwrap_or_default().to_string_lossy());
    let target = scratch().join(name);
    output(compiler(source).arg("-o").arg(&target).args(pkg_config(library)));
    target
}

/// A command that runs a program with the installed shared library.
fn run(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", installed().join("lib")).current_dir(scratch());
    command
}

#[test]
fn what_is_missing_is_said_and_what_is_needed_gets_installed() {
    let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
    for (program, package) in NEEDED {
        assert!(
            not_started(program, &missing).ends_with(&format!("`{program}`, which is not here: apt install {package}"))
        );
        for (file, text) in
            [(".ci/run", include_str!("../../../../.ci/run")), ("README", include_str!("../../../../README.md"))]
        {
            assert!(text.contains(package), "{file} does not name {package}, for {program}");
        }
    }
    assert!(not_started("drive", &missing).starts_with("start drive: "));
}
