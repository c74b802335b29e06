//! How deep a CPU sleeps: the deeper, the later it wakes.

pub(super) mod drivers;
pub(super) mod limits;
pub(super) mod states;
