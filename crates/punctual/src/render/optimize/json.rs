//! A campaign for programs: one document, described by `schemas/optimize-1.schema.json`.
//!
//! The structures here mirror the document and nothing else has them. Times are nanoseconds; what is absent or has no
//! end is null, never 0.

use super::Result;
use punctual_optimize::format::strategy_name;
use punctual_optimize::{CONFIDENCE, ERROR_RATE, Effect, LOOKS, Metric, Verdict};
use serde::Serialize;

/// Name and version of the document.
const SCHEMA: &str = "punctual/optimize/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    tool_version: &'static str,
    finished: bool,
    strategy: &'static str,
    seed: u64,
    cpus: String,
    load: &'a str,
    run_ns: u64,
    late_ns: Option<u64>,
    spent_ns: u64,
    runs: usize,
    rounds: u32,
    baselines_per_round: u32,
    margin: f64,
    confidence: f64,
    error_rate: f64,
    looks: u32,
    recommended: Vec<&'a str>,
    together: Vec<EffectOut>,
    candidates: Vec<CandidateOut<'a>>,
    not_tried: Vec<NotTried<'a>>,
    doubts: &'a [String],
    doubtful_runs: usize,
    recordings: String,
}

#[derive(Serialize)]
struct CandidateOut<'a> {
    id: &'a str,
    title: &'a str,
    cost: &'a str,
    verdict: &'static str,
    refused: Option<&'a str>,
    rounds: usize,
    takes_boot: bool,
    rounds_factor: Option<f64>,
    effects: Vec<EffectOut>,
}

#[derive(Serialize)]
struct EffectOut {
    metric: &'static str,
    kind: &'static str,
    baseline: f64,
    seen: f64,
    low: Option<f64>,
    high: Option<f64>,
    odds_up: f64,
    odds_down: f64,
}

#[derive(Serialize)]
struct NotTried<'a> {
    id: &'a str,
    why: &'a str,
}

/// The document, indented.
///
/// # Errors
/// Those of the JSON writer.
pub fn json(result: &Result<'_>) -> std::result::Result<String, serde_json::Error> {
    let Result { campaign, standing, .. } = result;
    let design = &campaign.design;
    let candidate = |place: &usize| design.candidates.get(*place);
    let judged = standing.judged.iter().filter_map(|judged| {
        let of = candidate(&judged.candidate)?;
        Some(CandidateOut {
            id: &of.id,
            title: &of.title,
            cost: &of.cost,
            verdict: if result.stopped { "open" } else { verdict(&judged.verdict) },
            refused: match &judged.verdict {
                Verdict::Refused(why) => Some(why),
                _ => None,
            },
            rounds: judged.rounds,
            takes_boot: !of.boot.is_empty(),
            rounds_factor: judged.longer().filter(|_| !result.stopped),
            effects: judged.effects.iter().map(effect).collect(),
        })
    });
    serde_json::to_string_pretty(&Document {
        schema: SCHEMA,
        tool_version: env!("CARGO_PKG_VERSION"),
        finished: !result.stopped,
        strategy: strategy_name(design.strategy),
        seed: design.seed,
        cpus: result.cpus.to_string(),
        load: &result.load,
        run_ns: result.run.as_ns(),
        late_ns: result.late.map(punctual_hist::Nanos::as_ns),
        spent_ns: result.spent.as_ns(),
        runs: campaign.runs.len(),
        rounds: standing.rounds,
        baselines_per_round: design.baselines,
        margin: design.margin,
        confidence: CONFIDENCE,
        error_rate: ERROR_RATE,
        looks: LOOKS,
        recommended: standing.recommended.iter().filter_map(candidate).map(|of| of.id.as_str()).collect(),
        together: standing.together.iter().map(effect).collect(),
        candidates: judged.collect(),
        not_tried: result.left_out.iter().map(|(id, why)| NotTried { id, why }).collect(),
        doubts: &result.doubts.reasons,
        doubtful_runs: result.doubts.runs,
        recordings: result.folder.display().to_string(),
    })
}

fn verdict(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Mixed => "mixed",
        Verdict::NoDifferenceShown => "no_difference_shown",
        Verdict::NotEnoughData => "not_enough_data",
        Verdict::LeftBehind => "left_behind",
        Verdict::Worse => "worse",
        Verdict::Refused(_) => "refused",
    }
}

/// The name of a number, as the schema has it.
fn metric(metric: Metric) -> &'static str {
    match metric {
        Metric::P50 => "p50",
        Metric::P99_9 => "p99.9",
        Metric::Misses => "misses",
    }
}

fn effect(effect: &Effect) -> EffectOut {
    let is_time = effect.metric != Metric::Misses;
    let known = |limit: f64| Some(limit).filter(|limit| limit.is_finite() && !(is_time && *limit <= 0.0));
    EffectOut {
        metric: metric(effect.metric),
        kind: if is_time { "factor" } else { "difference_per_million" },
        baseline: effect.baseline,
        seen: effect.seen,
        low: known(effect.low),
        high: known(effect.high),
        odds_up: effect.odds_up,
        odds_down: effect.odds_down,
    }
}
