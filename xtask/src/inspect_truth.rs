//! `cargo xtask inspect-truth`: runs the program in `proofs/inspect`, which plants defects in small loops and compares
//! them with what `punctual inspect` reports.

use crate::run;
use crate::step::StepOutcome;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

pub fn run(root: &Path, words: &[&str]) -> Result<()> {
    outcome(root, words).into_result()
}

/// Runs each kind of defect once, as a step of `ci`.
pub fn step(root: &Path) -> StepOutcome {
    if !run::is_root() {
        return StepOutcome::NotRun("not root".to_owned());
    }
    outcome(root, &["--quick", "--cycles", "500"])
}

fn outcome(root: &Path, words: &[&str]) -> StepOutcome {
    let lacks = "the kernel's trace cannot be used here";
    StepOutcome::of_program(ended(root, words), lacks, "loops were told wrong, or could not be told")
}

fn ended(root: &Path, words: &[&str]) -> Result<Option<i32>> {
    let features: &[&str] = if words.iter().any(|word| word.split(',').any(|part| part == "bpf")) {
        &["--features", "punctual/bpf"]
    } else {
        &[]
    };
    let programs = run::programs_with(root, features)?;
    let mut command = Command::new(programs.join("inspect_truth"));
    command.current_dir(root).arg("--punctual").arg(programs.join("punctual")).arg("--programs").arg(&programs);
    command.arg("--folder").arg(programs.with_file_name("inspect-truth")).arg("--source").arg("proofs/inspect/loop.c");
    Ok(command.args(words).status().context("start the planter")?.code())
}
