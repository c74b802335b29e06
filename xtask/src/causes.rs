//! `cargo xtask causes`: hands over to the program in `proofs/causes`, which plants delays and holds explanations
//! against them.

use crate::run;
use crate::step::Outcome;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// How it ends where no trace may be had; why is in what it said.
const NOT_RUN: i32 = 3;

/// Builds product and planter, and runs all kinds or what the words say.
pub fn run(root: &Path, words: &[&str]) -> Result<()> {
    match ended(root, words)? {
        Some(0) => Ok(()),
        Some(NOT_RUN) => bail!("not run: no delay could be both planted and traced here"),
        _ => bail!("causes were told wrong, or could not be told"),
    }
}

/// The quick set, as a step.
pub fn step(root: &Path) -> Outcome {
    if !run::is_root() {
        return Outcome::NotRun("not root".to_owned());
    }
    match ended(root, &["--quick"]) {
        Ok(Some(0)) => Outcome::Passed,
        Ok(Some(NOT_RUN)) => Outcome::NotRun("no delay can be both planted and traced here".to_owned()),
        Ok(_) => Outcome::Failed("causes were told wrong, or could not be told".to_owned()),
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}

fn ended(root: &Path, words: &[&str]) -> Result<Option<i32>> {
    let programs = run::programs(root)?;
    let mut command = Command::new(programs.join("causes"));
    command.current_dir(root).arg("run");
    command.arg("--punctual").arg(programs.join("punctual")).arg("--folder").arg(programs.with_file_name("causes"));
    Ok(command.args(words).status().context("start the planter")?.code())
}
