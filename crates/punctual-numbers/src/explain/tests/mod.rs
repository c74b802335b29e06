//! Tests of whole windows, from records to causes: by fixtures, by properties, and over a whole recording.

mod data;
mod random;
pub(super) mod text;
mod whole;
