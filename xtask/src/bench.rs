//! The benchmarks, in one command. They are measurements, not tests: they pass or fail nothing by themselves.

use crate::run;
use anyhow::{Context, Result, bail};
use std::path::Path;

/// Crates that may have benchmarks, in the order of what depends on what.
const CRATES: [&str; 4] = ["punctual-hist", "punctual-core", "punctual-rt", "punctual-linux"];

/// Runs every benchmark there is, one after the other so that none disturbs another.
pub fn run(root: &Path) -> Result<()> {
    let mut failed = Vec::new();
    for name in CRATES {
        for bench in benches(&root.join("crates").join(name).join("benches"))? {
            println!("\n== {name}: {bench} ==");
            if let Err(error) = run::show(&mut run::cargo(root, &["bench", "-p", name, "--bench", &bench])) {
                failed.push(format!("{error:#}"));
            }
        }
    }
    if !failed.is_empty() {
        bail!("{}", failed.join("; "));
    }
    Ok(())
}

/// Names of the benchmarks in a folder; a folder that is not there has none.
fn benches(folder: &Path) -> Result<Vec<String>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let path = entry.with_context(|| format!("list {}", folder.display()))?.path();
        if path.extension().is_some_and(|ending| ending == "rs") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}
