//! The output formats of a campaign: text, a page with a picture of the effects, JSON.
//!
//! Every value shown comes from the campaign's state. This module must not judge.

mod html;
mod json;
#[cfg(test)]
mod tests;
mod text;
mod words;

pub use html::html;
#[cfg(test)]
pub(in crate::render) use json::Document as Published;
pub use json::json;
pub use text::{intended, not_tried, step, text};

use punctual_facts::cpu_set::CpuSet;
use punctual_hist::Nanos;
use punctual_optimize::format::Doubts;
use punctual_optimize::{Campaign, CampaignState};
use serde::Serialize;
use std::path::Path;

/// A knob that the campaign does not try, and the reason.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotTried {
    pub id: String,
    pub why: String,
}

/// A campaign with all values that its output formats show.
pub struct Result<'a> {
    pub campaign: &'a Campaign,
    pub standing: &'a CampaignState,
    pub not_tried: &'a [NotTried],
    pub doubts: &'a Doubts,
    pub cpus: &'a CpuSet,
    /// The load, as the user wrote it.
    pub load: String,
    /// Length of one measurement.
    pub run: Nanos,
    /// A release with a larger latency is a miss; `None` if only skipped releases are misses.
    pub late: Option<Nanos>,
    /// Time spent on the campaign so far.
    pub spent: Nanos,
    pub folder: &'a Path,
    /// Whether the campaign was interrupted and can be resumed.
    pub stopped: bool,
    /// Why the campaign was given up; `None` if it was not.
    pub gave_up: Option<String>,
    /// Whether the machine is known to run as it did before the campaign began.
    pub is_home: bool,
    /// Number of boots that the campaign has asked for; `None` if it does not go across boots.
    pub boots: Option<u32>,
}
