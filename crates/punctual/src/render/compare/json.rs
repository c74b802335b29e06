//! A comparison for programs: one document, described by `schemas/compare-1.schema.json`.
//!
//! The structures here mirror the document and nothing else has them. Times are nanoseconds; what is absent or has no
//! end is null, never 0.

use crate::render::json::{Said, unfit};
use crate::render::units;
use crate::render::words::{self, compare as say};
use punctual_numbers::compare::{
    Against, CauseChange, Change, Comparison, Difference, Group, GroupResult, Lack, Lacking, LeftOut, Limits, Matters,
    Origin, Row, Side, Verdict, Weight, What, Withheld,
};
use serde::Serialize;

/// Name and version of the document.
const SCHEMA: &str = "punctual/compare/1";

/// The document, indented.
pub fn json(comparison: &Comparison) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(&Document {
        schema: SCHEMA,
        tool_version: env!("CARGO_PKG_VERSION"),
        margin: comparison.options.margin,
        confidence: punctual_numbers::compare::CONFIDENCE,
        resamples: comparison.options.resamples,
        rows: comparison.looked_at,
        verdict: verdict(comparison.verdict()),
        first: side(&comparison.first),
        others: comparison.others.iter().map(against).collect(),
    })
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    tool_version: &'static str,
    margin: f64,
    confidence: f64,
    resamples: usize,
    rows: usize,
    verdict: &'static str,
    first: SideOut<'a>,
    others: Vec<AgainstOut<'a>>,
}

#[derive(Serialize)]
struct SideOut<'a> {
    name: &'a str,
    format: &'static str,
    program: String,
    tool_version: Option<&'a str>,
    started: Option<String>,
    measured_ns: Option<u64>,
    trusted: bool,
    doubts: Vec<String>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct AgainstOut<'a> {
    recording: SideOut<'a>,
    verdict: &'static str,
    comparable: bool,
    told_to: Option<f64>,
    wants_ns: Option<u64>,
    differences: Vec<DifferenceOut>,
    not_compared: Vec<LeftOutOut<'a>>,
    not_known: Vec<LackOut>,
    groups: Vec<GroupResultOut<'a>>,
    causes: Option<Vec<CauseOut>>,
}

#[derive(Serialize)]
struct DifferenceOut {
    subject: String,
    matters: &'static str,
    first: String,
    second: String,
}

#[derive(Serialize)]
struct GroupOut<'a> {
    cpu: Option<u32>,
    series: Option<&'a str>,
    load: Option<&'a str>,
    traced: bool,
}

#[derive(Serialize)]
struct LeftOutOut<'a> {
    #[serde(flatten)]
    group: GroupOut<'a>,
    only_in: &'static str,
}

#[derive(Serialize)]
struct LackOut {
    what: &'static str,
    beyond_ns: Option<u64>,
    of_first: bool,
    of_second: bool,
    text: String,
}

#[derive(Serialize)]
struct GroupResultOut<'a> {
    #[serde(flatten)]
    group: GroupOut<'a>,
    against: Option<GroupOut<'a>>,
    verdict: &'static str,
    due_first: u64,
    due_second: u64,
    unfit_first: Option<Said>,
    unfit_second: Option<Said>,
    cliffs_delta: Option<f64>,
    rows: Vec<RowOut>,
}

#[derive(Serialize)]
struct RowOut {
    what: &'static str,
    percentile: Option<f64>,
    budget_ns: Option<u64>,
    block_ns: Option<u64>,
    blocks: Option<(usize, usize)>,
    first: Option<f64>,
    second: Option<f64>,
    change: Option<&'static str>,
    seen: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    odds: Option<f64>,
    odds_of_all: Option<f64>,
    verdict: &'static str,
    refused: bool,
    stolen: bool,
    wants_ns: Option<u64>,
}

#[derive(Serialize)]
struct CauseOut {
    cause: String,
    first: Option<WeightOut>,
    second: Option<WeightOut>,
}

#[derive(Serialize)]
struct WeightOut {
    share: f64,
    lateness_ns_per_second: f64,
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Mixed => "mixed",
        Verdict::NoDifferenceShown => "no-difference-shown",
        Verdict::NotEnoughData => "not-enough-data",
    }
}

fn side(side: &Side) -> SideOut<'_> {
    let (format, tool_version) = match &side.origin {
        Origin::Punctual { version, .. } => ("punctual", Some(version.as_str())),
        Origin::Imported { format, .. } => (*format, None),
    };
    SideOut {
        name: &side.name,
        format,
        program: say::program(&side.origin),
        tool_version,
        started: say::started(&side.origin),
        measured_ns: side.measured.map(punctual_hist::Nanos::as_ns),
        trusted: side.doubts.is_empty(),
        doubts: side.doubts.iter().map(|doubt| plain(&words::distrust(doubt))).collect(),
        notes: say::notes(&side.origin),
    }
}

/// Without the narrow blanks that only people see.
fn plain(text: &str) -> String {
    text.replace(units::THIN, " ")
}

fn against(against: &Against) -> AgainstOut<'_> {
    AgainstOut {
        recording: side(&against.side),
        verdict: verdict(against.verdict),
        comparable: !against.refused,
        told_to: against.told_to_ppm.map(percent),
        wants_ns: against.wants.map(punctual_hist::Nanos::as_ns),
        differences: against.differences.iter().map(difference).collect(),
        not_compared: against.left_out.iter().map(left_out).collect(),
        not_known: against.lacks.iter().map(lack).collect(),
        groups: against.groups.iter().map(result).collect(),
        causes: against.causes.as_ref().map(|causes| causes.iter().map(cause).collect()),
    }
}

fn percent(ppm: u32) -> f64 {
    f64::from(ppm) / 1e4
}

fn difference(difference: &Difference) -> DifferenceOut {
    let matters = match difference.matters() {
        Matters::Refuses => "refuses",
        Matters::Much => "much",
        Matters::Some => "some",
        Matters::Little => "little",
    };
    DifferenceOut {
        subject: say::subject(&difference.subject),
        matters,
        first: plain(&say::value(&difference.first)),
        second: plain(&say::value(&difference.second)),
    }
}

fn group(group: &Group) -> GroupOut<'_> {
    GroupOut { cpu: group.cpu, series: group.series.as_deref(), load: group.load.as_deref(), traced: group.traced }
}

fn left_out(left: &LeftOut) -> LeftOutOut<'_> {
    LeftOutOut { group: group(&left.group), only_in: if left.in_first { "first" } else { "second" } }
}

fn lack(of: &Lacking) -> LackOut {
    let (what, beyond_ns) = match of.lack {
        Lack::Time => ("time", None),
        Lack::Skips => ("skips", None),
        Lack::Beyond(from) => ("beyond", Some(from.as_ns())),
        Lack::Counts => ("counts", None),
        Lack::Settings => ("settings", None),
    };
    LackOut { what, beyond_ns, of_first: of.first, of_second: of.second, text: plain(&say::lacking(of)) }
}

fn result(of: &GroupResult) -> GroupResultOut<'_> {
    GroupResultOut {
        group: group(&of.group),
        against: of.against.as_ref().map(group),
        verdict: verdict(of.verdict),
        due_first: of.due.0,
        due_second: of.due.1,
        unfit_first: of.unfit.0.as_ref().map(unfit),
        unfit_second: of.unfit.1.as_ref().map(unfit),
        cliffs_delta: of.delta,
        rows: of.rows.iter().map(row).collect(),
    }
}

fn row(row: &Row) -> RowOut {
    let (what, percentile, budget_ns, block_ns, blocks) = match row.what {
        What::Percentile(ppm) => ("percentile", Some(percent(ppm)), None, None, None),
        What::Misses(budget) => ("misses-per-million", None, budget.map(punctual_hist::Nanos::as_ns), None, None),
        What::BlockMaxima(length, blocks) => ("block-maxima", None, None, Some(length.as_ns()), Some(blocks)),
        What::Beyond { blocks, .. } => ("share-of-blocks-beyond", None, None, None, Some(blocks)),
    };
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    let (change, limits) = match row.change {
        Some(Change::Difference(limits)) => (Some("difference"), Some(limits)),
        Some(Change::Ratio(limits)) => (Some("ratio"), Some(limits)),
        None => (None, None),
    };
    let of = |pick: fn(Limits) -> f64| limits.and_then(|limits| finite(pick(limits)));
    RowOut {
        what,
        percentile,
        budget_ns,
        block_ns,
        blocks,
        first: row.first.and_then(finite),
        second: row.second.and_then(finite),
        change,
        seen: limits.and_then(|limits| limits.seen).and_then(finite),
        low: of(|limits| limits.low),
        high: of(|limits| limits.high),
        odds: row.odds,
        odds_of_all: row.odds_of_all,
        verdict: verdict(row.verdict),
        refused: row.withheld == Some(Withheld::Unfit),
        stolen: row.withheld == Some(Withheld::Stolen),
        wants_ns: row.wants.map(punctual_hist::Nanos::as_ns),
    }
}

fn cause(change: &CauseChange) -> CauseOut {
    let weight = |weight: Weight| WeightOut { share: weight.share, lateness_ns_per_second: weight.ns_per_second };
    CauseOut {
        cause: words::causes::cause(&change.cause),
        first: change.first.map(weight),
        second: change.second.map(weight),
    }
}
