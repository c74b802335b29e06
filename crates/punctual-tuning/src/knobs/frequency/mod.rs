//! How fast a CPU runs. What is wanted is not the highest clock but a constant one.

pub(super) mod governors;
pub(super) mod heat;
pub(super) mod preferences;
