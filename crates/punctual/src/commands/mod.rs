//! The verbs, one module each.

mod adopt;
pub mod audit;
pub mod boot;
pub mod check;
pub mod compare;
pub mod explain;
pub mod export;
mod files;
mod here;
pub mod init;
pub mod internal;
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
pub mod snapshot;
mod source;
pub mod status;
pub mod tune;

/// What to say when a feature of this name was left out of the build. Features are named in lower case.
fn left_out(what: &str) -> String {
    let feature = what.to_lowercase();
    format!("{what} is not in this build: `cargo build --release --features {feature}` makes one that has it")
}
