//! Builds and runs C and C++ programs, each with the static and the shared library.

use crate::{compiler, installed, output, pkg_config, program, root, run, scratch};
use std::path::{Path, PathBuf};

const LIBRARIES: [&str; 2] = ["punctual_rt", "punctual_rt-static"];

fn own(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name)
}

#[test]
fn everything_works_from_c() {
    for library in LIBRARIES {
        let out = output(&mut run(&program(&own("drive.c"), library)));
        assert!(out.ends_with("all good\n"), "{library}: {out}");
    }
}

#[test]
fn every_misuse_from_c_is_a_number_and_no_crash() {
    for library in LIBRARIES {
        let out = output(&mut run(&program(&own("misuse.c"), library)));
        assert!(out.ends_with("all refused\n"), "{library}: {out}");
    }
}

/// The thread-local storage of a library that is loaded with `dlopen` is allocated at its first use. The test observes
/// the allocator.
#[cfg(target_env = "gnu")]
#[test]
fn the_first_cycles_of_a_library_loaded_late_allocate_nothing() {
    let target = scratch().join("loaded");
    let mut command = compiler(&own("loaded.c"));
    output(command.arg("-I").arg(installed().join("include")).arg("-o").arg(&target).arg("-ldl"));
    let out = output(run(&target).arg(installed().join("lib/libpunctual_rt.so")));
    assert!(out.ends_with("nothing was allocated\n"), "{out}");
}

#[test]
fn what_a_program_calls_is_bound_when_it_starts() {
    for library in LIBRARIES {
        let program = program(&own("drive.c"), library);
        let dynamic = output(std::process::Command::new("readelf").arg("-d").arg(&program));
        assert!(dynamic.contains("NOW"), "{library}: {dynamic}");
    }
}

#[test]
fn everything_works_from_cpp() {
    for library in LIBRARIES {
        let out = output(&mut run(&program(&own("drive.cpp"), library)));
        assert!(out.ends_with("all good\n"), "{library}: {out}");
    }
}

#[test]
fn the_header_is_cpp_too_and_both_may_be_included_twice() {
    let source = scratch().join("include.cpp");
    let twice = "#include <punctual_rt.h>\n#include <punctual_rt.hpp>\n#include <punctual_rt.h>\n";
    std::fs::write(&source, format!("{twice}int main() {{ return prt::now() > 0 ? 0 : 1; }}\n")).unwrap();
    let strict = ["-Wold-style-cast", "-Wshadow", "-Wsign-conversion", "-Wnon-virtual-dtor", "-Woverloaded-virtual"];
    let target = scratch().join("include");
    output(compiler(&source).args(strict).arg("-o").arg(&target).args(pkg_config("punctual_rt")));
    output(&mut run(&target));
}

#[test]
fn the_installed_folder_can_be_moved() {
    let (from, to) = (installed(), scratch().join("moved"));
    let _ = std::fs::remove_dir_all(&to);
    output(std::process::Command::new("cp").arg("-a").arg(from).arg(&to));
    let mut asked = std::process::Command::new("pkg-config");
    asked.args(["--cflags", "punctual_rt"]).env("PKG_CONFIG_PATH", to.join("lib/pkgconfig"));
    let flags = output(&mut asked);
    let include = flags.trim().strip_prefix("-I").unwrap();
    assert_eq!(Path::new(include).canonicalize().unwrap(), to.join("include").canonicalize().unwrap());
}

#[test]
fn the_examples_run() {
    let examples = [("hello_periodic.c", &[][..]), ("hello_periodic.cpp", &[]), ("cyclictest_like.c", &["-D", "1"])];
    for (name, arguments) in examples {
        let program = program(&root().join("examples/c").join(name), "punctual_rt");
        let out = output(run(&program).args(arguments));
        assert!(out.contains("latency") && out.contains("activations"), "{name}: {out}");
    }
}

#[test]
fn the_program_of_the_page_compiles() {
    let page = include_str!("../../README.md");
    let source = scratch().join("page.c");
    std::fs::write(&source, page.split("```").nth(1).and_then(|block| block.strip_prefix("c\n")).unwrap()).unwrap();
    program(&source, "punctual_rt");
}

#[test]
fn the_cyclictest_like_example_takes_its_options() {
    let program = program(&root().join("examples/c/cyclictest_like.c"), "punctual_rt-static");
    for wait in ["sleep", "anticipate", "hybrid", "spin"] {
        let out = output(run(&program).args(["-D", "0", "-i", "2000", "-p", "0", "-w", wait]));
        assert!(out.contains("C: ") && out.contains("Min: "), "{out}");
    }
    for wrong in [["-i", "0"], ["-p", "100"], ["-w", "never"], ["-x", "1"], ["-D", "-3"], ["-i", "1x"]] {
        let refused = run(&program).args(wrong).output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{wrong:?}");
        assert!(refused.stderr.starts_with(b"cyclictest_like: "), "{wrong:?}");
    }
}
