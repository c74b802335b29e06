//! `punctual status`: shows the settings that were asked for, and whether each is configured, booted and effective.
//!
//! As root, the command first puts back abandoned transactions: those whose process has ended, whose deadline has
//! passed, or that were not completed.

use super::preconditions::{allowed_to_change, put_back_abandoned};
use super::source::Source;
use crate::cli::StatusArgs;
use crate::exit::Exit;
use crate::render;
use crate::render::tune::{Sentence, Status};
use anyhow::{Context, Result, anyhow, bail};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::profile::{Kind, Need};
use punctual_linux::apply::{self, EngineError, now};
use punctual_linux::journal::{self, Contents, Session, SessionStage, StepOutcome, TuningRequest};
use punctual_linux::trace;
use punctual_tuning::plan::{self, ENTRY, Standing, StatusRow};

/// Reports the status of all settings. `--confirm` first confirms what waits for confirmation.
pub fn run(args: &StatusArgs) -> Result<Exit> {
    let source = Source::here();
    let mut standing = Status::default();
    if rustix::process::geteuid().is_root() {
        standing.sentences.extend(put_back_abandoned()?);
    }
    if args.confirm || args.adopt_untried {
        allowed_to_change()?;
        standing.confirm(&source, args.adopt_untried)?;
    }
    let hand = apply::Machine::here();
    let is_readable = match journal::read(&hand) {
        Ok(Some(contents)) => {
            standing.tell(&contents, &source)?;
            true
        }
        Ok(None) => {
            standing.good("Nothing is applied: the machine is as it was.");
            true
        }
        Err(error) => {
            standing.doubt(error.to_string());
            false
        }
    };
    standing.tell_tracing(&trace::left_behind());
    let text = if args.json {
        render::document(&standing)?
    } else if args.form.brief {
        render::brief::status(&standing.rows)
    } else {
        render::for_people(|| render::tune::status(&standing, render::style()))
    };
    render::print(&text)?;
    Ok(exit(&standing.rows).and(Exit::doubtful_if(!is_readable)))
}

fn exit(rows: &[StatusRow]) -> Exit {
    let of = |row: &StatusRow| match row.standing {
        Standing::InForce | Standing::Gone => Exit::Fine,
        Standing::WaitsForInterrupt | Standing::WaitsForBoot | Standing::Unknown(_) => Exit::Doubtful,
        Standing::Drifted | Standing::NotHonoured(_) => Exit::Exceeded,
    };
    rows.iter().map(of).fold(Exit::Fine, Exit::and)
}

impl Status {
    fn good(&mut self, text: impl Into<String>) {
        self.sentences.push(Sentence::good(text));
    }

    fn doubt(&mut self, text: impl Into<String>) {
        self.sentences.push(Sentence::doubt(text));
    }

    fn tell_tracing(&mut self, names: &[String]) {
        for name in names {
            self.doubt(format!(
                "The kernel still records for a measurement that was killed (tracing instance {name}), which every \
                 CPU pays for: punctual revert ends it, and so does the next measurement."
            ));
        }
    }

    /// Confirms transactions that wait for confirmation, and makes a command line that was tried the default.
    fn confirm(&mut self, source: &Source, is_untried_good: bool) -> Result<()> {
        let hand = apply::Machine::here();
        let waited = match apply::confirm(&hand, None) {
            Ok(number) => {
                self.good(format!("Transaction {number} is confirmed and stays."));
                true
            }
            Err(EngineError::NothingToConfirm(_)) => false,
            Err(error) => return Err(error.into()),
        };
        let Some(contents) = journal::read(&hand)? else { bail!("nothing is applied, so there is nothing to confirm") };
        let adopted = match super::adopt::adopt(&contents, source, is_untried_good) {
            // The confirmation above stands even if the command line cannot become the default.
            Err(error) if waited => {
                self.doubt(render::words::told(&error));
                return Ok(());
            }
            adopted => adopted?,
        };
        match adopted {
            Some(sentences) => self.sentences.extend(sentences),
            None if !waited => self.good("Nothing waits to be confirmed."),
            None => {}
        }
        Ok(())
    }

    /// Reports all transactions of the journal, and compares each setting with the machine.
    fn tell(&mut self, contents: &Contents, source: &Source) -> Result<()> {
        for damage in &contents.damage {
            self.doubt(format!("The journal is damaged: {damage}; the rest of it is kept."));
        }
        if contents.torn {
            self.doubt("The journal's last line was cut off; the change that it announces was not made.");
        }
        let present = now(&apply::Machine::here()).context("cannot tell the time since the machine was started")?;
        for session in contents.standing() {
            self.sentences.push(told(session, &present));
        }
        let trial = super::adopt::new_cmdline(contents, &source.machine);
        self.sentences.extend(trial.and_then(|trial| of_trial(&trial, &present.boot)));
        let need = need(contents)?;
        self.rows = plan::standing(source.tree(), &source.machine, &need, &asked(contents, &present.boot));
        Ok(())
    }
}

fn told(session: &Session, present: &journal::Now) -> Sentence {
    let number = session.transaction;
    let Some(begun) = &session.begun else {
        return Sentence::doubt(format!(
            "Transaction {number}: its beginning is lost; punctual revert puts back its steps."
        ));
    };
    let TuningRequest { cpus, profile, .. } = &begun.asked;
    let cpus = if cpus.contains([',', '-']) { format!("CPUs {cpus}") } else { format!("CPU {cpus}") };
    let when = render::units::date(begun.at_unix_s.saturating_mul(1_000_000_000));
    let what = match &begun.kind {
        journal::Purpose::Tuned => format!("tuned for {profile} work on {cpus}"),
        journal::Purpose::ForCommand { command } => format!("tuned as long as {} runs", command.join(" ")),
        journal::Purpose::Adopted { of } => format!("the command line of transaction {of} made the default"),
        journal::Purpose::Campaign { folder } => format!(
            "of a campaign across boots in {folder}, which punctual optimize --resume goes on with and punctual revert ends"
        ),
        journal::Purpose::Watch { store } => {
            format!("a watch that keeps what it sees in {store}, which punctual watch --uninstall ends")
        }
        journal::Purpose::Boot => format!("set anew at boot for {profile} work on {cpus}"),
    };
    let waits = begun.confirm_by_ns.filter(|_| !session.confirmed);
    let left = waits.map(|by| by.saturating_sub(present.boottime_ns) / 1_000_000_000);
    let more = match (left, session.stage != SessionStage::Applying) {
        (_, false) => {
            "; the program ended before everything was applied: punctual revert puts back what was".to_owned()
        }
        (Some(seconds), true) => {
            format!("; will be put back in {seconds} s unless confirmed (punctual status --confirm)")
        }
        (None, true) => String::new(),
    };
    Sentence { is_good: more.is_empty(), text: format!("Transaction {number}, {when}: {what}{more}.") }
}

fn of_trial(trial: &super::adopt::NewCmdline<'_>, boot: &str) -> Option<Sentence> {
    let is_same_boot = trial.session.begun.as_ref().is_some_and(|begun| begun.boot == boot);
    Some(match (trial.is_adopted, trial.is_booted, trial.has_entry, is_same_boot) {
        (true, ..) | (_, true, false, _) => return None,
        (_, true, true, _) => {
            Sentence::good("This boot tries the new command line; punctual status --confirm keeps it.")
        }
        (_, false, true, true) => Sentence::doubt(
            "The new command line waits to be tried once: by a reboot, or in the way that punctual tune printed.",
        ),
        (_, false, true, false) => Sentence::doubt(
            "The new command line was tried and did not come up, or was not booted: this boot is the old one. punctual \
             revert takes it back; punctual lint tells what the kernel makes of its words.",
        ),
        (_, false, false, _) => Sentence::doubt(
            "The new command line is on no boot entry, so it cannot be tried: punctual status --adopt-untried makes it the \
             default.",
        ),
    })
}

fn need(contents: &Contents) -> Result<Need> {
    contents.standing().rev().find(|session| session.begun.is_some()).map_or(Ok(Need::default()), need_of)
}

pub fn need_of(session: &Session) -> Result<Need> {
    let Some(TuningRequest { cpus, profile, .. }) = session.begun.as_ref().map(|begun| &begun.asked) else {
        return Ok(Need::default());
    };
    let cpus = CpuSet::parse_list(cpus).map_err(|e| anyhow!("the journal names CPUs that make no sense: {e}"))?;
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == profile).unwrap_or_default();
    Ok(Need { kind, cpus, ..Need::default() })
}

/// All settings that were asked for and not reverted. Settings that this boot's service made replace the same settings
/// of earlier boots.
fn asked(contents: &Contents, boot: &str) -> Vec<plan::Requested> {
    let is_this_boot = |session: &Session| session.begun.as_ref().is_some_and(|begun| begun.boot == boot);
    let was_set_anew = contents.standing().any(|session| {
        is_this_boot(session) && session.begun.as_ref().is_some_and(|begun| begun.kind == journal::Purpose::Boot)
    });
    // A campaign's words are for single boots, so they are not settings of the machine.
    let is_tuning = |session: &&Session| {
        !session.begun.as_ref().is_some_and(|begun| matches!(begun.kind, journal::Purpose::Campaign { .. }))
    };
    let mut asked = Vec::new();
    for session in contents.standing().filter(is_tuning) {
        let keeps = session.begun.iter().flat_map(|begun| &begun.asked.keeps);
        asked.extend(keeps.filter_map(|kept| plan::Requested::of_word(&kept.knob, &kept.keep)));
        let is_in_force =
            |outcome: &Option<StepOutcome>| matches!(outcome, Some(StepOutcome::Effective | StepOutcome::Waits { .. }));
        let entries = session.entries.iter().filter(|entry| entry.undone.is_none() && is_in_force(&entry.outcome));
        let is_now = is_this_boot(session);
        let steps = entries.map(|entry| (&entry.intent.change, &entry.intent.step));
        let steps = steps.filter(|(change, step)| {
            // The loader uses the boot entry of a trial once, and we remove it, so a sentence reports it instead of a
            // row.
            change.as_str() != ENTRY && (is_now || step.is_kept() || !was_set_anew)
        });
        asked.extend(steps.map(|(id, step)| plan::Requested::Done {
            id: id.clone(),
            step: step.clone(),
            is_this_boot: is_now,
        }));
    }
    asked
}
