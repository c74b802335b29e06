//! Runs the commands that pages print, on copies of a recording, a captured machine and results of another program.

use crate::run::{Run, captured, repository};
use crate::tutorial::unpack;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// (words, reason) of the commands on the pages that are not run here. A command belongs to an entry if it begins with the
/// first word and has all others. The book shows this list to its readers, and a test compares the two.
const NOT_RUN: [(&[&str], &str); 21] = [
    (&["audit", "--root"], "It needs an unpacked system."),
    (&["campaign"], "It measures for minutes to days."),
    (&["check"], "It measures for half a minute or more."),
    (&["compare", "--interleave"], "It measures for minutes and changes the machine between two measurements."),
    (&["compare", "cyclictest.txt"], "The recording that the test has was not measured in the same way as the file."),
    (&["explain", "/var/lib/punctual-watch"], "It needs a watch of several days."),
    (
        &["fleet", "ask"],
        "It needs DuckDB. Test `three_engines_answer_alike` asks the questions where DuckDB is installed.",
    ),
    (&["fleet", "run"], "It needs other hosts."),
    (&["inspect"], "It needs the program that it observes, and root."),
    (&["lab"], "It needs QEMU and kernels."),
    (&["lint", "--root"], "It needs an unpacked system."),
    (&["lint", "/etc/default/grub"], "The file can hold anything, or does not exist."),
    (&["measure"], "It measures for minutes."),
    (&["optimize"], "It changes the machine for hours."),
    (&["report", "/var/lib/punctual-watch"], "It needs a watch of several days."),
    (&["revert"], "It changes the machine."),
    (&["status", "--confirm"], "It changes the machine."),
    (&["torture"], "It loads all CPUs for a minute or more."),
    (&["tune", "--confirm-within"], "It changes the machine."),
    (&["tune", "--for"], "It changes the machine."),
    (&["watch"], "It measures until it is ended."),
];
/// Commands of [`NOT_RUN`] that are run nevertheless, because they only print.
const RUN: [&[&str]; 3] = [&["check", "--why-not"], &["campaign", "--dry-run"], &["fleet", "--sql"]];

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

fn belongs(words: &[String], entry: &[&str]) -> bool {
    let [verb, others @ ..] = entry else { return false };
    words[0] == *verb && others.iter().all(|other| words.iter().any(|word| word == other))
}

fn is_run(words: &[String]) -> bool {
    RUN.iter().any(|entry| belongs(words, entry)) || !NOT_RUN.iter().any(|(entry, _)| belongs(words, entry))
}

/// Whether this build and this user can run the command without touching the machine: tables for a fleet need a feature,
/// and root installs for all users.
fn is_possible(words: &[String]) -> bool {
    let needs_parquet = words.iter().any(|word| word == "parquet") || words[0] == "fleet";
    let installs = ["man", "completions"].contains(&words[0].as_str());
    (cfg!(feature = "parquet") || !needs_parquet) && !(installs && rustix::process::geteuid().is_root())
}

/// A folder with what the commands read.
fn prepared() -> Run {
    let run = Run::new();
    unpack(&run);
    for name in ["tuesday.punctual", "monday.punctual"] {
        run.recording("300ms");
        fs::rename(run.path("r.punctual"), run.path(name)).unwrap();
    }
    fs::copy(run.path("tuesday.punctual"), run.path("b.punctual")).unwrap();
    for name in ["r", "a", "before-1", "before-2", "after-1", "after-2"] {
        fs::copy(run.path("monday.punctual"), run.path(&format!("{name}.punctual"))).unwrap();
    }
    for folder in ["image", "nightly", "results", "examples/campaigns"] {
        fs::create_dir_all(run.path(folder)).unwrap();
    }
    for folder in ["nightly", "results"] {
        for name in ["tuesday.punctual", "monday.punctual"] {
            fs::copy(run.path(name), run.path(folder).join(name)).unwrap();
        }
    }
    let campaign = "examples/campaigns/delay-10us.toml";
    for name in [campaign, "suite.toml"] {
        fs::copy(repository(campaign), run.path(name)).unwrap();
    }
    fs::write(run.path("image/cmdline.txt"), "root=/dev/vda1 isolcpus=2,3 quiet\n").unwrap();
    let machine = captured("rk3588-vendor-6.1");
    let shared = run.punctual(&["share", "r.punctual", "--machine", &machine, "--yes", "--out", "their.json"]);
    assert_eq!(shared.code, 0, "{shared:?}");
    if cfg!(feature = "parquet") {
        let packed = run.punctual(&["fleet", "pack", "results/", "--out", "fleet/"]);
        assert_eq!(packed.code, 0, "{packed:?}");
    }
    run
}

/// Makes what the command reads, unless it is there.
fn prepare(run: &Run, words: &[String]) {
    let mut output = false;
    for word in words {
        let path = run.path(word);
        let is_result = std::mem::replace(&mut output, matches!(word.as_str(), "--out" | "-o" | "--html" | "--junit"));
        let source = match word.rsplit_once('.').map(|(_, ending)| ending) {
            // This recording has causes.
            Some("punctual") if words[0] == "explain" => run.path("before.punctual"),
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

/// The words as they are typed here, where the shell does not expand names and the machine need not have the CPUs that a
/// page names.
fn typed(run: &Run, words: &[String]) -> Vec<String> {
    let mut typed: Vec<String> = Vec::new();
    for word in words {
        match word.as_str() {
            "before-*.punctual" => typed.extend(["before-1.punctual", "before-2.punctual"].map(str::to_owned)),
            "after-*.punctual" => typed.extend(["after-1.punctual", "after-2.punctual"].map(str::to_owned)),
            "2-3" if words[0] == "init" => typed.push("0".to_owned()),
            word => typed.push(word.to_owned()),
        }
    }
    let names_machine = ["--machine", "--root", "--diff", "--explain"].iter().any(|o| words.iter().any(|w| w == o));
    match words[0].as_str() {
        "audit" | "tune" if !names_machine => {
            fs::copy(captured("rk3588-vendor-6.1"), run.path("this.machine")).unwrap();
            typed.extend(["--machine", "this.machine"].map(str::to_owned));
        }
        // The newest recording of the folder has no causes.
        "explain" if words.len() == 1 => typed.push("before.punctual".to_owned()),
        // The question whether the file may be written needs a terminal.
        // The name that the program chooses has only the second, in which another command may have shared.
        "share" if !words.iter().any(|word| word == "--check") => {
            typed.extend(["--yes", "--out", &format!("share-{}.json", words.len())].map(str::to_owned));
        }
        _ => {}
    }
    typed
}

#[test]
fn commands_of_the_pages_run() {
    let run = prepared();
    let mut tried = 0;
    let mut failed = Vec::new();
    for words in commands().into_iter().filter(|words| is_run(words) && is_possible(words)) {
        prepare(&run, &words);
        let typed = typed(&run, &words);
        let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
        let said = crate::run::Said::of(run.command(&typed).env("XDG_DATA_HOME", run.path("data")).output().unwrap());
        if ![0, 2, 3].contains(&said.code) || said.err.contains("panicked") {
            failed.push(format!("{typed:?}: {said:?}"));
        }
        // A project file would state the need of the commands that follow.
        let _ = fs::remove_file(run.path("punctual.toml"));
        tried += 1;
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(tried >= 60, "{tried} commands were run");
}

/// Readers see the same list as this test, and each entry stands for a command on a page.
#[test]
fn commands_that_are_not_run_are_in_the_book_with_the_reason() {
    let commands = commands();
    for (entry, _) in NOT_RUN {
        assert!(commands.iter().any(|words| belongs(words, entry) && !is_run(words)), "no page has {entry:?}");
    }
    let rows = NOT_RUN.map(|(entry, reason)| format!("| `{}` | {reason} |\n", entry.join(" ")));
    let table = format!("| command | why it is not run |\n|---|---|\n{}", rows.concat());
    let page = fs::read_to_string(repository("book/src/how-we-know.md")).unwrap();
    assert!(page.contains(&table), "how-we-know.md must contain:\n{table}");
}
