//! Where a campaign stands: its runs, gone through from the first, against its design.
//!
//! The one place that knows the order of things. As it starts from nothing each time, an interruption cannot be seen,
//! but for a pause, after which the block it fell into is gone through anew.

use super::design::{TOGETHER, shuffle};
use super::effect::{Effect, Metric, Stratum};
use super::judge::{Judged, Verdict};
use super::{Arm, Campaign, Design, Outcome, Response, Run, Strategy, screen};
use std::collections::{BTreeMap, BTreeSet};

/// Rounds of what is measured together are drawn apart from all others.
const LOT_TOGETHER: u32 = 1 << 20;
/// So is the order of screening.
const LOT_SCREENING: u32 = 1 << 21;

/// Which part of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Many at once.
    Screening,
    /// Each alone.
    Rounds,
    /// What is recommended, together.
    Together,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Measure with these candidates set.
    Measure {
        /// In which part.
        stage: Stage,
        /// Which round of it, from 0.
        round: u32,
        /// Its place in the round, from 0.
        place: usize,
        /// The candidates.
        arm: Arm,
    },
    /// Nothing: everything is told that will be.
    Done,
}

/// Where a campaign stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// What is next.
    pub next: Next,
    /// All candidates, what helps most first. Final when nothing is next.
    pub judged: Vec<Judged>,
    /// Candidates that are better, and nothing else.
    pub recommended: Arm,
    /// What they do together; empty where that is one candidate alone, or was not measured to its end.
    pub together: Vec<Effect>,
    /// Rounds that are ended in which candidates were measured each alone.
    pub rounds: u32,
}

/// Runs that were gone through, and what follows from them.
struct Replay<'a> {
    design: &'a Design,
    runs: &'a [Run],
    pauses: &'a [usize],
    /// So many of them were gone through.
    at: usize,
    strata: BTreeMap<usize, Vec<Stratum>>,
    judged: BTreeMap<usize, Judged>,
    rounds: u32,
}

impl Standing {
    pub(super) fn of(campaign: &Campaign) -> Self {
        let mut replay = Replay::new(campaign);
        let (next, together) = replay.all(campaign.closed_at);
        let judged = replay.ranked();
        let better = |judged: &&Judged| judged.verdict == Verdict::Better;
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

    /// What is next, and what the recommended do together, once that is known.
    fn all(&mut self, closed_at: Option<usize>) -> (Next, Vec<Effect>) {
        match self.screening().and_then(|alone| self.alone(alone, closed_at)) {
            Ok(()) => self.together(),
            Err(next) => (next, Vec::new()),
        }
    }

    /// The outcomes of these arms, or the first of them that was not measured yet.
    fn measured(&mut self, stage: Stage, round: u32, arms: &[Arm]) -> Result<Vec<Outcome>, Next> {
        while let Some(pause) = self.pause_within(arms.len()) {
            self.at = pause;
        }
        let mut outcomes = Vec::with_capacity(arms.len());
        for (place, arm) in arms.iter().enumerate() {
            // What was measured with something else set belongs to another design.
            let Some(run) = self.runs.get(self.at).filter(|run| run.arm == *arm) else {
                return Err(Next::Measure { stage, round, place, arm: arm.clone() });
            };
            outcomes.push(run.outcome.clone());
            self.at += 1;
        }
        Ok(outcomes)
    }

    /// The first pause that fell into a block of so many runs that begins here.
    fn pause_within(&self, runs: usize) -> Option<usize> {
        let within = self.at.saturating_add(1)..self.at.saturating_add(runs);
        self.pauses.iter().copied().find(|pause| within.contains(pause))
    }

    /// The order of a round of these. It begins after the last pause that fell into it; what could not be set before one
    /// is out all the same.
    fn round(&mut self, number: u32, active: &mut Vec<usize>) -> Vec<Arm> {
        loop {
            let arms: Vec<Arm> = active.iter().map(|candidate| vec![*candidate]).collect();
            let order = self.design.round(number, &arms);
            let Some(pause) = self.pause_within(order.len()) else { return order };
            for run in self.runs.get(self.at..pause).unwrap_or_default() {
                if let ([candidate], Outcome::Refused(why)) = (run.arm.as_slice(), &run.outcome) {
                    self.refuse(*candidate, why);
                }
            }
            self.at = pause;
            active.retain(|candidate| !self.judged.contains_key(candidate));
        }
    }

    /// The candidates that are to be measured each alone.
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
        let mut rows: Vec<Arm> = screen::rows(all).into_iter().map(named).collect();
        shuffle(&mut rows, &mut random);
        let outcomes = self.measured(Stage::Screening, 0, &rows)?;
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
            self.leave_behind(candidate);
        }
        order.sort_unstable();
        Ok(order)
    }

    /// Rounds, until nothing is left to be found out.
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
            let outcomes = self.measured(Stage::Rounds, round, &order)?;
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
                    self.leave_behind(behind);
                }
                active.sort_unstable();
            }
        }
        self.look(&active, true);
        Ok(())
    }

    /// What a round came to, by candidate.
    fn keep(&mut self, order: &[Arm], outcomes: &[Outcome]) {
        let of = |is_wanted: fn(&Arm) -> bool| order.iter().zip(outcomes).filter(move |(arm, _)| is_wanted(arm));
        let baselines: Vec<Response> = of(Arm::is_empty).filter_map(|(_, outcome)| response(outcome)).collect();
        // Ranks are of one size in every round.
        let is_whole = baselines.len() == self.design.baselines as usize;
        for (arm, outcome) in of(|arm| !arm.is_empty()) {
            let Some(candidate) = arm.first().copied() else { continue };
            match outcome {
                Outcome::Measured(with) if is_whole => {
                    let stratum = Stratum { baselines: baselines.clone(), with: *with };
                    self.strata.entry(candidate).or_default().push(stratum);
                }
                Outcome::Measured(_) => {}
                Outcome::Refused(why) => self.refuse(candidate, why),
            }
        }
    }

    /// Looks for verdicts; the last time each gets one.
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

    /// What is known between two looks: numbers, and no verdict.
    fn so_far(&self, candidate: usize) -> Judged {
        Judged { verdict: Verdict::NotEnoughData, ..self.at_odds(candidate, 0.0) }
    }

    fn refuse(&mut self, candidate: usize, why: &str) {
        let judged = Judged { verdict: Verdict::Refused(why.to_owned()), ..self.so_far(candidate) };
        self.judged.insert(candidate, judged);
    }

    fn leave_behind(&mut self, candidate: usize) {
        let judged = Judged { verdict: Verdict::LeftBehind, ..self.so_far(candidate) };
        self.judged.insert(candidate, judged);
    }

    /// What is recommended, measured together, where that is more than one.
    fn together(&mut self) -> (Next, Vec<Effect>) {
        let better = self.judged.values().filter(|judged| judged.verdict == Verdict::Better);
        let set: Arm = better.map(|judged| judged.candidate).collect::<BTreeSet<usize>>().into_iter().collect();
        if set.len() < 2 {
            return (Next::Done, Vec::new());
        }
        let mut strata = Vec::new();
        for round in 0..TOGETHER {
            let order = self.design.round(LOT_TOGETHER + round, std::slice::from_ref(&set));
            let outcomes = match self.measured(Stage::Together, round, &order) {
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

fn response(outcome: &Outcome) -> Option<Response> {
    match outcome {
        Outcome::Measured(response) => Some(*response),
        Outcome::Refused(_) => None,
    }
}
