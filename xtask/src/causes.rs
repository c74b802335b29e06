//! `cargo xtask causes`: runs the program in `proofs/causes`, which plants delays and compares them with the causes
//! that punctual finds.

use crate::run;
use crate::step::StepOutcome;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// Builds the product and the program, and runs the kinds of delays that the words name, or all kinds.
pub fn run(root: &Path, words: &[&str]) -> Result<()> {
    outcome(root, words).into_result()
}

/// Runs the quick set of delays, as a step of `ci`.
pub fn step(root: &Path) -> StepOutcome {
    if !run::is_root() {
        return StepOutcome::NotRun("not root".to_owned());
    }
    outcome(root, &["--quick"])
}

fn outcome(root: &Path, words: &[&str]) -> StepOutcome {
    let lacks = "no delay can be both planted and traced here";
    StepOutcome::of_program(ended(root, words), lacks, "causes were told wrong, or could not be told")
}

fn ended(root: &Path, words: &[&str]) -> Result<Option<i32>> {
    let programs = run::programs(root)?;
    let mut command = Command::new(programs.join("causes"));
    command.current_dir(root).arg("run");
    command.arg("--punctual").arg(programs.join("punctual")).arg("--folder").arg(programs.with_file_name("causes"));
    Ok(command.args(words).status().context("start the planter")?.code())
}
