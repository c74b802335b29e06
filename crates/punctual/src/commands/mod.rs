//! One file per verb; each is its own short chain of values.

mod adopt;
pub mod audit;
pub mod boot;
pub mod check;
pub mod explain;
mod here;
pub mod internal;
pub mod lint;
pub mod measure;
pub mod report;
pub mod revert;
mod session;
pub mod snapshot;
mod source;
pub mod status;
pub mod tune;
