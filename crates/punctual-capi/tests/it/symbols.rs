//! Checks which symbols the shared library exports, and that it is linked as intended.

use crate::{installed, output, root};
use std::collections::BTreeSet;
use std::process::Command;

/// The functions that the header declares.
fn declared() -> BTreeSet<String> {
    let header = std::fs::read_to_string(installed().join("include/punctual_rt.h")).unwrap();
    let code: Vec<&str> = header.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let name = |line: &&str| {
        let before = line.split_once('(')?.0;
        let name = before.rsplit([' ', '*']).next()?;
        (name.starts_with("prt_") && !line.starts_with("typedef")).then(|| name.to_owned())
    };
    code.iter().filter_map(name).collect()
}

#[test]
fn exactly_the_declared_functions_are_to_be_seen_and_versioned() {
    let mut nm = Command::new("nm");
    let listed = output(nm.args(["-D", "--defined-only"]).arg(installed().join("lib/libpunctual_rt.so")));
    let mut seen = BTreeSet::new();
    for line in listed.lines() {
        let (kind, symbol) = line
            .split_whitespace()
            .skip(1)
            .collect::<Vec<_>>()
            .split_first()
            .map_or_else(|| panic!("not understood: {line}"), |(kind, rest)| ((*kind).to_owned(), rest.concat()));
        match (kind.as_str(), symbol.split_once("@@")) {
            ("A", _) => assert_eq!(symbol, "PRT_0.1", "the version itself"),
            ("T", Some((name, "PRT_0.1"))) => assert!(seen.insert(name.to_owned()), "{name} twice"),
            _ => panic!("{line} is not a function of version PRT_0.1"),
        }
    }
    assert_eq!(seen, declared());
    assert!(seen.len() > 60, "{}", seen.len());
}

#[test]
fn programs_ask_for_the_library_by_the_name_of_its_abi() {
    let mut objdump = Command::new("objdump");
    let shown = output(objdump.arg("-p").arg(installed().join("lib/libpunctual_rt.so")));
    assert!(shown.contains("libpunctual_rt.so.0\n"), "{shown}");
    // All symbols are bound when the library is loaded, not at the first call in a loop.
    assert!(shown.contains("FLAGS "), "{shown}");
}

#[test]
fn nothing_installed_names_a_folder_of_this_machine() {
    let home = std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME")).unwrap_or_default();
    let repository = root().canonicalize().unwrap().to_string_lossy().into_owned();
    let mut looked_at = 0;
    for folder in ["include", "lib", "lib/pkgconfig"] {
        for entry in std::fs::read_dir(installed().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let Ok(bytes) = std::fs::read(&path) else { continue };
            looked_at += 1;
            for secret in [&home, &repository].into_iter().filter(|secret| secret.len() > 1) {
                let found = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
                assert!(!found, "{} names {secret}", path.display());
            }
        }
    }
    assert!(looked_at >= 6, "{looked_at} files");
}
