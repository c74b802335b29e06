//! Whole stages, as text: `BLESS=1 cargo test -p punctual-core` writes the expectations anew.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod artefacts;
mod book;
mod choice;
mod cmdlines;
mod diff;
mod foreign;
mod generated;
mod machines;
mod plans;
mod remedies;
mod sizes;
mod standing;
mod trace;
mod trace_pages;

use std::path::{Path, PathBuf};

/// A path of the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Compares with what is committed, or writes it where `BLESS` is set.
fn check(path: &Path, actual: &str) {
    if std::env::var_os("BLESS").is_some() {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    let differs = |(a, b): (&str, &str)| a != b;
    let line = expected.lines().chain([""]).zip(actual.lines().chain([""])).position(differs);
    assert!(
        expected == actual,
        "{} is stale (line {}); look at the difference after: BLESS=1 cargo test -p punctual-core --test it",
        path.display(),
        line.map_or(0, |n| n + 1)
    );
}
