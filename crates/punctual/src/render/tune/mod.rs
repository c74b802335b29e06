//! Plans, the results of applying and reverting them, and the status of settings: as text and as JSON.
//!
//! Every value shown comes from the plan, its result or the journal. Nothing is decided here.

mod json;
mod plan;
mod results;
mod status;

pub use json::TuneDocument;
pub use plan::{plan, why};
pub use results::{results, reverted};
pub use status::{Sentence, Status, status};

/// Width of the labels at the left of the text, in columns.
const NAMES: usize = 12;
