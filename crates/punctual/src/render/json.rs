//! A report as JSON: the document `punctual/report/3`, which `check`, `measure` and `report` print.
//!
//! The document holds the whole report. Added here are the path of the file, the start as text, a sentence for each
//! doubt, and the next steps for this reader.

mod imported;

#[cfg(test)]
pub(in crate::render) use imported::Document as Imported;
pub use imported::imported;

use super::clean::ascii;
use super::document::{self, Published};
use super::words;
use super::words::next::{Next, Reader, Wording};
use punctual_numbers::explain::Ranked;
use punctual_numbers::report::{CausesDoubt, Direction, Distrust, NextStep, Report};
use punctual_numbers::trace::Rung;
use serde::Serialize;

/// The report of a run, with the next steps for the reader.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::render) struct Document<'a> {
    /// Wall-clock time of the start in the format of RFC 3339; null if the year lies outside the calendar.
    started: Option<String>,
    /// Path of the recording that the report was read from or written to.
    recording: Option<String>,
    #[serde(flatten)]
    report: &'a Report,
    trust: Trust<'a>,
    /// What the reader can do next, the most useful step first. There is at least one.
    next: Vec<Step>,
    /// Causes of latency; null if nothing looked for causes. The single late activations are in the document of
    /// `punctual explain`.
    causes: Option<Causes<'a>>,
    notes: Vec<String>,
}

/// Whether the numbers can be relied upon.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Trust<'a> {
    /// True if no doubt can have hidden latency: the machine is at least as good as the numbers say.
    ok: bool,
    /// Doubts that count for the verdict, each with the direction in which it can have changed the numbers.
    reasons: Vec<Doubt<'a>>,
    /// Facts worth knowing that change no verdict.
    remarks: Vec<Doubt<'a>>,
}

/// A doubt about the numbers, as data and as a sentence.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Doubt<'a> {
    direction: Direction,
    #[serde(flatten)]
    fact: &'a Distrust,
    text: String,
}

/// A next step: as data for programs, as a sentence, and as a command line.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Step {
    #[serde(flatten)]
    what: NextStep,
    text: String,
    /// A command line to paste into a shell.
    command: String,
}

impl From<Next> for Step {
    fn from(next: Next) -> Self {
        let then = if next.then.is_some() { " Then measure again." } else { "" };
        Self { text: ascii(&format!("{}{then}", next.why)), command: next.command.to_string(), what: next.step }
    }
}

/// The ranking of the causes of latency.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Causes<'a> {
    rung: Option<Rung>,
    /// Indices of the load phases that were traced.
    traced_phases: &'a [u16],
    /// Whether the traced load phases are left out of the report's headline numbers.
    apart: bool,
    /// How many activations were late.
    late: u64,
    /// Share of the traced latency that has a known cause, from 0 to 1.
    explained: Option<f64>,
    /// Why the ranking is inconclusive; null if it is conclusive.
    doubt: Option<CausesDoubt>,
    #[serde(rename = "causes")]
    ranked: &'a [Ranked],
}

impl Published for Document<'_> {
    const SCHEMA: &'static str = "punctual/report/3";
}

impl<'a> Document<'a> {
    pub(in crate::render) fn of(of: Wording<'a>) -> Self {
        let Wording { report, recording, .. } = of;
        // The document must not depend on the command that was typed to get it, so the steps are worded without it.
        let reader = Reader { typed: None, ..of.reader.clone() };
        let steps = Wording { reader: &reader, ..of }.steps();
        let doubt =
            |fact: &'a Distrust| Doubt { direction: fact.direction(), fact, text: ascii(&words::distrust(fact)) };
        let distrust = |reasons: &'a [Distrust]| reasons.iter().map(doubt).collect();
        Self {
            started: started(report.started_unix_ns),
            recording: recording.map(|path| path.display().to_string()),
            report,
            trust: Trust {
                ok: report.trust.ok(),
                reasons: distrust(&report.trust.reasons),
                remarks: distrust(&report.trust.remarks),
            },
            next: steps.into_iter().map(Step::from).collect(),
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

pub fn check(of: Wording<'_>) -> serde_json::Result<String> {
    document::document(&Document::of(of))
}

/// The start in the format of RFC 3339; `None` if it lies outside the years of the calendar.
fn started(unix_ns: u64) -> Option<String> {
    jiff::Timestamp::from_nanosecond(i128::from(unix_ns)).ok().map(|t| t.to_string())
}

#[cfg(test)]
mod tests;
