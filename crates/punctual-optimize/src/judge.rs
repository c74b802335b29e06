//! What follows for a candidate, and in which order candidates are told.

use super::effect::{Effect, Metric, Stratum};
use serde::Serialize;

/// What became of a candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judged {
    /// Its place in the design.
    #[serde(skip)]
    pub candidate: usize,
    /// What it does, by number; empty where it was never measured alone.
    pub effects: Vec<Effect>,
    /// Over so many rounds.
    pub rounds: usize,
    /// What follows.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// What follows.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "verdict", content = "because", rename_all = "kebab-case")]
pub enum Verdict {
    /// Something got better, and nothing worse.
    Better,
    /// Better in some, worse in others: for a person to weigh.
    Mixed,
    /// No change was shown, and one that matters would have been.
    NoDifferenceShown,
    /// No change was shown, and one that matters could have been missed.
    NotEnoughData,
    /// Others were more promising, so it was not measured to the end.
    LeftBehind,
    /// Something got worse, and nothing better.
    Worse,
    /// It could not be set, for this reason.
    Refused(String),
}

impl Judged {
    /// Judges at these odds for each test.
    pub(super) fn of(candidate: usize, rounds: &[Stratum], margin: f64, odds: f64) -> Self {
        let effects: Vec<Effect> =
            Metric::ALL.iter().filter_map(|metric| Effect::of(*metric, rounds, margin)).collect();
        let verdict = verdict(&effects, odds);
        Self { candidate, effects, rounds: rounds.len(), verdict }
    }

    /// With so many times as many rounds there would be a verdict, about; nothing where there is one, or nobody knows.
    pub fn longer(&self) -> Option<f64> {
        let latency = self.effects.iter().filter(|effect| effect.metric != Metric::Misses);
        let untold = latency.filter(|effect| !effect.told);
        let times = untold.map(|effect| effect.longer.unwrap_or(f64::INFINITY)).fold(1.0, f64::max);
        (self.verdict == Verdict::NotEnoughData && times > 1.0 && times.is_finite()).then_some(times)
    }

    /// Nothing is left to be found out.
    pub(super) fn is_clear(&self) -> bool {
        !matches!(self.verdict, Verdict::NotEnoughData)
    }

    /// The smaller, the better it looks: the sum of what it does to each number.
    pub(super) fn score(&self) -> f64 {
        self.effects.iter().map(Effect::size).sum()
    }

    /// First what helps most, last what cannot be used.
    pub(super) fn rank(&self) -> (u8, f64) {
        let class = match self.verdict {
            Verdict::Better => 0,
            Verdict::Mixed => 1,
            Verdict::NotEnoughData => 2,
            Verdict::NoDifferenceShown => 3,
            Verdict::LeftBehind => 4,
            Verdict::Worse => 5,
            Verdict::Refused(_) => 6,
        };
        (class, self.score())
    }
}

fn verdict(effects: &[Effect], odds: f64) -> Verdict {
    let shown = |wanted: bool| effects.iter().any(|effect| effect.shown(odds) == Some(wanted));
    // Misses may be too seldom to tell anything of; latency itself is always there.
    let told = |effect: &Effect| effect.told || effect.metric == Metric::Misses;
    match (shown(false), shown(true)) {
        (true, true) => Verdict::Mixed,
        (true, false) => Verdict::Better,
        (false, true) => Verdict::Worse,
        (false, false) if !effects.is_empty() && effects.iter().all(told) => Verdict::NoDifferenceShown,
        (false, false) => Verdict::NotEnoughData,
    }
}
