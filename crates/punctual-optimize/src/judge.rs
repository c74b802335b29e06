//! The verdict on a candidate, and the order in which candidates are shown.

use super::effect::{Effect, Metric, Stratum};
use serde::Serialize;

/// A candidate with its effects and its verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judged {
    /// Index of the candidate in the design.
    #[serde(skip)]
    pub candidate: usize,
    /// Effect of the candidate on each metric; empty if it was never measured alone.
    pub effects: Vec<Effect>,
    /// Number of rounds that the effects were computed from.
    pub rounds: usize,
    #[serde(flatten)]
    pub verdict: CandidateVerdict,
}

/// The verdict that follows from the effects of a candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "verdict", content = "because", rename_all = "kebab-case")]
pub enum CandidateVerdict {
    /// At least one metric is better, and none is worse.
    Better,
    /// Some metrics are better and others worse: a person has to weigh them.
    Mixed,
    /// No change was shown, and the limits exclude a change that matters.
    NoDifferenceShown,
    /// No change was shown, and the limits do not exclude a change that matters.
    NotEnoughData,
    /// The candidate was not measured in all rounds, because others were more promising.
    LeftBehind,
    /// At least one metric is worse, and none is better.
    Worse,
    /// The candidate could not be measured, for this reason.
    Refused(String),
}

impl Judged {
    /// Judges a candidate. `odds` is the error rate of each test.
    pub(super) fn of(candidate: usize, rounds: &[Stratum], margin: f64, odds: f64) -> Self {
        let effects: Vec<Effect> =
            Metric::ALL.iter().filter_map(|metric| Effect::of(*metric, rounds, margin)).collect();
        let verdict = verdict(&effects, odds);
        Self { candidate, effects, rounds: rounds.len(), verdict }
    }

    /// Estimated factor by which the number of rounds must grow for a verdict; `None` if there is a verdict, or if the
    /// factor is unknown.
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

    /// The sum of the effects on all metrics, as logarithms. A smaller sum is better.
    pub(super) fn score(&self) -> f64 {
        self.effects.iter().map(Effect::size).sum()
    }

    /// The key to sort candidates by: the most helpful candidate comes first, one that could not be measured last.
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
    // Misses may be too rare to conclude anything, so they need not be conclusive for "no difference". Latency is
    // measured at each release.
    let told = |effect: &Effect| effect.told || effect.metric == Metric::Misses;
    match (shown(false), shown(true)) {
        (true, true) => CandidateVerdict::Mixed,
        (true, false) => CandidateVerdict::Better,
        (false, true) => CandidateVerdict::Worse,
        (false, false) if !effects.is_empty() && effects.iter().all(told) => CandidateVerdict::NoDifferenceShown,
        (false, false) => CandidateVerdict::NotEnoughData,
    }
}
