//! The commands of the program, one module for each.

mod adopt;
pub mod audit;
pub mod boot;
pub mod campaign;
pub mod check;
pub mod compare;
pub mod explain;
pub mod export;
mod files;
pub mod fleet;
mod here;
pub mod init;
pub mod inspect;
pub mod internal;
mod kernels;
pub mod lab;
pub mod lint;
pub mod measure;
pub mod merge;
mod need;
pub mod optimize;
mod plot;
mod preconditions;
mod project;
mod quiet;
pub mod report;
mod resume;
pub mod revert;
mod session;
pub mod share;
pub mod snapshot;
mod source;
pub mod status;
pub mod torture;
pub mod trend;
pub mod tune;
pub mod watch;
mod watched;
mod why_not;

use anyhow::{Result, bail};

/// Answers to an internal verb that the small program for boards has no use for.
pub fn unknown() -> Result<crate::exit::Exit> {
    bail!("this program for boards has no such verb")
}

/// Refuses what the small program for boards does not do. What comes after is no part of it if the compiler sees that this
/// never returns.
#[allow(clippy::inline_always, reason = "the program for boards is small because of it")]
#[inline(always)]
fn of_whole_program(what: &str, instead: &str) -> Result<()> {
    if !cfg!(feature = "every-verb") {
        bail!("{what}: this program for boards has no such thing. A whole punctual has it: {instead}");
    }
    Ok(())
}

/// The error message if this build lacks a feature. The feature's name is `what` in lower case.
fn left_out(what: &str) -> String {
    let feature = what.to_lowercase();
    format!("{what} is not in this build: `cargo build --release --features {feature}` makes one that has it")
}
