//! `cargo xtask ci`: runs every check of the repository.
//!
//! All steps run even if one fails, and the table at the end shows the outcome of each. A full run does some of the
//! steps in a second process at the same time ([`beside`]).

mod beside;

use crate::step::{self, Done, StepOutcome, table, verdict};
use crate::{
    arm64, arrows, atlas, book, causes, codegen, duplicates, inspect_truth, lab, packages, panic_free, run,
    screenshots, tidy, truth,
};
use anyhow::{Context, Result, bail, ensure};
use beside::Beside;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// A name and the function that runs the step. Besides its outcome, a step may add to the tally of tests.
type Step = (&'static str, fn(&Path, &mut Tally) -> StepOutcome);

const STEPS: &[Step] = &[
    ("tidy", |root, _| StepOutcome::of(tidy::run(root))),
    ("fmt", |root, _| cargo(root, &["fmt", "--all", "--check"])),
    ("arrows", |root, _| StepOutcome::of(arrows::check(root))),
    ("clippy", |root, _| whole(root, "clippy", &["--all-targets", "--keep-going", "--", "-D", "warnings"])),
    ("duplicates", |root, _| StepOutcome::of(duplicates::check(root))),
    // Tests start the examples, and Cargo does not build examples if its options select tests.
    ("examples", |root, _| whole(root, "build", &run::PROGRAMS)),
    ("test", |root, tally| {
        test(&mut run::whole(root, "test", &["--no-fail-fast", "--lib", "--bins", "--tests"]), tally)
    }),
    ("units", units),
    ("perfetto", perfetto),
    ("formats", formats),
    ("fleet", fleet),
    ("features", features),
    ("bpf", bpf),
    // The documentation may have no examples, so this step may run no test.
    ("doctest", |root, tally| {
        StepOutcome::of(seen(&mut run::whole(root, "test", &["--no-fail-fast", "--doc"]), tally))
    }),
    ("doc", |root, _| doc(root)),
    ("generated", |root, _| StepOutcome::of(codegen::check(root))),
    ("book", |root, _| book::step(root)),
    ("atlas", |root, _| atlas::step(root)),
    ("screenshots", |root, _| screenshots::step(root)),
    ("arm64", emulated),
    // In a full run, the steps from here to `truth` run in the second process.
    ("lab", |root, _| lab::step(root)),
    ("miri", miri),
    ("panic-free", |root, _| StepOutcome::of(panic_free::check(root))),
    ("packages", |root, _| StepOutcome::of(packages::check(root))),
    ("msrv", |root, _| msrv(root)),
    ("armhf", |root, _| armhf(root)),
    ("fuzz", |root, _| fuzz(root)),
    ("truth", |root, _| truth::step(root)),
    // These steps measure times of real threads, so they begin when all other steps have ended.
    ("privileged", privileged),
    ("causes", |root, _| causes::step(root)),
    ("inspect-truth", |root, _| inspect_truth::step(root)),
];

/// Steps that a full run does in a second process, beginning with the step [`WITH`]. They build in folders of their
/// own, and use one CPU most of the time.
const BESIDE: &[&str] = &["lab", "miri", "panic-free", "packages", "msrv", "armhf", "fuzz", "truth"];
/// The step at which the second process starts: everything it needs has been built by then.
const WITH: &str = "test";

/// Runs the steps that the words name, or all. With `--all`, a step that could not run is a failure; with
/// `--must=STEP`, only that step is. With `--notes=FILE`, the outcomes are appended to the file, where the run that
/// started this process reads them.
pub fn run(root: &Path, words: &[&str]) -> Result<()> {
    let wish = Wish::read(words)?;
    if wish.is_full() || wish.notes.is_some() {
        run::build_from_scratch();
    }
    let mut tally = Tally::default();
    let mut done: Vec<Done> = Vec::new();
    let mut besides = None;
    for (name, work) in STEPS.iter().filter(|(name, _)| wish.wants(name)) {
        if wish.is_full() && *name == WITH {
            besides = Some(Beside::start(root, BESIDE)?);
        }
        if wish.is_full() && BESIDE.contains(name) {
            // The table shows all steps of the second process at the place of the first of them.
            for (step, tests) in besides.take().map(Beside::wait).transpose()?.into_iter().flatten() {
                tally.add(tests);
                done.push(wish.demanded(step));
            }
            continue;
        }
        println!("\n== {name} ==");
        let before = tally;
        done.push(wish.demanded(timed(name, || work(root, &mut tally))));
        if let (Some(notes), Some(step)) = (wish.notes, done.last()) {
            let mut file = OpenOptions::new().append(true).open(notes).with_context(|| format!("open {notes}"))?;
            file.write_all(beside::line(step, tally.since(before)).as_bytes()).context("note a step")?;
        }
    }
    if wish.notes.is_some() {
        return Ok(());
    }
    println!("\n== summary ==\n{}", table(&done));
    if tally.binaries > 0 {
        println!("{tally}");
    }
    match verdict(&done, wish.all) {
        Ok(good) => {
            println!("ci: ok, {good}");
            Ok(())
        }
        Err(bad) => bail!("ci {bad}"),
    }
}

#[derive(Debug, Default)]
struct Wish<'a> {
    /// Names of the steps to run; empty for all.
    only: Vec<&'a str>,
    must: Vec<&'a str>,
    all: bool,
    notes: Option<&'a str>,
}

impl<'a> Wish<'a> {
    fn read(words: &[&'a str]) -> Result<Self> {
        let mut wish = Self::default();
        for word in words {
            match word.split_once('=') {
                _ if *word == "--all" => wish.all = true,
                Some(("--must", step)) => wish.must.push(step),
                Some(("--notes", file)) => wish.notes = Some(file),
                _ => wish.only.push(word),
            }
        }
        for name in wish.only.iter().chain(&wish.must) {
            ensure!(
                STEPS.iter().any(|(step, _)| step == name),
                "no step `{name}`; there are {}",
                STEPS.iter().map(|(step, _)| *step).collect::<Vec<_>>().join(", ")
            );
        }
        Ok(wish)
    }

    fn is_full(&self) -> bool {
        self.only.is_empty()
    }

    fn wants(&self, step: &str) -> bool {
        self.is_full() || self.only.contains(&step)
    }

    /// The step with `--must` applied: if it must run but could not, it has failed.
    fn demanded(&self, step: Done) -> Done {
        let outcome = match step.outcome {
            StepOutcome::NotRun(why) if self.must.contains(&step.name) => {
                StepOutcome::Failed(format!("not run: {why}"))
            }
            outcome => outcome,
        };
        match &outcome {
            StepOutcome::Passed => {}
            StepOutcome::Failed(why) => println!("{} failed: {why}", step.name),
            StepOutcome::NotRun(why) => println!("{} not run: {why}", step.name),
        }
        Done { outcome, ..step }
    }
}

fn timed(name: &'static str, work: impl FnOnce() -> StepOutcome) -> Done {
    let (start, cpu_before) = (Instant::now(), step::cpu_of_children());
    let outcome = work();
    let cpu = step::cpu_of_children().saturating_sub(cpu_before);
    Done { name, outcome, took: start.elapsed(), cpu }
}

fn cargo(root: &Path, arguments: &[&str]) -> StepOutcome {
    StepOutcome::of(run::show(&mut run::cargo(root, arguments)))
}

fn whole(root: &Path, verb: &str, arguments: &[&str]) -> StepOutcome {
    StepOutcome::of(run::show(&mut run::whole(root, verb, arguments)))
}

fn seen(command: &mut Command, tally: &mut Tally) -> Result<()> {
    run::show_and_see(command, |line| tally.see(line))
}

/// Runs tests as a step. If no test ran, a name in this file is wrong, and the step fails.
fn test(command: &mut Command, tally: &mut Tally) -> StepOutcome {
    let before = tally.passed;
    match seen(command, tally) {
        Ok(()) if tally.passed == before => StepOutcome::Failed("no test ran".to_owned()),
        result => StepOutcome::of(result),
    }
}

/// Runs the tests that need root, for the real-time class, other users or hidden file systems.
fn privileged(root: &Path, tally: &mut Tally) -> StepOutcome {
    if !run::is_root() {
        return StepOutcome::NotRun("not root".to_owned());
    }
    let programs = ["--test", "it", "--test", "privileged", "--test", "comm"];
    let words = [["--no-fail-fast"].as_slice(), &programs, &["--", "--ignored", "privileged"]].concat();
    test(&mut run::whole(root, "test", &words), tally)
}

/// Has systemd check the units that the product writes.
fn units(root: &Path, tally: &mut Tally) -> StepOutcome {
    let analyze = Command::new("systemd-analyze").arg("--version").output();
    if !analyze.is_ok_and(|output| output.status.success()) {
        return StepOutcome::NotRun("no systemd-analyze (apt install systemd)".to_owned());
    }
    let words = ["--lib", "systemd_finds_nothing_wrong_with_our_units", "--", "--ignored"];
    test(&mut run::whole(root, "test", &words), tally)
}

/// Reads traces for the Perfetto viewer by its public schema, which comes from Python's package index.
fn perfetto(root: &Path, tally: &mut Tally) -> StepOutcome {
    by_public_readers(root, tally, ["--bin", "punctual", "the_public_schema_reads_the_trace"])
}

/// Reads exported files with the programs that others use for these formats.
fn formats(root: &Path, tally: &mut Tally) -> StepOutcome {
    by_public_readers(root, tally, ["--test", "it", "public_readers_read_what_is_exported"])
}

/// Asks three engines of SQL the ready questions about a fleet. Their answers must be the same.
fn fleet(root: &Path, tally: &mut Tally) -> StepOutcome {
    by_public_readers(root, tally, ["--test", "it", "three_engines_answer_alike"])
}

/// Runs a test that installs readers from Python's package index, in an environment of its own.
fn by_public_readers(root: &Path, tally: &mut Tally, which: [&str; 3]) -> StepOutcome {
    let venv = Command::new("python3").args(["-m", "ensurepip", "--version"]).output();
    if !venv.is_ok_and(|output| output.status.success()) {
        return StepOutcome::NotRun(
            "no Python that can make an environment of its own (apt install python3-venv)".to_owned(),
        );
    }
    let words = [which.as_slice(), &["--", "--ignored"]].concat();
    test(&mut run::whole(root, "test", &words), tally)
}

/// Runs tests of the commands on the program for ARM64. If no test ran, a name in that file is wrong.
fn emulated(root: &Path, tally: &mut Tally) -> StepOutcome {
    let before = tally.passed;
    match arm64::step(root, |line| tally.see(line)) {
        StepOutcome::Passed if tally.passed == before => StepOutcome::Failed("no test ran".to_owned()),
        outcome => outcome,
    }
}

/// Checks the build without the features that distribution packages turn on, which is what `cargo build` makes. It must
/// report the missing features. Only the package `punctual` has such features; the lab builds it in this way for its
/// guests.
fn features(root: &Path, tally: &mut Tally) -> StepOutcome {
    let clippy = |options: &[&str]| {
        cargo(root, &[&["clippy", "--package", "punctual"], options, &["--", "-D", "warnings"]].concat())
    };
    let outcome = match clippy(&["--all-targets"]) {
        StepOutcome::Passed => clippy(&["--no-default-features"]),
        other => other,
    };
    match outcome {
        StepOutcome::Passed => test(
            &mut run::cargo(root, &["test", "--package", "punctual", "--test", "it", "what_a_build_left_out"]),
            tally,
        ),
        other => other,
    }
}

/// Checks the engine that runs as a BPF program in the kernel. Only clang can compile it.
fn bpf(root: &Path, tally: &mut Tally) -> StepOutcome {
    let clang = std::env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    if !Command::new(&clang).arg("--version").output().is_ok_and(|output| output.status.success()) {
        return StepOutcome::NotRun("no clang (install it, or name it in $CLANG)".to_owned());
    }
    match whole(root, "clippy", &["--features", "punctual/bpf", "--all-targets", "--", "-D", "warnings"]) {
        StepOutcome::Passed => {}
        other => return other,
    }
    let target = ["--features", "punctual/bpf", "--lib", "--test", "it"];
    let (names, ignored) = (["--", "bpf"].as_slice(), ["--", "bpf", "--include-ignored"].as_slice());
    let names = if run::is_root() { ignored } else { names };
    test(&mut run::whole(root, "test", &[target.as_slice(), names].concat()), tally)
}

/// Builds the documentation including private items, so that links to them in module headers are checked.
fn doc(root: &Path) -> StepOutcome {
    let mut command = run::whole(root, "doc", &["--no-deps", "--document-private-items"]);
    StepOutcome::of(run::show(command.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links")))
}

/// Builds with the oldest Rust version that Cargo.toml allows. It has a target folder of its own, so that no other
/// build is displaced.
fn msrv(root: &Path) -> StepOutcome {
    let Some(version) = std::option_env!("CARGO_PKG_RUST_VERSION").filter(|version| !version.is_empty()) else {
        return StepOutcome::Failed("Cargo.toml states no rust-version".to_owned());
    };
    if !run::has_toolchain(version, root) {
        return StepOutcome::NotRun(format!("no Rust {version} (rustup toolchain install {version})"));
    }
    let arguments = [&["check"], run::WHOLE.as_slice(), &["--all-targets", "--target-dir", "target/msrv"]].concat();
    StepOutcome::of(run::show(&mut run::cargo_of(version, root, &arguments)))
}

/// Compiles what packages ship for a machine of 32 bits, where the C types that system calls take are shorter than on
/// every machine that the other steps build for.
fn armhf(root: &Path) -> StepOutcome {
    const TARGET: &str = "armv7-unknown-linux-gnueabihf";
    match run::has_target(TARGET, root) {
        Ok(true) => {}
        Ok(false) => {
            return StepOutcome::NotRun(format!("no standard library for {TARGET} (rustup target add {TARGET})"));
        }
        Err(error) => return StepOutcome::Failed(format!("{error:#}")),
    }
    let packages = ["check", "--package", "punctual", "--package", "punctual-capi", "--features", "parquet,png"];
    let arguments = [packages.as_slice(), &["--target", TARGET, "--target-dir", "target/armhf"]].concat();
    StepOutcome::of(run::show(&mut run::cargo(root, &arguments)))
}

/// Runs code that shares memory without locks under Miri, which detects undefined behaviour. Miri is slow, so random
/// tests try few cases there.
fn miri(root: &Path, tally: &mut Tally) -> StepOutcome {
    if !run::has_toolchain("nightly", root) {
        return StepOutcome::NotRun("no nightly toolchain".to_owned());
    }
    if !run::answers(&mut run::cargo_of("nightly", root, &["miri", "--version"])) {
        return StepOutcome::NotRun("no Miri (rustup +nightly component add miri rust-src)".to_owned());
    }
    MIRI.iter()
        .map(|tests| interpreted(root, tests, tally))
        .find(|outcome| *outcome != StepOutcome::Passed)
        .unwrap_or(StepOutcome::Passed)
}

/// Tests that Miri runs: queues, latest value, locks, log, and the page of the statistics. Other tests of the
/// statistics use pages of 280 KB, which would take minutes; Loom tests their order of memory accesses.
const MIRI: &[&[&str]] = &[&["--test", "comm"], &["--lib", "--", "page::"], &["--lib", "--", "stats::coherence::"]];

/// One run under Miri with at most one filter of test names. If no test ran, the filter is wrong, and the step fails.
fn interpreted(root: &Path, tests: &[&str], tally: &mut Tally) -> StepOutcome {
    let words = ["miri", "test", "--target-dir", "target/miri", "--package", "punctual-rt"];
    let words: Vec<&str> = words.iter().chain(tests).copied().collect();
    let mut command = run::cargo_of("nightly", root, &words);
    command.env("PROPTEST_CASES", "2").env("MIRIFLAGS", "-Zmiri-disable-isolation");
    let before = tally.passed;
    match run::show_and_see(&mut command, |line| tally.see(line)) {
        Ok(()) if tally.passed == before => StepOutcome::Failed(format!("no test ran for `{}`", tests.join(" "))),
        result => StepOutcome::of(result),
    }
}

/// Builds the fuzz targets, which need a nightly compiler. They are not run here, because that takes hours.
fn fuzz(root: &Path) -> StepOutcome {
    if !root.join("fuzz/Cargo.toml").is_file() {
        return StepOutcome::Failed("fuzz/Cargo.toml is not there".to_owned());
    }
    if !run::has_toolchain("nightly", root) {
        return StepOutcome::NotRun("not built: no nightly toolchain".to_owned());
    }
    if !run::has_program("c++") {
        return StepOutcome::NotRun("not built: libFuzzer needs a C++ compiler, and there is no `c++`".to_owned());
    }
    StepOutcome::of(run::show(&mut run::cargo_of(
        "nightly",
        root,
        &["build", "--manifest-path", "fuzz/Cargo.toml", "--bins", "--target-dir", "target/nightly"],
    )))
}

/// Sums of the numbers in the last lines of all test programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    binaries: u64,
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.binaries += other.binaries;
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }

    fn since(self, before: Self) -> Self {
        Self {
            binaries: self.binaries - before.binaries,
            passed: self.passed - before.passed,
            failed: self.failed - before.failed,
            ignored: self.ignored - before.ignored,
        }
    }

    fn see(&mut self, line: &str) {
        let Some(counts) = line.strip_prefix("test result: ") else { return };
        self.binaries += 1;
        for part in counts.split(['.', ';']) {
            let mut words = part.split_whitespace();
            if let (Some(Ok(number)), Some(what)) = (words.next().map(str::parse::<u64>), words.next()) {
                match what {
                    "passed" => self.passed += number,
                    "failed" => self.failed += number,
                    "ignored" => self.ignored += number,
                    _ => {}
                }
            }
        }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { binaries, passed, failed, ignored } = self;
        write!(f, "tests: {passed} passed, {failed} failed, {ignored} ignored, in {binaries} test programs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_added_up() {
        let mut tally = Tally::default();
        tally.see("test result: ok. 31 passed; 0 failed; 2 ignored; 0 measured; 5 filtered out; finished in 0.11s");
        tally.see("test result: FAILED. 1 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.50s");
        tally.see("running 4 tests");
        assert_eq!(tally, Tally { binaries: 2, passed: 32, failed: 3, ignored: 2 });
        assert_eq!(tally.to_string(), "tests: 32 passed, 3 failed, 2 ignored, in 2 test programs");
    }

    #[test]
    fn what_is_done_beside_stands_together_after_the_step_it_begins_with() {
        let names: Vec<&str> = STEPS.iter().map(|(name, _)| *name).collect();
        let first = names.iter().position(|name| *name == BESIDE[0]).unwrap();
        assert_eq!(names.get(first..first + BESIDE.len()), Some(BESIDE));
        assert!(names[..first].contains(&WITH));
    }

    #[test]
    fn tests_of_a_step_are_what_it_added() {
        let mut tally = Tally { binaries: 2, passed: 32, failed: 3, ignored: 2 };
        let (before, more) = (tally, Tally { binaries: 1, passed: 5, failed: 0, ignored: 1 });
        tally.add(more);
        assert_eq!(tally.since(before), more);
    }

    #[test]
    fn step_names_are_unique_and_an_unknown_one_is_refused() {
        let mut names: Vec<&str> = STEPS.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), STEPS.len());
        let error = run(Path::new("/nonexistent"), &["fmt", "clipy"]).unwrap_err();
        assert!(error.to_string().starts_with("no step `clipy`; there are tidy, fmt"), "{error}");
    }
}
