//! Knobs about the frequency of CPUs. The aim is a constant frequency, not the highest one.

pub(super) mod governors;
pub(super) mod heat;
pub(super) mod preferences;
