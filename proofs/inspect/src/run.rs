//! Builds the loops and inspects them.

use crate::Words;
use crate::kind::Kind;
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
const BUILDS: [(&str, &[&str]); 5] = [
    ("C, PIE", &["-O2"]),
    ("C++", &["-x", "c++", "-std=c++20", "-Wno-volatile", "-O2"]),
    ("C, frame pointers", &["-O2", "-g", "-fno-omit-frame-pointer"]),
    ("C, static", &["-O2", "-static", "-no-pie"]),
    (STRIPPED, &["-O2"]),
];
const PYTHON: &str = "Python";
const STRIPPED: &str = "C, stripped";
const RATES: [u64; 3] = [1, 10, 100];
const RARE_RATES: [u64; 2] = [1_000, 10_000];
/// Cycles of a loop with rare defects: each comes at least twice after allocations are looked for.
const RARE_CYCLES: u64 = 31_000;
const QUICK_RATE: u64 = 10;
/// Cycles with more latency than this are late: those that the planted program makes late, and few others.
const HOG_BUDGET: &str = "150us";
/// Cycles of a loop in which something is looked for only when the loop is known: more than are needed to find it
/// on a busy machine.
const LONG_CYCLES_MIN: u64 = 3_000;

pub fn plants(words: &Words) -> Result<Vec<Plant>> {
    let rates: &[u64] = match (words.quick, words.rare) {
        (true, _) => &[QUICK_RATE],
        (_, true) => &RARE_RATES,
        _ => &RATES,
    };
    let builds = if words.quick || words.rare { &BUILDS[..1] } else { &BUILDS[..] };
    let cycles = if words.rare { words.cycles.max(RARE_CYCLES) } else { words.cycles };
    let mut plants = Vec::new();
    for (nth, (build, options)) in builds.iter().enumerate() {
        let program = compiled(words, nth, options)?;
        let stripped = if *build == STRIPPED { strip(&program)? } else { Vec::new() };
        for kind in Kind::ALL {
            // A loop without a defect is the same at any rate.
            for every in rates.iter().take(if kind.intruder().is_some() { rates.len() } else { 1 }) {
                let (program, stripped) = (program.clone(), stripped.clone());
                let is_hog = kind.culprit().is_some();
                // In each cycle, it would leave the loop no ordinary cycle to compare with.
                let every = if is_hog { QUICK_RATE } else { *every };
                // Allocations are looked for once the loop is known.
                let is_long = is_hog || kind.comes_late();
                let cycles = if is_long { cycles.max(LONG_CYCLES_MIN) } else { cycles };
                plants.push(Plant {
                    kind,
                    build,
                    program,
                    every,
                    cycles,
                    is_alone: true,
                    has_functions: true,
                    stripped,
                });
            }
        }
    }
    let rust = words.programs.join("inspect_truth_loop");
    let python = words.source.with_extension("py").canonicalize().context("find the loop in Python")?;
    let has_python = Command::new("python3").arg("--version").output().is_ok_and(|told| told.status.success());
    if !has_python {
        println!("NOT RUN: python3 is missing, so no loop in Python is judged");
    }
    for (build, program) in [("Rust", &rust), (PYTHON, &python)] {
        for kind in [Kind::Malloc, Kind::Print, Kind::Sleep].into_iter().filter(|_| build != PYTHON || has_python) {
            let (every, cycles, program) = (QUICK_RATE, words.cycles, program.clone());
            let (has_functions, stripped) = (build != PYTHON, Vec::new());
            plants.push(Plant { kind, build, program, every, cycles, is_alone: false, has_functions, stripped });
        }
    }
    Ok(plants)
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
    let name = words.nth(1).filter(|name| name.starts_with("planted_"))?.to_owned();
    let hex = |digits: &str| u64::from_str_radix(digits, 16).ok();
    let from = hex(from)?;
    Some(Function { name, code: from..from + hex(size)? })
}

/// The document of an inspection; `None` if it could not use the kernel's trace.
pub fn inspect(words: &Words, plant: &Plant) -> Result<Option<Value>> {
    let mut command = Command::new(&words.punctual);
    command.args(["inspect", "--json", "--duration", "60s"]);
    if plant.kind.culprit().is_some() {
        command.args(["--budget", HOG_BUDGET]);
    }
    command.arg("--").arg(&plant.program);
    command.args([plant.kind.word(), &plant.every.to_string(), &plant.cycles.to_string()]);
    let output = command.stderr(Stdio::null()).output().context("start punctual")?;
    ensure!(output.status.success(), "punctual inspect ended with {} on {}", output.status, plant.kind.word());
    let document: Value = serde_json::from_slice(&output.stdout).context("read what punctual inspect printed")?;
    Ok((document["engine"] == "tracefs").then_some(document))
}
