//! Builds the loops and inspects them.

use crate::Words;
use crate::kind::Kind;
use crate::releases::Files;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A loop to inspect.
pub struct Plant {
    pub kind: Kind,
    pub build: &'static str,
    pub program: PathBuf,
    pub every: u64,
    pub cycles: u64,
    /// Whether the loop is bound to a CPU, locked and real-time, so that nothing else may be in it.
    pub is_alone: bool,
    /// Whether the function with the defect can be named. Those of an interpreter cannot.
    pub has_functions: bool,
    /// Whether the interpreter tells the names of the script's functions.
    pub tells_names: bool,
    /// Addresses of the functions with defects, in a build without symbols.
    pub stripped: Vec<Function>,
}

/// A function of a program, by the addresses in its file.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub code: Range<u64>,
}

/// Name of a build of the loop in C, and the options of the compiler.
const BUILDS: [(&str, &[&str]); 7] = [
    ("C, PIE", &["-O2"]),
    ("C++", &["-x", "c++", "-std=c++20", "-Wno-volatile", "-O2"]),
    ("C, frame pointers", &["-O2", "-g", "-fno-omit-frame-pointer"]),
    ("C, static", &["-O2", "-static", "-no-pie"]),
    ("C, static PIE", &["-O2", "-static-pie"]),
    ("C, stripped", &["-O2"]),
    ("C++, stripped", &["-x", "c++", "-std=c++20", "-Wno-volatile", "-O2"]),
];
const RUST: &str = "Rust";
const RUST_STRIPPED: &str = "Rust, stripped";
const PYTHON: &str = "Python";
/// Python that tells the names of the script's functions.
const PYTHON_NAMED: &str = "Python, -X perf";
const RATES: [u64; 3] = [1, 10, 100];
const RARE_RATES: [u64; 2] = [1_000, 10_000];
/// Cycles of a loop with rare defects: each comes at least twice after allocations are looked for.
const RARE_CYCLES: u64 = 31_000;
const QUICK_RATE: u64 = 10;
/// Cycles with more latency than this are late: those that the planted program makes late, and few others.
const HOG_BUDGET: &str = "150us";
/// Cycles of a loop in which something is looked for only when the loop is known: more than are needed to find it
/// on a busy machine.
const LONG_CYCLES_MIN: u64 = 5_000;

/// A build of a loop.
struct Build {
    name: &'static str,
    program: PathBuf,
    stripped: Vec<Function>,
    is_alone: bool,
    has_functions: bool,
}

pub fn plants(words: &Words) -> Result<Vec<Plant>> {
    let mut plants = Vec::new();
    for build in builds(words)? {
        for kind in kinds(words, &build) {
            for every in rates(words, kind) {
                plants.push(plant(words, &build, kind, *every));
            }
        }
    }
    Ok(plants)
}

fn builds(words: &Words) -> Result<Vec<Build>> {
    let is_few = words.build.is_none() && (words.quick || words.rare);
    let of_c = if is_few { &BUILDS[..1] } else { &BUILDS[..] };
    let is_wanted = |name: &str| words.build.as_ref().is_none_or(|part| name.contains(part));
    let mut builds = Vec::new();
    for (nth, (name, options)) in of_c.iter().enumerate().filter(|(_, (name, _))| is_wanted(name)) {
        let program = compiled(words, nth, options)?;
        let stripped = if is_stripped(name) { strip(&program)? } else { Vec::new() };
        builds.push(Build { name, program, stripped, is_alone: true, has_functions: true });
    }
    let program = words.programs.join("inspect_truth_loop");
    let rust = |name, program, stripped| Build { name, program, stripped, is_alone: false, has_functions: true };
    if is_wanted(RUST_STRIPPED) && !is_few {
        let copy = words.folder.join("loop_rust");
        std::fs::copy(&program, &copy).with_context(|| format!("copy {}", program.display()))?;
        let stripped = strip(&copy)?;
        builds.push(rust(RUST_STRIPPED, copy, stripped));
    }
    if is_wanted(RUST) {
        builds.push(rust(RUST, program, Vec::new()));
    }
    let program = words.source.with_extension("py").canonicalize().context("find the loop in Python")?;
    let python = |name, has_functions| Build {
        name,
        program: program.clone(),
        stripped: Vec::new(),
        is_alone: false,
        has_functions,
    };
    for (name, version) in [(PYTHON, (3, 0)), (PYTHON_NAMED, (3, 12))].into_iter().filter(|(name, _)| is_wanted(name)) {
        if has_python(version) {
            builds.push(python(name, name == PYTHON_NAMED));
        } else {
            println!("NOT RUN: {name}: python3 is missing, or older than {}.{}", version.0, version.1);
        }
    }
    Ok(builds)
}

fn is_stripped(build: &str) -> bool {
    build.ends_with("stripped")
}

fn has_python((major, minor): (u32, u32)) -> bool {
    let test = format!("import sys; sys.exit(sys.version_info < ({major}, {minor}))");
    Command::new("python3").args(["-c", &test]).status().is_ok_and(|status| status.success())
}

fn kinds(words: &Words, build: &Build) -> Vec<Kind> {
    match (build.is_alone, words.quick) {
        (true, _) => Kind::ALL.to_vec(),
        (false, true) => Kind::FEW.to_vec(),
        (false, false) => Kind::ALL.into_iter().filter(|kind| kind.is_in_each_language()).collect(),
    }
}

fn rates(words: &Words, kind: Kind) -> &'static [u64] {
    let rates: &[u64] = match (words.quick, words.rare) {
        // In each cycle, the hog would leave the loop no ordinary cycle to compare with.
        _ if kind.culprit().is_some() => &[QUICK_RATE],
        (true, _) => &[QUICK_RATE],
        (_, true) => &RARE_RATES,
        _ => &RATES,
    };
    // A loop without a defect is the same at any rate.
    if kind.intruder().is_some() { rates } else { &rates[..1] }
}

fn plant(words: &Words, build: &Build, kind: Kind, every: u64) -> Plant {
    let cycles = if words.rare { words.cycles.max(RARE_CYCLES) } else { words.cycles };
    let is_long = kind.culprit().is_some() || kind.comes_late();
    Plant {
        kind,
        build: build.name,
        program: build.program.clone(),
        every,
        cycles: if is_long { cycles.max(LONG_CYCLES_MIN) } else { cycles },
        is_alone: build.is_alone,
        has_functions: build.has_functions,
        tells_names: build.name == PYTHON_NAMED,
        stripped: build.stripped.clone(),
    }
}

/// The loop in C, in its first build.
pub fn build(words: &Words) -> Result<PathBuf> {
    compiled(words, 0, BUILDS[0].1)
}

fn compiled(words: &Words, nth: usize, options: &[&str]) -> Result<PathBuf> {
    std::fs::create_dir_all(&words.folder).with_context(|| format!("make {}", words.folder.display()))?;
    let program = words.folder.join(format!("loop{nth}"));
    let made = Command::new("cc").args(options).arg(&words.source).arg("-o").arg(&program).arg("-lpthread").status();
    ensure!(made.context("start the C compiler cc")?.success(), "cc cannot build {}", words.source.display());
    Ok(program)
}

/// Takes the symbols out of a program, and returns the functions with defects that it had.
fn strip(program: &Path) -> Result<Vec<Function>> {
    let output = Command::new("nm").args(["-S", "--defined-only"]).arg(program).output().context("start nm")?;
    let functions = String::from_utf8(output.stdout)?.lines().filter_map(function).collect();
    ensure!(Command::new("strip").arg(program).status().context("start strip")?.success(), "strip failed");
    Ok(functions)
}

/// A function with a defect, from a line `ADDRESS SIZE KIND NAME` of nm.
fn function(line: &str) -> Option<Function> {
    let mut words = line.split(' ');
    let (from, size) = (words.next()?, words.next()?);
    let name = words.nth(1).filter(|name| name.contains("planted_"))?.to_owned();
    let hex = |digits: &str| u64::from_str_radix(digits, 16).ok();
    let from = hex(from)?;
    Some(Function { name, code: from..from + hex(size)? })
}

/// The document of an inspection and its files; `None` if it could not use the kernel's trace.
pub fn inspect(words: &Words, plant: &Plant, engine: Option<&String>) -> Result<Option<(Value, Files)>> {
    let files = Files { record: words.folder.join("record"), cycles: words.folder.join("cycles.csv") };
    // Some loops write no record, and that of another must not be taken for theirs. The inspection overwrites no file.
    for file in [&files.record, &files.cycles] {
        let _ = std::fs::remove_file(file);
    }
    let mut command = Command::new(&words.punctual);
    // A debug build takes many times the CPU time, and must not give up for that what it is asked here.
    command.args(["inspect", "--json", "--duration", "60s", "--cost", "900"]);
    if let Some(engine) = engine {
        command.args(["--engine", engine]);
    }
    if plant.kind.culprit().is_some() {
        command.args(["--budget", HOG_BUDGET]);
    }
    if plant.tells_names {
        command.env("PYTHONPERFSUPPORT", "1");
    }
    command.arg("--cycles").arg(&files.cycles).env("LOOP_RECORD", &files.record);
    command.arg("--").arg(&plant.program);
    command.args([plant.kind.word(), &plant.every.to_string(), &plant.cycles.to_string()]);
    let output = command.stderr(Stdio::null()).output().context("start punctual")?;
    ensure!(output.status.success(), "punctual inspect ended with {} on {}", output.status, plant.kind.word());
    let document: Value = serde_json::from_slice(&output.stdout).context("read what punctual inspect printed")?;
    Ok((document["engine"] != "counters").then_some((document, files)))
}
