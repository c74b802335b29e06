//! The state of a campaign: its runs are replayed from the first one against its design.
//!
//! Only this module knows the order of a campaign. Each replay starts from the design, so an interruption does not
//! affect the result, except that a pause begins the current block anew.

use super::design::{TOGETHER, shuffle};
use super::effect::{Effect, Metric, Stratum};
use super::judge::{CandidateVerdict, Judged};
use super::{Arm, Campaign, Design, Measurement, Response, RunOutcome, Strategy, screen};
use std::collections::{BTreeMap, BTreeSet};

/// Round numbers that seed the order in the last stage and in screening. They lie far above the numbers of ordinary
/// rounds.
const LOT_TOGETHER: u32 = 1 << 20;
const LOT_SCREENING: u32 = 1 << 21;

/// The stages of a campaign, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CampaignStage {
    /// Many candidates are set at once.
    Screening,
    /// Each candidate is set alone.
    Rounds,
    /// All recommended candidates are set together.
    Together,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Measure with the candidates of `arm` set. Rounds of a stage, and places in a round, count from 0.
    Measure {
        stage: CampaignStage,
        round: u32,
        place: usize,
        arm: Arm,
    },
    Done,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CampaignState {
    pub next: Next,
    /// All candidates, the most helpful first. Verdicts are final once the campaign is complete.
    pub judged: Vec<Judged>,
    /// The candidates whose verdict is "better".
    pub recommended: Arm,
    /// Effects of all recommended candidates together; empty if there are fewer than two, or if the last stage is not
    /// complete.
    pub together: Vec<Effect>,
    /// Number of completed rounds in which candidates were measured alone.
    pub rounds: u32,
}

/// A replay of a campaign up to some run, with the results so far.
struct Replay<'a> {
    design: &'a Design,
    runs: &'a [Measurement],
    pauses: &'a [usize],
    /// Number of runs that have been replayed.
    at: usize,
    strata: BTreeMap<usize, Vec<Stratum>>,
    judged: BTreeMap<usize, Judged>,
    rounds: u32,
}

impl CampaignState {
    pub(super) fn of(campaign: &Campaign) -> Self {
        let mut replay = Replay::new(campaign);
        let (next, together) = replay.all(campaign.closed_at);
        let judged = replay.ranked();
        let better = |judged: &&Judged| judged.verdict == CandidateVerdict::Better;
        let mut recommended: Arm = judged.iter().filter(better).map(|judged| judged.candidate).collect();
        recommended.sort_unstable();
        Self { next, judged, recommended, together, rounds: replay.rounds }
    }

    pub(super) fn next_of(campaign: &Campaign) -> Next {
        Replay::new(campaign).all(campaign.closed_at).0
    }
}

impl<'a> Replay<'a> {
    fn new(campaign: &'a Campaign) -> Self {
        Self {
            design: &campaign.design,
            runs: &campaign.runs,
            pauses: &campaign.pauses,
            at: 0,
            strata: BTreeMap::new(),
            judged: BTreeMap::new(),
            rounds: 0,
        }
    }

    /// Replays all stages. Returns the next step, and the effects of the last stage once it is complete.
    fn all(&mut self, closed_at: Option<usize>) -> (Next, Vec<Effect>) {
        match self.screening().and_then(|alone| self.alone(alone, closed_at)) {
            Ok(()) => self.together(),
            Err(next) => (next, Vec::new()),
        }
    }

    /// The outcomes of these arms. The error is the next step: to measure the first arm that has no outcome yet.
    fn measured(&mut self, stage: CampaignStage, round: u32, arms: &[Arm]) -> Result<Vec<RunOutcome>, Next> {
        while let Some(pause) = self.pause_within(arms.len()) {
            self.at = pause;
        }
        let mut outcomes = Vec::with_capacity(arms.len());
        for (place, arm) in arms.iter().enumerate() {
            // A run of another arm does not belong to this design, so it does not count.
            let Some(run) = self.runs.get(self.at).filter(|run| run.arm == *arm) else {
                return Err(Next::Measure { stage, round, place, arm: arm.clone() });
            };
            outcomes.push(run.outcome.clone());
            self.at += 1;
        }
        Ok(outcomes)
    }

    /// The first pause within the next `runs` runs, if there is one.
    fn pause_within(&self, runs: usize) -> Option<usize> {
        let within = self.at.saturating_add(1)..self.at.saturating_add(runs);
        self.pauses.iter().copied().find(|pause| within.contains(pause))
    }

    /// The arms of the next round in their order. After a pause the round is begun anew, without candidates that could
    /// not be set before the pause.
    fn round(&mut self, number: u32, active: &mut Vec<usize>) -> Vec<Arm> {
        loop {
            let arms: Vec<Arm> = active.iter().map(|candidate| vec![*candidate]).collect();
            let order = self.design.round(number, &arms);
            let Some(pause) = self.pause_within(order.len()) else { return order };
            for run in self.runs.get(self.at..pause).unwrap_or_default() {
                if let ([candidate], RunOutcome::Refused(why)) = (run.arm.as_slice(), &run.outcome) {
                    self.end(*candidate, CandidateVerdict::Refused(why.clone()));
                }
            }
            self.at = pause;
            active.retain(|candidate| !self.judged.contains_key(candidate));
        }
    }

    /// The candidates to measure alone: all of them or, after screening, the most promising ones.
    fn screening(&mut self) -> Result<Vec<usize>, Next> {
        let all = self.design.candidates.len();
        if self.design.strategy != Strategy::Screening {
            return Ok((0..all).collect());
        }
        let mut random = self.design.lot(LOT_SCREENING);
        let mut columns: Vec<usize> = (0..all).collect();
        shuffle(&mut columns, &mut random);
        let named = |row: Vec<usize>| {
            let mut arm: Arm = row.iter().filter_map(|column| columns.get(*column).copied()).collect();
            arm.sort_unstable();
            arm
        };
        let mut rows: Vec<Arm> = self.design.screening().into_iter().map(named).collect();
        shuffle(&mut rows, &mut random);
        let outcomes = self.measured(CampaignStage::Screening, 0, &rows)?;
        let known: Vec<(Arm, Response)> =
            rows.into_iter().zip(outcomes).filter_map(|(row, outcome)| Some((row, response(&outcome)?))).collect();
        let (rows, responses): (Vec<Arm>, Vec<Response>) = known.into_iter().unzip();
        let mut scores = vec![0.0; all];
        for metric in Metric::ALL {
            let values: Vec<f64> = responses.iter().map(|response| metric.logarithm(response)).collect();
            let contrasts = screen::contrasts(&rows, &values, all);
            scores.iter_mut().zip(contrasts).for_each(|(score, contrast)| *score += contrast);
        }
        let mut order: Vec<(f64, usize)> = scores.into_iter().zip(0..).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut order: Vec<usize> = order.into_iter().map(|(_, candidate)| candidate).collect();
        for candidate in order.split_off(self.design.alone().min(all)) {
            self.end(candidate, CandidateVerdict::LeftBehind);
        }
        order.sort_unstable();
        Ok(order)
    }

    /// Replays rounds until every candidate has a verdict.
    fn alone(&mut self, mut active: Vec<usize>, closed_at: Option<usize>) -> Result<(), Next> {
        let (looks, halvings) = (self.design.looks(), self.design.halvings());
        for round in 0..self.design.rounds {
            let order = self.round(round, &mut active);
            if active.is_empty() {
                return Ok(());
            }
            if closed_at == Some(self.at) {
                break;
            }
            let outcomes = self.measured(CampaignStage::Rounds, round, &order)?;
            self.keep(&order, &outcomes);
            self.rounds = round + 1;
            active.retain(|candidate| !self.judged.contains_key(candidate));
            if looks.contains(&self.rounds) && self.rounds < self.design.rounds {
                self.look(&active, false);
                active.retain(|candidate| !self.judged.contains_key(candidate));
            }
            if halvings.contains(&self.rounds) && active.len() > 1 {
                active.sort_by(|a, b| self.so_far(*a).score().total_cmp(&self.so_far(*b).score()));
                for behind in active.split_off(active.len().div_ceil(2)) {
                    self.end(behind, CandidateVerdict::LeftBehind);
                }
                active.sort_unstable();
            }
        }
        self.look(&active, true);
        Ok(())
    }

    /// Adds the outcomes of a round to those of each candidate.
    fn keep(&mut self, order: &[Arm], outcomes: &[RunOutcome]) {
        let of = |is_wanted: fn(&Arm) -> bool| order.iter().zip(outcomes).filter(move |(arm, _)| is_wanted(arm));
        let baselines: Vec<Response> = of(Arm::is_empty).filter_map(|(_, outcome)| response(outcome)).collect();
        // A round in which a baseline is missing is dropped, because the test needs the same number of baselines in
        // each round.
        let is_whole = baselines.len() == self.design.baselines as usize;
        for (arm, outcome) in of(|arm| !arm.is_empty()) {
            let Some(candidate) = arm.first().copied() else { continue };
            match outcome {
                RunOutcome::Measured(with) if is_whole => {
                    let stratum = Stratum { baselines: baselines.clone(), with: *with };
                    self.strata.entry(candidate).or_default().push(stratum);
                }
                RunOutcome::Measured(_) => {}
                RunOutcome::Refused(why) => self.end(candidate, CandidateVerdict::Refused(why.clone())),
            }
        }
    }

    /// Computes verdicts. The last look gives every candidate a verdict.
    fn look(&mut self, active: &[usize], last: bool) {
        for candidate in active {
            let judged = self.at_odds(*candidate, self.design.share_of_error());
            if last || judged.is_clear() {
                self.judged.insert(*candidate, judged);
            }
        }
    }

    fn at_odds(&self, candidate: usize, odds: f64) -> Judged {
        let strata = self.strata.get(&candidate).map(Vec::as_slice).unwrap_or_default();
        Judged::of(candidate, strata, self.design.margin, odds)
    }

    /// The effects of a candidate so far, without a verdict.
    fn so_far(&self, candidate: usize) -> Judged {
        Judged { verdict: CandidateVerdict::NotEnoughData, ..self.at_odds(candidate, 0.0) }
    }

    /// Ends the measurement of a candidate with this verdict, which is not computed from its effects.
    fn end(&mut self, candidate: usize, verdict: CandidateVerdict) {
        let judged = Judged { verdict, ..self.so_far(candidate) };
        self.judged.insert(candidate, judged);
    }

    /// The stage in which the recommended candidates are measured together, if there are several.
    fn together(&mut self) -> (Next, Vec<Effect>) {
        let better = self.judged.values().filter(|judged| judged.verdict == CandidateVerdict::Better);
        let set: Arm = better.map(|judged| judged.candidate).collect::<BTreeSet<usize>>().into_iter().collect();
        if set.len() < 2 {
            return (Next::Done, Vec::new());
        }
        let mut strata = Vec::new();
        for round in 0..TOGETHER {
            let order = self.design.round(LOT_TOGETHER + round, std::slice::from_ref(&set));
            let outcomes = match self.measured(CampaignStage::Together, round, &order) {
                Ok(outcomes) => outcomes,
                Err(next) => return (next, Vec::new()),
            };
            let of = |is_baseline: bool| {
                let those = order.iter().zip(&outcomes).filter(move |(arm, _)| arm.is_empty() == is_baseline);
                those.filter_map(|(_, outcome)| response(outcome)).collect::<Vec<_>>()
            };
            let (baselines, with) = (of(true), of(false));
            if let ([with], true) = (with.as_slice(), baselines.len() == self.design.baselines as usize) {
                strata.push(Stratum { with: *with, baselines });
            }
        }
        let effect = |metric: &Metric| Effect::of(*metric, &strata, self.design.margin);
        (Next::Done, Metric::ALL.iter().filter_map(effect).collect())
    }

    fn ranked(&self) -> Vec<Judged> {
        let known = |candidate: usize| self.judged.get(&candidate).cloned().unwrap_or_else(|| self.so_far(candidate));
        let mut all: Vec<Judged> = (0..self.design.candidates.len()).map(known).collect();
        all.sort_by(|a, b| {
            let ((class_a, score_a), (class_b, score_b)) = (a.rank(), b.rank());
            class_a.cmp(&class_b).then(score_a.total_cmp(&score_b)).then(a.candidate.cmp(&b.candidate))
        });
        all
    }
}

fn response(outcome: &RunOutcome) -> Option<Response> {
    match outcome {
        RunOutcome::Measured(response) => Some(*response),
        RunOutcome::Refused(_) => None,
    }
}
