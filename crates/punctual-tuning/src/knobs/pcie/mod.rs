//! Knobs about links and devices that sleep between transfers.

pub(super) mod devices;
pub(super) mod links;
pub(super) mod system;
