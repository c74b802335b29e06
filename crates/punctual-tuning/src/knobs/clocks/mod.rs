//! Knobs about clock sources, and about the event devices that wake a CPU.

pub(super) mod events;
pub(super) mod setting;
pub(super) mod sources;
