//! Rules for any text file: length, white space, marks of unfinished work, paths of somebody's machine, links and the
//! changelog.

use super::Complaint;
use std::collections::BTreeSet;

/// Largest number of lines of a file that people write.
const MOST_LINES: usize = 800;
/// Endings of files that people write and read.
const WRITTEN: [&str; 7] = ["css", "html", "j2", "js", "md", "rs", "sh"];
/// (file, reason) of all files over the limit. The list may only shrink.
const LONG: [(&str, &str); 0] = [];

/// Files that a program writes, or that were captured from a machine. We do not choose their format.
const NOT_BY_HAND: [&str; 8] = [
    "Cargo.lock",
    "book/src/c-api.md",
    "book/src/knobs.md",
    "book/src/schemas.md",
    "book/src/verbs.md",
    "completions/",
    "fixtures/",
    "man/",
];
/// Folders whose files need not be text.
const BYTES: [&str; 2] = ["fixtures/", "fuzz/seeds/"];

/// Marks of unfinished work. Each is written in two parts, so that this file does not complain about itself.
const UNDONE: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
/// Beginnings of paths that exist only on a developer's machine.
const MACHINE: [&str; 4] =
    [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];
/// Folder of the code that masks these paths in captured machines, and therefore has to name them.
const KNOWS_HOMES: &str = "crates/punctual-facts/src/tree/mask/";
/// The only registry that dependencies may come from. Any other one is a private mirror.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Pages of the repository that name paths and tests.
pub const PAGES: [&str; 4] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "INVARIANTS.md", super::commands::PAGE];
/// Folders of the repository: a word on these pages that begins with one of them is a path.
const TOP_FOLDERS: [&str; 10] =
    ["benches/", "book/", "crates/", "examples/", "fixtures/", "lab/", "proofs/", "schemas/", "truth/", "xtask/"];

pub fn whole_tree(paths: &BTreeSet<String>) -> Vec<Complaint> {
    let needed = [
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "Cargo.lock",
        "INVARIANTS.md",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "README.md",
    ];
    let mut complaints: Vec<Complaint> = needed
        .iter()
        .filter(|name| !paths.contains(**name))
        .map(|name| Complaint::new(name, 0, "is not committed"))
        .collect();
    for (path, _) in LONG.iter().filter(|(path, _)| !paths.contains(*path)) {
        complaints.push(Complaint::new(path, 0, "is gone: take it off the list of long files"));
    }
    complaints
}

/// Applies all rules to the text of one file.
pub fn check(path: &str, text: &str) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    complaints.extend(length(path, text));
    complaints.extend(white_space(path, text));
    complaints.extend(undone(path, text));
    complaints.extend(machine(path, text));
    complaints.extend(sources(path, text));
    if path.ends_with("Cargo.toml") {
        complaints.extend(lint_table(path, text));
    }
    if path == "CHANGELOG.md" && !text.lines().any(|line| line.trim_end() == "## Unreleased") {
        complaints.push(Complaint::new(path, 0, "has no section `## Unreleased`"));
    }
    complaints
}

/// Complains about files that are not text, unless they are test data.
pub fn not_text(path: &str, bytes: &[u8]) -> Vec<Complaint> {
    let built = [&b"\x7fELF"[..], b"!<arch>", b"\0asm", b"MZ"].iter().any(|magic| bytes.starts_with(magic));
    if built || !under(path, &BYTES) {
        return vec![Complaint::new(path, 0, "is neither text nor test data: build it, do not commit it")];
    }
    Vec::new()
}

/// Complains about links to files of this repository that are not committed.
pub fn links(path: &str, text: &str, paths: &BTreeSet<String>) -> Vec<Complaint> {
    if ending(path) != "md" {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    for (line, target) in link_targets(text) {
        let file = target.split('#').next().unwrap_or_default();
        if file.is_empty() || file.contains("://") || file.starts_with("mailto:") {
            continue;
        }
        let resolved = resolve(path, file);
        let folder = format!("{}/", resolved.trim_end_matches('/'));
        if !paths.contains(&resolved) && !paths.iter().any(|known| known.starts_with(&folder)) {
            complaints.push(Complaint::new(path, line, format!("links to {file}, which is not there")));
        }
    }
    complaints
}

/// Complains about files and folders that do not exist although one of [`PAGES`] names them between backticks or as the
/// text of a link. Targets of links are checked by [`links`].
pub fn named_paths(path: &str, text: &str, paths: &BTreeSet<String>) -> Vec<Complaint> {
    if !PAGES.contains(&path) {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let in_backticks = line.split('`').skip(1).step_by(2);
        let of_links = line.match_indices("](").filter_map(|(end, _)| line.get(..end)?.rsplit('[').next());
        for name in in_backticks.chain(of_links).filter(|name| under(name, &TOP_FOLDERS) && !name.contains(' ')) {
            let folder = format!("{}/", name.trim_end_matches('/'));
            if !paths.contains(name) && !paths.iter().any(|known| known.starts_with(&folder)) {
                complaints.push(Complaint::new(path, at + 1, format!("names {name}, which is not there")));
            }
        }
    }
    complaints
}

/// Line number and name of each test that a page names: words between backticks that have at least two underscores.
pub fn promised_tests(text: &str) -> Vec<(usize, String)> {
    let is_name =
        |part: &&str| part.matches('_').count() >= 2 && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let lines = text.lines().enumerate();
    lines
        .flat_map(|(at, line)| {
            let words = line.split('`').skip(1).step_by(2).flat_map(str::split_whitespace);
            words.filter(is_name).map(move |name| (at + 1, name.to_owned()))
        })
        .collect()
}

pub fn ending(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(_, ending)| ending)
}

fn under(path: &str, places: &[&str]) -> bool {
    places.iter().any(|place| path.starts_with(place)) || path.split('/').any(|part| part == "golden")
}

fn length(path: &str, text: &str) -> Option<Complaint> {
    let lines = text.lines().count();
    let is_written = WRITTEN.contains(&ending(path)) && !under(path, &NOT_BY_HAND);
    let is_listed = LONG.iter().any(|(long, _)| *long == path);
    (is_written && lines > MOST_LINES && !is_listed).then(|| {
        Complaint::new(path, 0, format!("has {lines} lines, more than {MOST_LINES}: split it by what it is about"))
    })
}

fn white_space(path: &str, text: &str) -> Vec<Complaint> {
    if under(path, &NOT_BY_HAND) {
        return Vec::new();
    }
    let lines = text.split('\n').enumerate();
    let trailing = lines.filter(|(_, line)| line.ends_with([' ', '\t', '\r']));
    let mut complaints: Vec<Complaint> =
        trailing.map(|(at, _)| Complaint::new(path, at + 1, "white space at the end of the line")).collect();
    if !text.is_empty() && !text.ends_with('\n') {
        complaints.push(Complaint::new(path, 0, "does not end with a line end"));
    }
    complaints
}

fn undone(path: &str, text: &str) -> Vec<Complaint> {
    if under(path, &NOT_BY_HAND) {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        if let Some(word) = words.find(|word| UNDONE.contains(word)) {
            complaints.push(Complaint::new(path, at + 1, format!("`{word}`: do it, or open an issue")));
        }
    }
    complaints
}

/// Complains about paths of a developer's machine. Fixtures may hold paths of the captured machine, but not of its
/// users.
fn machine(path: &str, text: &str) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    if path.starts_with(KNOWS_HOMES) {
        return complaints;
    }
    for (at, line) in text.lines().enumerate() {
        for place in MACHINE {
            // Only the beginning of a path counts, not the middle of a longer one.
            let begins = |found: usize| {
                !line
                    .get(..found)
                    .is_some_and(|before| before.ends_with(|c: char| c.is_alphanumeric() || c == '.' || c == '}'))
            };
            if line.match_indices(place).any(|(found, _)| begins(found)) {
                complaints.push(Complaint::new(path, at + 1, format!("names {place}..., a path of one machine")));
            }
        }
    }
    complaints
}

/// Complains about dependencies that do not come from the public registry, and about settings that redirect Cargo.
fn sources(path: &str, text: &str) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if path.ends_with("Cargo.lock") {
            if let Some(source) = line.strip_prefix("source = ").map(|source| source.trim_matches('"')) {
                if source != REGISTRY {
                    complaints.push(Complaint::new(path, at + 1, format!("{source} is not the public registry")));
                }
            }
        }
        let header = line.trim_start();
        if path.contains(".cargo/config")
            && ["[source", "[registr", "[http", "[net"].iter().any(|no| header.starts_with(no))
        {
            complaints.push(Complaint::new(path, at + 1, "settings of one machine belong into its own Cargo home"));
        }
    }
    complaints
}

/// Complains about a crate that does not inherit the lint table of the workspace, because no lint would apply to it.
fn lint_table(path: &str, text: &str) -> Option<Complaint> {
    let is_member = path.starts_with("crates/") || path.starts_with("xtask/");
    let mut lines = text.lines().map(str::trim).skip_while(|line| *line != "[lints]").skip(1);
    let takes = lines.find(|line| !line.is_empty()).is_some_and(|line| line.replace(' ', "") == "workspace=true");
    (is_member && !takes).then(|| Complaint::new(path, 0, "does not take the lint table: add [lints] workspace = true"))
}

/// Line number and target of each link outside of code, and of each definition `[name]: target`.
fn link_targets(text: &str) -> Vec<(usize, String)> {
    let mut targets = Vec::new();
    let mut fenced = false;
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        // Every second part of a line split at backticks is code.
        let prose: String =
            if fenced { String::new() } else { line.split('`').step_by(2).collect::<Vec<_>>().join("`") };
        if let Some((_, target)) = prose.strip_prefix('[').and_then(|rest| rest.split_once("]: ")) {
            targets.push((at + 1, target.split(' ').next().unwrap_or_default().to_owned()));
        }
        for (start, _) in prose.match_indices("](") {
            let rest = prose.get(start + 2..).unwrap_or_default();
            let target = rest.split([')', ' ']).next().unwrap_or_default();
            targets.push((at + 1, target.trim_matches(['<', '>']).to_owned()));
        }
    }
    targets
}

/// The target of a link as a path from the root of the repository.
fn resolve(path: &str, target: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    if target.starts_with('/') {
        parts.clear();
    }
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(complaints: &[Complaint]) -> Vec<usize> {
        complaints.iter().map(|complaint| complaint.line).collect()
    }

    #[test]
    fn long_files_are_refused() {
        assert_eq!(check("a.rs", &"x\n".repeat(MOST_LINES)), []);
        assert_eq!(check("a.rs", &"x\n".repeat(MOST_LINES + 1)).len(), 1);
        assert_eq!(check("book/src/knobs.md", &"x\n".repeat(MOST_LINES + 1)), []);
    }

    #[test]
    fn lines_end_where_they_end() {
        assert_eq!(lines(&check("a.md", "a \nb\nc\t\n")), [1, 3]);
        assert_eq!(check("a.md", "a").len(), 1);
        assert_eq!(check("fixtures/machines/a.machine", "a \n"), []);
    }

    #[test]
    fn work_left_undone_is_found() {
        let (note, other) = (UNDONE[0], UNDONE[1]);
        assert_eq!(lines(&check("a.rs", &format!("x\n// {note}: y\n// {other}\n"))), [2, 3]);
        assert_eq!(check("a.rs", &format!("MAS{note}S to{note}\n")), []);
    }

    #[test]
    fn traces_of_a_machine_are_found() {
        assert_eq!(lines(&check("a.md", &format!("x\nsee {}me/x\n", MACHINE[2]))), [2]);
        assert_eq!(lines(&check("fixtures/a.machine", &format!("{}b\n", MACHINE[0]))), [1]);
        assert_eq!(check("a.md", &format!("$HOME{0}a /sys/kernel{0}b\n", MACHINE[0])), []);
    }

    #[test]
    fn dependencies_come_from_the_public_registry() {
        assert_eq!(check("Cargo.lock", &format!("source = \"{REGISTRY}\"\n")), []);
        assert_eq!(check("fuzz/Cargo.lock", "source = \"sparse+https://mirror.example/\"\n").len(), 1);
        assert_eq!(check(".cargo/config.toml", "[alias]\nx = \"y\"\n"), []);
        assert_eq!(lines(&check(".cargo/config.toml", "[source.crates-io]\nreplace-with = \"x\"\n")), [1]);
    }

    #[test]
    fn every_crate_takes_the_lint_table() {
        assert_eq!(check("crates/a/Cargo.toml", "[package]\n\n[lints]\nworkspace = true\n"), []);
        assert_eq!(check("crates/a/Cargo.toml", "[package]\n").len(), 1);
        assert_eq!(check("xtask/Cargo.toml", "[lints.rust]\nunsafe_code = \"deny\"\n").len(), 1);
        assert_eq!(check("Cargo.toml", "[workspace]\n"), []);
    }

    #[test]
    fn the_changelog_is_open() {
        assert_eq!(check("CHANGELOG.md", "# Changelog\n\n## Unreleased\n"), []);
        assert_eq!(check("CHANGELOG.md", "# Changelog\n\n## 0.1.0\n").len(), 1);
    }

    #[test]
    fn built_files_are_refused_everywhere_and_bytes_outside_test_data() {
        assert_eq!(not_text("fixtures/a.bin", b"\xff\xfe"), []);
        assert_eq!(not_text("fixtures/a.o", b"\x7fELF\xff").len(), 1);
        assert_eq!(not_text("docs/a.png", b"\x89PNG\xff").len(), 1);
    }

    #[test]
    fn links_lead_somewhere() {
        let paths: BTreeSet<String> = ["README.md", "book/src/knobs.md", "book/x.md"].map(str::to_owned).into();
        let text = "[a](book/src/knobs.md#idle) [b](https://x.example/) [c](#here) `[d](no.md)` [e](book/)\n\n```\n[f](no)\n```\n[g](gone.md)\n";
        assert_eq!(lines(&links("README.md", text, &paths)), [6]);
        assert_eq!(links("book/src/knobs.md", "[a](../../README.md) [b](/book/x.md)\n", &paths), []);
        assert_eq!(lines(&links("book/x.md", "[a](README.md)\n", &paths)), [1]);
        assert_eq!(lines(&links("README.md", "see [a]\n\n[a]: gone.md\n[b]: book/x.md\n", &paths)), [3]);
    }

    #[test]
    fn places_that_a_page_names_are_there() {
        let paths: BTreeSet<String> = ["crates/a/src/lib.rs".to_owned()].into();
        let text = "`crates/a/src/lib.rs` `crates/a/`\n`crates/a/src/report.rs` `cargo test crates/b`\n";
        assert_eq!(lines(&named_paths("ARCHITECTURE.md", text, &paths)), [2]);
        let text = "[crates/a/src](crates/a/src/lib.rs) [the crate](crates/a)\n[crates/a/old](crates/a/)\n";
        assert_eq!(lines(&named_paths("CONTRIBUTING.md", text, &paths)), [2]);
        assert_eq!(named_paths("README.md", text, &paths), []);
    }

    #[test]
    fn promised_tests_are_sentences_between_backticks() {
        let text = "a `no_std` b `it_is_so`\n`x_y::z_w_v` it_is_not `and_so_is_that`\n";
        assert_eq!(promised_tests(text), [(1, "it_is_so".to_owned()), (2, "and_so_is_that".to_owned())]);
    }

    #[test]
    fn documents_that_must_be_there_are_missed() {
        let missing = whole_tree(&["README.md".to_owned()].into());
        assert_eq!(missing.len(), 7);
        assert!(missing.iter().any(|complaint| complaint.path == "LICENSE-MIT"));
    }
}
