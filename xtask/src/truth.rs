//! `cargo xtask truth`: runs the crate `truth`, which compares the statistics with values drawn from known
//! distributions.

use crate::run;
use crate::step::StepOutcome;
use anyhow::Result;
use std::path::Path;

/// Runs the crate `truth` with these words. It is built with optimisation, because its long form draws some 1e10
/// values.
pub fn run(root: &Path, words: &[&str]) -> Result<()> {
    let command = ["run", "--quiet", "--release", "--package", "truth", "--"];
    run::pass_through(run::cargo(root, &command).args(words))
}

/// Runs the short form as a step of `ci`.
pub fn step(root: &Path) -> StepOutcome {
    StepOutcome::of(run(root, &["--short"]))
}
