//! Who made it late, for programs: the document `punctual/explain/2`.
//!
//! Instants are nanoseconds of `CLOCK_MONOTONIC` as the kernel wrote them, so that they can be held against other logs
//! of the same boot.

use crate::render::document::{self, Published};
use punctual_hist::MonoTime;
use punctual_numbers::explain::{Explanation, LateCount};
use punctual_numbers::report::{CausesDoubt, Report};
use punctual_numbers::scenario::LoadPhase;
use serde::Serialize;
use std::path::Path;

/// An explanation, as it is published.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::render) struct Document<'a> {
    /// The file it was read from.
    recording: Option<String>,
    /// Version of the program that measured.
    measured_with: &'a str,
    /// The instant that times of a report are relative to.
    epoch_ns: MonoTime,
    /// The load phases; their numbers count from 0.
    load_phases: &'a [LoadPhase],
    /// Whether the headline numbers of the report leave out what was traced.
    apart: bool,
    /// What there was to explain, all CPUs together.
    all_late: LateCount,
    /// Why this is not the answer.
    doubt: Option<CausesDoubt>,
    #[serde(flatten)]
    explanation: &'a Explanation,
}

impl Published for Document<'_> {
    const SCHEMA: &'static str = "punctual/explain/2";
}

impl<'a> Document<'a> {
    /// Of a report; `None` where nobody looked for causes.
    pub(in crate::render) fn of(report: &'a Report, recording: Option<&Path>) -> Option<Self> {
        Some(Self {
            recording: recording.map(|path| path.display().to_string()),
            measured_with: &report.tool_version,
            epoch_ns: report.epoch,
            load_phases: &report.scenario.load_phases,
            apart: report.traced_apart(),
            all_late: report.late(),
            doubt: report.causes_doubt(),
            explanation: report.causes.as_ref()?,
        })
    }
}

/// The document, indented; `None` where nobody looked for causes.
pub fn document(report: &Report, recording: Option<&Path>) -> Option<String> {
    Document::of(report, recording).as_ref().map(document::document)
}
