//! Every command that the book, the README and the pages beside the packages print is one that this program takes.

use super::Cli;
use clap::{CommandFactory, Parser};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A line of a page that a reader would type.
struct Typed {
    page: String,
    line: String,
}

fn root() -> PathBuf {
    fixtures::repository("")
}

fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md"), root().join("README.zh-CN.md"), root().join("CONTRIBUTING.md")];
    pages.push(root().join("examples/ci/README.md"));
    pages.push(root().join("packaging/container/README.md"));
    let mut folders = vec![root().join("book/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// Lines of blocks that are set as code, by a fence or by four spaces, with continued lines joined.
fn code(text: &str) -> Vec<String> {
    let (mut lines, mut fenced, mut open) = (Vec::<String>::new(), false, false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced || line.starts_with("    ") {
            let (part, goes_on) = line.trim().strip_suffix('\\').map_or((line.trim(), false), |part| (part, true));
            match lines.last_mut().filter(|_| open) {
                Some(last) => last.push_str(part),
                None => lines.push(part.to_owned()),
            }
            open = goes_on;
        }
    }
    lines
}

fn typed() -> Vec<Typed> {
    let mut typed = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let name = page.strip_prefix(root()).unwrap_or(&page).display().to_string();
        for line in code(&text) {
            let bare = line.strip_prefix("$ ").unwrap_or(&line);
            let bare = bare.strip_prefix("sudo ").unwrap_or(bare);
            if bare.starts_with("punctual ") {
                typed.push(Typed { page: name.clone(), line: bare.to_owned() });
            }
        }
    }
    typed
}

/// The words of a command, up to where a shell would begin another one.
fn words(line: &str) -> Vec<String> {
    let words = shlex::split(line).unwrap_or_else(|| panic!("a quote is not closed: {line}"));
    words.into_iter().take_while(|word| !matches!(word.as_str(), "|" | ">" | "2>" | "&&" | "||" | ";")).collect()
}

#[test]
fn every_command_of_the_book_is_one_that_the_program_takes() {
    let typed = typed();
    assert!(typed.len() > 60, "{} commands were found in the pages", typed.len());
    let wrong: Vec<String> = typed
        .iter()
        .filter_map(|Typed { page, line }| {
            let error = Cli::try_parse_from(words(line)).err()?;
            error.use_stderr().then(|| format!("{page}: {line}\n{error}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_verb_is_on_a_page_and_every_page_in_the_contents() {
    // The generated reference has every verb, so only pages that people write count.
    let written = typed().into_iter().filter(|typed| typed.page != "book/src/verbs.md");
    let used: BTreeSet<String> = written.filter_map(|typed| words(&typed.line).into_iter().nth(1)).collect();
    let program = Cli::command();
    let verbs = program.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help");
    let missing: Vec<&str> = verbs.map(clap::Command::get_name).filter(|verb| !used.contains(*verb)).collect();
    assert!(missing.is_empty(), "no page shows how to type {missing:?}");

    let contents = fs::read_to_string(root().join("book/src/SUMMARY.md")).unwrap();
    let folder: &Path = &root().join("book/src");
    for page in pages() {
        let Ok(name) = page.strip_prefix(folder) else { continue };
        let link = format!("({})", name.display());
        let count = contents.matches(&link).count();
        assert!(count == 1 || name == Path::new("SUMMARY.md"), "{link} is {count} times in the contents");
    }
}

#[test]
fn words_are_those_that_a_shell_would_make() {
    assert_eq!(words("punctual compare --a 'x y.sh' | less"), ["punctual", "compare", "--a", "x y.sh"]);
    assert_eq!(words("punctual audit --json > audit.json"), ["punctual", "audit", "--json"]);
    assert_eq!(code("a\n\n    punctual check \\\n        --full\n"), ["punctual check --full"]);
}
