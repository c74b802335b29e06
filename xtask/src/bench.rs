//! Runs the benchmarks. They are measurements, not tests: nothing passes or fails by them.
//!
//! There are two kinds: small benchmarks in the `benches` folder of a crate, and packages in the folder `benches` of
//! the repository, which take options and may depend on crates that no product crate should depend on.

use crate::run;
use anyhow::{Context, Result, bail};
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Bench {
    Small { package: String, name: String },
    Program(String),
}

/// Runs the benchmark that the first word names, with the other words as its options. Without words, runs all
/// benchmarks one after the other, so that none disturbs another.
pub fn run(root: &Path, words: &[&str]) -> Result<()> {
    let all = all(root)?;
    let (wanted, rest) = match words {
        [] => (all, words),
        [name, rest @ ..] => (pick(&all, name)?, rest),
    };
    let mut failed = Vec::new();
    for bench in &wanted {
        if let Err(error) = start(root, bench, rest) {
            failed.push(format!("{error:#}"));
        }
    }
    if !failed.is_empty() {
        bail!("{}", failed.join("; "));
    }
    Ok(())
}

fn pick(all: &[Bench], wanted: &str) -> Result<Vec<Bench>> {
    let found: Vec<Bench> = all.iter().filter(|bench| bench.name() == wanted).cloned().collect();
    if found.is_empty() {
        let names: Vec<&str> = all.iter().map(Bench::name).collect();
        bail!("no benchmark `{wanted}`; there are {}", names.join(", "));
    }
    Ok(found)
}

impl Bench {
    fn name(&self) -> &str {
        match self {
            Self::Small { name, .. } | Self::Program(name) => name,
        }
    }
}

/// Runs a benchmark. Only the benchmark writes to standard output, so that other programs can read its results.
fn start(root: &Path, bench: &Bench, words: &[&str]) -> Result<()> {
    eprintln!("\n== {} ==", bench.name());
    let mut command = match bench {
        Bench::Small { package, name } => run::cargo(root, &["bench", "--quiet", "-p", package, "--bench", name]),
        Bench::Program(package) => run::cargo(root, &["run", "--quiet", "--release", "-p", package]),
    };
    if !words.is_empty() {
        command.arg("--").args(words);
    }
    run::pass_through(&mut command)
}

fn all(root: &Path) -> Result<Vec<Bench>> {
    let mut all = Vec::new();
    for package in names(&root.join("crates"), |path| path.join("benches").is_dir())? {
        let small = names(&root.join("crates").join(&package).join("benches"), ends_with_rs)?;
        all.extend(small.into_iter().map(|name| Bench::Small { package: package.clone(), name }));
    }
    all.extend(names(&root.join("benches"), Path::is_dir)?.into_iter().map(Bench::Program));
    Ok(all)
}

fn ends_with_rs(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "rs")
}

/// Names, without endings, of the files in a folder for which `wanted` is true, sorted.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_are_found_by_name() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let all = all(&root).unwrap();
        assert_eq!(pick(&all, "waits").unwrap(), [Bench::Program("waits".to_owned())]);
        let record = Bench::Small { package: "punctual-hist".to_owned(), name: "record".to_owned() };
        assert_eq!(pick(&all, "record").unwrap(), [record]);
        let error = pick(&all, "wait").unwrap_err().to_string();
        assert!(error.starts_with("no benchmark `wait`; there are "), "{error}");
    }
}
