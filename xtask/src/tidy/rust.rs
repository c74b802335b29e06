//! Rules for Rust sources: which modules may reach the machine, print or use `unsafe`, and which names are refused.

use super::Complaint;
use super::real_time::unpromised;
use super::source::{Source, after_closing};
use super::text::{PAGES, ending, promised_tests};
use std::collections::BTreeSet;

/// Modules of the standard library with which code reaches the machine.
const EFFECTS: [&str; 7] = ["env", "fs", "io", "net", "process", "thread", "time"];
/// Crates that only decide. They must not reach the machine.
const PURE: [&str; 5] = [
    "crates/punctual-facts/src/",
    "crates/punctual-hist/src/",
    "crates/punctual-numbers/src/",
    "crates/punctual-optimize/src/",
    "crates/punctual-tuning/src/",
];

/// Modules that may define formats that are read back (`Deserialize`). There is one module for each format, because
/// formats outlive the code. Campaigns are the exception: their types are the format, and `fixtures/campaigns` holds
/// its versions. Types that are only published derive `Serialize` anywhere.
const FORMATS: [&str; 8] = [
    "crates/punctual/src/commands/lab/baseline.rs",
    "crates/punctual-lab/src/inside.rs",
    "crates/punctual/src/commands/need.rs",
    "crates/punctual-optimize/src/",
    "crates/punctual-numbers/src/atlas/",
    "crates/punctual-numbers/src/recording/",
    "crates/punctual-linux/src/fleet/",
    "crates/punctual-linux/src/journal/format/",
];

/// Crates that may name files of the machine only in [`MAY_NAME_PATHS`]. Crates that only decide are not listed: they
/// name files everywhere, as data, but cannot open them.
const NAMES_NO_PATHS: [&str; 3] = ["crates/punctual/src/", "crates/punctual-linux/src/", "crates/punctual-rt/src/"];
/// Modules that may name files of the machine, because exactly these files are their subject.
const MAY_NAME_PATHS: [&str; 19] = [
    "crates/punctual/src/commands/files.rs",
    "crates/punctual/src/render/live/terminal.rs",
    "crates/punctual-linux/src/apply/machine/",
    "crates/punctual-linux/src/abilities.rs",
    "crates/punctual-linux/src/in_force.rs",
    "crates/punctual-linux/src/live/",
    "crates/punctual-linux/src/inspect/",
    "crates/punctual-linux/src/load/",
    "crates/punctual-linux/src/measure",
    "crates/punctual-linux/src/privilege.rs",
    "crates/punctual-linux/src/probe/",
    "crates/punctual-linux/src/sys/",
    "crates/punctual-linux/src/trace/",
    "crates/punctual-rt/src/check/",
    "crates/punctual-rt/src/memory.rs",
    "crates/punctual-rt/src/setup/",
    "crates/punctual-rt/src/stats/attach.rs",
    "crates/punctual-rt/src/idle.rs",
    "crates/punctual-rt/src/sys/",
];
const MACHINE_ROOTS: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Files that may print, and so may disable the lints against printing.
const MAY_PRINT: [&str; 9] = [
    "crates/punctual/src/main.rs",
    "crates/punctual/src/render/",
    "fuzz/",
    "lab/",
    "proofs/causes/",
    "proofs/inspect/",
    "truth/",
    "xtask/",
    // A build script prints instructions for Cargo.
    "crates/punctual-linux/build.rs",
];

/// Places where `unsafe` is allowed: system calls, two modules that lend out memory by a protocol of their own (which
/// Loom and Miri test), the boundary to C, and tests and proofs of these.
const MAY_BE_UNSAFE: [&str; 8] = [
    "crates/punctual-capi/src/",
    "crates/punctual-capi/tests/",
    "crates/punctual-linux/src/sys/",
    "crates/punctual-rt/src/latest.rs",
    "crates/punctual-rt/src/sync/pi_mutex.rs",
    "crates/punctual-rt/src/sys/",
    "crates/punctual-rt/tests/",
    "proofs/",
];

/// Names of modules that do not describe their contents.
const EMPTY_NAMES: [&str; 8] = ["common", "helper", "helpers", "manager", "misc", "util", "utilities", "utils"];

/// Applies all rules to the Rust files among `files`, and checks that the tests which pages name exist.
pub fn check_all(files: &[(&str, &str)]) -> Vec<Complaint> {
    let sources = || files.iter().filter(|(path, _)| ending(path) == "rs");
    let tests = tests_among(files);
    let functions: BTreeSet<&str> = sources().flat_map(|(_, text)| functions(text)).collect();
    let mut complaints: Vec<Complaint> = sources().flat_map(|(path, text)| check(path, text, &tests)).collect();
    for (path, text) in files.iter().filter(|(path, _)| PAGES.contains(path)) {
        let missing = promised_tests(text).into_iter().filter(|(_, test)| !functions.contains(test.as_str()));
        complaints.extend(missing.map(|(line, test)| Complaint::new(path, line, format!("there is no test `{test}`"))));
    }
    complaints
}

/// Complains about exceptions for files that no longer exist: an exception would apply to any new file of that name.
pub fn dead_exceptions(paths: &BTreeSet<String>) -> Vec<Complaint> {
    let lists = [&PURE[..], &FORMATS, &NAMES_NO_PATHS, &MAY_NAME_PATHS, &MAY_PRINT, &MAY_BE_UNSAFE];
    let dead = lists.into_iter().flatten().filter(|place| !paths.iter().any(|path| path.starts_with(**place)));
    dead.map(|place| Complaint::new(place, 0, "is gone: take it out of the lists in xtask/src/tidy/rust.rs")).collect()
}

/// Applies all rules to one Rust file. `tests` are prefixes of paths that are built only for tests.
fn check(path: &str, text: &str, tests: &[String]) -> Vec<Complaint> {
    let source = Source::new(text);
    let is_test = is_built_for_tests(path, tests);
    let mut complaints = Vec::new();
    complaints.extend(module_header(path, text));
    complaints.extend(empty_names(path, &source));
    complaints.extend(lifted_lints(path, &source, is_test));
    if !is_test {
        complaints.extend(pure(path, &source));
        complaints.extend(formats(path, &source));
        complaints.extend(paths(path, &source));
        complaints.extend(unpromised(path, text, &source));
    }
    complaints
}

/// Prefixes of paths that are built only for tests.
pub fn tests_among(files: &[(&str, &str)]) -> Vec<String> {
    let sources = files.iter().filter(|(path, _)| ending(path) == "rs");
    sources.flat_map(|(path, text)| test_modules(path, text)).collect()
}

/// Whether a file is built only for tests, by its path or by the module that declares it.
pub fn is_built_for_tests(path: &str, tests: &[String]) -> bool {
    is_test(path) || tests.iter().any(|test| path.starts_with(test))
}

/// Names of all functions of a file, tests included.
fn functions(text: &str) -> Vec<&str> {
    text.split("fn ").skip(1).filter_map(|rest| first_names(rest).first().copied()).collect()
}

/// Whether a file belongs to tests, benchmarks or examples by its path.
fn is_test(path: &str) -> bool {
    let mut parts = path.split('/');
    path.ends_with("/tests.rs") || parts.any(|part| matches!(part, "tests" | "benches" | "examples" | "fuzz"))
}

/// Prefixes of the paths that a file declares by `#[cfg(test)] mod name;`.
fn test_modules(path: &str, text: &str) -> Vec<String> {
    let folder = match path.rsplit_once('/') {
        Some((folder, "lib.rs" | "main.rs" | "mod.rs")) => folder,
        _ => path.strip_suffix(".rs").unwrap_or(path),
    };
    let declared = text.split("#[cfg(test)]").skip(1).filter_map(|rest| {
        let item = rest.split([';', '{']).next()?;
        let is_declaration = rest.get(item.len()..)?.starts_with(';');
        item.trim().rsplit_once("mod ").map(|(_, name)| name.trim()).filter(|_| is_declaration)
    });
    declared.flat_map(|name| [format!("{folder}/{name}.rs"), format!("{folder}/{name}/")]).collect()
}

fn within(path: &str, places: &[&str]) -> bool {
    places.iter().any(|place| path.starts_with(place))
}

/// Complains about a module without a header comment.
fn module_header(path: &str, text: &str) -> Option<Complaint> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    let opens = first.starts_with("//!") || first.starts_with("#!");
    (!opens)
        .then(|| Complaint::new(path, 1, "begins without `//!`: say why this module exists and what it must not know"))
}

/// Complains if a crate that only decides reaches the machine.
fn pure(path: &str, source: &Source) -> Vec<Complaint> {
    if !within(path, &PURE) {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    for (line, at) in source.words("std") {
        let Some(rest) = source.code.get(at + 3..).map(str::trim_start).and_then(|rest| rest.strip_prefix("::")) else {
            continue;
        };
        for name in first_names(rest.trim_start()) {
            if EFFECTS.contains(&name) {
                complaints.push(Complaint::new(path, line, format!("`std::{name}` in a crate that only decides")));
            }
        }
    }
    complaints
}

/// The first name of a path, or of each path in braces: `fs` for `fs::read`, `fs` and `io` for `{fs, io::Read}`.
fn first_names(rest: &str) -> Vec<&str> {
    let name = |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let Some(inside) = rest.strip_prefix('{') else { return rest.get(..name(rest)).into_iter().collect() };
    let inside = inside.get(..after_closing(rest.as_bytes(), 0).saturating_sub(2)).unwrap_or(inside);
    let mut names = Vec::new();
    let mut depth = 0_i32;
    for part in inside.split_inclusive([',', '{', '}']) {
        let trimmed = part.trim_start();
        if depth == 0 {
            names.extend(trimmed.get(..name(trimmed)).filter(|name| !name.is_empty()));
        }
        depth += i32::from(part.ends_with('{')) - i32::from(part.ends_with('}'));
    }
    names
}

/// Complains about formats that are read back and are defined outside of [`FORMATS`].
fn formats(path: &str, source: &Source) -> Vec<Complaint> {
    if !path.starts_with("crates/") || within(path, &FORMATS) {
        return Vec::new();
    }
    let found = ["Deserialize"].into_iter().flat_map(|word| source.words(word).map(move |(line, _)| (line, word)));
    found
        .map(|(line, word)| Complaint::new(path, line, format!("`{word}` outside the modules of the outside formats")))
        .collect()
}

/// Complains about files of the machine that are named outside of [`MAY_NAME_PATHS`].
fn paths(path: &str, source: &Source) -> Vec<Complaint> {
    if !within(path, &NAMES_NO_PATHS) || within(path, &MAY_NAME_PATHS) {
        return Vec::new();
    }
    let named = |text: &str| {
        MACHINE_ROOTS
            .iter()
            .any(|root| text.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    };
    let found = source.strings.iter().filter(|(_, text)| named(text));
    found
        .map(|(line, text)| {
            Complaint::new(path, *line, format!("names \"{text}\": ask for it through `live` or add its place"))
        })
        .collect()
}

/// Complains about modules with one of [`EMPTY_NAMES`].
fn empty_names(path: &str, source: &Source) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for part in path.split('/') {
        let name = part.strip_suffix(".rs").unwrap_or(part);
        if EMPTY_NAMES.contains(&name) {
            complaints.push(Complaint::new(path, 0, format!("`{name}` says nothing: name it after what it holds")));
        }
    }
    for (line, at) in source.words("mod") {
        let rest = source.code.get(at + 3..).unwrap_or_default().trim_start();
        if let Some(name) = first_names(rest).first().filter(|name| EMPTY_NAMES.contains(name)) {
            complaints.push(Complaint::new(
                path,
                line,
                format!("`mod {name}` says nothing: name it after what it holds"),
            ));
        }
    }
    complaints
}

/// Complains about lints that are disabled without a reason and, for printing and `unsafe`, outside of the allowed
/// files.
fn lifted_lints(path: &str, source: &Source, is_test: bool) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for word in ["allow", "expect"] {
        for (line, at) in source.words(word) {
            let before = source.code.get(..at).unwrap_or_default().trim_end();
            let is_attribute = before.ends_with("#[") || before.ends_with("#![") || inside_cfg_attr(before);
            let open = at + word.len();
            if !is_attribute || source.code.as_bytes().get(open) != Some(&b'(') {
                continue;
            }
            let inside = source.code.get(open..after_closing(source.code.as_bytes(), open)).unwrap_or_default();
            if !inside.contains("reason") {
                complaints.push(Complaint::new(path, line, format!("`{word}(...)` without `reason = \"...\"`")));
            }
            let prints = inside.contains("print_stdout") || inside.contains("print_stderr");
            if prints && !within(path, &MAY_PRINT) && !is_test {
                complaints.push(Complaint::new(path, line, "prints: only `render/` and `main.rs` do"));
            }
            let declares_sys = source
                .code
                .get(open + inside.len()..)
                .is_some_and(|rest| rest.trim_start_matches([']', ' ', '\n']).starts_with("mod sys;"));
            if inside.contains("unsafe_code") && !declares_sys && !within(path, &MAY_BE_UNSAFE) {
                complaints.push(Complaint::new(path, line, "`unsafe` belongs into `sys/`"));
            }
        }
    }
    complaints
}

fn inside_cfg_attr(before: &str) -> bool {
    before.rfind("cfg_attr(").is_some_and(|at| !before.get(at..).unwrap_or_default().contains(']'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The complaints about a file that has a header, as lines of text.
    fn complaints(path: &str, text: &str) -> Vec<String> {
        let text = format!("//! Why.\n{text}");
        check(path, &text, &[]).iter().map(ToString::to_string).collect()
    }

    fn clean(path: &str, text: &str) {
        assert_eq!(complaints(path, text), Vec::<String>::new());
    }

    #[test]
    fn modules_open_with_their_reason() {
        assert_eq!(check("a.rs", "use x;\n", &[]).len(), 1);
        assert_eq!(check("a.rs", "//! Why.\nuse x;\n", &[]), []);
        assert_eq!(check("a.rs", "", &[]), []);
    }

    #[test]
    fn the_core_does_not_touch_the_machine() {
        let core = "crates/punctual-facts/src/x.rs";
        assert_eq!(complaints(core, "use std::fs;"), [format!("{core}:2: `std::fs` in a crate that only decides")]);
        assert_eq!(complaints(core, "use std::{fmt, io::{self, Read}, time};").len(), 2);
        assert_eq!(complaints(core, "fn f() { std::thread::sleep(d) }").len(), 1);
        clean(core, "use std::{fmt::{self, io}, collections::BTreeMap};\nuse core::time::Duration; // std::fs\n");
        clean(core, "#[cfg(test)]\nmod tests { use std::fs; }");
        clean("crates/punctual-linux/src/x.rs", "use std::fs;");
    }

    #[test]
    fn formats_are_defined_in_their_modules() {
        let text = "#[derive(Serialize)] struct A;\nuse serde::Deserialize;";
        assert_eq!(complaints("crates/punctual-facts/src/finding.rs", text).len(), 1);
        assert_eq!(complaints("crates/punctual/src/render/term.rs", text).len(), 1);
        clean("crates/punctual-numbers/src/recording/header.rs", text);
        clean("crates/punctual/src/render/json.rs", "#[derive(Serialize)] struct A;");
        clean("crates/punctual/tests/it/main.rs", text);
    }

    #[test]
    fn files_of_the_machine_are_named_in_their_places() {
        let text = "f(\"/proc/stat\"); g(\"see /proc/stat\"); h(\"/system\"); i(\"/dev\")";
        assert_eq!(complaints("crates/punctual/src/commands/check.rs", text).len(), 2);
        assert_eq!(complaints("crates/punctual-linux/src/apply.rs", text).len(), 2);
        clean("crates/punctual-linux/src/load/proc.rs", text);
        clean("crates/punctual-tuning/src/knobs/idle.rs", text);
    }

    #[test]
    fn modules_declared_for_tests_are_tests() {
        let parent = (
            "crates/punctual/src/render/mod.rs",
            "//! Why.\n#[cfg(test)]\npub(crate) mod sample;\n#[cfg(test)]\nmod tests {}\n",
        );
        let text = "//! Why.\nconst A: &str = \"/proc/stat\";\n";
        let places =
            ["sample.rs", "sample/x.rs", "samples.rs"].map(|name| format!("crates/punctual/src/render/{name}"));
        let files: Vec<(&str, &str)> = places.iter().map(|path| (path.as_str(), text)).chain([parent]).collect();
        let complaints = check_all(&files);
        assert_eq!(complaints.iter().map(|complaint| complaint.path.as_str()).collect::<Vec<_>>(), [&places[2]]);
    }

    #[test]
    fn a_promised_test_exists() {
        let files = [
            ("ARCHITECTURE.md", "1. x `it_is_so_here` `it_is_not_so`\n"),
            ("a.rs", "//! Why.\nfn it_is_so_here() {}\n"),
        ];
        let lines: Vec<String> = check_all(&files).iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["ARCHITECTURE.md:1: there is no test `it_is_not_so`"]);
    }

    #[test]
    fn an_exception_for_what_is_gone_is_told() {
        let all = [&PURE[..], &FORMATS, &NAMES_NO_PATHS, &MAY_NAME_PATHS, &MAY_PRINT, &MAY_BE_UNSAFE].concat();
        let mut paths: BTreeSet<String> = all.iter().map(|place| (*place).to_owned()).collect();
        assert_eq!(dead_exceptions(&paths), []);
        paths.remove("crates/punctual-linux/src/privilege.rs");
        let told: Vec<String> = dead_exceptions(&paths).into_iter().map(|complaint| complaint.path).collect();
        assert_eq!(told, ["crates/punctual-linux/src/privilege.rs"]);
    }

    #[test]
    fn names_say_what_is_inside() {
        assert_eq!(complaints("crates/punctual/src/utils.rs", "").len(), 1);
        assert_eq!(complaints("crates/punctual/src/common/x.rs", "").len(), 1);
        assert_eq!(complaints("a.rs", "pub mod helpers;").len(), 1);
        clean("a.rs", "mod utilization; // mod utils");
    }

    #[test]
    fn lints_are_lifted_with_a_reason() {
        assert_eq!(complaints("a.rs", "#[allow(dead_code)]").len(), 1);
        assert_eq!(complaints("a.rs", "#![cfg_attr(x, expect(dead_code))]").len(), 1);
        clean("a.rs", "#[allow(dead_code, reason = \"(why) not\")]\nfn f() { x.expect(\"y\"); allow(z) }");
        let print = "#![allow(clippy::print_stdout, reason = \"why\")]";
        assert_eq!(complaints("crates/punctual/src/commands/check.rs", print).len(), 1);
        clean("crates/punctual/src/render/mod.rs", print);
        clean("crates/punctual-hist/benches/record.rs", print);
        let unsafe_code = "#![allow(unsafe_code, reason = \"why\")]";
        assert_eq!(complaints("crates/punctual-rt/src/recorder.rs", unsafe_code).len(), 1);
        clean("crates/punctual-rt/src/sys/mod.rs", unsafe_code);
        clean("crates/punctual-linux/src/lib.rs", "#[allow(unsafe_code, reason = \"why\")]\nmod sys;");
    }
}
