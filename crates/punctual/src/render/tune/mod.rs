//! Plans, what became of them, and how things stand: for people and as JSON.
//!
//! Decides nothing: everything shown is a value of the core or of the journal.

mod json;
mod plan;
mod status;

pub use json::{plan as plan_json, status as status_json};
pub use plan::plan;
pub use status::status;

/// Width of the column of names.
const NAMES: usize = 12;
