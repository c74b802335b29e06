//! A comparison for programs: the document `punctual/compare/3`.

use crate::render::document::{self, Published};
use punctual_numbers::compare::{CONFIDENCE, Compared, Comparison};
use serde::Serialize;

/// A comparison, as it is published.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::render) struct Document<'a> {
    verdict: Compared,
    /// Confidence level of every interval in the document.
    confidence: f64,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

impl Published for Document<'_> {
    const SCHEMA: &'static str = "punctual/compare/3";
}

impl<'a> Document<'a> {
    pub(in crate::render) fn of(comparison: &'a Comparison) -> Self {
        Self { verdict: comparison.verdict(), confidence: CONFIDENCE, comparison }
    }
}

pub fn json(comparison: &Comparison) -> serde_json::Result<String> {
    document::document(&Document::of(comparison))
}
