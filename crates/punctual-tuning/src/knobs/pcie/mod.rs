//! Links and devices that sleep between transfers.

mod devices;
mod links;
mod system;

use super::{Knob, count, joined};

const PARTS: &[&[Knob]] = &[links::KNOBS, devices::KNOBS, system::KNOBS];
pub(super) const KNOBS: &[Knob] = &joined::<{ count(PARTS) }>(PARTS);

/// More devices than this on one bus are not looked at.
const MOST_DEVICES: usize = 512;

pub(super) use devices::sata;
pub(super) use links::controls_links;
