//! A campaign as people and programs read it: text, a page with a picture of the effects, JSON.
//!
//! Everything shown is a value of the campaign's state; this module must not judge.

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

/// A knob that is not tried.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotTried {
    pub id: String,
    pub why: String,
}

/// A campaign with everything that its forms show.
pub struct Result<'a> {
    pub campaign: &'a Campaign,
    pub standing: &'a CampaignState,
    pub not_tried: &'a [NotTried],
    /// Why measurements are to be doubted.
    pub doubts: &'a Doubts,
    /// The CPUs that were measured.
    pub cpus: &'a CpuSet,
    /// The load, as the user wrote it.
    pub load: String,
    /// Length of one measurement.
    pub run: Nanos,
    /// Latency beyond which a release is a miss.
    pub late: Option<Nanos>,
    /// Time spent on it.
    pub spent: Nanos,
    /// Where its recordings are.
    pub folder: &'a Path,
    /// Whether it was interrupted, and can go on.
    pub stopped: bool,
    /// Why it was given up.
    pub gave_up: Option<String>,
    /// Whether the machine is known to run as it did before the campaign began.
    pub is_home: bool,
    /// Boots that were asked for, if the campaign goes across boots.
    pub boots: Option<u32>,
}
