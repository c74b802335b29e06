//! `cargo xtask lab`: runs the crate `lab`, which boots kernels.

use crate::run;
use crate::step::StepOutcome;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

pub fn run(root: &Path, words: &[&str]) -> Result<()> {
    outcome(root, words).into_result()
}

/// Runs the quick scenarios, as a step of `ci`.
pub fn step(root: &Path) -> StepOutcome {
    outcome(root, &[])
}

fn outcome(root: &Path, words: &[&str]) -> StepOutcome {
    let lacks = "this machine lacks what it takes (cargo xtask lab --install)";
    StepOutcome::of_program(ended(root, words), lacks, "claims failed, or the lab did")
}

fn ended(root: &Path, words: &[&str]) -> Result<Option<i32>> {
    let mut command = Command::new(run::programs(root)?.join("lab"));
    // The lab starts Cargo itself, so it gets the same build settings. Otherwise one would rebuild what the other has
    // built.
    run::settle(&mut command)
        .current_dir(root)
        .env("CARGO", std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    Ok(command.args(words).status().context("start the lab")?.code())
}
