//! How fast a CPU runs. The aim is a constant clock, not the highest one.

pub(super) mod governors;
pub(super) mod heat;
pub(super) mod preferences;
