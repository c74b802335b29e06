//! `cargo xtask lab`: hands over to the crate `lab`, which boots kernels.

use crate::run;
use crate::step::Outcome;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// How the lab ends when the machine lacks what it takes; why is on its standard error.
const LACKS: i32 = 3;

/// Runs the lab with those words.
pub fn run(root: &Path, words: &[&str]) -> Result<()> {
    match ended(root, words)? {
        Some(0) => Ok(()),
        Some(LACKS) => bail!("this machine lacks what the lab takes"),
        _ => bail!("claims failed, or the lab did"),
    }
}

/// The quick scenarios, as a step.
pub fn step(root: &Path) -> Outcome {
    match ended(root, &[]) {
        Ok(Some(0)) => Outcome::Passed,
        Ok(Some(LACKS)) => Outcome::NotRun("this machine lacks what it takes (cargo xtask lab --install)".to_owned()),
        Ok(_) => Outcome::Failed("claims failed, or the lab did".to_owned()),
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}

fn ended(root: &Path, words: &[&str]) -> Result<Option<i32>> {
    let mut command = Command::new(run::programs(root)?.join("lab"));
    // The lab calls Cargo, too.
    run::settle(&mut command)
        .current_dir(root)
        .env("CARGO", std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    Ok(command.args(words).status().context("start the lab")?.code())
}
