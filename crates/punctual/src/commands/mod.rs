//! One file per verb; each is its own short chain of values.

pub mod audit;
pub mod check;
mod here;
pub mod internal;
pub mod lint;
pub mod measure;
pub mod report;
mod session;
pub mod snapshot;
mod source;
pub mod tune;
