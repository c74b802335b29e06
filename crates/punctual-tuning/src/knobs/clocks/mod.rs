//! What time is read from, and what rings the bell.

pub(super) mod events;
pub(super) mod setting;
pub(super) mod sources;
