//! How fast a CPU runs. What is wanted is not the highest clock but a constant one.

mod governors;
mod heat;
mod preferences;

use super::Missing::CannotBe;
use super::{Knob, Missing, count, joined};

const PARTS: &[&[Knob]] = &[governors::KNOBS, preferences::KNOBS, heat::KNOBS];
pub(super) const KNOBS: &[Knob] = &joined::<{ count(PARTS) }>(PARTS);

pub(super) use governors::governor;

/// What it means when a CPU shows no frequency.
pub(super) const NO_DRIVER: Missing = CannotBe("no cpufreq driver: the firmware or the host sets the frequency");
