//! One file per verb; each is its own short chain of values.

pub mod audit;
mod captured;
pub mod check;
mod here;
pub mod internal;
pub mod measure;
pub mod report;
mod session;
pub mod snapshot;
