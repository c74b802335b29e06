//! `cargo xtask book`: builds the book into one folder that can be served from anywhere, and follows every link in it.
//!
//! Files of the repository that a page links to are put beside the pages. mdBook is that of `PATH`, or it is built once
//! into the target folder.

use crate::run;
use crate::step::StepOutcome;
use anyhow::{Context, Result, bail, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MDBOOK: &str = "mdbook@0.4.52";
/// The folder of the book for files of the repository.
const BESIDE: &str = "files";
/// The folder of the book for the documentation of the Rust library.
const RUST: &str = "rust";
/// What leads from the pages of the book to the repository.
const UP: &str = "../../";

/// Builds the book into the named folder, or into `target/book`.
pub fn run(root: &Path, words: &[&str]) -> Result<()> {
    let folder = match words {
        [] => run::target_folder(root)?.join("book"),
        [folder] => std::path::absolute(folder).context("find the folder")?,
        _ => bail!("book takes one folder"),
    };
    built(root, &mdbook(root)?.context(MISSING)?, &folder)
}

/// Builds the book into `target/book`. `None` if mdBook is [missing](MISSING).
pub fn folder(root: &Path) -> Result<Option<PathBuf>> {
    let Some(mdbook) = mdbook(root)? else { return Ok(None) };
    let folder = run::target_folder(root)?.join("book");
    built(root, &mdbook, &folder)?;
    Ok(Some(folder))
}

/// Builds the book and follows its links, as a step of `ci`.
pub fn step(root: &Path) -> StepOutcome {
    match folder(root) {
        Ok(None) => StepOutcome::NotRun(MISSING.to_owned()),
        built => StepOutcome::of(built.map(drop)),
    }
}

pub const MISSING: &str = "no mdBook, and it cannot be built here (cargo install mdbook)";

/// The program mdBook; `None` if it is not installed and cannot be fetched and built.
fn mdbook(root: &Path) -> Result<Option<PathBuf>> {
    if run::has_program("mdbook") {
        return Ok(Some(PathBuf::from("mdbook")));
    }
    let tools = run::target_folder(root)?.join("tools");
    let program = tools.join("bin/mdbook");
    if !program.is_file() {
        let options =
            ["install", "--quiet", "--locked", MDBOOK, "--no-default-features", "--features", "search", "--root"];
        let made = run::show(run::cargo(root, &options).arg(&tools));
        if let Err(error) = made {
            println!("{error:#}");
            return Ok(None);
        }
    }
    Ok(Some(program))
}

fn built(root: &Path, mdbook: &Path, folder: &Path) -> Result<()> {
    if folder.is_dir() {
        fs::remove_dir_all(folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    run::show(Command::new(mdbook).arg("build").arg(root.join("book")).arg("--dest-dir").arg(folder))?;
    let paths = pages(folder)?;
    put_beside(root, folder, &paths)?;
    put_rust(root, &folder.join(RUST))?;
    let mut pages = BTreeMap::new();
    for path in paths {
        let text = fs::read_to_string(folder.join(&path)).with_context(|| format!("read {path}"))?;
        pages.insert(path, text);
    }
    let files = files(folder, folder)?;
    let dead = dead(&pages, &files);
    ensure!(dead.is_empty(), "links that lead nowhere: {}", dead.join("; "));
    println!("{} pages in {}, and no link that leads nowhere", pages.len(), folder.display());
    Ok(())
}

/// The pages of the book, by their paths in its folder.
fn pages(folder: &Path) -> Result<BTreeSet<String>> {
    Ok(files(folder, folder)?
        .into_iter()
        .filter(|path| Path::new(path).extension().is_some_and(|of| of == "html"))
        .collect())
}

fn files(folder: &Path, below: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path, below)?);
        } else {
            found.insert(path.strip_prefix(below)?.display().to_string());
        }
    }
    Ok(found)
}

/// Copies the files of the repository that pages link to, and lets the links lead there.
fn put_beside(root: &Path, folder: &Path, pages: &BTreeSet<String>) -> Result<()> {
    for page in pages {
        let path = folder.join(page);
        let mut text = fs::read_to_string(&path)?;
        let above: BTreeSet<String> = links(&text).filter(|link| link.starts_with(UP)).map(str::to_owned).collect();
        for link in above {
            // mdBook takes every file in Markdown for a page of the book.
            let named = link.trim_start_matches(UP);
            let source = [named.to_owned(), named.replace(".html", ".md")];
            let source = source.iter().find(|name| root.join(name).is_file());
            let source = source.with_context(|| format!("{page} links to {link}, which is not there"))?;
            copy(&root.join(source), &folder.join(BESIDE).join(source))?;
            text = text.replace(&format!("href=\"{link}\""), &format!("href=\"{BESIDE}/{source}\""));
        }
        fs::write(&path, text)?;
    }
    Ok(())
}

/// Lets rustdoc describe the library for Rust programs. The step `doc` follows the links within its pages.
fn put_rust(root: &Path, folder: &Path) -> Result<()> {
    let target = run::target_folder(root)?.join("book-rust");
    let made = target.join("doc");
    if made.is_dir() {
        fs::remove_dir_all(&made).with_context(|| format!("remove {}", made.display()))?;
    }
    let options = ["doc", "--quiet", "--no-deps", "--package", "punctual-rt", "--target-dir"];
    run::show(run::cargo(root, &options).arg(&target))?;
    files(&made, &made)?
        .iter()
        .filter(|path| *path != ".lock")
        .try_for_each(|path| copy(&made.join(path), &folder.join(path)))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    fs::copy(from, to).with_context(|| format!("copy {}", from.display()))?;
    Ok(())
}

/// The targets of all links and pictures of a page.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let of = |attribute: &'static str| page.split(attribute).skip(1).filter_map(|rest| rest.split('"').next());
    of(" href=\"").chain(of(" src=\""))
}

/// Links between the pages that lead to no file, or to no heading of it.
fn dead(pages: &BTreeMap<String, String>, files: &BTreeSet<String>) -> Vec<String> {
    let mut dead = Vec::new();
    for (page, text) in pages {
        let here = page.rsplit_once('/').map_or("", |(folder, _)| folder);
        for link in links(text).filter(|link| !link.contains(':') && !link.is_empty()) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { joined(here, file) };
            let has_heading = || pages.get(&target).is_none_or(|text| text.contains(&format!(" id=\"{heading}\"")));
            if !files.contains(&target) || !(heading.is_empty() || has_heading()) {
                dead.push(format!("{link} in {page}"));
            }
        }
    }
    dead
}

/// A path relative to a folder, without `..`.
fn joined(folder: &str, link: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in link.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_no_file_or_no_heading_is_dead() {
        let page = |text: &str| text.to_owned();
        let pages = BTreeMap::from([
            (
                "a.html".to_owned(),
                page("<h1 id=\"x\"><a href=\"zh/b.html#y\"> <a href=\"#x\"> <a href=\"https://h/\">"),
            ),
            (
                "zh/b.html".to_owned(),
                page("<h1 id=\"y\"><a href=\"../a.html#z\"> <img src=\"no.svg\"> <a href=\"../c.css\">"),
            ),
        ]);
        let files = ["a.html", "zh/b.html", "c.css"].map(str::to_owned).into();
        assert_eq!(dead(&pages, &files), ["../a.html#z in zh/b.html", "no.svg in zh/b.html"]);
    }

    #[test]
    fn paths_are_joined_as_a_browser_does() {
        assert_eq!(joined("zh", "../a.html"), "a.html");
        assert_eq!(joined("", "./files/x.json"), "files/x.json");
        assert_eq!(joined("a/b", "c"), "a/b/c");
    }
}
