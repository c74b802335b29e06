//! Things that look after the machine and stop it to do so.

pub(super) mod errors;
pub(super) mod lockups;
pub(super) mod panics;
