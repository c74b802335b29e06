//! How deep a CPU sleeps. It takes longer to wake from a deeper state.

pub(super) mod drivers;
pub(super) mod limits;
pub(super) mod states;
