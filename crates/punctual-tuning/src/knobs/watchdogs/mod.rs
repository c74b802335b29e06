//! Knobs about watchdogs, and about error handling that stops the machine to do its work.

pub(super) mod errors;
pub(super) mod lockups;
pub(super) mod panics;
