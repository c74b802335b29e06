//! Runs a campaign across boots. Its boot entry, and the systemd unit that resumes the campaign, are transactions of
//! the journal, so that `punctual revert` removes them at any time. `punctual_optimize::across` decides what to do
//! next.

use super::bench::Bench;
use super::kept::Folder;
use super::ours::{also, both, is_entry, keeps, revert, standing, take_away};
use super::time;
use crate::cli::OptimizeArgs;
use crate::commands::source::Source;
use crate::commands::tune::place;
use crate::render::{self, optimize as shown};
use anyhow::{Context, Result, anyhow, bail};
use punctual_facts::machine::Machine;
use punctual_linux::apply::{self, Fate, Hand, Request, Transaction, now};
use punctual_linux::journal::{KeptSetting, Purpose, Session, SessionStage as Progress, TuningRequest};
use punctual_optimize::across::{Across, BootEntry, BootSeen, Ending, Hands, go_on};
use punctual_optimize::format::Kept;
use punctual_optimize::{Campaign, CampaignStage, RunOutcome};
use punctual_tuning::knobs::Blast;
use punctual_tuning::plan::lasting::Starts;
use punctual_tuning::plan::{self, BootChange, Change, Invocation, Keep};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often to check for an interruption while the machine settles.
const LOOK: Duration = Duration::from_millis(100);

pub fn begun() -> Result<Across> {
    let machine = Source::here().machine;
    let present = now(&apply::Machine::here()).context("cannot tell one boot from another")?;
    let (line, release) = line_and_release(&machine)?;
    Ok(Across::begun(line, release, present.boot))
}

fn line_and_release(machine: &Machine) -> Result<(String, String)> {
    let line = machine
        .cmdline
        .known()
        .context("the command line of this boot cannot be read, so one boot cannot be told from another")?;
    let release = machine.kernel.release.known().context("the kernel does not say its release")?;
    Ok((line.for_the_kernel(), release.clone()))
}

/// Resumes the campaign until it needs another boot or is complete.
pub fn drive(
    args: &OptimizeArgs,
    folder: &Folder,
    kept: &mut Kept,
    bench: &mut Bench<'_>,
    interrupted: &Arc<AtomicBool>,
) -> Result<Ending> {
    let Some(mut across) = kept.across.clone() else { bail!("{}: it is no campaign across boots", folder.display()) };
    let mut campaign = kept.campaign.clone();
    let hand = apply::Machine::here();
    kept.spent = kept.spent.plus(time::of_boot(&across, &time::present(&hand)?, args.at_boot));
    let mut boots = Boots { args, folder, kept, bench, interrupted, hand, counted: Instant::now() };
    let ending = go_on(&mut boots, &mut campaign, &mut across, args.at_boot);
    let goes_on = match &ending {
        Ok(Ending::Stuck(_)) | Err(_) => false,
        // A user who interrupts the campaign wants it to end. At boot the interruption is a shutdown, and the campaign
        // resumes at the next boot.
        Ok(Ending::Interrupted) => args.at_boot,
        Ok(_) => true,
    };
    let put_back = if goes_on { Ok(()) } else { both(boots.leave(), boots.unhook()) };
    let ending = match (ending, put_back) {
        (Ok(ending), put_back) => put_back.map(|()| ending)?,
        (Err(error), Ok(())) => return Err(error),
        (Err(error), Err(second)) => return Err(also(error, &second)),
    };
    (kept.campaign, kept.across) = (campaign, Some(across));
    Ok(ending)
}

struct Boots<'a, 'b> {
    args: &'a OptimizeArgs,
    folder: &'a Folder,
    kept: &'a mut Kept,
    bench: &'a mut Bench<'b>,
    interrupted: &'a Arc<AtomicBool>,
    hand: apply::Machine,
    /// The time since this instant has not been counted against the budget yet.
    counted: Instant,
}

impl Boots<'_, '_> {
    /// The path of the campaign's folder, as the unit and the journal name it.
    fn name(&self) -> Result<String> {
        self.folder.path().to_str().map(str::to_owned).context("the name of the campaign's folder is not text")
    }

    fn standing(&self) -> Result<Vec<Session>> {
        standing(&self.hand, &self.name()?)
    }

    fn apply(&self, change: &Change, keeps: &[Keep]) -> Result<Option<String>> {
        let kept = |keep: &Keep| KeptSetting { knob: change.id.clone(), keep: keep.clone() };
        let asked = TuningRequest { keeps: keeps.iter().map(kept).collect(), ..self.bench.asked().clone() };
        let request = Request { kind: Purpose::Campaign { folder: self.name()? }, asked, confirm_within: None };
        let applied = Transaction::begin(&self.hand, &request)?.apply(std::slice::from_ref(change), Blast::Harmless)?;
        let why = applied.changes.iter().find_map(|tried| match &tried.fate {
            Fate::TakenBack { why } | Fate::Stuck { why, .. } | Fate::Partly { why, .. } => Some(why.clone()),
            _ => None,
        });
        if why.is_some() && applied.stands {
            revert(&self.hand, applied.transaction)?;
        }
        Ok(why)
    }

    fn take_away(&self, is_it: impl Fn(&Session) -> bool) -> Result<()> {
        take_away(&self.hand, self.standing()?.iter().filter(|session| is_it(session)))
    }

    fn way(&self) -> Result<Option<Invocation>> {
        let source = Source::here();
        for session in self.standing()?.iter().filter(|session| is_entry(session)) {
            let trial = plan::trial(source.tree(), &source.machine, &keeps(session));
            if let Ok(BootChange { starts: Starts::Reboot(special), .. }) = trial {
                return Ok(Some(special));
            }
        }
        Ok(source.machine.boot.is_systemd().then(|| Invocation::new("systemctl", ["reboot"])))
    }

    /// Waits until the machine has been up for the time that `--settle` states. Returns false if interrupted.
    fn settled(&self) -> Result<bool> {
        loop {
            if self.interrupted.load(Ordering::Relaxed) {
                return Ok(false);
            }
            if now(&self.hand)?.boottime_ns >= self.args.settle.as_ns() {
                return Ok(true);
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Hands for Boots<'_, '_> {
    type Error = anyhow::Error;

    fn look(&mut self) -> Result<BootSeen> {
        let machine = Source::here().machine;
        let (line, release) = line_and_release(&machine)?;
        let standing = self.standing()?;
        let present = time::present(&self.hand)?;
        let is_after_a_pause = time::is_after_a_pause(self.args, self.kept, &present);
        if is_after_a_pause {
            // The restarted sequence and this moment are saved in one write, so that a crash in between cannot leave
            // one without the other.
            self.kept.last = Some(present.clone());
        }
        let is_whole = |session: &&Session| session.stage == Progress::Applied;
        let entry = standing.iter().find(|session| is_entry(session)).map(|session| BootEntry {
            keeps: if is_whole(&session) { keeps(session) } else { Vec::new() },
            made_in: session.begun.as_ref().map(|begun| begun.boot.clone()).unwrap_or_default(),
        });
        Ok(BootSeen {
            boot: present.boot,
            line,
            release,
            entry,
            hooked: standing.iter().any(|session| !is_entry(session)),
            can_hook: machine.boot.is_systemd() && place().is_ok(),
            is_late: self.kept.spent > self.args.time,
            is_after_a_pause,
        })
    }

    fn keep(&mut self, campaign: &Campaign, across: &Across) -> Result<()> {
        self.kept.campaign = campaign.clone();
        self.kept.across = Some(across.clone());
        (self.kept.spent, self.counted) = (self.kept.spent.plus(time::since(self.counted)), Instant::now());
        self.folder.write(self.kept)
    }

    fn hook(&mut self) -> Result<()> {
        let exe = place().map_err(|why| anyhow!("{why}"))?;
        let machine = Source::here().machine;
        let change = plan::hook(&machine, &exe, &self.name()?)?;
        match self.apply(&change, &[])? {
            Some(why) => bail!("the unit that goes on after a boot could not be made: {why}"),
            None => Ok(()),
        }
    }

    fn unhook(&mut self) -> Result<()> {
        self.take_away(|session| !is_entry(session))
    }

    fn enter(&mut self, keeps: &[Keep]) -> Result<Option<String>> {
        let source = Source::here();
        match plan::trial(source.tree(), &source.machine, keeps) {
            Ok(BootChange { change: Some(change), starts: Starts::NextBoot | Starts::Reboot(_), .. }) => {
                self.apply(&change, keeps)
            }
            Ok(_) => Ok(Some("this boot loader would not boot it once by itself".to_owned())),
            Err(why) => Ok(Some(why.to_string())),
        }
    }

    fn leave(&mut self) -> Result<()> {
        self.take_away(is_entry)
    }

    fn reboot(&mut self) -> Result<bool> {
        // The machine is restarted only if a unit resumes the campaign afterwards.
        let is_hooked = self.standing()?.iter().any(|session| !is_entry(session));
        let Some(way) = self.way()?.filter(|_| is_hooked) else { return Ok(false) };
        render::say("The machine starts again; the campaign goes on by itself. To end it: punctual revert");
        let ran = self.hand.run(&way).with_context(|| format!("run {}", way.program))?;
        if !ran.well {
            bail!("{} {}: {} {}", way.program, way.arguments.join(" "), ran.how, ran.said);
        }
        Ok(true)
    }

    fn measure(&mut self, arm: &[usize], stage: CampaignStage, round: u32) -> Result<Option<RunOutcome>> {
        if !self.settled()? {
            return Ok(None);
        }
        if !self.args.form.brief {
            render::say(&render::for_people(|| shown::step(&self.kept.campaign, arm, stage, round)));
        }
        let number = self.kept.campaign.runs.len() + 1;
        let candidates = &self.kept.campaign.design.candidates;
        let is_at_once = |place: &&usize| candidates.get(**place).is_some_and(|candidate| candidate.boot.is_empty());
        let at_once: Vec<usize> = arm.iter().filter(is_at_once).copied().collect();
        let outcome = self.bench.run(arm, &at_once, &self.folder.recording(number))?;
        self.kept.doubts = self.bench.doubts.clone();
        if outcome.is_some() {
            self.kept.last = Some(time::present(&self.hand)?);
        }
        Ok(outcome)
    }
}
