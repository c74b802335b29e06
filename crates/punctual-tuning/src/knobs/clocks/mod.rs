//! What time is read from, and what rings the bell.

mod events;
mod setting;
mod sources;

use super::{Knob, count, joined};

const PARTS: &[&[Knob]] = &[sources::KNOBS, events::KNOBS, setting::KNOBS];
pub(super) const KNOBS: &[Knob] = &joined::<{ count(PARTS) }>(PARTS);

pub(super) use sources::{cpu_flags, is_sound};
