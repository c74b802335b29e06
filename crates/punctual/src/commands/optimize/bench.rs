//! One measurement of a campaign: sets the candidates through the journal, measures, and puts them back, even after an
//! error.

use super::candidates::{Prepared, Selection};
use crate::cli::OptimizeArgs;
use crate::commands::here::Here;
use crate::commands::session::{self, Outputs};
use crate::commands::tune::GUARD;
use crate::render;
use anyhow::{Context, Result, bail};
use punctual_hist::Nanos;
use punctual_linux::apply::guard::{Program, Tied, revert_patiently};
use punctual_linux::apply::{Applied, Extent, Fate, LatencyRequest, Machine, Request, Transaction};
use punctual_linux::journal::{Purpose, TuningRequest};
use punctual_linux::measure::Setting;
use punctual_numbers::recording::EndReason;
use punctual_numbers::report::Distrust;
use punctual_numbers::scenario::Scenario;
use punctual_optimize::format::{Doubts, Kept};
use punctual_optimize::{Response, RunOutcome};
use punctual_tuning::knobs::Blast;
use punctual_tuning::plan::Change;
use std::mem::{Discriminant, discriminant};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Largest number of reasons for doubt that are kept. Without a limit, each process of a campaign across boots could
/// add the same ones.
const REASONS_MAX: usize = 6;

pub struct Bench<'a> {
    /// Prepared candidates by their index in the campaign; `None` if the candidate is no longer available on this
    /// machine.
    trials: Vec<Option<&'a Prepared>>,
    scenario: Scenario,
    setting: Setting,
    guard: Program,
    request: Request,
    blast: Blast,
    interrupted: &'a Arc<AtomicBool>,
    /// Why measurements are doubted, in this process and in earlier ones.
    pub doubts: Doubts,
    kinds: Vec<Discriminant<Distrust>>,
}

impl<'a> Bench<'a> {
    pub fn new(
        args: &OptimizeArgs,
        found: &'a Selection,
        kept: &Kept,
        scenario: Scenario,
        load_dir: std::path::PathBuf,
        interrupted: &'a Arc<AtomicBool>,
    ) -> Result<Self> {
        let trial = |id: &str| found.candidates.iter().find(|trial| trial.candidate.id == id);
        let asked = TuningRequest {
            cpus: found.cpus.to_string(),
            profile: args.kind().name().to_owned(),
            arguments: kept.arguments.clone(),
            keeps: Vec::new(),
        };
        // A transaction of this kind is put back if the process that made it has ended.
        let command = std::iter::once("punctual".to_owned()).chain(kept.arguments.iter().cloned()).collect();
        Ok(Self {
            trials: kept.campaign.design.candidates.iter().map(|candidate| trial(&candidate.id)).collect(),
            scenario,
            setting: Here::read().setting(load_dir, Vec::new(), false),
            guard: Program::this(GUARD)
                .context("the path of this program cannot be found, so that no guard can be started")?,
            request: Request { kind: Purpose::ForCommand { command }, asked, confirm_within: None },
            blast: args.blast,
            interrupted,
            doubts: kept.doubts.clone(),
            kinds: Vec::new(),
        })
    }

    pub fn asked(&self) -> &TuningRequest {
        &self.request.asked
    }

    /// Sets the candidates `set`, which are those of the arm that are set at run time, measures, and puts them back.
    /// `None` if interrupted: the run does not count.
    pub fn run(&mut self, arm: &[usize], set: &[usize], recording: &Path) -> Result<Option<RunOutcome>> {
        told_of(arm, self.during(set, RunOutcome::Refused, |bench| bench.measured(recording))?)
    }

    /// Sets candidates, measures with `measure`, and puts them back. What cannot be set becomes an outcome by `refused`.
    pub fn during<T>(
        &mut self,
        set: &[usize],
        refused: fn(String) -> T,
        measure: impl FnOnce(&mut Self) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        if set.is_empty() {
            return measure(self);
        }
        let trials: Option<Vec<&Prepared>> =
            set.iter().map(|place| self.trials.get(*place).copied().flatten()).collect();
        let Some(trials) = trials else {
            return Ok(Some(refused("this machine has nothing to change about it any more".to_owned())));
        };
        let changes: Vec<Change> = trials.iter().map(|trial| trial.change.clone()).collect();
        let hold = trials.iter().filter_map(|trial| trial.hold_us).min();
        let hand = Machine::here();
        let transaction = Transaction::begin(&hand, &self.request)?;
        let number = transaction.number();
        let tied = match Tied::start(&self.guard, number) {
            Ok(tied) => tied,
            Err(error) => {
                transaction.cancel()?;
                return Err(error.into());
            }
        };
        // If an error leaves a change in place, the guard puts it back after this process has ended.
        let applied = transaction.apply(&changes, self.blast)?;
        let outcome = match refusal(&applied) {
            Some(why) => Ok(Some(refused(why))),
            None => self.held(hold, refused, measure),
        };
        let reverted = revert_patiently(&hand, Extent::Only(number))?;
        tied.dismiss();
        if let Some(trouble) = reverted.trouble.first() {
            bail!("not put back: {}; see `punctual status`, then `punctual revert`", trouble.why);
        }
        outcome
    }

    fn held<T>(
        &mut self,
        hold_us: Option<u32>,
        refused: fn(String) -> T,
        measure: impl FnOnce(&mut Self) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let held = hold_us.map(|us| LatencyRequest::global(Nanos::from_us(us.into()))).transpose();
        match held {
            Ok(_held) => measure(self),
            Err(error) => Ok(Some(refused(format!("the limit on the CPUs' sleep cannot be held: {error}")))),
        }
    }

    fn measured(&mut self, recording: &Path) -> Result<Option<RunOutcome>> {
        let outputs = Outputs::recording(Some(recording));
        let finished = session::run_apart(&self.scenario, &self.setting, outputs, self.interrupted)?;
        let report = &finished.report;
        if report.end != Some(EndReason::Completed) {
            return Ok(unfinished(report.end));
        }
        if let Some(error) = &report.write_error {
            bail!("{error}");
        }
        self.doubts.runs += usize::from(!report.trust.reasons.is_empty());
        for reason in &report.trust.reasons {
            let kind = discriminant(reason);
            if !self.kinds.contains(&kind) {
                self.kinds.push(kind);
                let told = render::words::distrust(reason);
                if !self.doubts.reasons.contains(&told) && self.doubts.reasons.len() < REASONS_MAX {
                    self.doubts.reasons.push(told);
                }
            }
        }
        let response = Response::of(report).context("too little was measured to tell p99.9: lengthen --run")?;
        Ok(Some(RunOutcome::Measured(response)))
    }
}

/// Returns the outcome, but fails if the unchanged machine cannot be measured: then the campaign has nothing to compare
/// with.
fn told_of(arm: &[usize], outcome: Option<RunOutcome>) -> Result<Option<RunOutcome>> {
    match outcome {
        Some(RunOutcome::Refused(why)) if arm.is_empty() => bail!("{why}, with the machine as it was"),
        outcome => Ok(outcome),
    }
}

/// The outcome of a measurement that did not run to its end; `None` if it was interrupted.
fn unfinished(end: Option<EndReason>) -> Option<RunOutcome> {
    why_unfinished(end).map(|why| RunOutcome::Refused(why.to_owned()))
}

/// Why a measurement ended by itself before its time; `None` if it did not.
pub fn why_unfinished(end: Option<EndReason>) -> Option<&'static str> {
    match end? {
        EndReason::Stalled => Some("the measurement stalled: a measuring thread made no more progress"),
        EndReason::CoreLost => Some("the real-time core was stopped"),
        EndReason::SourceLost => Some("the clock of the releases could no longer be read"),
        _ => None,
    }
}

/// Why a change was not applied as requested; `None` if all were.
fn refusal(applied: &Applied) -> Option<String> {
    applied.changes.iter().find_map(|tried| match &tried.fate {
        Fate::Done | Fate::Already | Fate::Waits | Fate::NextBoot | Fate::Partly { .. } => None,
        Fate::Gone => Some(format!("{}: the thread or device that it concerns is not there", tried.id)),
        Fate::TooBroad { blast } => Some(format!("{}: it is {}", tried.id, blast.name())),
        Fate::TakenBack { why } | Fate::Stuck { why, .. } => Some(format!("{}: {why}", tried.id)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_told_as_one_and_what_somebody_ended_does_not_count() {
        let stalled = unfinished(Some(EndReason::Stalled));
        assert!(matches!(&stalled, Some(RunOutcome::Refused(why)) if why.contains("no more progress")), "{stalled:?}");
        assert!(unfinished(Some(EndReason::CoreLost)).is_some() && unfinished(Some(EndReason::SourceLost)).is_some());
        assert_eq!(told_of(&[1], stalled.clone()).unwrap(), stalled);
        let why = told_of(&[], stalled).unwrap_err().to_string();
        assert!(why.contains("stalled") && why.contains("the machine as it was"), "{why}");
        for end in [None, Some(EndReason::Interrupted), Some(EndReason::LimitExceeded)] {
            assert_eq!(unfinished(end), None, "{end:?}");
            assert_eq!(told_of(&[], unfinished(end)).unwrap(), None);
        }
    }
}
