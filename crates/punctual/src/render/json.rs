//! What was measured, for programs: the document `punctual/report/2`, which `check`, `measure` and `report` print.
//!
//! The report itself is what is published; this adds what only a renderer knows: the file, the wall clock as text, and
//! a sentence for people beside each reason and each next step.

mod imported;

#[cfg(test)]
pub(in crate::render) use imported::Document as Imported;
pub use imported::imported;

use super::document::{self, Published};
use super::{units, words};
use punctual_numbers::explain::Ranked;
use punctual_numbers::report::{CausesDoubt, Direction, Distrust, NextStep, Report};
use punctual_numbers::trace::Rung;
use serde::Serialize;
use std::path::Path;

/// A report, as it is published.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::render) struct Document<'a> {
    /// Wall clock at the start, RFC 3339; null if no calendar holds it.
    started: Option<String>,
    /// The file it was read from or written to.
    recording: Option<String>,
    #[serde(flatten)]
    report: &'a Report,
    trust: Trust<'a>,
    /// What to do next, most useful first.
    next: Vec<Said<'a, NextStep>>,
    /// Who made it late: all but the single activations, which `punctual explain` has; null if nobody looked.
    causes: Option<Causes<'a>>,
    notes: Vec<String>,
}

/// Whether the numbers can be relied upon.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Trust<'a> {
    /// No doubt can have hidden latency: the machine is as good as the numbers, or better.
    ok: bool,
    /// Doubts that count for the verdict, each by its direction.
    reasons: Vec<Doubt<'a>>,
    /// Things worth knowing that change no verdict.
    remarks: Vec<Doubt<'a>>,
}

/// A doubt, with a sentence for people.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Doubt<'a> {
    direction: Direction,
    #[serde(flatten)]
    said: Said<'a, Distrust>,
}

/// A fact and its numbers for programs, with a sentence for people.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Said<'a, T> {
    #[serde(flatten)]
    fact: &'a T,
    text: String,
}

/// The ranking of causes.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Causes<'a> {
    rung: Option<Rung>,
    /// Numbers of the load phases that were traced.
    traced_phases: &'a [u16],
    /// Whether the headline numbers leave out what was traced.
    apart: bool,
    /// How many activations were late.
    late: u64,
    /// Share of the latency looked at that has a cause, 0 to 1.
    explained: Option<f64>,
    /// Why this is not the answer.
    doubt: Option<CausesDoubt>,
    #[serde(rename = "causes")]
    ranked: &'a [Ranked],
}

impl Published for Document<'_> {
    const SCHEMA: &'static str = "punctual/report/2";
}

impl<'a> Document<'a> {
    pub(in crate::render) fn of(report: &'a Report, recording: Option<&Path>) -> Self {
        let distrust = |reasons: &'a [Distrust]| {
            let said = |fact| Said { fact, text: plain(&words::distrust(fact)) };
            reasons.iter().map(|fact| Doubt { direction: fact.direction(), said: said(fact) }).collect()
        };
        Self {
            started: started(report.started_unix_ns),
            recording: recording.map(|path| path.display().to_string()),
            report,
            trust: Trust {
                ok: report.trust.ok(),
                reasons: distrust(&report.trust.reasons),
                remarks: distrust(&report.trust.remarks),
            },
            next: report.next.iter().map(|fact| Said { fact, text: plain(&words::next_step(fact, report)) }).collect(),
            causes: report.causes.as_ref().map(|found| Causes {
                rung: found.tracing.as_ref().map(|tracing| tracing.rung),
                traced_phases: found.tracing.as_ref().map_or(&[], |tracing| &tracing.phases),
                apart: report.traced_apart(),
                late: report.late().late,
                explained: found.explained,
                doubt: report.causes_doubt(),
                ranked: &found.causes,
            }),
            notes: words::runs::notes(report),
        }
    }
}

pub fn check(report: &Report, recording: Option<&Path>) -> serde_json::Result<String> {
    document::document(&Document::of(report, recording))
}

/// RFC 3339, or null for an instant no calendar holds.
fn started(unix_ns: u64) -> Option<String> {
    jiff::Timestamp::from_nanosecond(i128::from(unix_ns)).ok().map(|t| t.to_string())
}

/// A sentence with plain spaces.
fn plain(text: &str) -> String {
    text.replace(units::THIN, " ")
}

#[cfg(test)]
mod tests;
