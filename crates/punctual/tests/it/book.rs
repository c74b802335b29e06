//! Runs the commands that pages print, on copies of a recording, a captured machine and results of another program.

use crate::run::{Run, captured, repository};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// Verbs whose commands on the pages are not run here, and the reason.
const NOT_RUN: [(&str, &str); 18] = [
    ("check", "it measures for half a minute or more"),
    ("measure", "it measures for minutes"),
    ("explain", "it needs a recording with causes; that of the tutorial is explained by the test of the tutorial"),
    ("init", "it takes only CPUs that the machine has"),
    ("merge", "it refuses copies of one recording, which are at hand"),
    ("inspect", "it needs a program that runs"),
    ("fleet", "it needs other hosts, or their results"),
    ("campaign", "it measures for minutes to days"),
    ("watch", "it measures until it is ended"),
    ("trend", "it needs a series of runs"),
    ("lab", "it needs QEMU and kernels"),
    ("optimize", "it changes the machine, for hours"),
    ("share", "it asks before it writes"),
    ("torture", "it loads all CPUs for minutes"),
    ("revert", "it changes the machine"),
    ("man", "it writes into the user's folders"),
    ("completions", "it writes into the user's folders"),
    ("tune", "it changes the machine, except with --dry-run and --print"),
];

fn pages() -> Vec<PathBuf> {
    let mut pages = vec![repository("README.md"), repository("examples/ci/README.md")];
    let entries = ["book/src", "book/src/zh"].into_iter().flat_map(|folder| fs::read_dir(repository(folder)).unwrap());
    pages.extend(entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "md")));
    pages
}

/// The words of each command of this program that stands on a line of its own, up to what belongs to the shell.
fn commands() -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    for page in pages() {
        let text = fs::read_to_string(page).unwrap().replace("\\\n", " ");
        let mut fenced = false;
        for line in text.lines() {
            fenced ^= line.trim_start().starts_with("```");
            // Code is set by a fence or by four spaces.
            if !fenced && !line.starts_with("    ") {
                continue;
            }
            let line = line.trim().trim_start_matches("$ ").trim_start_matches("sudo ");
            let Some(words) = line.strip_prefix("punctual ").and_then(shlex::split) else { continue };
            let ends = |word: &String| ["|", ">", "#"].contains(&word.as_str());
            found.insert(words.into_iter().take_while(|word| !ends(word)).collect());
        }
    }
    found
}

fn is_run(words: &[String]) -> bool {
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    let is_plan = words[0] == "tune" && (has("--dry-run") || has("--print"));
    // The build of tests has no Parquet, a file or folder of the machine that runs them holds anything or is not there, an
    // unpacked system is not at hand, and the program at hand did not measure what the recording did.
    let is_left_out =
        ["--interleave", "parquet", "/etc/default/grub", "/var/lib/punctual-watch", "--root"].into_iter().any(has)
            || has("before.punctual") && has("cyclictest.txt");
    !is_left_out && (is_plan || NOT_RUN.iter().all(|(verb, _)| *verb != words[0]))
}

/// Makes what the command reads, unless it is there.
fn prepare(run: &Run, words: &[String]) {
    let mut output = false;
    for word in words {
        let path = run.path(word);
        let is_result = std::mem::replace(&mut output, matches!(word.as_str(), "--out" | "-o" | "--html" | "--junit"));
        let source = match word.rsplit_once('.').map(|(_, ending)| ending) {
            Some("punctual") => run.path("r.punctual"),
            Some("machine") => PathBuf::from(captured("rk3588-vendor-6.1")),
            Some("txt") if word.starts_with("image/") => continue,
            Some("txt") => repository("fixtures/foreign/cyclictest-all.txt"),
            _ => continue,
        };
        if is_result {
            let _ = fs::remove_file(&path);
        } else if !path.exists() && !word.contains('*') {
            fs::copy(&source, &path).unwrap_or_else(|e| panic!("{}: {e}", source.display()));
        }
    }
}

#[test]
fn commands_of_the_pages_run() {
    let run = Run::new();
    run.recording("300ms");
    for name in ["before-1.punctual", "before-2.punctual", "after-1.punctual", "after-2.punctual"] {
        fs::copy(run.path("r.punctual"), run.path(name)).unwrap();
    }
    for folder in ["image", "mnt/image/proc", "sosreport-gateway-2026-11-23/proc"] {
        fs::create_dir_all(run.path(folder)).unwrap();
    }
    let line = "root=/dev/vda1 isolcpus=2,3 quiet\n";
    fs::write(run.path("image/cmdline.txt"), line).unwrap();
    fs::write(run.path("sosreport-gateway-2026-11-23/proc/cmdline"), line).unwrap();
    fs::write(run.path("sosreport-gateway-2026-11-23/proc/version"), "Linux version 6.12.0 (a@b) #1 SMP\n").unwrap();
    let mut tried = 0;
    let mut failed = Vec::new();
    for words in commands().into_iter().filter(|words| is_run(words)) {
        prepare(&run, &words);
        let mut typed: Vec<String> = Vec::new();
        for word in &words {
            match word.as_str() {
                "before-*.punctual" => typed.extend(["before-1.punctual", "before-2.punctual"].map(str::to_owned)),
                "after-*.punctual" => typed.extend(["after-1.punctual", "after-2.punctual"].map(str::to_owned)),
                word => typed.push(word.replace("/mnt/", "mnt/")),
            }
        }
        // The machine that runs tests need not have the CPUs that a page names.
        let names_machine = ["--machine", "--root", "--diff", "--explain"].iter().any(|o| words.iter().any(|w| w == o));
        if matches!(words[0].as_str(), "audit" | "tune") && !names_machine {
            fs::copy(captured("rk3588-vendor-6.1"), run.path("this.machine")).unwrap();
            typed.extend(["--machine", "this.machine"].map(str::to_owned));
        }
        let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
        let said = run.punctual(&typed);
        if ![0, 2, 3].contains(&said.code) || said.err.contains("panicked") {
            failed.push(format!("{typed:?}: {said:?}"));
        }
        tried += 1;
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(tried >= 25, "{tried} commands were run");
}

#[test]
fn every_verb_that_is_not_run_has_a_reason() {
    let verbs: BTreeSet<String> =
        commands().into_iter().filter(|words| !is_run(words)).map(|words| words[0].clone()).collect();
    let known: BTreeSet<&str> =
        NOT_RUN.iter().map(|(verb, _)| *verb).chain(["audit", "compare", "export", "lint", "report"]).collect();
    assert!(verbs.iter().all(|verb| known.contains(verb.as_str())), "{verbs:?}");
}
