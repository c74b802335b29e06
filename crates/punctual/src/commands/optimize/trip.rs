//! What a campaign across boots does to the machine between two measurements: its boot entry, the systemd unit that
//! resumes it, and the restart. Both kinds of campaign use it, that of `optimize` and that of `campaign`.

use super::kept::Folder;
use super::ours::{is_entry, keeps, revert, standing, take_away};
use crate::commands::source::Source;
use crate::commands::tune::place;
use crate::render;
use anyhow::{Context, Result, anyhow, bail};
use punctual_facts::machine::Machine;
use punctual_hist::Nanos;
use punctual_linux::apply::{self, Fate, Hand, Request, Transaction, now};
use punctual_linux::journal::{KeptSetting, Purpose, Session, SessionStage as Progress, TuningRequest};
use punctual_optimize::across::{Across, BootEntry, BootSeen};
use punctual_tuning::knobs::Blast;
use punctual_tuning::plan::lasting::Starts;
use punctual_tuning::plan::{self, BootChange, Change, Invocation, Keep};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often to check for an interruption while the machine settles.
const LOOK: Duration = Duration::from_millis(100);

/// The state of a campaign across boots that begins in this boot.
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

pub struct Trip<'a> {
    pub hand: &'a apply::Machine,
    pub folder: &'a Folder,
    /// The request that the journal keeps with the campaign's transactions.
    pub asked: &'a TuningRequest,
    /// The time that the machine must have been up before a boot is measured.
    pub settle: Nanos,
    pub interrupted: &'a AtomicBool,
    /// The command that resumes the campaign.
    pub verb: &'static str,
}

impl Trip<'_> {
    /// The path of the campaign's folder, as the unit and the journal name it.
    fn name(&self) -> Result<String> {
        self.folder.path().to_str().map(str::to_owned).context("the name of the campaign's folder is not text")
    }

    fn standing(&self) -> Result<Vec<Session>> {
        standing(self.hand, &self.name()?)
    }

    /// What this boot shows of the campaign.
    pub fn seen(&self, boot: String, is_late: bool, is_after_a_pause: bool) -> Result<BootSeen> {
        let machine = Source::here().machine;
        let (line, release) = line_and_release(&machine)?;
        let standing = self.standing()?;
        let is_whole = |session: &&Session| session.stage == Progress::Applied;
        let entry = standing.iter().find(|session| is_entry(session)).map(|session| BootEntry {
            keeps: if is_whole(&session) { keeps(session) } else { Vec::new() },
            made_in: session.begun.as_ref().map(|begun| begun.boot.clone()).unwrap_or_default(),
        });
        Ok(BootSeen {
            boot,
            line,
            release,
            entry,
            hooked: standing.iter().any(|session| !is_entry(session)),
            can_hook: machine.boot.is_systemd() && place().is_ok(),
            is_late,
            is_after_a_pause,
        })
    }

    fn apply(&self, change: &Change, keeps: &[Keep]) -> Result<Option<String>> {
        let kept = |keep: &Keep| KeptSetting { knob: change.id.clone(), keep: keep.clone() };
        let asked = TuningRequest { keeps: keeps.iter().map(kept).collect(), ..self.asked.clone() };
        let request = Request { kind: Purpose::Campaign { folder: self.name()? }, asked, confirm_within: None };
        let applied = Transaction::begin(self.hand, &request)?.apply(std::slice::from_ref(change), Blast::Harmless)?;
        let why = applied.changes.iter().find_map(|tried| match &tried.fate {
            Fate::TakenBack { why } | Fate::Stuck { why, .. } | Fate::Partly { why, .. } => Some(why.clone()),
            _ => None,
        });
        if why.is_some() && applied.stands {
            revert(self.hand, applied.transaction)?;
        }
        Ok(why)
    }

    fn take_away(&self, is_it: impl Fn(&Session) -> bool) -> Result<()> {
        take_away(self.hand, self.standing()?.iter().filter(|session| is_it(session)))
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

    /// Waits until the machine has been up for the time to settle. Returns false if interrupted.
    pub fn settled(&self) -> Result<bool> {
        loop {
            if self.interrupted.load(Ordering::Relaxed) {
                return Ok(false);
            }
            if now(self.hand)?.boottime_ns >= self.settle.as_ns() {
                return Ok(true);
            }
            std::thread::sleep(LOOK);
        }
    }

    pub fn hook(&self) -> Result<()> {
        let exe = place().map_err(|why| anyhow!("{why}"))?;
        let machine = Source::here().machine;
        let change = plan::hook(&machine, &exe, self.verb, &self.name()?)?;
        match self.apply(&change, &[])? {
            Some(why) => bail!("the unit that goes on after a boot could not be made: {why}"),
            None => Ok(()),
        }
    }

    pub fn unhook(&self) -> Result<()> {
        self.take_away(|session| !is_entry(session))
    }

    pub fn enter(&self, keeps: &[Keep]) -> Result<Option<String>> {
        let source = Source::here();
        match plan::trial(source.tree(), &source.machine, keeps) {
            Ok(BootChange { change: Some(change), starts: Starts::NextBoot | Starts::Reboot(_), .. }) => {
                self.apply(&change, keeps)
            }
            Ok(_) => Ok(Some("this boot loader would not boot it once by itself".to_owned())),
            Err(why) => Ok(Some(why.to_string())),
        }
    }

    pub fn leave(&self) -> Result<()> {
        self.take_away(is_entry)
    }

    pub fn reboot(&self) -> Result<bool> {
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
}
