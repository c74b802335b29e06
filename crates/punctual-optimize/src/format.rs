//! The saved form of a campaign: one JSON document with a version.
//!
//! The fields of the document are those of the types. `fixtures/campaigns` holds documents of each version, so that a
//! test fails if a field is renamed.

use super::across::{Across, Tries};
use super::pause::Moment;
use super::{Arm, Campaign, Candidate, Strategy};
use punctual_hist::Nanos;
use punctual_tuning::plan::Keep;
use serde::{Deserialize, Deserializer, Serialize};

const SCHEMA: &str = "punctual/campaign/1";
/// Largest number of candidates, rounds or baselines in a document. Every real design is smaller, so a document with
/// more is damaged.
const MOST: usize = 1_000;

/// A campaign with all that is saved beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Arguments of the command that began the campaign.
    pub arguments: Vec<String>,
    #[serde(rename = "spent_ns", deserialize_with = "nanos")]
    pub spent: Nanos,
    /// When the last measurement ended.
    #[serde(default)]
    pub last: Option<Moment>,
    #[serde(flatten)]
    pub campaign: Campaign,
    /// State between two boots, if the campaign goes across boots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub across: Option<Across>,
    #[serde(flatten)]
    pub doubts: Doubts,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubts {
    /// The first reason of each kind.
    #[serde(rename = "doubts", default)]
    pub reasons: Vec<String>,
    /// Number of measurements that were doubted.
    #[serde(rename = "doubtful_runs", default)]
    pub runs: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    #[error("it is no campaign: {0}")]
    Malformed(serde_json::Error),
    /// The document names another kind or version.
    #[error("it is '{0}', and this program reads '{SCHEMA}'")]
    Other(String),
    /// The document is of another kind or version than the caller expects.
    #[error("it is '{found}', and '{wanted}' is looked for")]
    OtherThan { found: String, wanted: &'static str },
    /// The numbers of the document contradict each other. The text says in which way.
    #[error("it is damaged: {0}")]
    Senseless(&'static str),
}

/// The name of a strategy on the command line and in the document.
pub fn strategy_name(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::OneAtATime => "one-at-a-time",
        Strategy::Screening => "screening",
        Strategy::Race => "race",
    }
}

pub fn write(kept: &Kept) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'a str,
        #[serde(flatten)]
        kept: &'a Kept,
    }
    serde_json::to_string_pretty(&Document { schema: SCHEMA, kept })
}

pub fn read(text: &str) -> Result<Kept, Unusable> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let Head { schema } = serde_json::from_str(text).map_err(Unusable::Malformed)?;
    if schema != SCHEMA {
        return Err(Unusable::Other(schema));
    }
    let kept: Kept = serde_json::from_str(text).map_err(Unusable::Malformed)?;
    let Campaign { design, runs, pauses, .. } = &kept.campaign;
    if design.candidates.is_empty() || design.candidates.len() > MOST {
        return Err(Unusable::Senseless("it has no candidates, or too many"));
    }
    let counts = [design.rounds as usize, design.baselines as usize];
    if counts.iter().any(|count| !(1..=MOST).contains(count)) {
        return Err(Unusable::Senseless("rounds or baselines are none, or too many"));
    }
    if !(0.0..10.0).contains(&design.margin) {
        return Err(Unusable::Senseless("its margin is no part of anything"));
    }
    if !pauses.is_sorted() || pauses.last().is_some_and(|last| *last > runs.len()) {
        return Err(Unusable::Senseless("a pause is noted after more runs than there are"));
    }
    Ok(kept)
}

/// Reads a length of time, which is a whole number of nanoseconds in the document.
pub(super) fn nanos<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Nanos, D::Error> {
    u64::deserialize(deserializer).map(Nanos::from_ns)
}

/// A candidate in the form of the document. Of boot settings, the document can hold only words of the command line.
#[derive(Serialize, Deserialize)]
pub(super) struct CandidateTwin {
    id: String,
    title: String,
    cost: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    words: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    no_words: Vec<String>,
}

impl From<Candidate> for CandidateTwin {
    fn from(Candidate { id, title, cost, boot }: Candidate) -> Self {
        let (mut words, mut no_words) = (Vec::new(), Vec::new());
        for keep in boot {
            match keep {
                Keep::Word(word) => words.push(word),
                Keep::NoWord(name) => no_words.push(name),
                _ => {}
            }
        }
        Self { id, title, cost, words, no_words }
    }
}

impl From<CandidateTwin> for Candidate {
    fn from(CandidateTwin { id, title, cost, words, no_words }: CandidateTwin) -> Self {
        let boot = words.into_iter().map(Keep::Word).chain(no_words.into_iter().map(Keep::NoWord)).collect();
        Self { id, title, cost, boot }
    }
}

/// Tries are saved as a list, because a set of candidates cannot be the name of a JSON field.
pub(super) mod tries {
    use super::{Arm, Deserialize, Serialize, Tries};
    use std::collections::BTreeMap;

    #[derive(Serialize, Deserialize)]
    struct Tried {
        set: Arm,
        #[serde(flatten)]
        tries: Tries,
    }

    pub fn serialize<S: serde::Serializer>(all: &BTreeMap<Arm, Tries>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(all.iter().map(|(set, tries)| Tried { set: set.clone(), tries: tries.clone() }))
    }

    pub fn deserialize<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<Arm, Tries>, D::Error> {
        Ok(Vec::<Tried>::deserialize(deserializer)?.into_iter().map(|tried| (tried.set, tried.tries)).collect())
    }
}
