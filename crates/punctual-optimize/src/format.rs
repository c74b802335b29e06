//! A campaign as it is kept between two runs: one JSON document, twins of the values in it, and a version.

mod between;

use super::across::Across;
use super::pause::Moment;
use super::{Campaign, Candidate, Design, Outcome, Response, Run, Strategy};
use between::{AcrossTwin, MomentTwin};
use punctual_hist::Nanos;
use punctual_tuning::plan::Keep;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Name and version of the document.
const SCHEMA: &str = "punctual/campaign/1";
/// No design is larger; what claims to be is damaged.
const MOST: usize = 1_000;

/// A campaign, and what its owner keeps with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The words it was begun with.
    pub arguments: Vec<String>,
    /// How long was spent on it so far.
    pub spent: Nanos,
    /// When the last measurement ended.
    pub last: Option<Moment>,
    /// The campaign.
    pub campaign: Campaign,
    /// Where it stands between two boots, where it goes across them.
    pub across: Option<Across>,
    /// Why measurements are to be doubted.
    pub doubts: Doubts,
}

/// Why measurements are to be doubted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doubts {
    /// Of each kind of reason the first.
    pub reasons: Vec<String>,
    /// In how many there was one.
    pub runs: usize,
}

/// Why a kept campaign cannot be used.
#[derive(Debug)]
pub enum Unusable {
    /// It is no such document.
    Malformed(serde_json::Error),
    /// It is of another kind or version, which it names.
    Other(String),
    /// Numbers in it do not go together: which.
    Senseless(&'static str),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => write!(f, "it is no campaign: {error}"),
            Self::Other(name) => write!(f, "it is '{name}', and this program reads '{SCHEMA}'"),
            Self::Senseless(what) => write!(f, "it is damaged: {what}"),
        }
    }
}

impl std::error::Error for Unusable {}

#[derive(Serialize, Deserialize)]
struct Document {
    schema: String,
    arguments: Vec<String>,
    spent_ns: u64,
    strategy: String,
    seed: u64,
    rounds: u32,
    baselines: u32,
    margin: f64,
    candidates: Vec<CandidateTwin>,
    closed_at: Option<usize>,
    runs: Vec<RunTwin>,
    #[serde(default)]
    begun_anew_after: Vec<usize>,
    #[serde(default)]
    last: Option<MomentTwin>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    across: Option<AcrossTwin>,
    #[serde(default)]
    doubts: Vec<String>,
    #[serde(default)]
    doubtful_runs: usize,
}

#[derive(Serialize, Deserialize)]
struct CandidateTwin {
    id: String,
    title: String,
    cost: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    words: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    no_words: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct RunTwin {
    set: Vec<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<ResponseTwin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct ResponseTwin {
    p50_ns: u64,
    p99_9_ns: u64,
    missed: u64,
    due: u64,
}

/// The name of a strategy, as it is typed and written.
pub fn strategy_name(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::OneAtATime => "one-at-a-time",
        Strategy::Screening => "screening",
        Strategy::Race => "race",
    }
}

/// Writes a campaign down.
///
/// # Errors
/// Those of the JSON writer.
pub fn write(kept: &Kept) -> Result<String, serde_json::Error> {
    let Kept { arguments, spent, last, campaign, across, doubts } = kept;
    let design = &campaign.design;
    serde_json::to_string_pretty(&Document {
        schema: SCHEMA.to_owned(),
        arguments: arguments.clone(),
        spent_ns: spent.as_ns(),
        strategy: strategy_name(design.strategy).to_owned(),
        seed: design.seed,
        rounds: design.rounds,
        baselines: design.baselines,
        margin: design.margin,
        candidates: design.candidates.iter().map(CandidateTwin::of).collect(),
        closed_at: campaign.closed_at,
        runs: campaign.runs.iter().map(RunTwin::of).collect(),
        begun_anew_after: campaign.pauses.clone(),
        last: last.clone().map(MomentTwin::of),
        across: across.clone().map(AcrossTwin::of),
        doubts: doubts.reasons.clone(),
        doubtful_runs: doubts.runs,
    })
}

/// Reads one that was written down.
///
/// # Errors
/// When it is something else, or was damaged.
pub fn read(text: &str) -> Result<Kept, Unusable> {
    let document: Document = serde_json::from_str(text).map_err(Unusable::Malformed)?;
    if document.schema != SCHEMA {
        return Err(Unusable::Other(document.schema));
    }
    let strategy = [Strategy::OneAtATime, Strategy::Screening, Strategy::Race]
        .into_iter()
        .find(|strategy| strategy_name(*strategy) == document.strategy)
        .ok_or(Unusable::Senseless("there is no such strategy"))?;
    if document.candidates.is_empty() || document.candidates.len() > MOST {
        return Err(Unusable::Senseless("it has no candidates, or too many"));
    }
    let counts = [document.rounds as usize, document.baselines as usize];
    if counts.iter().any(|count| !(1..=MOST).contains(count)) {
        return Err(Unusable::Senseless("rounds or baselines are none, or too many"));
    }
    if !(0.0..10.0).contains(&document.margin) {
        return Err(Unusable::Senseless("its margin is no part of anything"));
    }
    let runs = document.runs.into_iter().map(RunTwin::back).collect::<Option<Vec<Run>>>();
    let runs = runs.ok_or(Unusable::Senseless("a run was neither measured nor refused"))?;
    let pauses = document.begun_anew_after;
    if !pauses.is_sorted() || pauses.last().is_some_and(|last| *last > runs.len()) {
        return Err(Unusable::Senseless("what was begun anew was never begun"));
    }
    let design = Design {
        candidates: document.candidates.into_iter().map(CandidateTwin::back).collect(),
        strategy,
        seed: document.seed,
        rounds: document.rounds,
        baselines: document.baselines,
        margin: document.margin,
    };
    Ok(Kept {
        arguments: document.arguments,
        spent: Nanos::from_ns(document.spent_ns),
        last: document.last.map(MomentTwin::back),
        campaign: Campaign { design, runs, closed_at: document.closed_at, pauses },
        across: document.across.map(AcrossTwin::back),
        doubts: Doubts { reasons: document.doubts, runs: document.doubtful_runs },
    })
}

impl CandidateTwin {
    fn of(candidate: &Candidate) -> Self {
        let Candidate { id, title, cost, boot } = candidate.clone();
        let (mut words, mut no_words) = (Vec::new(), Vec::new());
        for keep in boot {
            match keep {
                Keep::Word(word) => words.push(word),
                Keep::NoWord(name) => no_words.push(name),
                // Nothing else is tried by a boot entry.
                _ => {}
            }
        }
        Self { id, title, cost, words, no_words }
    }

    fn back(self) -> Candidate {
        let Self { id, title, cost, words, no_words } = self;
        let boot = words.into_iter().map(Keep::Word).chain(no_words.into_iter().map(Keep::NoWord)).collect();
        Candidate { id, title, cost, boot }
    }
}

impl RunTwin {
    fn of(run: &Run) -> Self {
        let (measured, refused) = match &run.outcome {
            Outcome::Measured(response) => (Some(ResponseTwin::of(*response)), None),
            Outcome::Refused(why) => (None, Some(why.clone())),
        };
        Self { set: run.arm.clone(), measured, refused }
    }

    fn back(self) -> Option<Run> {
        let outcome = match (self.measured, self.refused) {
            (Some(response), None) => Outcome::Measured(response.back()),
            (None, Some(why)) => Outcome::Refused(why),
            _ => return None,
        };
        Some(Run { arm: self.set, outcome })
    }
}

impl ResponseTwin {
    fn of(response: Response) -> Self {
        Self {
            p50_ns: response.p50.as_ns(),
            p99_9_ns: response.p99_9.as_ns(),
            missed: response.missed,
            due: response.due,
        }
    }

    fn back(self) -> Response {
        Response {
            p50: Nanos::from_ns(self.p50_ns),
            p99_9: Nanos::from_ns(self.p99_9_ns),
            missed: self.missed,
            due: self.due,
        }
    }
}
