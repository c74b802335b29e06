//! Things that look after the machine and stop it to do so.

mod errors;
mod lockups;
mod panics;

use super::{Knob, count, joined};

const PARTS: &[&[Knob]] = &[lockups::KNOBS, panics::KNOBS, errors::KNOBS];
pub(super) const KNOBS: &[Knob] = &joined::<{ count(PARTS) }>(PARTS);
