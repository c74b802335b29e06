//! A campaign for programs: the document `punctual/optimize/2`.

use super::{NotTried, Result};
use crate::render::document::{self, Published};
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::Nanos;
use punctual_optimize::{CONFIDENCE, ERROR_RATE, Effect, Judged, LOOKS, Strategy};
use serde::Serialize;

/// A campaign, as it is published.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::render) struct Document<'a> {
    /// Whether the campaign came to its end. Otherwise it can go on, and verdicts may still change.
    finished: bool,
    strategy: Strategy,
    /// Seed of the order of the measurements.
    seed: u64,
    cpus: &'a CpuSet,
    /// The load, as the user wrote it.
    load: &'a str,
    /// Length of one measurement.
    run_ns: Nanos,
    /// Latency beyond which a release is a miss; null if only skipped ones are.
    late_ns: Option<Nanos>,
    spent_ns: Nanos,
    /// How many measurements were made.
    runs: usize,
    /// Finished rounds in which candidates were measured each alone.
    rounds: u32,
    baselines_per_round: u32,
    /// A change of less than this part is called neither better nor worse.
    margin: f64,
    confidence: f64,
    /// Largest probability, for the whole campaign, of calling anything better or worse where nothing differs.
    error_rate: f64,
    /// How often verdicts are looked for at most.
    looks: u32,
    /// Ids of the candidates that are better.
    recommended: Vec<&'a str>,
    /// What the recommended candidates do together; empty if that was not measured to its end.
    together: &'a [Effect],
    candidates: Vec<JudgedCandidate<'a>>,
    not_tried: &'a [NotTried],
    doubts: &'a [String],
    doubtful_runs: usize,
    /// The folder of the recordings.
    recordings: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JudgedCandidate<'a> {
    id: &'a str,
    title: &'a str,
    cost: &'a str,
    takes_boot: bool,
    /// About how many times as many rounds a verdict needs; null if there is one, or nobody knows.
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
