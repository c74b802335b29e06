//! Kernels side by side for programs: the document `punctual/lab-compare/1`.

use super::{GuestClock, NotMeasured, RefusedMode, Shown};
use crate::render::document::{self, Published};
use punctual_hist::Nanos;
use punctual_numbers::kernels::SideBySide;
use serde::Serialize;

/// Kernels that were measured in guests under the same loads.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::render) struct Document<'a> {
    /// The source of time in the guests.
    clock: GuestClock,
    /// The loads, as the user wrote them.
    load: &'a str,
    period_ns: Nanos,
    /// Length of one measurement in the guest's time, over all loads.
    duration_ns: Nanos,
    /// Seeds of the measurements of each kernel.
    seeds: &'a [u64],
    #[serde(flatten)]
    table: &'a SideBySide,
    /// Kernels of which measurements are missing.
    not_measured: &'a [&'a NotMeasured],
    /// Modes of pre-emption that were asked for and are not in force.
    refused_modes: &'a [RefusedMode],
}

impl Published for Document<'_> {
    const SCHEMA: &'static str = "punctual/lab-compare/1";
}

impl<'a> Document<'a> {
    pub(in crate::render) fn of(shown: &'a Shown<'_>) -> Self {
        Self {
            clock: shown.clock,
            load: &shown.load,
            period_ns: shown.period,
            duration_ns: shown.duration,
            seeds: shown.seeds,
            table: &shown.table,
            not_measured: &shown.not_measured,
            refused_modes: &shown.refused,
        }
    }
}

pub fn json(shown: &Shown<'_>) -> serde_json::Result<String> {
    document::document(&Document::of(shown))
}
