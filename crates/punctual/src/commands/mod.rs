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

/// The error message if this build lacks a feature. The feature's name is `what` in lower case.
fn left_out(what: &str) -> String {
    let feature = what.to_lowercase();
    format!("{what} is not in this build: `cargo build --release --features {feature}` makes one that has it")
}
