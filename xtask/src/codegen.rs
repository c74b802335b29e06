//! Checks and writes the generated files that are committed: man pages, completions, the schemas, the C header and pages
//! of the book's reference.
//!
//! The program itself writes man pages and completions, so they always match it. Schemas, and pages about what a crate of
//! the product defines, are each compared by a test of that crate; with `BLESS=1` the test writes them. The C header and
//! the page about it are made here from the sources.

use crate::{header, run};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Hidden commands of the program, each with the folder in which its files are committed.
const FOLDERS: [(&str, &str); 2] = [("__man", "man"), ("__completions", "completions")];
/// A file that this program generates by itself.
struct Made {
    path: &'static str,
    text: fn(&Path) -> Result<String>,
}
const MADE: [Made; 2] = [
    Made { path: header::HEADER, text: header::generate },
    Made { path: header::page::PAGE, text: header::page::generate },
];
/// A generated file that a test compares.
struct Held {
    /// Cargo's option for the kind of test program (`--test` or `--bin`), and the name of the program.
    program: [&'static str; 2],
    test: &'static str,
    path: &'static str,
}
const HELD: [Held; 5] = [
    Held { program: ["--test", "it"], test: "book::the_page_is_fresh", path: "book/src/knobs.md" },
    Held {
        program: ["--bin", "punctual"],
        test: "commands::internal::page::the_page_of_verbs_is_fresh",
        path: "book/src/verbs.md",
    },
    Held { program: ["--bin", "punctual"], test: "render::document::schema::the_schemas_are_fresh", path: "schemas" },
    // This page is made from the files of the schemas, so it comes after them.
    Held {
        program: ["--bin", "punctual"],
        test: "render::document::schema::page::the_page_of_schemas_is_fresh",
        path: "book/src/schemas.md",
    },
    Held {
        program: ["--bin", "punctual"],
        test: "render::html::tests::the_pictures_of_the_readme_are_fresh",
        path: "book/src/img",
    },
];

/// Fails if a committed file differs from a newly generated one.
pub fn check(root: &Path) -> Result<()> {
    let mut wrong = Vec::new();
    for (command, folder) in FOLDERS {
        match compare(root, command, folder) {
            Ok(stale) => wrong.extend(stale),
            Err(error) => wrong.push(format!("{error:#}")),
        }
    }
    for made in &MADE {
        match made.is_fresh(root) {
            Ok(true) => println!("{}: fresh", made.path),
            Ok(false) => wrong.push(format!("{} differs", made.path)),
            Err(error) => wrong.push(format!("{error:#}")),
        }
    }
    // Tests compare the contents of these files, so only their existence is checked here.
    for held in &HELD {
        if !root.join(held.path).exists() {
            wrong.push(format!("{} is missing", held.path));
        }
        if let Err(error) = held.find_test(root) {
            wrong.push(format!("{error:#}"));
        }
    }
    if !wrong.is_empty() {
        bail!("{}; `cargo xtask codegen` writes what is stale", wrong.join("; "));
    }
    Ok(())
}

impl Made {
    fn is_fresh(&self, root: &Path) -> Result<bool> {
        let path = root.join(self.path);
        let committed = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        Ok(committed == (self.text)(root)?)
    }

    fn write(&self, root: &Path) -> Result<()> {
        let path = root.join(self.path);
        fs::write(&path, (self.text)(root)?).with_context(|| format!("write {}", path.display()))?;
        println!("wrote {}", self.path);
        Ok(())
    }
}

fn compare(root: &Path, command: &str, folder: &str) -> Result<Vec<String>> {
    let fresh = generate(root, command)?;
    let committed = contents(&root.join(folder))?;
    println!("{folder}/: {} files generated, {} committed", fresh.len(), committed.len());
    Ok(differences(&committed, &fresh).into_iter().map(|line| format!("{folder}/{line}")).collect())
}

pub fn write(root: &Path) -> Result<()> {
    for (command, folder) in FOLDERS {
        let fresh = generate(root, command)?;
        let target = root.join(folder);
        fs::create_dir_all(&target).with_context(|| format!("create {}", target.display()))?;
        for name in contents(&target)?.keys().filter(|name| !fresh.contains_key(*name)) {
            let old = target.join(name);
            fs::remove_file(&old).with_context(|| format!("remove {}", old.display()))?;
        }
        for (name, text) in &fresh {
            let path = target.join(name);
            fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
        }
        println!("wrote {} files into {folder}/", fresh.len());
    }
    MADE.iter().try_for_each(|made| made.write(root))?;
    HELD.iter().try_for_each(|held| held.write(root))
}

impl Held {
    fn write(&self, root: &Path) -> Result<()> {
        self.find_test(root)?;
        let Self { program: [kind, program], test, .. } = self;
        run::show(run::whole(root, "test", &[kind, program, "--", "--exact", test]).env("BLESS", "1"))
    }

    /// Fails if the test does not exist, because a filter that finds no test passes silently.
    fn find_test(&self, root: &Path) -> Result<()> {
        let Self { program: [kind, program], test, path } = self;
        let listed = run::read(&mut run::whole(root, "test", &["--quiet", kind, program, "--", "--list"]))?;
        let found = listed.lines().any(|line| line == format!("{test}: test"));
        ensure!(found, "no test `{test}` of {program} holds {path}");
        Ok(())
    }
}

/// The files that a hidden command of the program generates, as file name and contents.
fn generate(root: &Path, command: &str) -> Result<BTreeMap<String, Vec<u8>>> {
    let folder = Scratch::new(command)?;
    let target = folder.0.to_string_lossy().into_owned();
    run::show(Command::new(run::programs(root)?.join("punctual")).args([command, &target]).current_dir(root))?;
    let fresh = contents(&folder.0)?;
    ensure!(!fresh.is_empty(), "`punctual {command}` wrote no file");
    Ok(fresh)
}

/// The files of a folder by name; none if the folder does not exist.
fn contents(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    if !folder.is_dir() {
        return Ok(files);
    }
    for entry in fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let path = entry.with_context(|| format!("list {}", folder.display()))?.path();
        if let Some(name) = path.file_name().filter(|_| path.is_file()) {
            let text = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
            files.insert(name.to_string_lossy().into_owned(), text);
        }
    }
    Ok(files)
}

/// A line for each file that differs, with the command that updates it.
fn differences(committed: &BTreeMap<String, Vec<u8>>, fresh: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, text) in fresh {
        match committed.get(name) {
            None => lines.push(format!("{name} is missing")),
            Some(old) if old != text => lines.push(format!("{name} differs")),
            Some(_) => {}
        }
    }
    lines.extend(committed.keys().filter(|name| !fresh.contains_key(*name)).map(|name| format!("{name} is left over")));
    lines
}

/// A temporary folder that is removed with the value.
struct Scratch(PathBuf);

impl Scratch {
    fn new(purpose: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("punctual-xtask-{}-{purpose}", std::process::id()));
        fs::create_dir(&path).with_context(|| format!("create {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // An error is ignored: a folder left in the temporary directory does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(entries: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
        entries.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn equal_folders_do_not_differ() {
        assert_eq!(differences(&files(&[("a.1", "x")]), &files(&[("a.1", "x")])), Vec::<String>::new());
    }

    #[test]
    fn missing_changed_and_left_over_files_are_named() {
        let committed = files(&[("a.1", "x"), ("old.1", "y")]);
        let fresh = files(&[("a.1", "z"), ("new.1", "y")]);
        assert_eq!(differences(&committed, &fresh), ["a.1 differs", "new.1 is missing", "old.1 is left over"]);
    }

    #[test]
    fn a_folder_is_read_by_name_and_goes_away() {
        let scratch = Scratch::new("test").unwrap();
        fs::write(scratch.0.join("a.1"), "x").unwrap();
        assert_eq!(contents(&scratch.0).unwrap(), files(&[("a.1", "x")]));
        let path = scratch.0.clone();
        drop(scratch);
        assert_eq!(contents(&path).unwrap(), files(&[]));
    }
}
