//! Whole windows, from records to blame: by data, by property, and over a whole recording.

mod data;
mod random;
pub(super) mod text;
mod whole;
