//! House rules that a program can check, so that people need not remember them.
//!
//! This module lists the files and applies the rules to them. The rules are in [`rust`] and [`text`] and take only a
//! path and a text, so that each can be tested on strings. Rules that Clippy can check (length of functions, printing,
//! `unwrap`) are in the lint table instead.

mod commands;
mod prose;
mod real_time;
mod rust;
mod source;
mod text;

use self::source::Source;
use crate::run;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Path from the root of the repository.
    pub path: String,
    /// Line number, counted from 1; 0 if the complaint is about the whole file.
    pub line: usize,
    pub what: String,
}

impl Complaint {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl std::fmt::Display for Complaint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// The Rust files of the repository, with comments, contents of literals and code for tests replaced by spaces.
pub struct Sources {
    files: Vec<(String, String)>,
}

impl Sources {
    /// Reads all Rust files that are committed or staged.
    pub fn read(root: &Path) -> Result<Self> {
        let paths = paths(root)?;
        let files = read(root, &paths)?.into_iter();
        let files = files.filter_map(|(path, bytes)| Some((path, String::from_utf8(bytes).ok()?)));
        Ok(Self { files: files.collect() })
    }

    /// Path and code of each file that is not built only for tests.
    pub fn product(&self) -> impl Iterator<Item = (&str, String)> {
        let texts: Vec<(&str, &str)> = self.files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let built_for_tests = rust::tests_among(&texts);
        texts
            .into_iter()
            .filter(move |(path, _)| text::ending(path) == "rs" && !rust::is_built_for_tests(path, &built_for_tests))
            .map(|(path, text)| (path, Source::new(text).code))
    }
}

pub fn run(root: &Path) -> Result<()> {
    let paths = paths(root)?;
    ensure!(!paths.is_empty(), "no file found in {}", root.display());
    let files = read(root, &paths)?;
    let mut complaints = text::whole_tree(&paths);
    complaints.extend(rust::dead_exceptions(&paths));
    complaints.extend(
        files
            .iter()
            .filter(|(_, bytes)| std::str::from_utf8(bytes).is_err())
            .flat_map(|(path, bytes)| text::not_text(path, bytes)),
    );
    let texts: Vec<(&str, &str)> =
        files.iter().filter_map(|(path, bytes)| Some((path.as_str(), std::str::from_utf8(bytes).ok()?))).collect();
    for (path, text) in &texts {
        complaints.extend(text::check(path, text));
        complaints.extend(prose::check(path, text));
        complaints.extend(text::links(path, text, &paths));
        complaints.extend(text::named_paths(path, text, &paths));
    }
    complaints.extend(rust::check_all(&texts));
    complaints.extend(commands::unknown(&texts));
    if complaints.is_empty() {
        println!("{} files, no complaint", files.len());
        return Ok(());
    }
    for complaint in &complaints {
        println!("{complaint}");
    }
    bail!("{} complaints", complaints.len())
}

fn read(root: &Path, paths: &BTreeSet<String>) -> Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for path in paths {
        let full = root.join(path);
        match fs::read(&full) {
            Ok(bytes) => files.push((path.clone(), bytes)),
            // The file was deleted, and the deletion is not committed yet.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("read {}", full.display())),
        }
    }
    Ok(files)
}

/// All paths that are committed or staged. In an unpacked archive, which has no Git, all paths.
fn paths(root: &Path) -> Result<BTreeSet<String>> {
    let listed = run::read(Command::new("git").args(["ls-files", "-z", "--cached"]).current_dir(root));
    if let Ok(listed) = listed {
        return Ok(listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect());
    }
    println!("git does not list the files here, so every file of the folder is looked at");
    let mut found = BTreeSet::new();
    walk(root, "", &mut found)?;
    Ok(found)
}

fn walk(root: &Path, below: &str, found: &mut BTreeSet<String>) -> Result<()> {
    let folder = root.join(below);
    for entry in fs::read_dir(&folder).with_context(|| format!("list {}", folder.display()))? {
        let entry = entry.with_context(|| format!("list {}", folder.display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        let kind = entry.file_type().with_context(|| format!("look at {path}"))?;
        if kind.is_dir() && name != "target" && name != ".git" {
            walk(root, &path, found)?;
        } else if kind.is_file() && !name.ends_with(".punctual") {
            found.insert(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_says_where() {
        assert_eq!(Complaint::new("a/b.rs", 3, "x").to_string(), "a/b.rs:3: x");
        assert_eq!(Complaint::new("a/b.rs", 0, "x").to_string(), "a/b.rs: x");
    }

    #[test]
    fn a_folder_without_git_is_walked() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut found = BTreeSet::new();
        walk(root, "", &mut found).unwrap();
        assert!(found.contains("Cargo.toml") && found.contains("src/tidy/rust.rs"), "{found:?}");
    }
}
