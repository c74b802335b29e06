//! `cargo xtask truth`: hands over to the crate `truth`, which holds the statistics against families of known law.

use crate::run;
use crate::step::StepOutcome;
use anyhow::Result;
use std::path::Path;

/// Runs it with those words. It is built for speed: the long form draws some 1e10 values.
pub fn run(root: &Path, words: &[&str]) -> Result<()> {
    let command = ["run", "--quiet", "--release", "--package", "truth", "--"];
    run::pass_through(run::cargo(root, &command).args(words))
}

/// The short form, as a step.
pub fn step(root: &Path) -> StepOutcome {
    StepOutcome::of(run(root, &["--short"]))
}
