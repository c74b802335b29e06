//! Plans, the results of applying and reverting them, and the status of settings: as text and as JSON.
//!
//! Decides nothing: everything shown is a value of the core or of the journal.

mod json;
mod plan;
mod results;
mod status;

pub use json::TuneDocument;
pub use plan::{plan, why};
pub use results::{results, reverted};
pub use status::{Sentence, Status, status};

/// Width of the column of names.
const NAMES: usize = 12;
