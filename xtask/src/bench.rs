//! The benchmarks, in one command. They are measurements, not tests: they pass or fail nothing by themselves.

use crate::run;
use anyhow::{Context, Result, bail};
use std::path::Path;

/// Runs every benchmark of every crate, one after the other so that none disturbs another.
pub fn run(root: &Path) -> Result<()> {
    let mut failed = Vec::new();
    for package in names(&root.join("crates"), |path| path.join("benches").is_dir())? {
        for bench in names(&root.join("crates").join(&package).join("benches"), ends_with_rs)? {
            println!("\n== {package}: {bench} ==");
            if let Err(error) = run::show(&mut run::cargo(root, &["bench", "-p", &package, "--bench", &bench])) {
                failed.push(format!("{error:#}"));
            }
        }
    }
    if !failed.is_empty() {
        bail!("{}", failed.join("; "));
    }
    Ok(())
}

fn ends_with_rs(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "rs")
}

/// What is in a folder and `wanted`, by name without ending, in order.
fn names(folder: &Path, wanted: fn(&Path) -> bool) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let path = entry.with_context(|| format!("list {}", folder.display()))?.path();
        if wanted(&path) {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}
