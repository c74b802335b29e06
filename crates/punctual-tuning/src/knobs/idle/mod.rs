//! How deep a CPU sleeps: the deeper, the later it wakes.

mod drivers;
mod limits;
mod states;

use super::{Knob, count, joined};

const PARTS: &[&[Knob]] = &[states::KNOBS, limits::KNOBS, drivers::KNOBS];
pub(super) const KNOBS: &[Knob] = &joined::<{ count(PARTS) }>(PARTS);

pub(super) use states::{deep_on_first, names_on_first};
