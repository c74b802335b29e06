//! The verdict on a candidate, and the order in which candidates are shown.

use super::effect::{Effect, Metric, Stratum};
use serde::Serialize;

/// A candidate with its effects and its verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judged {
    /// Its index in the design.
    #[serde(skip)]
    pub candidate: usize,
    /// Its effect on each number; empty where it was never measured alone.
    pub effects: Vec<Effect>,
    /// How many rounds the effects rest on.
    pub rounds: usize,
    #[serde(flatten)]
    pub verdict: CandidateVerdict,
}

/// The verdict that follows from the effects of a candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "verdict", content = "because", rename_all = "kebab-case")]
pub enum CandidateVerdict {
    /// Something got better, and nothing worse.
    Better,
    /// Some numbers got better and others worse: a person has to weigh them.
    Mixed,
    /// No change was shown, and one that matters would have been.
    NoDifferenceShown,
    /// No change was shown, and one that matters could have been missed.
    NotEnoughData,
    /// It was not measured in all rounds, because others were more promising.
    LeftBehind,
    /// Something got worse, and nothing better.
    Worse,
    /// It could not be set, for this reason.
    Refused(String),
}

impl Judged {
    /// Judges a candidate, with this error rate for each test.
    pub(super) fn of(candidate: usize, rounds: &[Stratum], margin: f64, odds: f64) -> Self {
        let effects: Vec<Effect> =
            Metric::ALL.iter().filter_map(|metric| Effect::of(*metric, rounds, margin)).collect();
        let verdict = verdict(&effects, odds);
        Self { candidate, effects, rounds: rounds.len(), verdict }
    }

    /// About how many times as many rounds are needed for a verdict; `None` where there is one, or that is not known.
    pub fn longer(&self) -> Option<f64> {
        let latency = self.effects.iter().filter(|effect| effect.metric != Metric::Misses);
        let untold = latency.filter(|effect| !effect.told);
        let times = untold.map(|effect| effect.longer.unwrap_or(f64::INFINITY)).fold(1.0, f64::max);
        (self.verdict == CandidateVerdict::NotEnoughData && times > 1.0 && times.is_finite()).then_some(times)
    }

    /// Whether the verdict is final, so that more rounds would not change it.
    pub(super) fn is_clear(&self) -> bool {
        !matches!(self.verdict, CandidateVerdict::NotEnoughData)
    }

    /// The sum of the effects on all numbers. A smaller sum is better.
    pub(super) fn score(&self) -> f64 {
        self.effects.iter().map(Effect::size).sum()
    }

    /// The key to sort by: what helps most comes first, what cannot be used last.
    pub(super) fn rank(&self) -> (u8, f64) {
        let class = match self.verdict {
            CandidateVerdict::Better => 0,
            CandidateVerdict::Mixed => 1,
            CandidateVerdict::NotEnoughData => 2,
            CandidateVerdict::NoDifferenceShown => 3,
            CandidateVerdict::LeftBehind => 4,
            CandidateVerdict::Worse => 5,
            CandidateVerdict::Refused(_) => 6,
        };
        (class, self.score())
    }
}

fn verdict(effects: &[Effect], odds: f64) -> CandidateVerdict {
    let shown = |wanted: bool| effects.iter().any(|effect| effect.shown(odds) == Some(wanted));
    // Misses may be too rare for any statement; latency is measured at each release.
    let told = |effect: &Effect| effect.told || effect.metric == Metric::Misses;
    match (shown(false), shown(true)) {
        (true, true) => CandidateVerdict::Mixed,
        (true, false) => CandidateVerdict::Better,
        (false, true) => CandidateVerdict::Worse,
        (false, false) if !effects.is_empty() && effects.iter().all(told) => CandidateVerdict::NoDifferenceShown,
        (false, false) => CandidateVerdict::NotEnoughData,
    }
}
