//! A campaign as JSON: the document `punctual/optimize/2`.

use super::{NotTried, Result};
use crate::render::document::{self, Published};
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::Nanos;
use punctual_optimize::{CONFIDENCE, ERROR_RATE, Effect, Judged, LOOKS, Strategy};
use serde::Serialize;

/// The state of a campaign: its plan and what it has found.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::render) struct Document<'a> {
    /// Whether the campaign is complete. If not, it can be resumed, and verdicts may still change.
    finished: bool,
    strategy: Strategy,
    /// Seed of the random order of measurements.
    seed: u64,
    cpus: &'a CpuSet,
    /// The load, as the user wrote it.
    load: &'a str,
    /// Length of one measurement.
    run_ns: Nanos,
    /// A release counts as a miss if its latency exceeds this value or it was skipped; null if only skipped releases
    /// count.
    late_ns: Option<Nanos>,
    spent_ns: Nanos,
    /// Number of measurements made so far.
    runs: usize,
    /// Number of finished rounds. In each of them every candidate was measured by itself.
    rounds: u32,
    baselines_per_round: u32,
    /// Changes by less than this share count as neither better nor worse.
    margin: f64,
    confidence: f64,
    /// Upper limit of the probability that the campaign calls any candidate better or worse although it has no effect.
    error_rate: f64,
    /// Largest number of times that the campaign computes verdicts.
    looks: u32,
    /// Ids of the candidates that are better.
    recommended: Vec<&'a str>,
    /// Effects of all recommended candidates set together; empty if that measurement was not completed.
    together: &'a [Effect],
    candidates: Vec<JudgedCandidate<'a>>,
    not_tried: &'a [NotTried],
    doubts: &'a [String],
    doubtful_runs: usize,
    /// Path of the folder that holds the recordings.
    recordings: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JudgedCandidate<'a> {
    id: &'a str,
    title: &'a str,
    cost: &'a str,
    takes_boot: bool,
    /// Estimated factor by which the number of rounds must grow until this candidate has a verdict; null if it has one,
    /// or if the factor is unknown.
    rounds_factor: Option<f64>,
    #[serde(flatten)]
    judged: &'a Judged,
}

impl Published for Document<'_> {
    const SCHEMA: &'static str = "punctual/optimize/2";
}

impl<'a> Document<'a> {
    pub(in crate::render) fn of(result: &'a Result<'_>) -> Self {
        let Result { campaign, standing, .. } = result;
        let design = &campaign.design;
        let candidate = |place: &usize| design.candidates.get(*place);
        let judged = |judged: &'a Judged| {
            let of = candidate(&judged.candidate)?;
            Some(JudgedCandidate {
                id: &of.id,
                title: &of.title,
                cost: &of.cost,
                takes_boot: !of.boot.is_empty(),
                rounds_factor: judged.longer(),
                judged,
            })
        };
        Self {
            finished: !result.stopped,
            strategy: design.strategy,
            seed: design.seed,
            cpus: result.cpus,
            load: &result.load,
            run_ns: result.run,
            late_ns: result.late,
            spent_ns: result.spent,
            runs: campaign.runs.len(),
            rounds: standing.rounds,
            baselines_per_round: design.baselines,
            margin: design.margin,
            confidence: CONFIDENCE,
            error_rate: ERROR_RATE,
            looks: LOOKS,
            recommended: standing.recommended.iter().filter_map(candidate).map(|of| of.id.as_str()).collect(),
            together: &standing.together,
            candidates: standing.judged.iter().filter_map(judged).collect(),
            not_tried: result.not_tried,
            doubts: &result.doubts.reasons,
            doubtful_runs: result.doubts.runs,
            recordings: result.folder.display().to_string(),
        }
    }
}

pub fn json(result: &Result<'_>) -> serde_json::Result<String> {
    document::document(&Document::of(result))
}
