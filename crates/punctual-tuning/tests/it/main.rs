//! Tests whole stages by comparing their text output with files. `BLESS=1 cargo test -p punctual-tuning` writes the
//! expectations anew.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod artefacts;
mod book;
mod choice;
mod cmdlines;
mod diff;
mod generated;
mod machines;
mod masked;
mod plans;
mod programs;
mod remedies;
mod second_kernel;
mod sizes;
mod standing;

use fixtures::{check, repository};
