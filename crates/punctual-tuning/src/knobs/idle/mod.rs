//! Knobs about idle states. It takes longer to wake a CPU from a deeper state.

pub(super) mod drivers;
pub(super) mod limits;
pub(super) mod states;
