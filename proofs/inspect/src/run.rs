//! Builds the loops and inspects them.

use crate::Words;
use crate::kind::Kind;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::PathBuf;
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
    pub has_symbols: bool,
}

/// Name of a build of the loop in C, and the options of the compiler.
const BUILDS: [(&str, &[&str]); 3] = [
    ("C, PIE", &["-O2", "-fno-omit-frame-pointer"]),
    ("C, static", &["-O2", "-static", "-no-pie"]),
    ("C, stripped", &["-O2", "-s"]),
];
const RATES: [u64; 3] = [1, 10, 100];
const QUICK_RATE: u64 = 10;

pub fn plants(words: &Words) -> Result<Vec<Plant>> {
    let rates: &[u64] = if words.quick { &[QUICK_RATE] } else { &RATES };
    let builds = if words.quick { &BUILDS[..1] } else { &BUILDS[..] };
    let mut plants = Vec::new();
    for (nth, (build, options)) in builds.iter().enumerate() {
        let program = words.folder.join(format!("loop{nth}"));
        let made =
            Command::new("cc").args(*options).arg("-o").arg(&program).arg(&words.source).arg("-lpthread").status();
        ensure!(made.context("start the C compiler cc")?.success(), "cc cannot build {}", words.source.display());
        for kind in Kind::ALL {
            // A loop without a defect is the same at any rate.
            for every in rates.iter().take(if kind.intruder().is_some() { rates.len() } else { 1 }) {
                let has_symbols = !build.contains("stripped");
                let (program, every, cycles) = (program.clone(), *every, words.cycles);
                plants.push(Plant { kind, build, program, every, cycles, is_alone: true, has_symbols });
            }
        }
    }
    for kind in [Kind::Malloc, Kind::Print, Kind::Sleep] {
        let program = words.programs.join("inspect_truth_loop");
        let (every, cycles) = (QUICK_RATE, words.cycles);
        plants.push(Plant { kind, build: "Rust", program, every, cycles, is_alone: false, has_symbols: true });
    }
    Ok(plants)
}

/// The document of an inspection; `None` if it could not use the kernel's trace.
pub fn inspect(words: &Words, plant: &Plant) -> Result<Option<Value>> {
    let mut command = Command::new(&words.punctual);
    command.args(["inspect", "--json", "--duration", "60s", "--"]).arg(&plant.program);
    command.args([plant.kind.word(), &plant.every.to_string(), &plant.cycles.to_string()]);
    let output = command.stderr(Stdio::null()).output().context("start punctual")?;
    ensure!(output.status.success(), "punctual inspect ended with {} on {}", output.status, plant.kind.word());
    let document: Value = serde_json::from_slice(&output.stdout).context("read what punctual inspect printed")?;
    Ok((document["engine"] == "tracefs").then_some(document))
}
